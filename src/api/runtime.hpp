// TrainingRuntime and ClusterTrainingRuntime, and the hash of their snapshots.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/meta.hpp"
#include "api/pod_shape.hpp"
#include "base/error.hpp"
#include "doc/tree.hpp"

namespace cotrain::api::names {

// Of a TrainJob's status: who may write only its spec cannot change the recorded hash of the runtime's snapshot.
inline constexpr std::string_view snapshot_hash_member = "runtimeSnapshotHash";

}  // namespace cotrain::api::names

namespace cotrain::api {

inline constexpr std::int64_t env_targets_max = 16;
inline constexpr std::int64_t env_target_containers_max = 8;

// mlPolicy.torch.envInjection.targets[]
struct env_injection_target {
    std::string_view job_name;
    std::vector<std::string_view> container_names;  // empty = all
};

// How many nodes a job may have while it runs.
struct node_range {
    std::int32_t min = 1;
    std::int32_t max = 1;

    [[nodiscard]] bool valid() const { return min >= 1 && min <= max; }
    [[nodiscard]] bool holds(std::int64_t nodes) const { return nodes >= min && nodes <= max; }
    [[nodiscard]] std::string text() const { return std::to_string(min) + ":" + std::to_string(max); }
    [[nodiscard]] bool operator==(const node_range&) const = default;
};
// "2:8"; nothing if the text is no valid range.
[[nodiscard]] std::optional<node_range> parse_node_range(std::string_view text);

// mlPolicy.torch.elasticPolicy
struct elastic_policy {
    node_range nodes;
    std::optional<std::int32_t> max_restarts;
};

struct torch_policy {
    std::optional<elastic_policy> elastic;
    process_count num_proc_per_node;  // earlier dialect
    std::vector<env_injection_target> env_injection;
};

enum class mpi_implementation : std::uint8_t { open_mpi, intel, mpich };
[[nodiscard]] std::string_view to_string(mpi_implementation i);

struct mpi_policy {
    std::int32_t num_proc_per_node = 1;
    mpi_implementation implementation = mpi_implementation::open_mpi;
    std::string_view ssh_auth_mount_path;  // defaulted
    bool run_launcher_as_node = false;
};

struct flux_policy {
    std::optional<std::int32_t> num_proc_per_node;
};

struct jax_policy {};
struct xgboost_policy {};

// At most one of the frameworks is set.
struct ml_policy {
    std::optional<std::int32_t> num_nodes;
    std::optional<torch_policy> torch;
    std::optional<mpi_policy> mpi;
    std::optional<jax_policy> jax;
    std::optional<xgboost_policy> xgboost;
    std::optional<flux_policy> flux;
};

struct coscheduling_policy {
    std::int32_t schedule_timeout_seconds = 60;
};

struct volcano_policy {
    doc::ref network_topology;  // object
};

struct pod_group_policy {
    std::optional<coscheduling_policy> coscheduling;
    std::optional<volcano_policy> volcano;
};

// Views into the document, with the CRD's defaults filled in.
struct training_runtime {
    std::string_view kind;  // TrainingRuntime or ClusterTrainingRuntime
    object_meta meta;
    std::optional<ml_policy> ml;
    std::optional<pod_group_policy> pod_groups;
    doc::ref scheduling;         // spec.scheduling, an object
    doc::ref template_metadata;  // spec.template.metadata
    doc::ref template_spec;      // spec.template.spec: a JobSet's spec
    doc::ref document;

    [[nodiscard]] bool cluster_wide() const;
};

// Also checks the kinds of the parts of the template that plugins walk through (replicatedJobs, containers, env, …).
[[nodiscard]] base::result<training_runtime> decode_training_runtime(doc::ref document);

// SHA-256 in hex of the text in a snapshot.
[[nodiscard]] std::string snapshot_hash(std::string_view text);

}  // namespace cotrain::api
