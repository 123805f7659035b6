#include "api/snapshot_hash.hpp"

#include <openssl/sha.h>

#include <array>

namespace cotrain::api {

std::string snapshot_hash(std::string_view text) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::array<unsigned char, SHA256_DIGEST_LENGTH> bytes{};
    SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), bytes.data());
    std::string out;
    out.reserve(2 * bytes.size());
    for (const unsigned char b : bytes) {
        out += digits[b >> 4U];
        out += digits[b & 0xFU];
    }
    return out;
}

}  // namespace cotrain::api
