// The state of a TrainJob in one word and one sentence, of what is observed alone.
#pragma once

#include "runtime/status.hpp"

namespace cotrain::runtime {

// Fills in the fields of our own. `status`: the next one, with its conditions and counts; `own`: the JobSet of the job,
// if there is one. Exactly one state holds; each follows from the status before and what is observed, so that the same
// observation twice changes nothing.
void tell_state(api::train_job_status& status, const status_input& in, const api::job_set* own);

// Whether a status is of the controller that ours replaced, which tells no state.
[[nodiscard]] bool told_by_another(const api::train_job_status& before);
// When a job was made or resumed last.
[[nodiscard]] std::optional<base::seconds_time> began(const api::train_job& job, const api::train_job_status& status);

// "container node of Pod p (rank 0) on node n failed: OOMKilled, exit code 137: its last line", without a full stop.
[[nodiscard]] std::string describe(const api::job_failure& failure);

// Takes the fields of our own over from another status.
void keep_state(api::train_job_status& status, const api::train_job_status& of);

}  // namespace cotrain::runtime
