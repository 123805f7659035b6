// Documents for tests, written as JSON with ' for ".
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "api/json.hpp"

namespace cotrain::runtime {

inline api::ref document(api::arena& memory, std::string_view text) {
    std::string json(text);
    std::ranges::replace(json, '\'', '"');
    const auto parsed = api::parse_json_copy(memory, json);
    if (!parsed) {
        ADD_FAILURE() << parsed.error().message << " in " << json;
        return {};
    }
    return *parsed;
}

// For comparing: members sorted.
inline std::string sorted(api::ref value) {
    std::string out;
    api::append_sorted_json(out, value);
    return out;
}

inline std::string sorted(std::string_view text) {
    api::arena memory;
    return sorted(document(memory, text));
}

}  // namespace cotrain::runtime
