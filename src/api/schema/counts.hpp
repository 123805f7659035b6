// The sizes that a schema allows, looked at before anything walks through what is larger.
#pragma once

#include <optional>

#include "api/schema/check.hpp"
#include "api/schema/node.hpp"
#include "api/tree.hpp"

namespace cotrain::api::schema {

// The first list or object of the document that has more items or members than its schema allows, found without a look
// into it; `name` is what paths begin with. What an update leaves as it was in `old` is forgiven.
[[nodiscard]] std::optional<violation> find_too_many(const node& schema, std::string_view name, ref document,
                                                     ref old = {});

}  // namespace cotrain::api::schema
