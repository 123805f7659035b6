// Objects seen through their schema, as server-side apply sees them: merging, comparing, taking parts out (KEP-555).
#pragma once

#include <expected>
#include <string>

#include "api/arena.hpp"
#include "api/schema/node.hpp"
#include "api/tree.hpp"
#include "sim/field_set.hpp"

namespace cotrain::sim {

// A null schema stands for values of which nothing is known: objects merge member by member, lists are replaced.
using schema_node = api::schema::node;

// Whether a value can be merged by its schema: types, declared members, items that have keys. The first fault is told
// as ".path: what".
enum class duplicates : bool { refused, allowed };
[[nodiscard]] std::expected<void, std::string> check_mergeable(const schema_node* schema, api::ref value,
                                                               duplicates items);

// What an applied configuration makes of a live object. Both must be mergeable.
[[nodiscard]] api::ref merge(api::arena& memory, const schema_node* schema, api::ref live, api::ref config);

// All paths that an applied configuration claims.
[[nodiscard]] field_set fields_of(const schema_node* schema, api::ref value);

struct comparison {
    field_set removed;
    field_set modified;
    field_set added;
};
[[nodiscard]] comparison compare(const schema_node* schema, api::ref before, api::ref after);

// The value without the paths of the set.
[[nodiscard]] api::ref without(api::arena& memory, const schema_node* schema, api::ref value, const field_set& paths);

// The set and, of all that it leads through, the members that the schema names.
[[nodiscard]] field_set with_named_members(const schema_node* schema, const field_set& set);

}  // namespace cotrain::sim
