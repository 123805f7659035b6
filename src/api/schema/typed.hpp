// What a client that reads objects into typed structs could not read, whatever other rules say.
#pragma once

#include <vector>

#include "api/schema/check.hpp"

namespace cotrain::api::schema {

// Values of the wrong type, integers that do not fit, times and quantities that are none. Unknown members, absent ones
// and null pass, as they do in Go.
[[nodiscard]] std::vector<violation> check_typed(const node& schema, ref document);

}  // namespace cotrain::api::schema
