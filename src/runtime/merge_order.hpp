// The order in which the items of merged lists stand.
#pragma once

#include <string_view>
#include <vector>

#include "api/tree.hpp"

namespace cotrain::runtime {

using item_list = std::vector<api::ref>;

// Whether both are the same item: equal values of `key`, or equal scalars where there is no key.
[[nodiscard]] bool same_item(api::ref a, api::ref b, std::string_view key);

// `merged` in the order the API server gives it: items named in `leading` in that order, the others in the order of
// `original`; the two runs are interleaved by `original`, with the leading ones first where it does not know.
[[nodiscard]] item_list ordered(const item_list& merged, const item_list& leading, const item_list& original,
                                std::string_view key);

}  // namespace cotrain::runtime
