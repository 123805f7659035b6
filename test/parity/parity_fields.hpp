// Which fields a manager owns of a live object, listed as the recordings do.
#pragma once

#include <set>
#include <string>

#include "doc/tree.hpp"

namespace cotrain::parity {

// Of field manager `trainer`, whatever the operation. Empty maps and lists are left out, like in the loose comparison.
[[nodiscard]] std::set<std::string> owned_by_trainer(doc::ref object);

}  // namespace cotrain::parity
