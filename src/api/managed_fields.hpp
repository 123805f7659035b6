// What a field manager applied to an object, as its metadata.managedFields tell it (KEP-555).
#pragma once

#include <string_view>

#include "doc/tree.hpp"

namespace cotrain::api {

// The fields (FieldsV1) that `manager` owns by server-side apply to the object itself; absent if it never applied.
[[nodiscard]] doc::ref applied_fields(doc::ref object, std::string_view manager);

// The part of `document` that `fields` name, in the order of `document`. Applied again by their owner it changes
// neither the object nor who owns what: defaults that others filled in are not in it.
[[nodiscard]] doc::ref owned_part(doc::arena& memory, doc::ref document, doc::ref fields);

}  // namespace cotrain::api
