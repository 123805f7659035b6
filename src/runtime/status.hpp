// The state machine of a TrainJob: from what it says and what its JobSet says to its next status.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "api/jobset.hpp"
#include "api/trainjob.hpp"
#include "base/time.hpp"

namespace cotrain::runtime {

struct diagnosis;

struct status_input {
    const api::train_job& job;
    const api::job_set* job_set = nullptr;  // of the job's name, whichever controller owns it; null = there is none
    bool runtime_supported = true;          // runtimeRef names a kind that we know
    // Why the last attempt to bring the children about failed: reason and message; none after a success.
    std::optional<std::pair<std::string, std::string>> trouble{};
    base::micros_time now;
    bool lifecycle = false;  // gate TrainJobLifecycleConditions
    // Somebody else ended the job: it went on when we last saw it, and we have written no end since.
    bool ended_by_others = false;
    // Of a job whose Pods are not all there: what was found when they were last looked at.
    const diagnosis* look = nullptr;
    // Attempts that failed, found in this run: appended to status.failures.
    std::span<const api::job_failure> failures{};
    std::string_view queue{};  // of Kueue, where the job has its label
    bool elastic = false;      // gate ElasticTrainJob: the status says which Pods train
    // Of an elastic job: how many nodes it needs to go on. 0: it is none, or that is not known.
    std::int32_t nodes_min = 0;
    bool scaled = false;  // what the JobSet says of its Jobs is of the size that it had before
};

struct status_outcome {
    api::train_job_status status;
    // Look again then, though nothing changed: a deadline.
    std::optional<base::micros_time> wake_at;
    // The deadline passed: the JobSet must go, however often it takes.
    bool delete_job_set = false;
    // Complete or Failed, for good.
    bool finished = false;
    // Children are to be made and kept: not for finished jobs and unknown kinds of runtimes.
    bool wants_children = false;
};

// Folds the JobSet of the job into its status.
using status_reporter = std::function<void(api::train_job_status&, const api::job_set&)>;

// Bytes of a condition's message; the API server takes 32 KiB, people read one line.
inline constexpr std::size_t condition_message_bytes_max = 1024;

// Pure: same input, same outcome. Not to be asked for jobs that another controller manages.
[[nodiscard]] status_outcome next_status(const status_input& in, const status_reporter& report);

[[nodiscard]] bool managed_elsewhere(const api::train_job& job);
// Complete or Failed is true.
[[nodiscard]] bool is_finished(const api::train_job_status& status);
// Whether runtimeRef names a kind that we serve.
[[nodiscard]] bool runtime_supported(const api::runtime_ref& runtime);

[[nodiscard]] inline base::seconds_time to_seconds(base::micros_time t) {
    return std::chrono::floor<std::chrono::seconds>(t);
}

// Exactly one of "no pods yet", "some" and "all" holds of a job that is neither suspended nor finished. They stand
// before the conditions that end or hold a job, those that are true last among them. `own`: its JobSet, if there is
// one.
void set_lifecycle(api::train_job_status& status, const api::job_set* own, bool suspended, base::seconds_time now);
// Takes away what set_lifecycle() wrote, when the gate is off again; those of others stay.
void drop_lifecycle(api::train_job_status& status);

}  // namespace cotrain::runtime
