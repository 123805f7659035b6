// Documents as the API server defaults them, and as the reference's typed round trip leaves them.
#pragma once

#include "api/arena.hpp"
#include "api/tree.hpp"
#include "base/error.hpp"
#include "runtime/schema.hpp"

namespace cotrain::runtime {

// Fills in the defaults of the CRD whose type it is. Null counts as absent where there is a default.
[[nodiscard]] api::ref with_defaults(api::arena& memory, api::ref document, const type_info& type);

// TrainJob, TrainingRuntime and ClusterTrainingRuntime by their kind; other documents come back unchanged.
[[nodiscard]] api::ref with_defaults(api::arena& memory, api::ref document);

// Without nulls, without what is zero where Go leaves it out, without empty lists and maps, quantities in canonical
// form. What the schema does not know is kept (contract, difference 24). Unchanged parts are shared with `document`.
// An unreadable quantity is an error that names its path below `path`.
[[nodiscard]] base::result<api::ref> normalise(api::arena& memory, api::ref document, const type_info& type,
                                               std::string_view path);

}  // namespace cotrain::runtime
