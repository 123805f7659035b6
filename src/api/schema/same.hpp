// Equality of values as the API server sees it: keyed lists have no order.
#pragma once

#include <string>
#include <unordered_map>

#include "api/schema/node.hpp"
#include "api/tree.hpp"

namespace cotrain::api::schema {

// CEL compares sets without order, the comparison that spares unchanged values compares them with it.
enum class set_order : bool { ignored, counts };

// `schema` may be null: then all lists are plain.
[[nodiscard]] bool same(const node* schema, ref a, ref b, set_order order);

// What tells an item of a keyed list from its neighbours; equal texts are the same item.
[[nodiscard]] std::string key_of(const node& list, ref item);
// The items of a list by key, the first of each.
using keyed_items = std::unordered_map<std::string, ref>;
[[nodiscard]] keyed_items index_items(const node& list, ref items);

}  // namespace cotrain::api::schema
