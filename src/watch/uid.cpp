// UUIDs to numbers and back.
#include "watch/uid.hpp"

#include <optional>

namespace cotrain::watch {

namespace {

constexpr std::uint64_t is_text = ~std::uint64_t{0};

constexpr std::size_t uuid_bytes = 36;

bool dash_at(std::size_t i) { return i == 8 || i == 13 || i == 18 || i == 23; }

// Only the form that to_text() gives back: lower case.
std::optional<uid> parse(std::string_view text) {
    if (text.size() != uuid_bytes) return std::nullopt;
    std::uint64_t words[2] = {0, 0};
    unsigned digits = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (dash_at(i)) {
            if (c != '-') return std::nullopt;
            continue;
        }
        unsigned digit = 0;
        if (c >= '0' && c <= '9')
            digit = static_cast<unsigned>(c - '0');
        else if (c >= 'a' && c <= 'f')
            digit = static_cast<unsigned>(c - 'a') + 10;
        else
            return std::nullopt;
        std::uint64_t& word = words[digits++ / 16];
        word = word << 4U | digit;
    }
    if (words[1] == is_text || (words[0] == 0 && words[1] == 0)) return std::nullopt;
    return uid{words[0], words[1]};
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
