// Short ways to make documents in tests; they abort the test when the text is wrong.
#pragma once

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <string_view>

#include "doc/edit.hpp"
#include "doc/json.hpp"
#include "doc/yaml.hpp"

namespace cotrain::doc {

inline ref from_json(arena& memory, std::string_view text) {
    auto document = parse_json_copy(memory, text);
    if (!document) throw std::invalid_argument(document.error().message);
    return *document;
}

inline ref from_yaml(arena& memory, std::string_view text) {
    auto document = parse_yaml(memory, memory.copy(text));
    if (!document) throw std::invalid_argument(document.error().message);
    return *document;
}

inline std::string sorted(ref document) {
    std::string text;
    append_sorted_json(text, document);
    return text;
}

}  // namespace cotrain::doc
