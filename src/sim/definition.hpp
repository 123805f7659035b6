// What is wrong with a CustomResourceDefinition before anything is made of it.
#pragma once

#include <optional>
#include <string>

#include "crd/check.hpp"
#include "doc/tree.hpp"

namespace cotrain::sim {

// The first fault of a definition (apiextensions.k8s.io/v1): members that are missing, of another type, or of no
// meaning, in the schemas too.
// Members that are not known are no fault where `strict` is false: the API server drops them.
[[nodiscard]] std::optional<crd::violation> find_fault(doc::ref definition, bool strict);

}  // namespace cotrain::sim
