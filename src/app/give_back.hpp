// Memory that the start needed and nothing needs any more.
#pragma once

#include <cstddef>

namespace cotrain::app {

// Free heap goes back to the system, and pages of the program's code and constants leave this process; those in use
// come back from the page cache one by one. Returns the bytes of code and constants let go of.
std::size_t give_back_memory();

}  // namespace cotrain::app
