// The counting operator new.
#include "counted_memory.hpp"

#include <cstdlib>
#include <new>

namespace {

std::uint64_t blocks = 0;
std::uint64_t bytes_asked = 0;

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

}  // namespace cotrain::test
