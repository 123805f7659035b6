// The three kinds of patches that say what to change: merge patch, JSON patch, strategic merge patch.
#pragma once

#include <cstddef>
#include <expected>
#include <string>

#include "crd/node.hpp"
#include "doc/arena.hpp"
#include "doc/tree.hpp"

namespace cotrain::sim {

inline constexpr std::size_t json_patch_operations_max = 10'000;
// Of all copies of one patch together, as the API server has it: a copy of a copy doubles each time.
inline constexpr std::size_t json_patch_copied_bytes_max = 3UL * 1024 * 1024;

struct patch_fault {
    bool malformed = false;  // else it does not fit the document
    std::string message;
    bool too_large = false;
};
using patched = std::expected<doc::ref, patch_fault>;

// RFC 7386.
[[nodiscard]] doc::ref merge_patch(doc::arena& memory, doc::ref document, doc::ref patch);
// RFC 6902.
[[nodiscard]] patched json_patch(doc::arena& memory, doc::ref document, doc::ref operations);
// Lists merge by the keys that the schema gives them (runtime/merge.hpp).
[[nodiscard]] patched strategic_patch(doc::arena& memory, const crd::node* schema, doc::ref document, doc::ref patch);

}  // namespace cotrain::sim
