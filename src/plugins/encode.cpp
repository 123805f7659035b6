// Base64 and Z85.
#include "plugins/encode.hpp"

#include <array>
#include <cstdint>

namespace cotrain::plugins {
namespace {

constexpr std::string_view base64_alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view z85_alphabet =
    "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";

std::uint32_t byte_at(std::string_view bytes, std::size_t i) {
    return i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0;
}

}  // namespace

std::string base64(std::string_view bytes) {
    std::string out;
    out.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        const std::uint32_t three = byte_at(bytes, i) << 16 | byte_at(bytes, i + 1) << 8 | byte_at(bytes, i + 2);
        for (int shift = 18; shift >= 0; shift -= 6) out += base64_alphabet[(three >> shift) & 63];
    }
    if (const std::size_t rest = bytes.size() % 3; rest != 0)
        out.replace(out.size() - (3 - rest), 3 - rest, 3 - rest, '=');
    return out;
}

std::string z85(std::string_view bytes) {
    std::string out;
    out.reserve(bytes.size() / 4 * 5);
    for (std::size_t i = 0; i + 4 <= bytes.size(); i += 4) {
        std::uint32_t four =
            byte_at(bytes, i) << 24 | byte_at(bytes, i + 1) << 16 | byte_at(bytes, i + 2) << 8 | byte_at(bytes, i + 3);
        std::array<char, 5> five{};
        for (std::size_t k = five.size(); k-- > 0; four /= 85) five[k] = z85_alphabet[four % 85];
        out.append(five.data(), five.size());
    }
    return out;
}

}  // namespace cotrain::plugins
