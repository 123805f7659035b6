// The part of a JobSet that is read back: suspension, progress and outcome.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/conditions.hpp"
#include "api/meta.hpp"
#include "api/tree.hpp"
#include "base/error.hpp"

namespace cotrain::api {

struct replicated_job_status {
    std::string_view name;
    std::int32_t ready = 0;
    std::int32_t succeeded = 0;
    std::int32_t failed = 0;
    std::int32_t active = 0;
    std::int32_t suspended = 0;
};

struct job_set {
    object_meta meta;
    bool suspend = false;
    condition_list conditions;
    std::vector<replicated_job_status> jobs;  // status.replicatedJobsStatus
    std::int32_t restarts = 0;
    std::int32_t restarts_count_towards_max = 0;
    std::string_view terminal_state;  // "Completed", "Failed" or empty
    ref spec;
    ref document;

    // Whether any of its jobs has active pods.
    [[nodiscard]] bool any_active() const;
    // … or has come to an end.
    [[nodiscard]] bool any_done() const;
    // Whether each has all pods ready or done. A job of several replicas is taken for ready when those are that exist.
    [[nodiscard]] bool all_ready() const;
};

[[nodiscard]] base::result<job_set> decode_job_set(ref document);

}  // namespace cotrain::api
