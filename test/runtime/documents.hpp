// Documents for tests, written as JSON with ' for ".
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "doc/json.hpp"

namespace cotrain::runtime {

inline doc::ref document(doc::arena& memory, std::string_view text) {
    std::string json(text);
    std::ranges::replace(json, '\'', '"');
    const auto parsed = doc::parse_json_copy(memory, json);
    if (!parsed) {
        ADD_FAILURE() << parsed.error().message << " in " << json;
        return {};
    }
    return *parsed;
}

// For comparing: members sorted.
inline std::string sorted(doc::ref value) {
    std::string out;
    doc::append_sorted_json(out, value);
    return out;
}

inline std::string sorted(std::string_view text) {
    doc::arena memory;
    return sorted(document(memory, text));
}

}  // namespace cotrain::runtime
