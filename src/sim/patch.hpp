// The three kinds of patches that say what to change: merge patch, JSON patch, strategic merge patch.
#pragma once

#include <cstddef>
#include <expected>
#include <string>

#include "api/arena.hpp"
#include "api/schema/node.hpp"
#include "api/tree.hpp"

namespace cotrain::sim {

inline constexpr std::size_t json_patch_operations_max = 10'000;
// Of all copies of one patch together, as the API server has it: a copy of a copy doubles each time.
inline constexpr std::size_t json_patch_copied_bytes_max = 3UL * 1024 * 1024;

struct patch_fault {
    bool malformed = false;  // else it does not fit the document
    std::string message;
    bool too_large = false;
};
using patched = std::expected<api::ref, patch_fault>;

// RFC 7386.
[[nodiscard]] api::ref merge_patch(api::arena& memory, api::ref document, api::ref patch);
// RFC 6902.
[[nodiscard]] patched json_patch(api::arena& memory, api::ref document, api::ref operations);
// Lists merge by the keys that the schema gives them; with $patch, $retainKeys and $deleteFromPrimitiveList. Lists keep
// the document's order, new items come last ($setElementOrder is taken and has no effect).
[[nodiscard]] patched strategic_patch(api::arena& memory, const api::schema::node* schema, api::ref document,
                                      api::ref patch);

}  // namespace cotrain::sim
