// Verdicts on runtimes: roles, gang schedulers, deprecation; and that updates are judged by what they change.
#include <gtest/gtest.h>

#include <string>

#include "admission/cluster.hpp"

namespace cotrain::admission {
namespace {

using doc::ref;
using testing::IsEmpty;

class runtimes : public testing::TestWithParam<hook> {
   public:
    ref runtime(std::string_view job, std::string_view metadata = {}, std::string_view policies = {}) {
        std::string text = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: ";
        text.append(GetParam() == hook::validate_training_runtime ? "TrainingRuntime" : "ClusterTrainingRuntime");
        text.append("\nmetadata: {name: rt").append(metadata.empty() ? "" : ", ").append(metadata).append("}\n");
        text.append("spec:\n").append(policies.empty() ? "" : "  ").append(policies).append("\n");
        text.append("  template: {spec: {replicatedJobs: [").append(job).append("]}}\n");
        return cluster_.load(text);
    }
    static std::string job(std::string_view role, std::string_view container, int replicas = 1) {
        return "{name: j, replicas: " + std::to_string(replicas) +
               ", template: {metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: " + std::string(role) +
               "}}, spec: {template: {spec: {containers: [{name: " + std::string(container) + ", image: i}]}}}}}";
    }
    reply create(ref object) { return cluster_.create(GetParam(), object); }
    reply update(ref object, ref before) { return cluster_.update(GetParam(), object, before); }
    cluster cluster_;
};

TEST_P(runtimes, a_job_with_a_role_has_its_container_and_runs_once) {
    const std::string place = "spec.template.spec.replicatedJobs[0]";
    const std::string containers = place + ".template.spec.template.spec.containers";
    EXPECT_TRUE(create(runtime(job("trainer", "node"))).allowed);
    EXPECT_TRUE(create(runtime(job("dataset-initializer", "dataset-initializer"))).allowed);
    EXPECT_TRUE(create(runtime(job("my-own-step", "x", 3))).allowed);
    EXPECT_EQ(create(runtime(job("trainer", "node", 2))).fields, std::vector<std::string>{place + ".replicas"});
    EXPECT_EQ(create(runtime(job("model-initializer", "node"))).fields, std::vector<std::string>{containers});
    EXPECT_EQ(create(runtime(job("trainer", "main", 0))).fields,
              (std::vector<std::string>{place + ".replicas", containers}));
}

// Difference 23: both kinds, on update as far as it changes something.
TEST_P(runtimes, updates_are_judged_by_what_they_change) {
    const ref good = runtime(job("trainer", "node"));
    const ref bad = runtime(job("trainer", "node", 2));
    EXPECT_FALSE(update(bad, good).allowed);
    EXPECT_TRUE(update(runtime(job("trainer", "node", 2), "finalizers: []"), bad).allowed);
    EXPECT_TRUE(update(runtime(job("trainer", "node", 2), "", "mlPolicy: {numNodes: 3}"), bad).allowed);
    EXPECT_TRUE(update(runtime(job("trainer", "node", 3), "deletionTimestamp: '2026-01-01T00:00:00Z'"), bad).allowed);
    EXPECT_THAT(cluster_.asked, IsEmpty());
}

// Difference 16.
TEST_P(runtimes, count_nodes_from_0_and_processes_from_1) {
    const auto verdict = [&](std::string_view policy) {
        return create(runtime(job("trainer", "node"), "", "mlPolicy: {" + std::string(policy) + "}")).fields;
    };
    for (const auto* good : {"numNodes: 0", "numNodes: 0, mpi: {}", "mpi: {numProcPerNode: 1}", "torch: {}",
                             "torch: {numProcPerNode: auto}", "flux: {}"}) {
        EXPECT_THAT(verdict(good), IsEmpty()) << good;
    }
    using fields = std::vector<std::string>;
    EXPECT_EQ(verdict("numNodes: -1"), fields{"spec.mlPolicy.numNodes"});
    EXPECT_EQ(verdict("mpi: {numProcPerNode: 0}"), fields{"spec.mlPolicy.mpi.numProcPerNode"});
    EXPECT_EQ(verdict("flux: {numProcPerNode: -3}"), fields{"spec.mlPolicy.flux.numProcPerNode"});
    EXPECT_EQ(verdict("torch: {numProcPerNode: 0}"), fields{"spec.mlPolicy.torch.numProcPerNode"});
    const ref bad = runtime(job("trainer", "node"), "", "mlPolicy: {numNodes: -1}");
    EXPECT_TRUE(update(runtime(job("trainer", "node"), "finalizers: []", "mlPolicy: {numNodes: -1}"), bad).allowed);
}

// Difference 4.
TEST_P(runtimes, name_one_gang_scheduler) {
    const ref both = runtime(job("trainer", "node"), "", "podGroupPolicy: {coscheduling: {}, volcano: {}}");
    EXPECT_EQ(create(both).fields, std::vector<std::string>{"spec.podGroupPolicy"});
    EXPECT_FALSE(update(both, runtime(job("trainer", "node"))).allowed);
    EXPECT_TRUE(create(runtime(job("trainer", "node"), "", "podGroupPolicy: {volcano: {}}")).allowed);
}

TEST_P(runtimes, deprecated_ones_warn_when_they_are_created_cluster_wide) {
    const ref old = runtime(job("trainer", "node"), "labels: {trainer.kubeflow.org/support: deprecated}");
    const bool cluster_wide = GetParam() == hook::validate_cluster_training_runtime;
    EXPECT_EQ(create(old).warnings.size(), cluster_wide ? 1U : 0U);
    EXPECT_THAT(update(old, runtime(job("trainer", "node"))).warnings, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(both_kinds, runtimes,
                         testing::Values(hook::validate_training_runtime, hook::validate_cluster_training_runtime),
                         [](const auto& i) {
                             return i.param == hook::validate_training_runtime ? "namespaced" : "cluster_wide";
                         });

}  // namespace
}  // namespace cotrain::admission
