// Whether a JobSet is as planned, and what becomes of one that cannot be changed any more.
#pragma once

#include <string>
#include <string_view>

#include "api/jobset.hpp"
#include "api/trainjob.hpp"
#include "doc/arena.hpp"
#include "doc/tree.hpp"

namespace cotrain::reconcile {

// What to apply instead of `wanted` where JobSet's webhook refuses to have the templates of `found` changed: what was
// applied to `found` before, with what may change in a suspended JobSet (suspend, and what Kueue changes of Pods) taken
// from `wanted`. Empty if one of them is no JobSet.
[[nodiscard]] std::string with_templates_of(std::string_view wanted, std::string_view found);

// The jobs in a JobSet's spec without what may change; absent if there are none.
[[nodiscard]] doc::ref fixed_jobs(doc::arena& memory, doc::ref spec);
// The jobs of a JobSet as they were applied, without what may change; absent if they were not.
[[nodiscard]] doc::ref applied_fixed_jobs(doc::arena& memory, doc::ref found);

// Whether users have patched the job since its JobSet was made, with more than may change in that: then the refusal is
// news for them.
[[nodiscard]] bool must_refuse_patch(const api::train_job& job, const api::job_set& set);

// `found` has everything of `wanted`, and beyond it nothing but what the API server, CRDs and the JobSet controller's
// webhook fill in. Empty lists, empty maps and nulls count as absent.
[[nodiscard]] bool already_so(doc::ref wanted, doc::ref found);

}  // namespace cotrain::reconcile
