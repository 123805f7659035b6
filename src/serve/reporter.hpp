// Who may report a job's progress: the job's own Pods, and each job so often. Pure; time is passed in.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.hpp"
#include "kube/limiter.hpp"
#include "serve/jwt.hpp"
#include "serve/progress_report.hpp"

namespace cotrain::serve {

// What the operator's cache has of a TrainJob that somebody reports on.
struct known_job {
    std::chrono::sys_seconds created{};
    std::vector<std::string> replicated_jobs{};  // names in the status of its JobSet; none once the job has ended
};

// How far the clocks of two API servers may differ: a token's Pod is never older than its job.
inline constexpr std::chrono::seconds issue_skew_max{5};

// Whether Kubernetes' Job controller gives such names to Pods of that part of a job:
// "<job>-<replicated job>-<replica>-<completion index>-<five characters>". Long names are cut as generateName does.
[[nodiscard]] bool is_pod_of(std::string_view pod, std::string_view job, std::string_view replicated_job);
// Whether a verified token was made for a Pod of this very job, not of a namesake that was deleted. The claims hold
// no label and no owner of the Pod: its name is what binds it to the job.
[[nodiscard]] base::result<> check_reporter(const token_claims& claims, const reported_job& job,
                                            const known_job& known);

// Jobs have a rate each, so that one that reports in a loop leaves the others their share.
class job_rates {
   public:
    using clock = kube::token_bucket::clock;
    static constexpr kube::rate_limit each_job{.qps = 1, .burst = 5};
    static constexpr std::size_t jobs_max = 16'384;  // that reported within the last seconds

    [[nodiscard]] bool admit(const reported_job& job, clock::time_point now);
    [[nodiscard]] std::size_t size() const { return jobs_.size(); }

   private:
    // After so long without a report a bucket is full, and need not be remembered.
    static constexpr std::chrono::seconds full_after{5};
    struct entry {
        kube::token_bucket bucket{each_job};
        clock::time_point last{};
    };
    std::unordered_map<std::string, entry> jobs_;
};

}  // namespace cotrain::serve
