// Objects seen through their schema, as server-side apply sees them: merging, comparing, taking parts out (KEP-555).
#pragma once

#include <expected>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "crd/node.hpp"
#include "doc/arena.hpp"
#include "doc/tree.hpp"
#include "sim/field_set.hpp"

namespace cotrain::sim {

// A null schema is one of values of which nothing is known: objects merge member by member, lists are replaced.
using schema_node = crd::node;

// Whether a value can be merged by its schema: types, declared members, items that have keys. The first fault is
// reported as ".path: what".
enum class duplicates : bool { refused, allowed };
[[nodiscard]] std::expected<void, std::string> check_mergeable(const schema_node* schema, doc::ref value,
                                                               duplicates items);

// What an applied configuration makes of a live object. Both must be mergeable.
[[nodiscard]] doc::ref merge(doc::arena& memory, const schema_node* schema, doc::ref live, doc::ref config);

// All paths that an applied configuration claims.
[[nodiscard]] field_set fields_of(const schema_node* schema, doc::ref value);

struct comparison {
    field_set removed;
    field_set modified;
    field_set added;
};
[[nodiscard]] comparison compare(const schema_node* schema, doc::ref before, doc::ref after);

// The value without the paths of the set.
[[nodiscard]] doc::ref without(doc::arena& memory, const schema_node* schema, doc::ref value, const field_set& paths);

// The set and, of all that it leads through, the members that the schema names.
[[nodiscard]] field_set with_named_members(const schema_node* schema, const field_set& set);

// What a schema says about merging a value: shared by the walks of typed.hpp.

enum class nature : std::uint8_t { scalar, list, map };

// By the schema where it says so, else by the value.
[[nodiscard]] nature nature_of(const schema_node* schema, doc::ref value);
// Replaced as a whole.
[[nodiscard]] bool is_atomic(const schema_node* schema, nature what);

struct member_type {
    bool declared = false;  // by name
    const schema_node* schema = nullptr;
};
[[nodiscard]] member_type member_of(const schema_node* schema, std::string_view name);
[[nodiscard]] const schema_node* items_of(const schema_node* schema);

// How an item of a granular list is told apart, or why it cannot be.
[[nodiscard]] std::expected<path_element, std::string> item_element(const schema_node* list, doc::ref item);

// The items of a granular list in order, and by element.
struct item_index {
    std::vector<path_element> order;
    std::vector<doc::ref> items;  // in the same order
    std::map<path_element, std::vector<doc::ref>> by_element;

    item_index(const schema_node* list, doc::ref of);
    [[nodiscard]] const std::vector<doc::ref>* find(const path_element& element) const;
};

// An empty list or map, or none: then there is nothing to go into.
[[nodiscard]] inline bool is_hollow(doc::ref value) { return value.empty(); }

}  // namespace cotrain::sim
