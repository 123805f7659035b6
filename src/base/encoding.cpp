#include "base/encoding.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <glaze/util/fast_float.hpp>
#include <iterator>

namespace cotrain::base {

namespace {

bool in_alphabet(char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '/';
}

const unsigned char* bytes_of(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }
unsigned char* bytes_of(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

}  // namespace

std::string encode_base64(std::string_view bytes) {
    std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');  // OpenSSL ends it with a zero
    const int size = EVP_EncodeBlock(bytes_of(text), bytes_of(bytes), static_cast<int>(bytes.size()));
    text.resize(static_cast<std::size_t>(size));
    return text;
}

std::optional<std::string> decode_base64(std::string_view text) {
    std::string dense;
    dense.reserve(text.size());
    std::ranges::copy_if(text, std::back_inserter(dense),
                         [](char c) { return c != ' ' && c != '\t' && c != '\r' && c != '\n'; });
    // OpenSSL takes padding anywhere, and '-' as an end.
    const std::size_t symbols = std::min(dense.find('='), dense.size());
    const std::size_t padding = dense.size() - symbols;
    if (dense.size() % 4 != 0 || padding > 2 || dense.find_first_not_of('=', symbols) != std::string::npos ||
        !std::ranges::all_of(std::string_view(dense).substr(0, symbols), in_alphabet))
        return std::nullopt;
    std::string bytes(dense.size() / 4 * 3, '\0');
    const int size =
        EVP_DecodeBlock(bytes_of(bytes), bytes_of(std::string_view(dense)), static_cast<int>(dense.size()));
    if (size < 0) return std::nullopt;
    bytes.resize(static_cast<std::size_t>(size) - padding);
    return bytes;
}

std::optional<std::string> decode_base64url(std::string_view text) {
    std::string standard(text);
    for (char& c : standard) {
        if (c == '-' || c == '_')
            c = c == '-' ? '+' : '/';
        else if (c == '+' || c == '/' || !in_alphabet(c))
            return std::nullopt;
    }
    standard.append((4 - standard.size() % 4) % 4, '=');
    auto bytes = decode_base64(standard);
    // Bits that no byte needs have to be zero.
    if (bytes && encode_base64(*bytes) != standard) return std::nullopt;
    return bytes;
}

std::optional<std::string> decode_percent(std::string_view text, bool plus_is_space) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            out += plus_is_space && text[i] == '+' ? ' ' : text[i];
            continue;
        }
        const int high = i + 2 < text.size() ? hex_value(text[i + 1]) : -1;
        const int low = i + 2 < text.size() ? hex_value(text[i + 2]) : -1;
        if (high < 0 || low < 0) return std::nullopt;
        out += static_cast<char>(high * 16 + low);
        i += 2;
    }
    return out;
}

std::from_chars_result from_chars(const char* first, const char* last, double& value) {
    const auto [end, problem] = glz::fast_float::from_chars(first, last, value);
    return {end, problem};
}

}  // namespace cotrain::base
