// The parts of a TrainJob that change its runtime's template: runtimePatches, then podTemplateOverrides.
#pragma once

#include "api/edit.hpp"
#include "api/trainjob.hpp"
#include "base/error.hpp"

namespace cotrain::runtime {

struct patched_template {
    api::ref spec;  // of the JobSet
    api::ref labels;
    api::ref annotations;
};

// All patches in their order, merged by the API's keys; replicated jobs keep the order of the runtime.
[[nodiscard]] base::result<patched_template> apply_patches(api::arena& memory, const patched_template& before,
                                                           const api::train_job& job);

}  // namespace cotrain::runtime
