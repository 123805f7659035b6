// Looking through text quickly: what JSON may print as it is, and what is UTF-8.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace cotrain::api {

// Length of the valid UTF-8 sequence at `p`, or 0. No surrogates, no overlong forms, nothing above U+10FFFF.
[[nodiscard]] std::size_t utf8_sequence(const char* p, const char* end);
[[nodiscard]] bool is_utf8(std::string_view text);
// Writes a code point (below U+110000) and returns the end.
[[nodiscard]] char* put_utf8(char* out, std::uint32_t code_point);

namespace detail {

// Per byte of `w`, the high bit set where JSON needs a look: quote, backslash, control, non-ASCII.
[[nodiscard]] inline std::uint64_t special_bytes(std::uint64_t w) {
    constexpr std::uint64_t ones = 0x0101010101010101ULL;
    constexpr std::uint64_t high = ones << 7U;
    const auto zero = [](std::uint64_t x) { return (x - ones) & ~x & high; };
    const std::uint64_t control = (w - ones * 0x20) & ~w & high;
    return zero(w ^ (ones * '"')) | zero(w ^ (ones * '\\')) | control | (w & high);
}

}  // namespace detail

// The first byte in [p, end) that JSON cannot print as it is or that is not ASCII; `end` if there is none.
[[nodiscard]] inline const char* find_special(const char* p, const char* end) {
    while (end - p >= 8) {
        std::uint64_t w = 0;
        std::memcpy(&w, p, 8);
        if constexpr (std::endian::native == std::endian::big) w = std::byteswap(w);
        // Borrows reach only bytes above a hit, so the lowest hit is exact.
        if (const std::uint64_t hit = detail::special_bytes(w); hit != 0) return p + std::countr_zero(hit) / 8;
        p += 8;
    }
    for (; p != end; ++p) {
        const auto c = static_cast<unsigned char>(*p);
        if (c < 0x20 || c == '"' || c == '\\' || c >= 0x80) return p;
    }
    return end;
}

// Where a byte is, for people: both count from 1, columns count characters.
struct text_position {
    std::size_t line = 1;
    std::size_t column = 1;
};
[[nodiscard]] text_position position_of(std::string_view text, std::size_t offset);

}  // namespace cotrain::api
