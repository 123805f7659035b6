// Texts that many objects share, each kept once and known by a number; object uids in 16 bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cotrain::watch {

using text_id = std::uint32_t;
inline constexpr text_id no_text = 0;  // also the empty text

// Longer texts are cut: a reason may have so much, names and condition types less.
inline constexpr std::size_t text_bytes_max = 1024;

// Without memory nothing changes.
class text_table {
   public:
    text_table() = default;
    text_table(const text_table&) = delete;
    text_table& operator=(const text_table&) = delete;

    // One more use of this text.
    [[nodiscard]] text_id intern(std::string_view text);
    // Its id if it is in use; no_text otherwise.
    [[nodiscard]] text_id find(std::string_view text) const;
    // Valid while the text is in use.
    [[nodiscard]] std::string_view view(text_id id) const;
    void retain(text_id id);
    void release(text_id id);

    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] std::size_t memory_bytes() const;

   private:
    // A block: this, then the bytes.
    struct head {
        std::uint32_t uses;  // of a free block: the next free one
        std::uint16_t bytes;
        std::uint16_t tag;  // of the hash: most mismatches show here
    };
    static constexpr std::size_t unit = 8;
    static constexpr std::size_t page_bytes = 64UL * 1024;
    static constexpr unsigned page_bits = 13;  // units of a page
    static constexpr std::uint32_t page_units = 1U << page_bits;
    static constexpr std::uint32_t no_page = ~0U;
    static constexpr unsigned sizes = (sizeof(head) + text_bytes_max + unit - 1) / unit + 1;

    // Blocks of one size. A page without texts goes back to the heap, but for one of each size: texts of many sizes
    // that come and go in turn must not add up.
    struct page {
        std::unique_ptr<char[]> bytes{};
        text_id free = no_text;
        std::uint32_t cut = 0;  // units of which blocks have been made
        std::uint32_t units = 0;
        std::uint32_t used = 0;
        std::uint32_t before = no_page;  // of the pages of this size that have room
        std::uint32_t after = no_page;

        [[nodiscard]] bool has_room() const { return free != no_text || cut + units <= page_units; }
    };
    [[nodiscard]] head* at(text_id id) const;
    [[nodiscard]] text_id allocate(std::uint32_t units);
    void give_back(text_id id);
    [[nodiscard]] std::uint32_t new_page(std::uint32_t units);
    void link(std::uint32_t number);
    void unlink(std::uint32_t number);
    [[nodiscard]] std::size_t home(std::uint64_t hash) const { return hash & (slots_.size() - 1); }
    [[nodiscard]] std::size_t place_of(std::string_view text, std::uint64_t hash) const;
    void grow();

    std::vector<page> pages_;
    std::vector<std::uint32_t> empty_;      // numbers of pages without memory
    std::vector<std::uint32_t> with_room_;  // the first such page of each size
    std::vector<text_id> slots_;            // open addressing, no_text is empty
    std::size_t size_ = 0;
};

// One use of a text, given back unless somebody takes it over.
class text_use {
   public:
    text_use(text_table& texts, text_id id) : texts_(texts), id_(id) {}
    ~text_use() { texts_.release(id_); }
    text_use(const text_use&) = delete;
    text_use& operator=(const text_use&) = delete;

    [[nodiscard]] text_id id() const { return id_; }
    // Of nothing so far: one more use of that text.
    void retain(text_id id) {
        texts_.retain(id);
        id_ = id;
    }
    // Instead of another use, which is given back.
    void put_into(text_id& place) { std::swap(id_, place); }

   private:
    text_table& texts_;
    text_id id_;
};

// A quick hash of bytes, for tables and for noticing changes; not for strangers' keys.
[[nodiscard]] std::uint64_t hash_bytes(std::string_view bytes, std::uint64_t seed = 0);

// --- uids ----------------------------------------------------------------------------------------------------------

struct uid {
    std::uint64_t high = 0;
    std::uint64_t low = 0;  // all ones: `high` is a text

    [[nodiscard]] bool operator==(const uid&) const = default;
    [[nodiscard]] bool empty() const { return high == 0 && low == 0; }
};

// API servers make UUIDs; who writes an owner reference may put any text there, and of that no more is looked at.
inline constexpr std::size_t uid_bytes_max = 64;

// Takes a use of the text if the uid is none of a UUID's shape; release_uid() gives it back.
[[nodiscard]] uid make_uid(text_table& texts, std::string_view text);
// The uid without taking a use; empty if it is a text that is not in use, so equal to no object's.
[[nodiscard]] uid find_uid(const text_table& texts, std::string_view text);
void release_uid(text_table& texts, uid u);
// As text_use.
class uid_use {
   public:
    uid_use(text_table& texts, uid u) : texts_(texts), uid_(u) {}
    ~uid_use() { release_uid(texts_, uid_); }
    uid_use(const uid_use&) = delete;
    uid_use& operator=(const uid_use&) = delete;

    void put_into(uid& place) { std::swap(uid_, place); }

   private:
    text_table& texts_;
    uid uid_;
};
[[nodiscard]] std::string to_text(const text_table& texts, uid u);

}  // namespace cotrain::watch
