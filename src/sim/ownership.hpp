// Who owns which fields of an object: managedFields, and how updates and applies change them (KEP-555).
#pragma once

#include <cstddef>
#include <expected>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "doc/arena.hpp"
#include "doc/tree.hpp"
#include "sim/field_set.hpp"
#include "sim/typed.hpp"

namespace cotrain::sim {

// Entries of updates beyond this are folded into one, oldest first.
inline constexpr std::size_t update_managers_max = 10;

// What tells one entry of managedFields from another.
struct manager_id {
    std::string name;
    bool applies = false;
    std::string api_version;  // of updates only: a manager that applies keeps one entry through all versions
    std::string subresource;

    auto operator<=>(const manager_id&) const = default;
};
// As conflicts name it: "kubectl" or "manager" with subresource "status" using v1.
[[nodiscard]] std::string to_string(const manager_id& id);

struct owned_fields {
    field_set set;
    std::string api_version;
    std::string time;  // empty: none
};
using owners = std::map<manager_id, owned_fields>;

// From metadata.managedFields. An entry that cannot be read spoils all of them: then nobody owns anything.
[[nodiscard]] owners read_owners(doc::ref managed_fields);
// Absent if there are none.
[[nodiscard]] doc::ref write_owners(doc::arena& memory, const owners& all);

struct conflict {
    manager_id with;
    path where;
};
using conflicts = std::vector<conflict>;

// Which fields a request can change, and as what it is recorded.
struct ownership_rules {
    const schema_node* schema = nullptr;
    std::string api_version;
    std::string subresource;
    field_set ignored;  // whole trees: what the endpoint resets
};

// How an object is written otherwise than by apply: create, update, patch. `live` is the object before (at create only
// kind and apiVersion), `wanted` the one after; neither carries managedFields. Changes `all`.
void own_update(const ownership_rules& rules, doc::ref live, doc::ref wanted, owners& all, std::string_view manager,
                std::string_view now);

struct applied {
    doc::ref object;
    bool changed = false;  // otherwise `object` is the live one
};
struct apply_fault {
    std::string message;
};
// Server-side apply. `live` as above. On conflicts without force nothing has changed in `all`.
[[nodiscard]] std::expected<applied, std::variant<conflicts, apply_fault>> own_apply(
    doc::arena& memory, const ownership_rules& rules, doc::ref live, doc::ref config, owners& all,
    std::string_view manager, bool force, std::string_view now);

}  // namespace cotrain::sim
