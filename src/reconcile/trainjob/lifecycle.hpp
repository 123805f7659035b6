// What is counted of the lives of TrainJobs: how long they are in a state, restarts, and why they fail.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "api/trainjob.hpp"
#include "reconcile/trainjob/metrics.hpp"

namespace cotrain::reconcile {

// Reasons of the condition Failed that have a series of their own: JobSet's and ours; any other one is the last.
inline constexpr std::array<std::string_view, 6> job_failure_reasons{
    "FailedJobs",       "ReachedMaxRestarts",          "FailJobSetFailurePolicyAction",
    "DeadlineExceeded", "TrainingRuntimeNotSupported", "Other"};
// Likewise why the first Pod of an attempt failed.
inline constexpr std::array<std::string_view, 9> pod_failure_reasons{
    "Error", "OOMKilled", "Evicted", "Preempted", "NodeLost", "DeviceLost", "DeadlineExceeded", "Failed", "Other"};

struct lifecycle_metrics {
    std::array<state_histogram, api::job_states> in_state{};  // of states that were left
    std::array<std::uint64_t, job_failure_reasons.size()> failures{};
    std::array<std::uint64_t, pod_failure_reasons.size()> pod_failures{};
    std::uint64_t restarts = 0;

    // One status was written after another one.
    void count(const api::train_job_status& before, const api::train_job_status& after);
};

}  // namespace cotrain::reconcile
