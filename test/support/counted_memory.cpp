// The counting operator new.
#include "counted_memory.hpp"

#include <cstdlib>
#include <new>

namespace {

std::uint64_t blocks = 0;
std::uint64_t bytes_asked = 0;
std::uint64_t until_failure = 0;  // 0: never

}  // namespace

#if defined(__SANITIZE_ADDRESS__)
#define COTRAIN_FOREIGN_HEAP
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define COTRAIN_FOREIGN_HEAP
#endif
#endif

#ifndef COTRAIN_FOREIGN_HEAP
void* operator new(std::size_t bytes) {
    ++blocks;
    bytes_asked += bytes;
    if (until_failure != 0 && --until_failure == 0) throw std::bad_alloc();
    if (void* const block = std::malloc(bytes)) return block;
    throw std::bad_alloc();
}
void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, std::size_t) noexcept { std::free(block); }
#endif

namespace cotrain::test {

bool counts_memory() {
#ifdef COTRAIN_FOREIGN_HEAP
    return false;
#else
    return true;
#endif
}
std::uint64_t allocations() { return blocks; }
std::uint64_t allocated_bytes() { return bytes_asked; }

failing_allocation::failing_allocation(std::uint64_t n) { until_failure = n; }
failing_allocation::~failing_allocation() { until_failure = 0; }
bool failing_allocation::failed() const { return until_failure == 0 && counts_memory(); }

}  // namespace cotrain::test
