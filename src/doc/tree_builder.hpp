// How readers put documents together: values are pushed, then closed into containers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "doc/tree.hpp"

namespace cotrain::doc {

// Values of the containers that are still open lie on one stack, names and values of objects in turn.
class tree_builder {
   public:
    explicit tree_builder(arena& memory) : memory_(memory) {}
    ~tree_builder();
    tree_builder(const tree_builder&) = delete;
    tree_builder& operator=(const tree_builder&) = delete;

    [[nodiscard]] std::size_t mark() const { return size_; }
    void push(ref v) {
        if (size_ == capacity_) grow();
        new (stack_ + size_++) ref(v);
    }
    // What was pushed since `mark`.
    [[nodiscard]] std::span<ref> since(std::size_t mark) { return {stack_ + mark, size_ - mark}; }

    // Forgets it.
    void drop(std::size_t mark) { size_ = mark; }

    // Of the members pushed since `mark`, the first whose name occurred before.
    [[nodiscard]] std::optional<std::size_t> first_duplicate(std::size_t mark) const;
    // Leaves one member of each name: the last value, in the first one's place. Returns whether there were duplicates.
    bool drop_duplicates(std::size_t mark);

    // Makes a frozen container of what was pushed since `mark`. `text` is its compact JSON, if that is known.
    [[nodiscard]] ref close(kind k, std::size_t mark, std::string_view text = {});

   private:
    // The members' places sorted by name, then place.
    [[nodiscard]] std::vector<std::size_t> by_name(std::size_t mark) const;
    [[nodiscard]] std::span<const member> members(std::size_t mark) const;

    void grow();

    static constexpr std::size_t inline_values = 256;  // enough for most documents without the heap

    arena& memory_;
    alignas(ref) std::byte inline_[inline_values * sizeof(ref)];
    ref* stack_ = reinterpret_cast<ref*>(inline_);
    std::size_t size_ = 0;
    std::size_t capacity_ = inline_values;
};

}  // namespace cotrain::doc
