// Resolving YAML scalars as go-yaml v2 does: what kubectl reads as a number, a boolean or null.
#include "doc/yaml_resolve.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include "base/encoding.hpp"
#include "base/error.hpp"
#include "doc/text_scan.hpp"

namespace cotrain::doc {

namespace {

struct word {
    std::string_view text;
    char meaning;  // t, f, n: true, false, null; x: a float without JSON form
};
constexpr std::array words{
    word{"y", 't'},     word{"Y", 't'},     word{"yes", 't'},   word{"Yes", 't'},   word{"YES", 't'},
    word{"true", 't'},  word{"True", 't'},  word{"TRUE", 't'},  word{"on", 't'},    word{"On", 't'},
    word{"ON", 't'},    word{"n", 'f'},     word{"N", 'f'},     word{"no", 'f'},    word{"No", 'f'},
    word{"NO", 'f'},    word{"false", 'f'}, word{"False", 'f'}, word{"FALSE", 'f'}, word{"off", 'f'},
    word{"Off", 'f'},   word{"OFF", 'f'},   word{"~", 'n'},     word{"null", 'n'},  word{"Null", 'n'},
    word{"NULL", 'n'},  word{".nan", 'x'},  word{".NaN", 'x'},  word{".NAN", 'x'},  word{".inf", 'x'},
    word{".Inf", 'x'},  word{".INF", 'x'},  word{"+.inf", 'x'}, word{"+.Inf", 'x'}, word{"+.INF", 'x'},
    word{"-.inf", 'x'}, word{"-.Inf", 'x'}, word{"-.INF", 'x'}};

constexpr std::size_t word_bytes_max = 5;
constexpr std::size_t number_bytes_max = 512;  // longer digits are text

char meaning_of(std::string_view text) {
    if (text.empty()) return 'n';
    if (text.size() > word_bytes_max) return 0;
    const auto* const found = std::ranges::find(words, text, &word::text);
    return found == words.end() ? '\0' : found->meaning;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

ref number(arena& memory, std::string_view digits) { return ref::make_number(memory.copy(digits)); }

// Digits of a base up to 64 bits; nothing else.
std::optional<std::uint64_t> magnitude(std::string_view digits, int base) {
    std::uint64_t n = 0;
    const char* const end = digits.data() + digits.size();
    const auto [stop, problem] = std::from_chars(digits.data(), end, n, base);
    if (digits.empty() || problem != std::errc() || stop != end) return std::nullopt;
    return n;
}

// Go's integer literals: 12, 0x1F, 0o17, 017, 0b11, with a sign.
std::optional<ref> integer(arena& memory, std::string_view text) {
    std::string_view digits = text;
    const bool negative = digits.starts_with('-');
    if (negative || digits.starts_with('+')) digits.remove_prefix(1);
    int base = 10;
    if (digits.size() > 1 && digits[0] == '0') {
        const char mark = static_cast<char>(digits[1] | 0x20);
        base = mark == 'x' ? 16 : mark == 'b' ? 2 : 8;
        digits.remove_prefix(base == 8 && mark != 'o' ? 1 : 2);
    }
    const auto n = magnitude(digits, base);
    if (!n || (negative && *n > 1ULL << 63U)) return std::nullopt;
    std::array<char, 24> out{};
    char* to = out.data();
    if (negative && *n != 0) *to++ = '-';
    const auto end = std::to_chars(to, out.data() + out.size(), *n);
    const std::string_view canonical(out.data(), static_cast<std::size_t>(end.ptr - out.data()));
    return canonical == text ? ref::make_number(text) : number(memory, canonical);
}

// [sign] digits [. digits] [exponent], digits on at least one side of the point; as JSON writes it.
std::optional<ref> floating(arena& memory, std::string_view text) {
    std::string json;
    std::size_t i = 0;
    const auto digits = [&] {
        const std::size_t from = i;
        while (i < text.size() && is_digit(text[i])) ++i;
        return text.substr(from, i - from);
    };
    if (i < text.size() && (text[i] == '-' || text[i] == '+')) {
        if (text[i] == '-') json += '-';
        ++i;
    }
    std::string_view whole = digits();
    std::string_view fraction;
    if (i < text.size() && text[i] == '.') {
        ++i;
        fraction = digits();
    }
    if (whole.empty() && fraction.empty()) return std::nullopt;
    while (whole.size() > 1 && whole[0] == '0') whole.remove_prefix(1);
    json += whole.empty() ? std::string_view("0") : whole;
    if (!fraction.empty()) json.append(".").append(fraction);
    if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
        json += text[i++];
        if (i < text.size() && (text[i] == '-' || text[i] == '+')) json += text[i++];
        const std::string_view exponent = digits();
        if (exponent.empty()) return std::nullopt;
        json += exponent;
    }
    if (i != text.size()) return std::nullopt;
    double value = 0;
    const auto [end, problem] = base::from_chars(json.data(), json.data() + json.size(), value);
    const bool too_large = problem == std::errc::result_out_of_range && json.find("e-") == std::string::npos &&
                           json.find("E-") == std::string::npos;
    if (too_large) return std::nullopt;
    if (json == "-0") json = "0";  // written like that it is an integer, and those lose the sign
    return json == text ? ref::make_number(text) : number(memory, json);
}

std::optional<ref> binary_quirk(arena& memory, std::string_view text) {
    // go-yaml takes a sign after the prefix, too: 0b-1.
    if (!text.starts_with("0b-") && !text.starts_with("0b+")) return std::nullopt;
    std::string moved(1, text[2]);
    moved.append("0b").append(text.substr(3));
    return integer(memory, moved);
}

// A number that starts with a digit, a sign or a point.
std::optional<ref> to_number(arena& memory, std::string_view text) {
    if (text.size() > number_bytes_max) return std::nullopt;
    std::string without;
    if (text.find('_') != std::string_view::npos) {
        without = text;
        std::erase(without, '_');
        text = memory.copy(without);
    }
    if (text.empty()) return std::nullopt;
    if (text[0] != '.') {
        if (auto n = integer(memory, text)) return n;
    }
    if (auto n = floating(memory, text)) return n;
    return binary_quirk(memory, text);
}

// What untagged plain text means.
std::optional<ref> plain_meaning(arena& memory, std::string_view text, std::string& problem) {
    switch (meaning_of(text)) {
        case 't': return ref::make_bool(true);
        case 'f': return ref::make_bool(false);
        case 'n': return ref::make_null();
        case 'x': problem = std::string(text) + " has no JSON form"; return std::nullopt;
        default: break;
    }
    const char c = text[0];
    if (is_digit(c) || c == '-' || c == '+' || c == '.') {
        if (auto n = to_number(memory, text)) return n;
    }
    return ref::make_string(text);
}

bool fits(yaml_tag tag, ref value) {
    switch (tag) {
        case yaml_tag::integer: return value.is_number() && value.text().find_first_of(".eE") == std::string_view::npos;
        case yaml_tag::floating: return value.is_number();
        case yaml_tag::boolean: return value.is_bool();
        case yaml_tag::null: return value.is_null();
        default: return true;
    }
}

std::string_view tag_name(yaml_tag tag) {
    constexpr std::array<std::string_view, 8> names{"", "str", "int", "float", "bool", "null", "binary", ""};
    return names[static_cast<std::size_t>(tag)];
}

// Go's shortest form of a float32, which is what a float becomes as a key.
std::string float_key(double value) {
    std::array<char, 40> text{};
    const auto f = static_cast<float>(value);
    int precision = 0;
    do {
        (void)std::snprintf(text.data(), text.size(), "%.*e", precision, static_cast<double>(f));
    } while (std::strtof(text.data(), nullptr) != f && ++precision < 9);
    std::string shortest(text.data());
    const std::size_t mark = shortest.find('e');
    const int exponent = std::atoi(shortest.c_str() + mark + 1);
    constexpr int exponent_min = -4;
    constexpr int exponent_end = 6;
    if (exponent < exponent_min || exponent >= exponent_end) return shortest;
    (void)std::snprintf(text.data(), text.size(), "%.*f", std::max(0, precision - exponent), static_cast<double>(f));
    return text.data();
}

}  // namespace

yaml_tag yaml_tag_named(std::string_view name) {
    for (const yaml_tag tag : {yaml_tag::string, yaml_tag::integer, yaml_tag::floating, yaml_tag::boolean,
                               yaml_tag::null, yaml_tag::binary}) {
        if (tag_name(tag) == name) return tag;
    }
    return yaml_tag::other;
}

std::optional<ref> resolve_yaml(arena& memory, yaml_tag tag, std::string_view text, bool plain, std::string& problem) {
    if (tag == yaml_tag::string || tag == yaml_tag::other || (tag == yaml_tag::none && !plain)) {
        return ref::make_string(text);
    }
    if (tag == yaml_tag::binary) {
        const auto decoded = base::decode_base64(text);
        if (decoded && is_utf8(*decoded)) return ref::make_string(memory.copy(*decoded));
        problem = "!!binary holds something else than text in base64";
        return std::nullopt;
    }
    auto value = plain_meaning(memory, text, problem);
    if (value && !fits(tag, *value)) {
        problem = base::one_line(text, 40) + " is no !!" + std::string(tag_name(tag));
        return std::nullopt;
    }
    return value;
}

std::optional<ref> yaml_key(arena& memory, ref key) {
    switch (key.type()) {
        case kind::string: return key;
        case kind::boolean: return ref::make_plain_string(*key.as_bool() ? "true" : "false");
        case kind::number: break;
        default: return std::nullopt;
    }
    if (key.text().find_first_of(".eE") == std::string_view::npos) return ref::make_plain_string(key.text());
    // What a float32 cannot hold keeps its digits; Go would call every such key ".inf".
    const auto number = key.as_double();
    if (!number || std::abs(*number) > std::numeric_limits<float>::max()) return ref::make_plain_string(key.text());
    return ref::make_plain_string(memory.copy(float_key(*number)));
}

}  // namespace cotrain::doc
