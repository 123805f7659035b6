// A first-in-first-out run of bytes in one piece of memory: appended at the end, consumed at the front.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

namespace cotrain::base {

// Views stay valid until the next prepare(), append() or consume(). Memory above `retain_bytes` is given back
// whenever the queue runs empty, so that one large burst does not stay resident.
class byte_queue {
   public:
    explicit byte_queue(std::size_t retain_bytes = 64 * 1024) : retain_(retain_bytes) {}
    byte_queue(byte_queue&& other) noexcept : retain_(other.retain_) { swap(other); }
    byte_queue& operator=(byte_queue&& other) noexcept {
        byte_queue taken(std::move(other));
        swap(taken);
        return *this;
    }
    void swap(byte_queue& other) noexcept;

    [[nodiscard]] std::string_view view() const { return {data_.get() + head_, tail_ - head_}; }
    [[nodiscard]] std::size_t size() const { return tail_ - head_; }
    [[nodiscard]] bool empty() const { return head_ == tail_; }
    [[nodiscard]] std::size_t capacity() const { return capacity_; }

    // Room for at least `bytes` more; what was written there counts after commit().
    [[nodiscard]] std::span<char> prepare(std::size_t bytes);
    void commit(std::size_t bytes) { tail_ += bytes; }
    void append(std::string_view bytes);
    void consume(std::size_t bytes);
    void clear() { consume(size()); }

   private:
    std::unique_ptr<char[]> data_;
    std::size_t capacity_ = 0;
    std::size_t head_ = 0;
    std::size_t tail_ = 0;
    std::size_t retain_;
};

}  // namespace cotrain::base
