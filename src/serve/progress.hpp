// Progress reports of Pods: what a report is, whose it may be and how often, and the endpoint that takes them.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/asio.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "kube/client.hpp"
#include "kube/pacing.hpp"
#include "net/server.hpp"
#include "serve/issuer_keys.hpp"
#include "serve/jwt.hpp"
#include "serve/reply.hpp"

namespace cotrain::serve {

// A progress report of a training pod: where it is posted, what it says, what is applied for it. Pure.

inline constexpr std::size_t report_bytes_max = 64U << 10U;

// The job that a path is about.
struct reported_job {
    std::string ns;
    std::string name;
};
// Nothing unless the path is that of a job's status.
[[nodiscard]] std::optional<reported_job> job_at(std::string_view path);
// What a token for that job must be made for.
[[nodiscard]] std::string audience_of(const reported_job& job);
// The credential of an Authorization header; empty unless it is one bearer token.
[[nodiscard]] std::string_view bearer_token(std::string_view header);

struct progress_report {
    std::string echo;   // the answer's body
    std::string apply;  // what is applied to the job's status; empty: nothing
};
// Unknown fields are passed over; those we know must be of their type.
[[nodiscard]] base::result<progress_report> read_report(std::string_view body, const reported_job& job);

// Who may report a job's progress: the job's own Pods, and each job so often. Pure; time is passed in.

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

// Takes progress reports of training Pods and applies them to their TrainJobs, at a rate of its own.

class progress_endpoint {
   public:
    // How long a report may wait for its turn.
    static constexpr std::chrono::seconds turn_max{10};

    // Asks the operator's cache; nothing: there is no such TrainJob.
    using job_lookup = std::function<std::optional<known_job>(const reported_job&)>;

    progress_endpoint(kube::client& api, kube::rate_limit rate, job_lookup jobs, base::logger& log)
        : api_(api), keys_(api, log), rate_(rate), jobs_(std::move(jobs)), log_(log) {}

    [[nodiscard]] awaitable<void> answer(net::incoming request);
    // Ends waiting reports.
    void stop() { rate_.stop(); }

    [[nodiscard]] static net::server_options server_options();

   private:
    [[nodiscard]] awaitable<reply> judge(reported_job job, std::string credential, std::string body);
    [[nodiscard]] reply refuse(const reported_job& job, const base::error& why) const;
    [[nodiscard]] awaitable<reply> apply(reported_job job, progress_report report);

    kube::client& api_;
    issuer_keys keys_;
    kube::limiter rate_;
    job_rates rates_;
    job_lookup jobs_;
    base::logger& log_;
};

}  // namespace cotrain::serve
