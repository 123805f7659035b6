// UTF-8 and positions in text.
#include "doc/text_scan.hpp"

#include <algorithm>

namespace cotrain::doc {

std::size_t utf8_sequence(const char* p, const char* end) {
    const auto byte = [&](std::ptrdiff_t i) { return static_cast<unsigned char>(p[i]); };
    const auto tail = [&](std::ptrdiff_t i) { return i < end - p && (byte(i) & 0xC0U) == 0x80; };
    if (p == end) return 0;
    const unsigned char b = byte(0);
    if (b < 0x80) return 1;
    if (b >= 0xC2 && b <= 0xDF) return tail(1) ? 2 : 0;
    if (b >= 0xE0 && b <= 0xEF) {
        if (!tail(1) || !tail(2)) return 0;
        const bool overlong = b == 0xE0 && byte(1) < 0xA0;
        const bool surrogate = b == 0xED && byte(1) > 0x9F;
        return overlong || surrogate ? 0 : 3;
    }
    if (b >= 0xF0 && b <= 0xF4) {
        if (!tail(1) || !tail(2) || !tail(3)) return 0;
        const bool overlong = b == 0xF0 && byte(1) < 0x90;
        const bool beyond = b == 0xF4 && byte(1) > 0x8F;
        return overlong || beyond ? 0 : 4;
    }
    return 0;
}

bool is_utf8(std::string_view text) {
    const char* p = text.data();
    const char* const end = p + text.size();
    while (p != end) {
        const std::size_t length = utf8_sequence(p, end);
        if (length == 0) return false;
        p += length;
    }
    return true;
}

char* put_utf8(char* out, std::uint32_t code_point) {
    const auto put = [&](std::uint32_t byte) { *out++ = static_cast<char>(byte); };
    if (code_point < 0x80) {
        put(code_point);
    } else if (code_point < 0x800) {
        put(0xC0U | code_point >> 6U);
        put(0x80U | (code_point & 0x3FU));
    } else if (code_point < 0x10000) {
        put(0xE0U | code_point >> 12U);
        put(0x80U | (code_point >> 6U & 0x3FU));
        put(0x80U | (code_point & 0x3FU));
    } else {
        put(0xF0U | code_point >> 18U);
        put(0x80U | (code_point >> 12U & 0x3FU));
        put(0x80U | (code_point >> 6U & 0x3FU));
        put(0x80U | (code_point & 0x3FU));
    }
    return out;
}

text_position position_of(std::string_view text, std::size_t offset) {
    text_position at;
    const std::string_view before = text.substr(0, std::min(offset, text.size()));
    at.line += static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
    const std::size_t line_break = before.rfind('\n');
    const std::string_view line = line_break == std::string_view::npos ? before : before.substr(line_break + 1);
    at.column += static_cast<std::size_t>(std::count_if(
        line.begin(), line.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80; }));
    return at;
}

}  // namespace cotrain::doc
