// What was meant by fields, kinds and versions that no definition has.
#pragma once

#include <string>
#include <string_view>

#include "app/render/planner.hpp"
#include "crd/node.hpp"
#include "doc/tree.hpp"

namespace cotrain::app {

// "; did you mean \"numNodes\"?" for the unknown field at that path; nothing where no known one is near.
[[nodiscard]] std::string meant_field(const crd::node& type, std::string_view path);

// Refuses what the API server has no kind for: kinds of our group that it does not have, other versions of it, and our
// kinds in another group. Accepts all else, that of others included.
[[nodiscard]] opinion judge_type(doc::ref document);

}  // namespace cotrain::app
