// The programs' operator new: blocks up to 4 KiB are kept in lists by size, since requests come and go in bursts that
// are wider than the C library's own caches (7 blocks of a size, none above 1 KiB).
#include <malloc.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <utility>

namespace {

constexpr std::size_t pooled_bytes_max = 4096;
constexpr std::size_t kept_blocks_max = 128;          // of one size, of one thread: a connection's streams
constexpr std::size_t kept_bytes_max = 512U * 1024U;  // of all sizes, of one thread

// Sizes are 16, 32, … 128, then four to a doubling: at most a fifth of a block is unused.
constexpr std::size_t small_sizes = 8;
constexpr std::size_t sizes = small_sizes + 4 * 5;

// Of sizes from 1 to pooled_bytes_max: the list whose blocks have room for them.
constexpr std::size_t list_for(std::size_t bytes) {
    if (bytes <= 128) return (bytes - 1) / 16;
    const auto doubling = static_cast<std::size_t>(std::bit_width(bytes - 1)) - 8;
    return small_sizes + 4 * doubling + ((bytes - 1) >> (doubling + 5)) - 4;
}

constexpr std::size_t bytes_of(std::size_t list) {
    if (list < small_sizes) return (list + 1) * 16;
    const std::size_t doubling = (list - small_sizes) / 4;
    return (5 + (list - small_sizes) % 4) << (doubling + 5);
}

constexpr bool lists_fit() {
    for (std::size_t bytes = 1; bytes <= pooled_bytes_max; ++bytes) {
        const std::size_t list = list_for(bytes);
        if (list >= sizes || bytes_of(list) < bytes || (list != 0 && bytes_of(list - 1) >= bytes)) return false;
    }
    return bytes_of(sizes - 1) == pooled_bytes_max;
}
static_assert(lists_fit());

struct block {
    block* next;
};

struct pool {
    block* first[sizes];
    std::uint16_t count[sizes];
    std::size_t bytes;
    bool over;  // the thread ends: nothing is kept any more
};

constinit thread_local pool mine{};

void empty() {
    for (block*& first : mine.first) {
        while (first != nullptr) std::free(std::exchange(first, first->next));
    }
    for (std::uint16_t& count : mine.count) count = 0;
    mine.bytes = 0;
}

// Gives a thread's blocks back when it ends.
struct keeper {
    ~keeper() {
        mine.over = true;
        empty();
    }
};

void* fetch(std::size_t bytes) {
    for (;;) {
        if (void* const got = std::malloc(bytes)) return got;
        const std::new_handler handler = std::get_new_handler();
        if (handler == nullptr) throw std::bad_alloc();
        handler();
    }
}

void keep(void* given, std::size_t list) {
    if (mine.count[list] == kept_blocks_max || mine.bytes + bytes_of(list) > kept_bytes_max || mine.over) {
        std::free(given);
        return;
    }
    static thread_local const keeper at_the_end;
    static_cast<void>(at_the_end);
    mine.first[list] = new (given) block{mine.first[list]};
    ++mine.count[list];
    mine.bytes += bytes_of(list);
}

}  // namespace

void* operator new(std::size_t bytes) {
    if (bytes > pooled_bytes_max) return fetch(bytes);
    const std::size_t list = list_for(bytes == 0 ? 1 : bytes);
    block* const kept = mine.first[list];
    if (kept == nullptr) return fetch(bytes_of(list));
    mine.first[list] = kept->next;
    --mine.count[list];
    mine.bytes -= bytes_of(list);
    return kept;
}

void operator delete(void* given, std::size_t bytes) noexcept {
    if (given == nullptr) return;
    if (bytes > pooled_bytes_max) return std::free(given);
    keep(given, list_for(bytes == 0 ? 1 : bytes));
}

// Without its size: the largest list whose blocks it can serve.
void operator delete(void* given) noexcept {
    if (given == nullptr) return;
    const std::size_t bytes = malloc_usable_size(given);
    if (bytes > pooled_bytes_max + sizeof(std::size_t)) return std::free(given);
    const std::size_t above = bytes >= pooled_bytes_max ? sizes : list_for(bytes + 1);
    keep(given, above - 1);
}

void* operator new[](std::size_t bytes) { return operator new(bytes); }
void operator delete[](void* given) noexcept { operator delete(given); }
void operator delete[](void* given, std::size_t bytes) noexcept { operator delete(given, bytes); }

// For whoever trims the heap of this thread; a program without this pool has no such function.
extern "C" void cotrain_empty_pool() noexcept { empty(); }
