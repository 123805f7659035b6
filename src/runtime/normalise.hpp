// Documents as the API server defaults them, and as the reference's typed round trip leaves them.
#pragma once

#include "base/error.hpp"
#include "doc/arena.hpp"
#include "doc/tree.hpp"
#include "runtime/schema.hpp"

namespace cotrain::runtime {

// Fills in the defaults of the CRD whose type it is. Null counts as absent where there is a default.
[[nodiscard]] doc::ref with_defaults(doc::arena& memory, doc::ref document, const type_info& type);

// TrainJob, TrainingRuntime and ClusterTrainingRuntime by their kind; other documents come back unchanged.
[[nodiscard]] doc::ref with_defaults(doc::arena& memory, doc::ref document);

// Without nulls, without what is zero where Go leaves it out, without empty lists and maps, quantities in canonical
// form. What the schema does not know is kept (contract, difference 24). Unchanged parts are shared with `document`.
// An unreadable quantity is an error that names its path below `path`.
[[nodiscard]] base::result<doc::ref> normalise(doc::arena& memory, doc::ref document, const type_info& type,
                                               std::string_view path);

}  // namespace cotrain::runtime
