// The built-in plugins, and their order: the only place where it is written down. Each has a source of its name; JAX,
// XGBoost and PlainML share frameworks.cpp.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "api/workload.hpp"
#include "runtime/framework.hpp"

namespace cotrain::plugins {

// PyTorch: torchrun's environment, or torchtune's command.
struct torch {
    static constexpr std::string_view name = "Torch";
    [[nodiscard]] static bool needed_by(const runtime::compiled_runtime& r) { return r.ml() && r.ml()->torch; }

    bool elastic = false;  // gate ElasticTrainJob

    void configure(const runtime::plugin_options& options) { elastic = options.elastic; }
    [[nodiscard]] base::result<> take_elastic(runtime::info& i, const api::train_job& job) const;
    void validate_elastic(const runtime::info& i, const runtime::review& r, runtime::verdict& out) const;
    [[nodiscard]] base::result<> enforce_ml_policy(runtime::info& i, const api::train_job& job) const;
    void validate(const runtime::info& i, const runtime::review& r, runtime::verdict& out) const;
};

// MPI: a launcher that logs in to nodes, the keys it does so with, and the list of its hosts.
struct mpi {
    static constexpr std::string_view name = "MPI";
    [[nodiscard]] static bool needed_by(const runtime::compiled_runtime& r) { return r.ml() && r.ml()->mpi; }
    [[nodiscard]] static bool is_complete_pair(doc::ref secret);
    static constexpr runtime::child keys{&api::names::secret, api::names::ssh_auth_suffix, needed_by, true,
                                         is_complete_pair};
    static constexpr runtime::child hostfile{&api::names::config_map, api::names::hostfile_suffix, needed_by};
    static constexpr std::array children{keys, hostfile};
    static constexpr std::array permissions{runtime::permission{&api::names::secret, "get", "MPI jobs do not start"}};

    [[nodiscard]] base::result<> enforce_ml_policy(runtime::info& i, const api::train_job& job) const;
    [[nodiscard]] base::result<> build(const runtime::info& i, const api::train_job& job, const runtime::observed& seen,
                                       runtime::object_list& out) const;
    void validate(runtime::info& i, const runtime::review& r, runtime::verdict& out) const;
};

// JAX: one process a node, found through its coordinator.
struct jax {
    static constexpr std::string_view name = "JAX";
    [[nodiscard]] static bool needed_by(const runtime::compiled_runtime& r) { return r.ml() && r.ml()->jax; }
    [[nodiscard]] base::result<> enforce_ml_policy(runtime::info& i, const api::train_job& job) const;
};

// XGBoost: workers around a tracker, one a GPU or one a node.
struct xgboost {
    static constexpr std::string_view name = "XGBoost";
    [[nodiscard]] static bool needed_by(const runtime::compiled_runtime& r) { return r.ml() && r.ml()->xgboost; }
    [[nodiscard]] base::result<> enforce_ml_policy(runtime::info& i, const api::train_job& job) const;
    void validate(const runtime::info& i, const runtime::review& r, runtime::verdict& out) const;
};

// Flux: an HPC resource manager started inside the job's own pods, which then runs the job's command.
struct flux {
    static constexpr std::string_view name = "Flux";
    [[nodiscard]] static bool needed_by(const runtime::compiled_runtime& r) { return r.ml() && r.ml()->flux; }
    static constexpr runtime::child scripts{&api::names::config_map, api::names::flux_entrypoint_suffix, needed_by};
    static constexpr runtime::child certificate{&api::names::secret, api::names::flux_curve_suffix, needed_by, true};
    static constexpr std::array children{scripts, certificate};
    static constexpr std::array permissions{runtime::permission{&api::names::secret, "get", "Flux jobs do not start"}};

    [[nodiscard]] base::result<> enforce_ml_policy(runtime::info& i, const api::train_job& job) const;
    [[nodiscard]] base::result<> build(runtime::info& i, const api::train_job& job, const runtime::observed& seen,
                                       runtime::object_list& out) const;
    void validate(const runtime::info& i, const runtime::review& r, runtime::verdict& out) const;
};

// Runtimes without a framework of their own: only the number of nodes.
struct plainml {
    static constexpr std::string_view name = "PlainML";
    [[nodiscard]] base::result<> enforce_ml_policy(runtime::info& i, const api::train_job& job) const;
};

// Progress reports (gate TrainJobStatus): tells the trainer's containers where to send them, and with what token.
struct trainjob_status {
    static constexpr std::string_view name = "TrainJobStatus";
    static constexpr std::array children{runtime::child{&api::names::config_map, api::names::tls_config_suffix}};

    // "https://<service>.<namespace>.svc:<port>"; empty: the gate is closed.
    std::string server_url{};

    void configure(const runtime::plugin_options& options) { server_url = options.status_url; }
    [[nodiscard]] base::result<> enforce_ml_policy(runtime::info& i, const api::train_job& job) const;
    [[nodiscard]] base::result<> build(const runtime::info& i, const api::train_job& job, const runtime::observed& seen,
                                       runtime::object_list& out) const;
};

// A PodGroup is made once and left alone while the job runs; one that a user made is used. Its size depends on these.
inline bool any_pod_group(doc::ref) { return true; }
inline constexpr std::array gang_sources{
    runtime::event_source{&api::names::limit_range, runtime::event_source::wakes::suspended_in_namespace},
    runtime::event_source{&api::names::runtime_class, runtime::event_source::wakes::suspended_of_runtime_class}};
inline constexpr std::string_view without_deletion = "PodGroups of ended jobs stay and hold their queue's share";

// Gang scheduling by the scheduler-plugins' coscheduling: a PodGroup for all pods of a job.
struct coscheduling {
    static constexpr std::string_view name = "CoScheduling";
    [[nodiscard]] static bool needed_by(const runtime::compiled_runtime& r) {
        return r.pod_groups() && r.pod_groups()->coscheduling;
    }
    static constexpr std::array children{
        runtime::child{&api::names::coscheduling_pod_group, {}, needed_by, false, any_pod_group, true}};
    static constexpr std::array event_sources = gang_sources;
    static constexpr std::array permissions{
        runtime::permission{&api::names::coscheduling_pod_group, "delete", without_deletion}};

    [[nodiscard]] base::result<> enforce_pod_group_policy(runtime::info& i, const api::train_job& job) const;
    [[nodiscard]] base::result<> build(const runtime::info& i, const api::train_job& job, const runtime::observed& seen,
                                       runtime::object_list& out) const;
    void validate(const runtime::info& i, const runtime::review& r, runtime::verdict& out) const;
};

// Gang scheduling by Volcano: a PodGroup with queue, priority and network topology.
struct volcano {
    static constexpr std::string_view name = "Volcano";
    [[nodiscard]] static bool needed_by(const runtime::compiled_runtime& r) {
        return r.pod_groups() && r.pod_groups()->volcano;
    }
    static constexpr std::array children{
        runtime::child{&api::names::volcano_pod_group, {}, needed_by, false, any_pod_group, true}};
    static constexpr std::array event_sources = gang_sources;
    static constexpr std::array permissions{
        runtime::permission{&api::names::volcano_pod_group, "delete", without_deletion},
        runtime::permission{&api::names::priority_class, "list watch",
                            "Volcano's priority classes are not checked at admission"}};

    [[nodiscard]] base::result<> enforce_pod_group_policy(runtime::info& i, const api::train_job& job) const;
    [[nodiscard]] base::result<> build(const runtime::info& i, const api::train_job& job, const runtime::observed& seen,
                                       runtime::object_list& out) const;
    void validate(const runtime::info& i, const runtime::review& r, runtime::verdict& out) const;

    // More are not asked for.
    static constexpr std::size_t priority_classes_max = 64;
    // The PriorityClasses a job will name, apart from the built-in ones.
    [[nodiscard]] static std::vector<std::string> priority_classes(const runtime::info& i);
};

// How many PodGroups of Kubernetes' own the jobs of a runtime have.
[[nodiscard]] std::size_t workload_groups_of(const runtime::compiled_runtime& r);
template <std::size_t group>
constexpr runtime::child workload_group(std::string_view suffix) {
    return {.type = &api::names::pod_group,
            .suffix = suffix,
            .needed_by = [](const runtime::compiled_runtime& r) { return workload_groups_of(r) > group; },
            .deleted_at_end = true,
            .older = &api::names::pod_group_v1alpha2,
            .remade = true};
}

// Gang scheduling by Kubernetes itself: a Workload, and a PodGroup for each group of replicated jobs.
struct workload {
    static constexpr std::string_view name = "Workload";
    static constexpr std::string_view gate = "TrainJobWorkloadAwareScheduling";
    static constexpr std::string_view field = "scheduling";
    // A Workload has no more (WorkloadMaxPodGroupTemplates).
    static constexpr std::size_t groups_max = 8;
    [[nodiscard]] static bool needed_by(const runtime::compiled_runtime& r) {
        return r.runtime().scheduling.is_object();
    }
    static constexpr std::array children{runtime::child{.type = &api::names::workload,
                                                        .needed_by = needed_by,
                                                        .deleted_at_end = true,
                                                        .older = &api::names::workload_v1alpha2,
                                                        .remade = true},
                                         workload_group<0>("-group-0"),
                                         workload_group<1>("-group-1"),
                                         workload_group<2>("-group-2"),
                                         workload_group<3>("-group-3"),
                                         workload_group<4>("-group-4"),
                                         workload_group<5>("-group-5"),
                                         workload_group<6>("-group-6"),
                                         workload_group<7>("-group-7")};
    static constexpr std::string_view without_deletion =
        "Workloads and PodGroups of ended jobs stay, and suspended jobs whose gang changes do not go on";
    static constexpr std::array permissions{runtime::permission{&api::names::workload, "delete", without_deletion},
                                            runtime::permission{&api::names::pod_group, "delete", without_deletion}};

    [[nodiscard]] base::result<> enforce_pod_group_policy(runtime::info& i, const api::train_job& job) const;
    // About the Pods that are planned: a gang that counts more than there will be never starts.
    [[nodiscard]] base::result<> build_job_set(const runtime::info& i, const api::train_job& job,
                                               const runtime::observed& seen, runtime::object_list& out) const;
    void validate(const runtime::info& i, const runtime::review& r, runtime::verdict& out) const;
    void validate_runtime(const api::training_runtime& runtime, runtime::verdict& out) const;
};

// JobSet: the template made real, with initialisers, trainer, counts and network; and its progress read back.
struct jobset {
    static constexpr std::string_view name = "JobSet";
    static constexpr std::array children{runtime::child{&api::names::job_set}};
    static constexpr std::array permissions{runtime::permission{&api::names::job_set, "delete get"}};

    [[nodiscard]] base::result<> identify_pod_network(runtime::info& i, const api::train_job& job) const;
    [[nodiscard]] base::result<> sync_parallelism(runtime::info& i) const;
    [[nodiscard]] base::result<> build_job_set(runtime::info& i, const api::train_job& job,
                                               const runtime::observed& seen, runtime::object_list& out) const;
    void validate(const runtime::info& i, const runtime::review& r, runtime::verdict& out) const;
    void report_status(api::train_job_status& status, const api::job_set& set, base::seconds_time now) const;
};

// Frameworks, what all of them share, gang schedulers; the JobSet last, so that its pods find everything in place. A
// program's own plugins come before what sees the whole job.
template <class... Own>
using builtin_with = runtime::framework<torch,            //
                                        mpi,              //
                                        jax,              //
                                        xgboost,          //
                                        flux,             //
                                        plainml,          //
                                        Own...,           //
                                        trainjob_status,  //
                                        coscheduling,     //
                                        volcano,          //
                                        workload,         //
                                        jobset>;
using builtin = builtin_with<>;

}  // namespace cotrain::plugins
