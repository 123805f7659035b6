// Every document that differs from a given one in one node: the node is missing, or has a value of another kind.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "doc/json.hpp"
#include "doc/tree.hpp"

namespace cotrain::test {

struct one_change {
    std::string what;  // "/spec/trainer := []"
    std::string json;  // the whole document
};

namespace one_change_detail {

using path = std::vector<std::string>;

// What takes a node's place; the first stands for its removal.
inline constexpr std::array<std::string_view, 10> others{
    {"", "null", "true", "7", "-1.5e300", R"("")", R"("a/b\n")", "[]", "{}", R"([{"x":[null]}])"}};

inline void append_paths(doc::ref at, path& here, std::vector<path>& out) {
    if (!here.empty()) out.push_back(here);
    for (const auto& m : at.members()) {
        here.emplace_back(m.key());
        append_paths(m.value, here, out);
        here.pop_back();
    }
    for (std::size_t i = 0; i < at.items().size(); ++i) {
        here.push_back(std::to_string(i));
        append_paths(at.at(i), here, out);
        here.pop_back();
    }
}

// The JSON of `at` with the node at `where`, from step `depth` on, replaced or left out.
inline std::string changed(doc::ref at, const path& where, std::size_t depth, std::string_view other) {
    if (depth == where.size()) return std::string(other);
    std::string out;
    const auto add = [&](const std::string& label, const std::string& text) {
        if (text.empty()) return;
        if (!out.empty()) out += ',';
        out.append(label).append(text);
    };
    const auto value = [&](const std::string& step, doc::ref below) {
        return step == where[depth] ? changed(below, where, depth + 1, other) : doc::to_json(below);
    };
    if (at.is_object()) {
        for (const auto& m : at.members()) {
            const std::string key(m.key());
            add("\"" + key + "\":", value(key, m.value));
        }
        return "{" + out + "}";
    }
    for (std::size_t i = 0; i < at.items().size(); ++i) add("", value(std::to_string(i), at.at(i)));
    return "[" + out + "]";
}

}  // namespace one_change_detail

inline std::vector<one_change> every_one_change(doc::ref document) {
    namespace detail = one_change_detail;
    std::vector<detail::path> paths;
    detail::path here;
    detail::append_paths(document, here, paths);
    std::vector<one_change> out;
    for (const detail::path& where : paths) {
        std::string steps;
        for (const std::string& step : where) steps.append("/").append(step);
        for (const std::string_view other : detail::others) {
            out.push_back({steps + " := " + (other.empty() ? "nothing" : std::string(other)),
                           detail::changed(document, where, 0, other)});
        }
    }
    return out;
}

}  // namespace cotrain::test
