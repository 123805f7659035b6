// Lays out a definition as YAML for people: what has descriptions is spread out, the rest is kept short.
#pragma once

#include <string>

#include "doc/tree.hpp"

namespace cotrain::crdgen {

[[nodiscard]] std::string lay_out(doc::ref document);

}  // namespace cotrain::crdgen
