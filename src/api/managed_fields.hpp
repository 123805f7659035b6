// What somebody applied to an object, as its metadata.managedFields tell it (KEP-555).
#pragma once

#include <string_view>

#include "api/tree.hpp"

namespace cotrain::api {

// The fields (FieldsV1) that `manager` owns by server-side apply to the object itself; absent if it never applied.
[[nodiscard]] ref applied_fields(ref object, std::string_view manager);

// The part of `document` that `fields` name, in the order of `document`. Applied again by their owner it changes
// neither the object nor who owns what: defaults that others filled in are not in it.
[[nodiscard]] ref owned_part(arena& memory, ref document, ref fields);

}  // namespace cotrain::api
