// From what clients send to what is stored: pruned, defaulted, judged.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "crd/check.hpp"
#include "doc/arena.hpp"
#include "doc/edit.hpp"
#include "sim/failure.hpp"
#include "sim/store.hpp"

namespace cotrain::sim {

struct decoded {
    doc::editor object;  // its metadata too is editable
    std::vector<std::string> unknown_fields;
};
// The document as an object of that kind: what is unknown is dropped, what is not set is filled in, and metadata is as
// Kubernetes spells it (nothing empty).
[[nodiscard]] outcome<decoded> decode(doc::arena& memory, const kind& of, doc::ref document);

// The faults of an object; with `live` those of an update.
[[nodiscard]] std::vector<crd::violation> judge(const kind& of, doc::ref object, doc::ref live = {});

// Nulls without a meaning. A body that is sent loses them, but an apply to a custom resource that leaves some
// (where all that was in an object is no longer applied) is refused.
[[nodiscard]] std::vector<crd::violation> stray_nulls(const kind& of, doc::ref object);

// What the store keeps of an object. Its json still lacks the resourceVersion, which comes last.
[[nodiscard]] record make_record(doc::ref object);

}  // namespace cotrain::sim
