// How an attempt of a job failed: which Pod was first, where, and why.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "api/trainjob.hpp"
#include "base/time.hpp"
#include "runtime/pod_reports.hpp"

namespace cotrain::runtime {

// The Pod that failed first, as far as the page shows it.
struct first_failure {
    api::job_failure failure;  // within its bounds
    bool more = false;         // others failed that the page does not show
};

// Of failed Pods, and of running ones whose containers were started again: of the latest attempt, `attempt` or a later
// one, of which any failed after `since`. Pods that do not say belong to `attempt`. Nothing: no Pod on the page did.
[[nodiscard]] std::optional<first_failure> find_first_failure(const pod_page& page, std::int32_t attempt,
                                                              base::seconds_time since);
// One sentence: the Pod, and how many followed.
[[nodiscard]] std::string describe(const first_failure& f);

}  // namespace cotrain::runtime
