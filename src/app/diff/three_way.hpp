// What an apply makes of an object: what its owner no longer says goes, what others set stays. Pure.
#pragma once

#include <cstdint>

#include "doc/arena.hpp"
#include "doc/tree.hpp"

namespace cotrain::app {

// Lists of objects: replaced as a whole, as `kubectl apply` does with custom resources, or merged item by item, as
// server-side apply does where they have keys.
enum class list_merge : std::uint8_t { replaced, by_key };

// `live` with what `wanted` says, and without what only `last` said. `last` and `live` may be absent.
[[nodiscard]] doc::ref three_way(doc::arena& memory, doc::ref last, doc::ref wanted, doc::ref live, list_merge lists);

}  // namespace cotrain::app
