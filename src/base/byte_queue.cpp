// Growth and give-back of byte_queue's memory.
#include "base/byte_queue.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "base/wipe.hpp"

namespace cotrain::base {

void byte_queue::swap(byte_queue& other) noexcept {
    data_.swap(other.data_);
    std::swap(capacity_, other.capacity_);
    std::swap(head_, other.head_);
    std::swap(tail_, other.tail_);
    std::swap(retain_, other.retain_);
}

std::span<char> byte_queue::prepare(std::size_t bytes) {
    if (capacity_ - tail_ >= bytes) return {data_.get() + tail_, capacity_ - tail_};
    const std::size_t held = size();
    if (capacity_ - held >= bytes && held <= capacity_ / 2) {
        std::memmove(data_.get(), data_.get() + head_, held);
        wipe(data_.get() + held, tail_ - held);
    } else {
        const std::size_t grown = std::max({held + bytes, capacity_ * 2, std::size_t{4096}});
        auto fresh = std::make_unique_for_overwrite<char[]>(grown);
        if (held != 0) std::memcpy(fresh.get(), data_.get() + head_, held);
        data_ = std::move(fresh);
        capacity_ = grown;
    }
    head_ = 0;
    tail_ = held;
    return {data_.get() + tail_, capacity_ - tail_};
}

void byte_queue::append(std::string_view bytes) {
    if (bytes.empty()) return;
    std::memcpy(prepare(bytes.size()).data(), bytes.data(), bytes.size());
    commit(bytes.size());
}

void byte_queue::consume(std::size_t bytes) {
    assert(bytes <= size());
    wipe(data_.get() + head_, bytes);
    head_ += bytes;
    if (head_ != tail_) return;
    head_ = tail_ = 0;
    if (capacity_ > retain_) {
        data_.reset();
        capacity_ = 0;
    }
}

}  // namespace cotrain::base
