// Pending, Running and Ready: what gate TrainJobLifecycleConditions adds to a status.
#pragma once

#include "api/jobset.hpp"
#include "api/time.hpp"
#include "api/trainjob.hpp"

namespace cotrain::runtime {

// Exactly one of "no pods yet", "some" and "all" holds of a job that is neither suspended nor finished. They stand
// before the conditions that end or hold a job, those that are true last among them. `own`: its JobSet, if there is
// one.
void set_lifecycle(api::train_job_status& status, const api::job_set* own, bool suspended, api::seconds_time now);
// Takes away what set_lifecycle() wrote, when the gate is off again; those of others stay.
void drop_lifecycle(api::train_job_status& status);

}  // namespace cotrain::runtime
