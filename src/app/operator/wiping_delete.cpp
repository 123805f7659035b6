// The programs' operator delete wipes what is given back: keys and tokens pass through strings of every room (PEM,
// base64, JSON, requests), and none of them has to see to it.
#include <malloc.h>

#include <cstddef>
#include <cstdlib>

#include "base/wipe.hpp"

namespace {

void give_back(void* block) {
    if (block == nullptr) return;
    cotrain::base::wipe(block, ::malloc_usable_size(block));
    std::free(block);
}

}  // namespace

// The library's operator new takes from malloc, with libc++ as with libstdc++.
void operator delete(void* block) noexcept { give_back(block); }
void operator delete(void* block, std::size_t) noexcept { give_back(block); }
void operator delete[](void* block) noexcept { give_back(block); }
void operator delete[](void* block, std::size_t) noexcept { give_back(block); }
