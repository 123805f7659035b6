// Reads selectors and asks them.
#include "sim/selector.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/cluster.hpp"

namespace cotrain::sim {
namespace {

using relation = requirement::relation;
constexpr std::string_view spaces = " \t";

std::string_view trimmed(std::string_view text) {
    const std::size_t from = text.find_first_not_of(spaces);
    if (from == std::string_view::npos) return {};
    return text.substr(from, text.find_last_not_of(spaces) - from + 1);
}

// At commas outside of parentheses.
std::vector<std::string_view> split(std::string_view text) {
    std::vector<std::string_view> out;
    std::size_t from = 0;
    int depth = 0;
    for (std::size_t i = 0; i <= text.size(); ++i) {
        if (i == text.size() || (text[i] == ',' && depth == 0)) {
            out.push_back(trimmed(text.substr(from, i - from)));
            from = i + 1;
        } else {
            depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
        }
    }
    return out;
}

bool is_word(std::string_view text) {
    return !text.empty() && text.find_first_of(" \t()!=,<>") == std::string_view::npos;
}

// "name=value", "name==value", "name!=value"
bool read_equality(std::string_view text, requirement& out) {
    const std::size_t sign = text.find('=');
    if (sign == std::string_view::npos) return false;
    const bool differs = sign > 0 && text[sign - 1] == '!';
    const bool doubled = sign + 1 < text.size() && text[sign + 1] == '=';
    out.name = trimmed(text.substr(0, sign - (differs ? 1 : 0)));
    out.how = differs ? relation::not_among : relation::among;
    out.values = {std::string{trimmed(text.substr(sign + (doubled ? 2 : 1)))}};
    return is_word(out.name) && (out.values[0].empty() || is_word(out.values[0]));
}

// "name in (a, b)", "name notin (a)"
bool read_membership(std::string_view text, requirement& out) {
    const std::size_t open = text.find('(');
    if (open == std::string_view::npos || text.back() != ')') return false;
    const std::string_view head = trimmed(text.substr(0, open));
    const std::size_t gap = head.find_last_of(spaces);
    if (gap == std::string_view::npos) return false;
    const std::string_view word = head.substr(gap + 1);
    if (word != "in" && word != "notin") return false;
    out.name = trimmed(head.substr(0, gap));
    out.how = word == "in" ? relation::among : relation::not_among;
    for (const std::string_view value : split(text.substr(open + 1, text.size() - open - 2)))
        out.values.emplace_back(value);
    return is_word(out.name);
}

bool read_label(std::string_view text, requirement& out) {
    if (text.empty()) return false;
    if (text.back() == ')') return read_membership(text, out);
    if (text.find('=') != std::string_view::npos) return read_equality(text, out);
    out.how = text.front() == '!' ? relation::absent : relation::exists;
    out.name = trimmed(out.how == relation::absent ? text.substr(1) : text);
    return is_word(out.name);
}

bool holds(const requirement& wanted, const std::string* value) {
    const bool among = value != nullptr && std::ranges::find(wanted.values, *value) != wanted.values.end();
    switch (wanted.how) {
        case relation::exists: return value != nullptr;
        case relation::absent: return value == nullptr;
        case relation::among: return among;
        case relation::not_among: return !among;
    }
    return false;
}

api::ref at_path(api::ref at, std::string_view path) {
    while (!path.empty()) {
        const std::size_t dot = path.find('.');
        at = at.get(path.substr(0, dot));
        path = dot == std::string_view::npos ? std::string_view{} : path.substr(dot + 1);
    }
    return at;
}

// Another kind's form takes what it renames; unknown names then find nothing.
bool is_selectable(const kind& of, const std::string& name) {
    return name == "metadata.name" || name == "metadata.namespace" || of.of_other.has_value() ||
           std::ranges::find(of.selectable, name) != of.selectable.end();
}

}  // namespace

bool all_hold(const std::vector<requirement>& wanted, const label_list& labels) {
    return std::ranges::all_of(wanted, [&](const requirement& each) {
        const auto found = std::ranges::find(labels, each.name, &std::pair<std::string, std::string>::first);
        return holds(each, found == labels.end() ? nullptr : &found->second);
    });
}

bool selector::takes(const record& object) const {
    if (!all_hold(labels, object.labels)) return false;
    api::arena memory;
    api::ref whole;
    const auto field_holds = [&](const requirement& wanted) {
        if (wanted.name == "metadata.name") return holds(wanted, &object.name);
        if (wanted.name == "metadata.namespace") return holds(wanted, &object.ns);
        if (!whole) whole = open(memory, object);
        const api::ref value = at_path(whole, wanted.name);
        const std::string text =
            value.is_bool() ? (value.as_bool(false) ? "true" : "false") : std::string{value.text()};
        return holds(wanted, &text);
    };
    return std::ranges::all_of(fields, field_holds);
}

std::vector<requirement> read_label_selector(api::ref document) {
    std::vector<requirement> out;
    for (const api::member& m : document.get("matchLabels").members())
        out.push_back({std::string{m.key()}, relation::among, {std::string{m.value.as_string()}}});
    for (const api::ref each : document.get("matchExpressions").items()) {
        const std::string_view how = each.get("operator").as_string();
        requirement wanted{std::string{each.get("key").as_string()}, how == "In"       ? relation::among
                                                                     : how == "NotIn"  ? relation::not_among
                                                                     : how == "Exists" ? relation::exists
                                                                                       : relation::absent};
        for (const api::ref value : each.get("values").items()) wanted.values.emplace_back(value.as_string());
        out.push_back(std::move(wanted));
    }
    return out;
}

std::expected<selector, std::string> read_selector(const kind& of, std::string_view labels, std::string_view fields) {
    selector out;
    for (const std::string_view each : labels.empty() ? std::vector<std::string_view>{} : split(labels)) {
        requirement wanted;
        if (!read_label(each, wanted))
            return std::unexpected(fmt::format("unable to parse requirement: found '{}' in the label selector", each));
        out.labels.push_back(std::move(wanted));
    }
    for (const std::string_view each : fields.empty() ? std::vector<std::string_view>{} : split(fields)) {
        requirement wanted;
        if (!read_equality(each, wanted))
            return std::unexpected(fmt::format("invalid selector: '{}'; can't understand '{}'", fields, each));
        if (of.of_other) wanted.name = of.of_other->field(wanted.name);
        if (!is_selectable(of, wanted.name))
            return std::unexpected(fmt::format("field label not supported: {}", wanted.name));
        out.fields.push_back(std::move(wanted));
    }
    if (out.labels.size() + out.fields.size() > selector_requirements_max)
        return std::unexpected(fmt::format("a selector may have at most {} requirements", selector_requirements_max));
    return out;
}

}  // namespace cotrain::sim
