// Checks of names and labels.
#include "api/validation.hpp"

#include <algorithm>

namespace cotrain::api {

namespace {

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_alnum(char c) { return is_lower(c) || is_digit(c) || (c >= 'A' && c <= 'Z'); }
bool is_lower_alnum(char c) { return is_lower(c) || is_digit(c); }

std::string too_long(std::size_t bytes_max) { return "must be no more than " + std::to_string(bytes_max) + " bytes"; }

// Characters of `inner` between two that satisfy `outer`.
template <class Outer>
bool well_formed(std::string_view text, Outer outer, std::string_view inner) {
    if (text.empty() || !outer(text.front()) || !outer(text.back())) return false;
    return std::ranges::all_of(text, [&](char c) { return outer(c) || inner.find(c) != std::string_view::npos; });
}

constexpr std::string_view label_rule =
    "must be a lowercase RFC 1123 label: 'a' to 'z', digits and '-', with a letter or digit at both ends (like "
    "'my-name' or '123-abc')";
constexpr std::string_view subdomain_rule =
    "must be a lowercase RFC 1123 subdomain: labels of 'a' to 'z', digits and '-' with a letter or digit at both ends, "
    "separated by '.' (like 'example.com')";
constexpr std::string_view name_rule =
    "must have letters, digits, '-', '_' and '.', with a letter or digit at both ends (like 'MyName', 'my.name' or "
    "'123-abc')";

bool is_subdomain(std::string_view text) {
    while (true) {
        const std::size_t dot = text.find('.');
        if (!well_formed(text.substr(0, dot), is_lower_alnum, "-")) return false;
        if (dot == std::string_view::npos) return true;
        text.remove_prefix(dot + 1);
    }
}

faults one(bool bad, std::string_view message) { return bad ? faults{std::string(message)} : faults{}; }

faults with_length(std::string_view text, std::size_t bytes_max, faults list) {
    if (text.size() > bytes_max) list.insert(list.begin(), too_long(bytes_max));
    return list;
}

}  // namespace

faults check_dns1123_label(std::string_view text) {
    return with_length(text, dns_label_bytes_max, one(!well_formed(text, is_lower_alnum, "-"), label_rule));
}

faults check_dns1123_subdomain(std::string_view text) {
    return with_length(text, dns_subdomain_bytes_max, one(!is_subdomain(text), subdomain_rule));
}

faults check_qualified_name(std::string_view text) {
    faults list;
    const std::size_t slash = text.find('/');
    std::string_view name = text;
    if (slash != std::string_view::npos) {
        const std::string_view prefix = text.substr(0, slash);
        name = text.substr(slash + 1);
        if (name.find('/') != std::string_view::npos) {
            return {"must be a name with an optional DNS subdomain prefix and one '/' (like 'example.com/MyName')"};
        }
        if (prefix.empty()) list.emplace_back("prefix part must be non-empty");
        if (!prefix.empty()) {
            for (const std::string& fault : check_dns1123_subdomain(prefix)) list.push_back("prefix part " + fault);
        }
    }
    if (name.empty()) list.emplace_back("name part must be non-empty");
    if (name.size() > qualified_name_bytes_max) list.push_back("name part " + too_long(qualified_name_bytes_max));
    if (!well_formed(name, is_alnum, "-_.")) list.push_back("name part " + std::string(name_rule));
    return list;
}

faults check_label_value(std::string_view text) {
    if (text.empty()) return {};
    return with_length(
        text, label_value_bytes_max,
        one(!well_formed(text, is_alnum, "-_."), "must be empty or " + std::string(name_rule.substr(5))));
}

faults check_domain_prefixed_path(std::string_view text) {
    const std::size_t slash = text.find('/');
    if (slash == std::string_view::npos || slash == 0 || slash + 1 == text.size()) {
        return {"must be a domain-prefixed path (such as \"acme.io/foo\")"};
    }
    faults list = check_dns1123_subdomain(text.substr(0, slash));
    const std::string_view path = text.substr(slash + 1);
    constexpr std::string_view allowed = "/-._~%!$&'()*+,;=:";
    const bool good =
        std::ranges::all_of(path, [&](char c) { return is_alnum(c) || allowed.find(c) != std::string_view::npos; });
    if (!good) list.emplace_back("must have a path of letters, digits and " + std::string(allowed) + " after the '/'");
    return list;
}

std::string join(const faults& list) {
    std::string text;
    for (const std::string& fault : list) {
        if (!text.empty()) text += "; ";
        text += fault;
    }
    return text;
}

}  // namespace cotrain::api
