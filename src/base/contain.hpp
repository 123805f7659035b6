// An exception is a mistake of the program: it is to end the work that it was thrown in, and nothing else.
#pragma once

#include <string>

namespace cotrain::base {

// In a catch block: what was thrown, for the log; never empty. What tells a task to stop is thrown on.
[[nodiscard]] std::string caught();

}  // namespace cotrain::base
