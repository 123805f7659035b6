// Strategic merge: how a patch changes a document of a type whose lists have merge keys.
#pragma once

#include "api/arena.hpp"
#include "api/tree.hpp"
#include "base/error.hpp"
#include "runtime/schema.hpp"

namespace cotrain::runtime {

// The API server's strategic merge patch, directives included ($patch, $retainKeys, $setElementOrder/…,
// $deleteFromPrimitiveList/…), with its order of list items: those of the patch lead where the original says nothing.
// Beyond it: a volume or env entry given another source loses the old one (contract, difference 12).
// The result shares with both; an original that `memory` may still edit is changed in place.
[[nodiscard]] base::result<api::ref> strategic_merge(api::arena& memory, api::ref original, api::ref patch,
                                                     const type_info& type);

}  // namespace cotrain::runtime
