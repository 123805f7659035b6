// Finds slots by a 32-bit key that the slots' owner knows: an open-addressing table of slots alone.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace cotrain::watch {

// `key_of(slot)` gives the key of a slot that is in the table; keys are unique in it.
class slot_index {
   public:
    static constexpr std::uint32_t none = ~0U;

    template <class KeyOf>
    [[nodiscard]] std::uint32_t find(std::uint32_t key, KeyOf key_of) const {
        return table_.empty() ? none : table_[place_of(key, key_of)];
    }
    // Puts a slot in, or in the place of the one that has its key.
    template <class KeyOf>
    void put(std::uint32_t key, std::uint32_t slot, KeyOf key_of) {
        if ((size_ + 1) * 4 > table_.size() * 3) grow(key_of);
        std::uint32_t& place = table_[place_of(key, key_of)];
        if (place == none) ++size_;
        place = slot;
    }
    // While key_of still knows the slot.
    template <class KeyOf>
    void erase(std::uint32_t key, KeyOf key_of) {
        if (table_.empty()) return;
        const std::size_t mask = table_.size() - 1;
        std::size_t hole = place_of(key, key_of);
        if (table_[hole] == none) return;
        // Those behind it move up, so that searches still find them.
        for (std::size_t i = (hole + 1) & mask; table_[i] != none; i = (i + 1) & mask) {
            if (((i - home(key_of(table_[i]))) & mask) < ((i - hole) & mask)) continue;
            table_[hole] = table_[i];
            hole = i;
        }
        table_[hole] = none;
        --size_;
    }
    [[nodiscard]] std::size_t memory_bytes() const { return table_.capacity() * sizeof(std::uint32_t); }

   private:
    [[nodiscard]] std::size_t home(std::uint32_t key) const {
        return static_cast<std::size_t>((key * 0x9e3779b97f4a7c15ULL) >> 32U) & (table_.size() - 1);
    }
    template <class KeyOf>
    [[nodiscard]] std::size_t place_of(std::uint32_t key, KeyOf key_of) const {
        std::size_t place = home(key);
        while (table_[place] != none && key_of(table_[place]) != key) place = (place + 1) & (table_.size() - 1);
        return place;
    }
    template <class KeyOf>
    void grow(KeyOf key_of) {
        const std::vector<std::uint32_t> old = std::move(table_);
        table_.assign(old.empty() ? 16 : old.size() * 2, none);
        for (const std::uint32_t slot : old)
            if (slot != none) table_[place_of(key_of(slot), key_of)] = slot;
    }

    std::vector<std::uint32_t> table_;
    std::size_t size_ = 0;
};

}  // namespace cotrain::watch
