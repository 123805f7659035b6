// Six bits at a time.
#include "serve/base64url.hpp"

#include <cstdint>

namespace cotrain::serve {

namespace {

int value_of(char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    if (c == '-') return 62;
    return c == '_' ? 63 : -1;
}

}  // namespace

std::optional<std::string> decode_base64url(std::string_view text) {
    if (text.size() % 4 == 1) return std::nullopt;
    std::string out;
    out.reserve(text.size() * 3 / 4);
    std::uint32_t bits = 0;
    int have = 0;
    for (const char c : text) {
        const int value = value_of(c);
        if (value < 0) return std::nullopt;
        bits = bits << 6U | static_cast<std::uint32_t>(value);
        have += 6;
        if (have < 8) continue;
        have -= 8;
        out += static_cast<char>(bits >> static_cast<unsigned>(have) & 0xFFU);
        bits &= (1U << static_cast<unsigned>(have)) - 1U;
    }
    if (bits != 0) return std::nullopt;
    return out;
}

}  // namespace cotrain::serve
