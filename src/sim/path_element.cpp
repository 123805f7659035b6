// Spells path elements for the wire and for people.
#include "sim/path_element.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "api/json.hpp"

namespace cotrain::sim {
namespace {

struct spelling {
    step what;
    std::string_view prefix;
};
constexpr std::array spellings{spelling{step::field, "f:"}, spelling{step::key, "k:"}, spelling{step::value, "v:"},
                               spelling{step::index, "i:"}};

// Names sorted, numbers in their one spelling; nothing if it is no object.
std::optional<std::string> canonical_keys(api::ref keys) {
    if (!keys.is_object()) return std::nullopt;
    std::vector<std::pair<std::string, std::string>> sorted;
    for (const api::member& m : keys.members()) sorted.emplace_back(m.key(), scalar_text(m.value));
    std::ranges::sort(sorted);
    std::string out = "{";
    for (const auto& [name, text] : sorted) {
        if (out.size() > 1) out += ',';
        out += api::to_json(api::ref::make_string(name)) + ':' + text;
    }
    return out + '}';
}

}  // namespace

std::string scalar_text(api::ref scalar) {
    if (const auto whole = scalar.is_number() ? scalar.as_int() : std::nullopt) return fmt::format("{}", *whole);
    return api::to_json(scalar);
}

std::string to_wire(const path_element& element) {
    for (const spelling& each : spellings) {
        if (each.what == element.what) return std::string{each.prefix} + element.text;
    }
    return {};
}

std::optional<path_element> from_wire(std::string_view text) {
    for (const spelling& each : spellings) {
        if (!text.starts_with(each.prefix)) continue;
        const std::string_view rest = text.substr(each.prefix.size());
        if (each.what == step::field || each.what == step::index) return path_element{each.what, std::string{rest}};
        api::arena memory;
        const auto read = api::parse_json(memory, rest);
        if (!read) return std::nullopt;
        if (each.what == step::value) return path_element{each.what, scalar_text(*read)};
        auto keys = canonical_keys(*read);
        if (!keys) return std::nullopt;
        return path_element{each.what, std::move(*keys)};
    }
    return std::nullopt;
}

std::string to_string(const path_element& element) {
    switch (element.what) {
        case step::field: return "." + element.text;
        case step::index: return "[" + element.text + "]";
        case step::value: return "[=" + element.text + "]";
        case step::key: break;
    }
    api::arena memory;
    const auto keys = api::parse_json(memory, element.text);
    std::string out = "[";
    for (const api::member& m : keys ? keys->members() : std::span<const api::member>{}) {
        if (out.size() > 1) out += ',';
        out += fmt::format("{}={}", m.key(), api::to_json(m.value));
    }
    return out + "]";
}

std::string to_string(const path& whole) {
    std::string out;
    for (const path_element& each : whole) out += to_string(each);
    return out;
}

}  // namespace cotrain::sim
