// Counts what a program asks of the heap, and refuses it: linking this replaces its operator new.
#pragma once

#include <cstdint>

namespace cotrain::test {

// False under sanitizers, which bring their own heap: both counts stay 0 then.
[[nodiscard]] bool counts_memory();
// So far.
[[nodiscard]] std::uint64_t allocations();
[[nodiscard]] std::uint64_t allocated_bytes();

// While it lives the n-th allocation throws bad_alloc, once. One at a time.
class failing_allocation {
   public:
    explicit failing_allocation(std::uint64_t n);
    ~failing_allocation();
    failing_allocation(const failing_allocation&) = delete;
    failing_allocation& operator=(const failing_allocation&) = delete;

    // Whether there were so many; never where memory is not counted.
    [[nodiscard]] bool failed() const;
};

}  // namespace cotrain::test
