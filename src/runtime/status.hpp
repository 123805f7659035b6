// The state machine of a TrainJob: from what it says and what its JobSet says to its next status.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "api/jobset.hpp"
#include "api/time.hpp"
#include "api/trainjob.hpp"

namespace cotrain::runtime {

struct status_input {
    const api::train_job& job;
    const api::job_set* job_set = nullptr;  // of the job's name, whoever controls it; null = there is none
    bool runtime_supported = true;          // runtimeRef names a kind that we know
    // Why the last attempt to bring the children about failed: reason and message; none after a success.
    std::optional<std::pair<std::string, std::string>> trouble{};
    api::micros_time now;
    bool lifecycle = false;  // gate TrainJobLifecycleConditions
    // Somebody else ended the job: it went on when we last saw it, and we have written no end since.
    bool ended_by_others = false;
};

struct status_outcome {
    api::train_job_status status;
    // Look again then, though nothing changed: a deadline.
    std::optional<api::micros_time> wake_at;
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

[[nodiscard]] inline api::seconds_time to_seconds(api::micros_time t) {
    return std::chrono::floor<std::chrono::seconds>(t);
}

}  // namespace cotrain::runtime
