// JobSets that another controller made: what cannot be changed any more stays.
#pragma once

#include <string>
#include <string_view>

#include "api/arena.hpp"
#include "api/jobset.hpp"
#include "api/trainjob.hpp"
#include "api/tree.hpp"

namespace cotrain::reconcile {

// What to apply instead of `wanted` where JobSet's webhook refuses to have the templates of `found` changed: what was
// applied to `found` before, with what may change in a suspended JobSet (suspend, and what Kueue changes of Pods) taken
// from `wanted`. Empty if one of them is no JobSet.
[[nodiscard]] std::string with_templates_of(std::string_view wanted, std::string_view found);

// The jobs of a JobSet as they were applied, without what may change; absent if they were not.
[[nodiscard]] api::ref applied_fixed_jobs(api::arena& memory, api::ref found);

// Whether users have patched the job since its JobSet was made, with more than may change in that: then the refusal is
// news for them.
[[nodiscard]] bool must_refuse_patch(const api::train_job& job, const api::job_set& set);

}  // namespace cotrain::reconcile
