// What a schema says about merging a value: shared by the walks of typed.hpp.
#pragma once

#include <expected>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/typed.hpp"

namespace cotrain::sim {

enum class nature : std::uint8_t { scalar, list, map };

// By the schema where it says so, else by the value.
[[nodiscard]] nature nature_of(const schema_node* schema, api::ref value);
// Replaced as a whole.
[[nodiscard]] bool is_atomic(const schema_node* schema, nature what);

struct member_type {
    bool declared = false;  // by name
    const schema_node* schema = nullptr;
};
[[nodiscard]] member_type member_of(const schema_node* schema, std::string_view name);
[[nodiscard]] const schema_node* items_of(const schema_node* schema);

// How an item of a granular list is told apart, or why it cannot be.
[[nodiscard]] std::expected<path_element, std::string> item_element(const schema_node* list, api::ref item);

// The items of a granular list in order, and by element.
struct item_index {
    std::vector<path_element> order;
    std::vector<api::ref> items;  // in the same order
    std::map<path_element, std::vector<api::ref>> by_element;

    item_index(const schema_node* list, api::ref of);
    [[nodiscard]] const std::vector<api::ref>* find(const path_element& element) const;
};

// An empty list or map, or none: then there is nothing to go into.
[[nodiscard]] inline bool is_hollow(api::ref value) { return value.empty(); }

}  // namespace cotrain::sim
