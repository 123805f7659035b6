// Whether an object already is what we would apply.
#pragma once

#include <string_view>

#include "api/tree.hpp"

namespace cotrain::reconcile {

// `found` has everything of `wanted`, and beyond it nothing but what the API server, CRDs and the JobSet controller's
// webhook fill in. Empty lists, empty maps and nulls count as absent.
[[nodiscard]] bool already_so(api::ref wanted, api::ref found);

}  // namespace cotrain::reconcile
