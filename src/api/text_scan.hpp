// Looking through text quickly: what JSON may print as it is, and what is UTF-8.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/wraps.hpp"

namespace cotrain::api {

// Length of the valid UTF-8 sequence at `p`, or 0. No surrogates, no overlong forms, nothing above U+10FFFF.
[[nodiscard]] std::size_t utf8_sequence(const char* p, const char* end);
[[nodiscard]] bool is_utf8(std::string_view text);
// Writes a code point (below U+110000) and returns the end.
[[nodiscard]] char* put_utf8(char* out, std::uint32_t code_point);

namespace detail {

// For each of eight bytes at `p`, the first lowest, the high bit set where JSON needs a look: quote, backslash,
// control, non-ASCII.
[[nodiscard]] COTRAIN_WRAPS inline std::uint64_t special_bytes(const char* p) {
    std::uint64_t w = 0;
    std::memcpy(&w, p, sizeof w);
    if constexpr (std::endian::native == std::endian::big) w = std::byteswap(w);
    constexpr std::uint64_t ones = 0x0101010101010101ULL;
    constexpr std::uint64_t high = ones << 7U;
    const auto zero = [](std::uint64_t x) COTRAIN_WRAPS { return (x - ones) & ~x & high; };
    const std::uint64_t control = (w - ones * 0x20) & ~w & high;
    return zero(w ^ (ones * '"')) | zero(w ^ (ones * '\\')) | control | (w & high);
}

}  // namespace detail

// The first byte in [p, end) that JSON cannot print as it is or that is not ASCII; `end` if there is none.
[[nodiscard]] inline const char* find_special(const char* p, const char* end) {
    constexpr std::ptrdiff_t word = sizeof(std::uint64_t);
    const char* const begin = p;
    for (; end - p >= word; p += word) {
        // Borrows reach only bytes above a hit, so the lowest hit is exact.
        if (const std::uint64_t hit = detail::special_bytes(p); hit != 0) return p + std::countr_zero(hit) / 8;
    }
    if (p != begin && p != end) {  // the last word; what is seen again held nothing
        p = end - word;
        const std::uint64_t hit = detail::special_bytes(p);
        return hit == 0 ? end : p + std::countr_zero(hit) / 8;
    }
    for (; p != end; ++p) {
        const auto c = static_cast<unsigned char>(*p);
        if (c < 0x20 || c == '"' || c == '\\' || c >= 0x80) return p;
    }
    return end;
}

namespace detail {

// Whether N bytes at each of two places, read as one word each, are the same.
template <class Word>
[[nodiscard]] inline bool same_word(const char* a, const char* b) {
    Word x{};
    Word y{};
    std::memcpy(&x, a, sizeof x);
    std::memcpy(&y, b, sizeof y);
    return x == y;
}

}  // namespace detail

// Equality of texts. Names of members are short and mostly differ in length: no call then, and few steps.
[[nodiscard]] inline bool same_text(std::string_view left, std::string_view right) {
    const std::size_t size = left.size();
    if (size != right.size()) return false;
    const char* const a = left.data();
    const char* const b = right.data();
    constexpr std::size_t word = sizeof(std::uint64_t);
    constexpr std::size_t half = sizeof(std::uint32_t);
    if (size > 2 * word) return std::memcmp(a, b, size) == 0;
    // Two words that may overlap cover all bytes.
    if (size >= word) {
        return detail::same_word<std::uint64_t>(a, b) &&
               detail::same_word<std::uint64_t>(a + size - word, b + size - word);
    }
    if (size >= half) {
        return detail::same_word<std::uint32_t>(a, b) &&
               detail::same_word<std::uint32_t>(a + size - half, b + size - half);
    }
    for (std::size_t i = 0; i < size; ++i) {
        if (a[i] != b[i]) return false;
    }
    return true;
}

// Copies a text and returns the end; the places do not overlap. Most are short: no call then.
inline char* copy_text(char* to, std::string_view text) {
    const std::size_t size = text.size();
    const char* const from = text.data();
    constexpr std::size_t word = sizeof(std::uint64_t);
    constexpr std::size_t half = sizeof(std::uint32_t);
    if (size > 2 * word) {
        std::memcpy(to, from, size);
    } else if (size >= word) {  // two words that may overlap cover all bytes
        std::memcpy(to, from, word);
        std::memcpy(to + size - word, from + size - word, word);
    } else if (size >= half) {
        std::memcpy(to, from, half);
        std::memcpy(to + size - half, from + size - half, half);
    } else {
        for (std::size_t i = 0; i < size; ++i) to[i] = from[i];
    }
    return to + size;
}

// Where a byte is, for people: both count from 1, columns count characters.
struct text_position {
    std::size_t line = 1;
    std::size_t column = 1;
};
[[nodiscard]] text_position position_of(std::string_view text, std::size_t offset);

}  // namespace cotrain::api
