// Loose comparison of two objects in the form of the recordings: empty maps and lists do not count.
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "doc/json.hpp"
#include "doc/tree.hpp"

namespace cotrain::golden {

using doc::ref;

// Nothing, null, and containers of nothing but that.
inline bool is_empty(ref value) {
    if (value.is_unset()) return true;
    if (value.is_array()) return value.empty();
    return value.is_object() && std::ranges::all_of(value.members(), [](const auto& m) { return is_empty(m.value); });
}

struct difference {
    std::string path;
    std::string what;
};

// Appends the places where the two differ.
inline void compare(ref expected, ref actual, const std::string& path, std::vector<difference>& out) {
    if (is_empty(expected) && is_empty(actual)) return;
    if (expected.is_object() && (actual.is_object() || !actual)) {
        std::set<std::string_view> keys;
        for (const auto& m : expected.members()) keys.insert(m.key());
        for (const auto& m : actual.members()) keys.insert(m.key());
        for (const auto key : keys) {
            if (key == "ownedByTrainer") continue;
            compare(expected.get(key), actual.get(key), path + "/" + std::string(key), out);
        }
        return;
    }
    if (expected.is_array() && actual.is_array() && expected.size() == actual.size()) {
        for (std::size_t i = 0; i < expected.size(); ++i) {
            compare(expected.at(i), actual.at(i), path + "/" + std::to_string(i), out);
        }
        return;
    }
    if (!equal(expected, actual)) {
        out.push_back({path, "expected " + doc::to_json(expected) + ", got " + doc::to_json(actual)});
    }
}

}  // namespace cotrain::golden
