// UUIDs to numbers and back.
#include "watch/uid.hpp"

#include <bit>
#include <cstring>
#include <optional>

namespace cotrain::watch {

namespace {

constexpr std::uint64_t is_text = ~std::uint64_t{0};

constexpr std::size_t uuid_bytes = 36;

bool dash_at(std::size_t i) { return i == 8 || i == 13 || i == 18 || i == 23; }

// Eight hexadecimal digits at once, a byte each; clears `good` if one is none, or is upper case.
std::uint64_t eight_digits(const char* head, const char* tail, bool& good) {
    constexpr std::uint64_t each = 0x0101010101010101ULL;
    char text[8];
    std::memcpy(text, head, 4);
    std::memcpy(text + 4, tail, 4);
    std::uint64_t w = 0;
    std::memcpy(&w, text, 8);
    if constexpr (std::endian::native == std::endian::little) w = std::byteswap(w);
    const std::uint64_t letter = w >> 6U & each;  // of '0' to '9' it is 0, of 'a' to 'f' 1
    const std::uint64_t digit = (w & each * 0xF) + letter * 9;
    good = good && (w >> 4U & each * 0xF) == each * 3 + letter * 3  // the upper halves of such bytes
           && ((digit + each * 6) >> 4U & each) == letter           // letters are 10 and more, the others less
           && (digit & each * 0x10) == 0;
    std::uint64_t v = (digit | digit >> 4U) & 0x00FF00FF00FF00FFULL;
    v = (v | v >> 8U) & 0x0000FFFF0000FFFFULL;
    return (v | v >> 16U) & 0xFFFFFFFFULL;
}

// Only the form that to_text() gives back: lower case.
std::optional<uid> parse(std::string_view text) {
    if (text.size() != uuid_bytes) return std::nullopt;
    const char* const p = text.data();
    bool good = p[8] == '-' && p[13] == '-' && p[18] == '-' && p[23] == '-';
    uid out;
    out.high = eight_digits(p, p + 4, good) << 32U;
    out.high |= eight_digits(p + 9, p + 14, good);
    out.low = eight_digits(p + 19, p + 24, good) << 32U;
    out.low |= eight_digits(p + 28, p + 32, good);
    if (!good || out.low == is_text || out.empty()) return std::nullopt;
    return out;
}

}  // namespace

uid make_uid(text_table& texts, std::string_view text) {
    if (text.empty()) return {};
    if (const auto u = parse(text)) return *u;
    return {texts.intern(text), is_text};
}

uid find_uid(const text_table& texts, std::string_view text) {
    if (const auto u = parse(text)) return *u;
    const text_id id = texts.find(text);
    return id == no_text ? uid{} : uid{id, is_text};
}

void release_uid(text_table& texts, uid u) {
    if (u.low == is_text) texts.release(static_cast<text_id>(u.high));
}

std::string to_text(const text_table& texts, uid u) {
    if (u.empty()) return {};
    if (u.low == is_text) return std::string(texts.view(static_cast<text_id>(u.high)));
    char text[uuid_bytes];
    std::size_t at = 0;
    for (const std::uint64_t word : {u.high, u.low}) {
        for (unsigned shift = 64; shift != 0; shift -= 4) {
            if (dash_at(at)) text[at++] = '-';
            text[at++] = "0123456789abcdef"[word >> (shift - 4) & 0xFU];
        }
    }
    return {text, sizeof text};
}

}  // namespace cotrain::watch
