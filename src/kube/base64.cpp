// Decoding and encoding of base64, six bits at a time.
#include "kube/base64.hpp"

#include <cstdint>

namespace cotrain::kube {

namespace {

constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

int value_of(char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    if (c == '+') return 62;
    return c == '/' ? 63 : -1;
}

bool blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

}  // namespace

std::optional<std::string> decode_base64(std::string_view text) {
    std::string bytes;
    bytes.reserve(text.size() / 4 * 3);
    std::uint32_t bits = 0;
    unsigned held = 0;     // bits in `bits`
    unsigned symbols = 0;  // padding included
    unsigned padding = 0;
    for (const char c : text) {
        if (blank(c)) continue;
        ++symbols;
        if (c == '=') {
            if (++padding > 2) return std::nullopt;
            continue;
        }
        const int value = value_of(c);
        if (value < 0 || padding != 0) return std::nullopt;
        bits = (bits << 6U | static_cast<std::uint32_t>(value)) & 0xFFFFFFU;
        held += 6;
        if (held < 8) continue;
        held -= 8;
        bytes += static_cast<char>(bits >> held & 0xFFU);
    }
    // Two symbols of padding stand for four spare bits, one for two.
    if (symbols % 4 != 0 || held != padding * 2) return std::nullopt;
    return bytes;
}

std::string encode_base64(std::string_view bytes) {
    std::string text;
    text.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        const std::size_t n = std::min<std::size_t>(3, bytes.size() - i);
        std::uint32_t bits = 0;
        for (std::size_t k = 0; k < 3; ++k) bits = bits << 8U | (k < n ? static_cast<unsigned char>(bytes[i + k]) : 0U);
        for (std::size_t k = 0; k < 4; ++k) text += k <= n ? alphabet[bits >> (18 - 6 * k) & 0x3FU] : '=';
    }
    return text;
}

}  // namespace cotrain::kube
