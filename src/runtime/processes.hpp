// How many processes a node is to run, as far as the job says.
#pragma once

#include "api/process_count.hpp"
#include "api/trainjob.hpp"

namespace cotrain::runtime {

// spec.trainer.numProcPerNode, else the word that admission moved into an annotation; unset where there is neither.
[[nodiscard]] api::process_count wanted_processes(const api::train_job& job);

}  // namespace cotrain::runtime
