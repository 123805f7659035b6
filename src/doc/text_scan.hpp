// Looking through text: what JSON may print as it is, and what is UTF-8.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cotrain::doc {

// Length of the valid UTF-8 sequence at `p`, or 0. No surrogates, no overlong forms, nothing above U+10FFFF.
[[nodiscard]] std::size_t utf8_sequence(const char* p, const char* end);
[[nodiscard]] bool is_utf8(std::string_view text);
// Writes a code point (below U+110000) and returns the end.
[[nodiscard]] char* put_utf8(char* out, std::uint32_t code_point);

// Whether JSON prints a byte as it is: no quote, no backslash, no control byte, and ASCII.
inline constexpr auto plain_bytes = [] {
    std::array<bool, 256> plain{};
    for (std::size_t c = 0x20; c < 0x80; ++c) plain[c] = c != '"' && c != '\\';
    return plain;
}();

// The first other byte in [p, end); `end` if there is none.
[[nodiscard]] inline const char* find_special(const char* p, const char* end) {
    while (p != end && plain_bytes[static_cast<unsigned char>(*p)]) ++p;
    return p;
}

// Where a byte is, for people: both count from 1, columns count characters.
struct text_position {
    std::size_t line = 1;
    std::size_t column = 1;
};
[[nodiscard]] text_position position_of(std::string_view text, std::size_t offset);

}  // namespace cotrain::doc
