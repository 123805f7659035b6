// What each regular expression and format of the schemas means, in linear time.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <optional>

#include "api/schema/rules.hpp"

namespace cotrain::api::schema {
namespace {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_lower_alnum(char c) { return is_digit(c) || (c >= 'a' && c <= 'z'); }
constexpr bool is_alpha(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
constexpr bool is_alnum(char c) { return is_digit(c) || is_alpha(c); }

// Removes what `accepted` takes from the front of `text` and returns how much that was.
template <class P>
std::size_t take(std::string_view& text, P accepted) {
    const auto end = std::ranges::find_if_not(text, accepted);
    const auto count = static_cast<std::size_t>(end - text.begin());
    text.remove_prefix(count);
    return count;
}

bool take_one(std::string_view& text, std::string_view any_of) {
    if (text.empty() || !any_of.contains(text.front())) return false;
    text.remove_prefix(1);
    return true;
}

bool take_decimal(std::string_view& text) {
    take_one(text, "+-");
    const std::size_t whole = take(text, is_digit);
    const std::size_t fraction = take_one(text, ".") ? take(text, is_digit) : 0;
    return whole + fraction > 0;
}

bool is_quantity(std::string_view text) {
    if (!take_decimal(text)) return false;
    if (text.empty()) return true;
    if (text.size() == 2 && text[1] == 'i') return std::string_view{"KMGTPE"}.contains(text[0]);
    if (text.size() == 1) return std::string_view{"numkMGTPE"}.contains(text[0]);
    return take_one(text, "eE") && take_decimal(text) && text.empty();
}

bool is_dns_subdomain(std::string_view text) {
    while (true) {
        const std::size_t dot = text.find('.');
        const std::string_view label = text.substr(0, dot);
        const auto inner = [](char c) { return is_lower_alnum(c) || c == '-'; };
        if (label.empty() || label.front() == '-' || label.back() == '-' || !std::ranges::all_of(label, inner))
            return false;
        if (dot == std::string_view::npos) return true;
        text.remove_prefix(dot + 1);
    }
}

bool is_condition_type(std::string_view text) {
    if (const std::size_t slash = text.find('/'); slash != std::string_view::npos) {
        if (!is_dns_subdomain(text.substr(0, slash))) return false;
        text.remove_prefix(slash + 1);
    }
    const auto inner = [](char c) { return is_alnum(c) || c == '-' || c == '_' || c == '.'; };
    return !text.empty() && is_alnum(text.front()) && is_alnum(text.back()) && std::ranges::all_of(text, inner);
}

bool is_condition_reason(std::string_view text) {
    const auto inner = [](char c) { return is_alnum(c) || c == '_' || c == ',' || c == ':'; };
    return !text.empty() && is_alpha(text.front()) && (is_alnum(text.back()) || text.back() == '_') &&
           std::ranges::all_of(text, inner);
}

bool is_process_count(std::string_view text) {
    if (text == "auto" || text == "cpu" || text == "gpu") return true;
    constexpr std::size_t digits_max = 10;
    return !text.empty() && text.size() <= digits_max && text.front() != '0' && std::ranges::all_of(text, is_digit);
}

constexpr std::array patterns{
    text_pattern{quantity_pattern, is_quantity},
    text_pattern{condition_type_pattern, is_condition_type},
    text_pattern{condition_reason_pattern, is_condition_reason},
    text_pattern{process_count_pattern, is_process_count},
};

// Exactly `digits` of them as a number.
std::optional<int> take_number(std::string_view& text, std::size_t digits) {
    if (text.size() < digits || !std::ranges::all_of(text.substr(0, digits), is_digit)) return std::nullopt;
    int number = 0;
    for (const char c : text.substr(0, digits)) number = number * 10 + (c - '0');
    text.remove_prefix(digits);
    return number;
}

bool is_date(std::string_view text) {
    const auto year = take_number(text, 4);
    if (!year || !take_one(text, "-")) return false;
    const auto month = take_number(text, 2);
    if (!month || !take_one(text, "-")) return false;
    const auto day = take_number(text, 2);
    if (!day || !text.empty()) return false;
    return (std::chrono::year{*year} / *month / *day).ok();
}

bool is_zone(std::string_view text) {
    if (take_one(text, "zZ")) return text.empty();
    return take_one(text, "+-") && take_number(text, 2) && take_one(text, ":") && take_number(text, 2) && text.empty();
}

}  // namespace

std::span<const text_pattern> known_patterns() { return patterns; }

const text_pattern* find_pattern(std::string_view text) {
    const auto found = std::ranges::find(patterns, text, &text_pattern::text);
    return found == patterns.end() ? nullptr : &*found;
}

bool is_date_time(std::string_view text) {
    const std::size_t split = text.find_first_of("tT");
    if (split == std::string_view::npos || !is_date(text.substr(0, split))) return false;
    std::string_view time = text.substr(split + 1);
    const auto hour = take_number(time, 2);
    if (!hour || *hour > 23 || !take_one(time, ":")) return false;
    const auto minute = take_number(time, 2);
    if (!minute || *minute > 59 || !take_one(time, ":")) return false;
    const auto second = take_number(time, 2);
    if (!second || *second > 59) return false;
    if (take_one(time, ".,") && take(time, is_digit) == 0) return false;
    return is_zone(time);
}

std::size_t count_characters(std::string_view text) {
    const auto starts = [](char c) { return (static_cast<std::uint8_t>(c) & 0xC0U) != 0x80U; };
    return static_cast<std::size_t>(std::ranges::count_if(text, starts));
}

}  // namespace cotrain::api::schema
