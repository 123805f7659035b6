// What sub-resources other than status show of an object, and what they make of one.
#pragma once

#include <string>

#include "doc/arena.hpp"
#include "doc/tree.hpp"
#include "sim/failure.hpp"
#include "sim/kind.hpp"

namespace cotrain::sim {

// autoscaling/v1 Scale of an object whose kind has one.
[[nodiscard]] doc::ref make_scale(doc::arena& memory, const kind& of, doc::ref object);
// The merge patch by which the object gets what a Scale wants.
[[nodiscard]] outcome<doc::ref> scale_patch(doc::arena& memory, const kind& of, std::string_view name, doc::ref scale);
// The merge patch of a Pod that a Binding binds.
[[nodiscard]] doc::ref binding_patch(doc::arena& memory, doc::ref binding, base::seconds_time now);

}  // namespace cotrain::sim
