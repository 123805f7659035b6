// JobSets and PodGroups, as far as they are read back.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/conditions.hpp"
#include "api/meta.hpp"
#include "base/error.hpp"
#include "doc/tree.hpp"

namespace cotrain::api {

struct replicated_job_status {
    std::string_view name;
    std::int32_t ready = 0;
    std::int32_t succeeded = 0;
    std::int32_t failed = 0;
    std::int32_t active = 0;
    std::int32_t suspended = 0;
    std::int32_t replicas = 0;   // of its spec; 0: not known
    std::int32_t node_pods = 0;  // Pods of one replica that train
};

// What a replicated job's spec says of its Pods.
struct job_shape {
    std::string_view name;
    std::string_view ancestor;  // the label of its Job template
    std::int32_t replicas = 1;
    std::int32_t parallelism = 1;
    std::optional<std::int32_t> completions;

    // Pods of one replica, as JobSet counts them.
    [[nodiscard]] std::int32_t pods() const;
};
// Pods of one replica that train, for each job: of those labelled as trainer and of the job `node`, which MPI has
// beside its launcher; where there is neither, of all that are no initializers.
[[nodiscard]] std::vector<std::int32_t> node_pods(std::span<const job_shape> jobs);
// Pods that train, of all replicas.
[[nodiscard]] std::int32_t count_nodes(std::span<const job_shape> jobs);

struct job_set {
    object_meta meta;
    bool suspend = false;
    condition_list conditions;
    std::vector<replicated_job_status> jobs;  // status.replicatedJobsStatus
    std::int32_t restarts = 0;
    std::int32_t restarts_count_towards_max = 0;
    std::string_view terminal_state;  // "Completed", "Failed" or empty
    std::int32_t nodes = 0;           // Pods that train, by its spec; 0: not known
    doc::ref spec;
    doc::ref document;

    // Whether any of its jobs has active pods.
    [[nodiscard]] bool any_active() const;
    // … or has come to an end.
    [[nodiscard]] bool any_done() const;
    // Whether each has all pods ready or done. A job of several replicas is taken for ready when those are that exist.
    [[nodiscard]] bool all_ready() const;
};

[[nodiscard]] base::result<job_set> decode_job_set(doc::ref document);

}  // namespace cotrain::api
