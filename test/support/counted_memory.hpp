// Counts what a program asks of the heap: linking this replaces its operator new.
#pragma once

#include <cstdint>

namespace cotrain::test {

// False under sanitizers, which bring their own heap: both counts stay 0 then.
[[nodiscard]] bool counts_memory();
// So far.
[[nodiscard]] std::uint64_t allocations();
[[nodiscard]] std::uint64_t allocated_bytes();

}  // namespace cotrain::test
