// The runtime as it was when its TrainJob began, kept in a ConfigMap: later edits of the runtime do not reach the job.
#pragma once

#include <memory>

#include "api/trainjob.hpp"
#include "api/tree.hpp"
#include "base/error.hpp"
#include "runtime/compiled_runtime.hpp"
#include "runtime/object.hpp"

namespace cotrain::runtime {

// The ConfigMap to apply where there is none yet.
[[nodiscard]] object make_snapshot(api::arena& memory, const api::train_job& job, const compiled_runtime& runtime);

// The runtime in the job's snapshot. One that belongs to another object, cannot be read or holds another runtime
// than the job refers to is an error; so is, before anything of it is read, one that has not the hash that was recorded
// of it: `recorded`, or else what the status in the job's document says, if anything.
[[nodiscard]] base::result<std::shared_ptr<const compiled_runtime>> read_snapshot(const api::train_job& job,
                                                                                  api::ref config_map,
                                                                                  std::string_view recorded = {});

}  // namespace cotrain::runtime
