// From what clients send to what is stored: pruned, defaulted, judged.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "api/arena.hpp"
#include "api/edit.hpp"
#include "api/schema/check.hpp"
#include "sim/failure.hpp"
#include "sim/store.hpp"

namespace cotrain::sim {

struct decoded {
    api::editor object;  // its metadata too is editable
    std::vector<std::string> unknown_fields;
};
// The document as an object of that kind: what is unknown is dropped, what is not set is filled in, and metadata is as
// Kubernetes spells it (nothing empty).
[[nodiscard]] outcome<decoded> decode(api::arena& memory, const kind& of, api::ref document);

// The faults of an object; with `live` those of an update.
[[nodiscard]] std::vector<api::schema::violation> judge(const kind& of, api::ref object, api::ref live = {});

// Nulls that stand for nothing. A body that is sent loses them, but an apply to a custom resource that leaves some
// (where all that was in an object is no longer applied) is refused.
[[nodiscard]] std::vector<api::schema::violation> stray_nulls(const kind& of, api::ref object);

// What the store keeps of an object. Its json still lacks the resourceVersion, which comes last.
[[nodiscard]] record make_record(api::ref object);

}  // namespace cotrain::sim
