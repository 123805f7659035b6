// What the API server demands of metadata, whatever the kind of object.
#pragma once

#include <string>
#include <vector>

#include "api/schema/check.hpp"
#include "api/tree.hpp"

namespace cotrain::api::schema {

// Faults of names, labels, annotations, owners and finalizers. A name is required; values of wrong types are not told.
[[nodiscard]] std::vector<violation> check_metadata(ref metadata);

// Paths of members that metadata does not have, which the API server drops with a warning.
[[nodiscard]] std::vector<std::string> unknown_metadata(ref metadata);

}  // namespace cotrain::api::schema
