// Texts kept once each, counted, in small blocks: what many objects have in common, and their names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace cotrain::watch {

using text_id = std::uint32_t;
inline constexpr text_id no_text = 0;  // also the empty text

// Longer texts are cut: far above every name, label and reason that the API allows.
inline constexpr std::size_t text_bytes_max = 4096;

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
    static constexpr unsigned classes = (sizeof(head) + text_bytes_max) / unit + 1;

    struct size_class {
        text_id free = no_text;
        text_id next = no_text;  // behind the last block cut from its page
        std::uint32_t left = 0;  // units left there
    };
    [[nodiscard]] head* at(text_id id) const;
    [[nodiscard]] text_id allocate(std::size_t units);
    [[nodiscard]] std::size_t home(std::uint64_t hash) const { return hash & (slots_.size() - 1); }
    [[nodiscard]] std::size_t place_of(std::string_view text, std::uint64_t hash) const;
    void grow();

    std::vector<std::unique_ptr<char[]>> pages_;
    std::vector<size_class> classes_;
    std::vector<text_id> slots_;  // open addressing, no_text is empty
    std::size_t size_ = 0;
};

// A quick hash of bytes, for tables and for noticing changes; not for strangers' keys.
[[nodiscard]] std::uint64_t hash_bytes(std::string_view bytes, std::uint64_t seed = 0);

}  // namespace cotrain::watch
