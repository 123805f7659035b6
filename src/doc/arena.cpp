// Chunks of an arena: a list from the newest to the first.
#include "doc/arena.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "base/wipe.hpp"

namespace cotrain::doc {

struct arena::chunk {
    chunk* before;
    std::size_t bytes;  // of memory after this header

    [[nodiscard]] char* memory() { return reinterpret_cast<char*>(this + 1); }
};

arena::~arena() {
    clear();
    std::free(last_);
}

void* arena::allocate_slowly(std::size_t bytes) {
    bytes = (bytes + alignment - 1) & ~(alignment - 1);
    const std::size_t doubled = last_ == nullptr ? first_chunk_bytes : std::min(last_->bytes * 2, chunk_bytes_max);
    const std::size_t size = std::max(bytes, doubled);
    void* const raw = std::malloc(sizeof(chunk) + size);
    if (raw == nullptr) throw std::bad_alloc();
    full_bytes_ += static_cast<std::size_t>(next_ - begin_);
    reserved_bytes_ += size;
    last_ = new (raw) chunk{last_, size};
    begin_ = last_->memory();
    end_ = begin_ + size;
    next_ = begin_ + bytes;
    return begin_;
}

std::string_view arena::copy(std::string_view text) {
    if (text.empty()) return {};
    char* const bytes = allocate_text(text.size());
    std::memcpy(bytes, text.data(), text.size());
    return {bytes, text.size()};
}

bool arena::holds(const void* p) const {
    const auto at = reinterpret_cast<std::uintptr_t>(p);
    for (chunk* c = last_; c != nullptr; c = c->before) {
        const auto begin = reinterpret_cast<std::uintptr_t>(c->memory());
        if (at >= begin && at - begin < c->bytes) return true;
    }
    return false;
}

// What was used is wiped: some trees are Secrets.
void arena::clear() {
    if (last_ == nullptr) return;
    for (;;) {
        base::wipe(begin_, static_cast<std::size_t>(next_ - begin_));
        begin_ = next_ = last_->memory();
        end_ = begin_ + last_->bytes;
        if (last_->before == nullptr) break;
        std::free(std::exchange(last_, last_->before));
        begin_ = last_->memory();
        next_ = begin_ + last_->bytes;
    }
    full_bytes_ = 0;
    reserved_bytes_ = last_->bytes;
}

}  // namespace cotrain::doc
