// Bytes as text: base64 (RFC 4648), hexadecimal digits, percent-encoding (RFC 3986); and texts as numbers.
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>

namespace cotrain::base {

// Standard base64 with padding.
[[nodiscard]] std::string encode_base64(std::string_view bytes);
// White space anywhere is skipped; nothing else but the alphabet and correct padding is taken.
[[nodiscard]] std::optional<std::string> decode_base64(std::string_view text);
// Base64 for URLs without padding. Strict: one text for each run of bytes, so that a token has one spelling only.
[[nodiscard]] std::optional<std::string> decode_base64url(std::string_view text);

// The value of a hexadecimal digit of either case; -1 for anything else.
[[nodiscard]] constexpr int hex_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// Nothing if a '%' has no two hexadecimal digits behind it. In queries '+' may mean a space.
[[nodiscard]] std::optional<std::string> decode_percent(std::string_view text, bool plus_is_space = false);

// As std::from_chars, which libc++ has for integers only. Whatever the locale is.
std::from_chars_result from_chars(const char* first, const char* last, double& value);

}  // namespace cotrain::base
