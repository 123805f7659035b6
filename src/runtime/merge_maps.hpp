// Laying one map over another: labels, annotations, node selectors.
#pragma once

#include "api/arena.hpp"
#include "api/tree.hpp"

namespace cotrain::runtime {

// The members of both objects; of two with the same name that of `above`, in the place where `below` had it.
[[nodiscard]] api::ref joined(api::arena& memory, api::ref below, api::ref above);

}  // namespace cotrain::runtime
