// Escaping of JSON strings and printing of numbers.
#include "base/json_text.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <iterator>

namespace cotrain::base {

namespace {

// Length of the valid UTF-8 sequence at the start of `s`, or 0.
std::size_t utf8_sequence(std::string_view s) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
    const auto tail = [&](std::size_t i) { return i < s.size() && (byte(i) & 0xC0) == 0x80; };
    const unsigned char b = byte(0);
    if (b < 0x80) return 1;
    if (b >= 0xC2 && b <= 0xDF) return tail(1) ? 2 : 0;
    if (b >= 0xE0 && b <= 0xEF) {
        if (!tail(1) || !tail(2)) return 0;
        if (b == 0xE0 && byte(1) < 0xA0) return 0;
        if (b == 0xED && byte(1) > 0x9F) return 0;
        return 3;
    }
    if (b >= 0xF0 && b <= 0xF4) {
        if (!tail(1) || !tail(2) || !tail(3)) return 0;
        if (b == 0xF0 && byte(1) < 0x90) return 0;
        if (b == 0xF4 && byte(1) > 0x8F) return 0;
        return 4;
    }
    return 0;
}

void append_control(std::string& out, unsigned char c) {
    constexpr char hex[] = "0123456789abcdef";
    switch (c) {
        case '\n': out += "\\n"; return;
        case '\r': out += "\\r"; return;
        case '\t': out += "\\t"; return;
        default:
            out += "\\u00";
            out += hex[c >> 4U];
            out += hex[c & 0xFU];
    }
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
    out += '"';
    while (!text.empty()) {
        std::size_t plain = 0;
        while (plain < text.size()) {
            const auto c = static_cast<unsigned char>(text[plain]);
            if (c < 0x20 || c == '"' || c == '\\' || c >= 0x80) break;
            ++plain;
        }
        out.append(text.substr(0, plain));
        text.remove_prefix(plain);
        if (text.empty()) break;
        const auto c = static_cast<unsigned char>(text[0]);
        std::size_t used = 1;
        if (c == '"' || c == '\\') {
            out += '\\';
            out += text[0];
        } else if (c < 0x20) {
            append_control(out, c);
        } else if (const std::size_t sequence = utf8_sequence(text); sequence != 0) {
            out.append(text.substr(0, sequence));
            used = sequence;
        } else {
            out += "\xEF\xBF\xBD";
        }
        text.remove_prefix(used);
    }
    out += '"';
}

void append_json_number(std::string& out, std::int64_t number) {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, number);
    out.append(digits, end.ptr);
}

void append_json_number(std::string& out, double number) {
    if (!std::isfinite(number)) {
        out += "null";
        return;
    }
    // Not std::to_chars: its tables are 105 KB of a static program.
    fmt::format_to(std::back_inserter(out), "{}", number);
}

}  // namespace cotrain::base
