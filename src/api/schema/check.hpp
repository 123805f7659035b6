// What the API server does with a custom resource's body: drop what the schema does not know, fill in defaults, judge.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/arena.hpp"
#include "api/schema/node.hpp"
#include "api/tree.hpp"

namespace cotrain::api::schema {

// More faults or unknown fields than this are not listed.
inline constexpr std::size_t violations_max = 100;
inline constexpr std::size_t unknown_fields_max = 100;
// Values shown in messages are cut to this.
inline constexpr std::size_t shown_value_bytes_max = 120;

enum class fault : std::uint8_t { required, type, unsupported, too_long, too_many, invalid, duplicate, rule };
// As the API server puts it: "Required value", "Too many", …
[[nodiscard]] std::string_view to_string(fault f);

struct violation {
    std::string path;  // "spec.trainer.env[0].name"; empty = the object itself
    fault kind = fault::invalid;
    std::string detail;
};
// "spec.trainer.env: Too many: 129: must have at most 128 items"; the object itself is called <nil>.
[[nodiscard]] std::string to_string(const violation& v);

struct shaped {
    ref document;
    std::vector<std::string> unknown_fields;  // paths, for warnings
};

// Drops unknown members (kind, apiVersion and metadata stay as they are), nulls that mean "not set", and fills in
// defaults. What needs no change is shared with `document`.
[[nodiscard]] shaped shape(arena& memory, const node& schema, ref document);

// All faults of a document that has been shaped. With `old`, the judgement of an update: rules about changes count, and
// what is as it was is forgiven. Rules are looked at only where types, required members and sizes are right.
[[nodiscard]] std::vector<violation> check(const node& schema, ref document, ref old = {});

}  // namespace cotrain::api::schema
