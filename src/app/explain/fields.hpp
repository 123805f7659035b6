// A document as a list of fields, each with a path that stays the same when items are added to lists.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "doc/tree.hpp"

namespace cotrain::app {

// Of one document; the rest is left out.
inline constexpr std::size_t fields_max = 100'000;

// Fields by their paths: "spec.replicatedJobs[node].template.spec.parallelism", and what is there as JSON. Lists of
// scalars and empty containers are fields themselves.
using field_values = std::map<std::string, std::string, std::less<>>;
[[nodiscard]] field_values fields_of(doc::ref document);

// How the items of a list of objects are told apart: the first member of this kind that all of them have and no two
// alike; empty: by their place.
[[nodiscard]] std::string_view item_key(doc::ref list);
// "[node]", or "[3]" where there is no key.
[[nodiscard]] std::string item_step(doc::ref list, std::string_view key, std::size_t index);
// Whether it is one field: a scalar, a list of scalars, an empty container.
[[nodiscard]] bool is_field(doc::ref value);

}  // namespace cotrain::app
