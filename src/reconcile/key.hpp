// What work is about: a compact name of one object, and the dense numbers that queues use for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cotrain::reconcile {

// One object to reconcile: the interned id of its namespace and name, and which controller's kind it is.
struct key {
    std::uint32_t name = 0;
    std::uint32_t kind = 0;

    [[nodiscard]] bool operator==(const key&) const = default;
};

// Dense number of a key while any queue knows it; it indexes plain arrays.
using slot = std::uint32_t;
inline constexpr slot no_slot = ~slot{0};

// Keeps what a key's id stands for alive while a queue knows the key.
class key_holder {
   public:
    virtual void retain(key k) = 0;
    virtual void release(key k) = 0;
    // Keys of one group share what they may use of a common limit: those of one namespace.
    [[nodiscard]] virtual std::size_t group(key k) const = 0;

   protected:
    ~key_holder() = default;
};

// Maps keys to slots and back. As many slots as keys are known at once, so as many as there are objects; the memory
// of a storm is given back when the table runs empty.
class key_table {
   public:
    explicit key_table(key_holder* holder = nullptr) : holder_(holder) {}
    ~key_table();
    key_table(const key_table&) = delete;
    key_table& operator=(const key_table&) = delete;

    [[nodiscard]] slot intern(key k);
    [[nodiscard]] slot find(key k) const;  // no_slot when unknown
    [[nodiscard]] key at(slot s) const { return entries_[s].name; }
    [[nodiscard]] std::size_t group(slot s) const { return holder_ == nullptr ? 0 : holder_->group(at(s)); }
    void release(slot s);
    [[nodiscard]] std::uint32_t size() const { return size_; }
    // Every slot is below this.
    [[nodiscard]] std::uint32_t slots() const { return static_cast<std::uint32_t>(entries_.size()); }
    // Gives memory back if no key is known; slots start anew.
    bool trim();

   private:
    struct entry {
        key name;
        slot next = no_slot;  // in the bucket, or in the list of free slots
        bool used = false;
    };
    [[nodiscard]] std::uint32_t bucket(key k) const;
    void grow();

    key_holder* holder_;
    std::vector<entry> entries_;
    std::vector<slot> buckets_;
    slot free_ = no_slot;
    std::uint32_t size_ = 0;
};

}  // namespace cotrain::reconcile
