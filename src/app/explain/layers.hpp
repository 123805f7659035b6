// Which layer set each field of a JobSet: the plan is made in stages by the code that the operator runs, and what
// changed from one to the next is that stage's. Nothing of this is in the operator.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "api/trainjob.hpp"
#include "app/explain/fields.hpp"
#include "base/error.hpp"
#include "doc/arena.hpp"
#include "doc/tree.hpp"
#include "runtime/compiled_runtime.hpp"
#include "runtime/phases.hpp"

namespace cotrain::app {

// Fields of a TrainJob and its runtime that are tried: what would be different without them, or with another value?
inline constexpr std::size_t inputs_max = 64;

struct explained {
    doc::ref job_set;  // as it is planned, whether or not one is there: metadata and spec
    // By path, as fields_of() has them: "runtime", "patch of kueue.x-k8s.io/manager", "spec.trainer.image",
    // "plugin Torch (spec.trainer.numNodes)".
    std::map<std::string, std::string, std::less<>> layers;
};

// The JobSet alone. `options` must be such that built-in plugins can be made with them.
[[nodiscard]] base::result<doc::ref> planned_job_set(doc::arena& memory, const api::train_job& job,
                                                     const runtime::compiled_runtime& runtime,
                                                     const runtime::plugin_options& options = {});

// `memory` holds the JobSet. An error where the job cannot be planned.
[[nodiscard]] base::result<explained> explain_layers(doc::arena& memory, const api::train_job& job,
                                                     const runtime::compiled_runtime& runtime,
                                                     const runtime::plugin_options& options = {});

}  // namespace cotrain::app
