// Overwriting of memory that may hold keys or tokens, before it is given back or used for something else.
#pragma once

#include <cstddef>
#include <cstring>

namespace cotrain::base {

// Never left out by the compiler, although the memory is not read again.
inline void wipe(void* from, std::size_t bytes) {
    if (bytes == 0) return;
    std::memset(from, 0, bytes);
    asm volatile("" : : "r"(from) : "memory");
}

}  // namespace cotrain::base
