// The programs' operator delete wipes what is given back: keys and tokens pass through strings of every room (PEM,
// base64, JSON, requests), and none of them has to see to it.
#include <malloc.h>

#include <cstddef>
#include <cstdlib>
#include <new>

#include "base/wipe.hpp"

namespace {

void give_back(void* block) {
    if (block == nullptr) return;
    cotrain::base::wipe(block, ::malloc_usable_size(block));
    std::free(block);
}

}  // namespace

void* operator new(std::size_t bytes) {
    for (;;) {
        if (void* const got = std::malloc(bytes == 0 ? 1 : bytes)) return got;
        const std::new_handler handler = std::get_new_handler();
        if (handler == nullptr) throw std::bad_alloc();
        handler();
    }
}
void* operator new[](std::size_t bytes) { return operator new(bytes); }

void operator delete(void* block) noexcept { give_back(block); }
void operator delete(void* block, std::size_t) noexcept { give_back(block); }
void operator delete[](void* block) noexcept { give_back(block); }
void operator delete[](void* block, std::size_t) noexcept { give_back(block); }
