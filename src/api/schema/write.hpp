// Schemas as the JSON of a CustomResourceDefinition.
#pragma once

#include "api/arena.hpp"
#include "api/schema/node.hpp"
#include "api/tree.hpp"

namespace cotrain::api::schema {

// The schema with everything that it shares written out in place.
[[nodiscard]] ref write_schema(arena& memory, const node& schema);

}  // namespace cotrain::api::schema
