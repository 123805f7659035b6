// Verdicts on TrainJobs that need the cluster: runtimes, snapshots, JobSets, priority classes, queues.
#include <gtest/gtest.h>

#include <string>

#include "admission/cluster.hpp"

namespace cotrain::admission {
namespace {

using doc::ref;
using testing::IsEmpty;

constexpr std::string_view one_job = R"(
      replicatedJobs:
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec: {template: {spec: {containers: [{name: node, image: i}]}}}
)";
constexpr std::string_view launcher_and_node = R"(
      replicatedJobs:
      - name: launcher
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec: {template: {spec: {containers: [{name: node, image: i}]}}}
      - name: node
        template: {spec: {template: {spec: {containers: [{name: node, image: i}]}}}}
)";

std::string runtime_yaml(std::string_view policies, std::string_view jobs = one_job, std::string_view metadata = {},
                         std::string_view kind = "TrainingRuntime") {
    std::string text = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: ";
    text.append(kind).append("\nmetadata: {name: rt");
    text.append(metadata.empty() ? "" : ", ").append(metadata).append("}\nspec:\n  ").append(policies);
    return text.append("\n  template:\n    spec:").append(jobs);
}

std::string indented(std::string_view text, std::string_view by) {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        out.append(by).append(text.substr(at, end - at)).append("\n");
        at = end + 1;
    }
    return out;
}

class validator : public testing::Test {
   public:
    validator() { cluster_.add(runtime_yaml("mlPolicy: {numNodes: 2, torch: {}}")); }

    ref job(std::string_view spec, std::string_view metadata = {}, std::string_view runtime = "kind: TrainingRuntime") {
        std::string text =
            "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: job, namespace: ns, uid: u-1";
        text.append(metadata.empty() ? "" : ", ").append(metadata).append("}\nspec: {runtimeRef: {name: rt, ");
        text.append(runtime).append("}").append(spec.empty() ? "" : ", ").append(spec).append("}\n");
        return cluster_.load(text);
    }
    reply create(ref object) { return cluster_.create(hook::validate_train_job, object); }
    reply update(ref object, ref before) { return cluster_.update(hook::validate_train_job, object, before); }
    void add_snapshot(const std::string& runtime, std::string_view owner = "u-1") {
        cluster_.add(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: job-runtime-snapshot, namespace: ns, ownerReferences: "
            "[{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, name: job, controller: true, uid: " +
            std::string(owner) + "}]}\ndata:\n  runtime: |\n" + indented(runtime, "    "));
    }
    cluster cluster_;
};

TEST_F(validator, a_new_job_needs_its_runtime_and_nothing_else) {
    EXPECT_TRUE(create(job("")).allowed);
    EXPECT_EQ(cluster_.asked, std::vector<std::string>{"TrainingRuntime rt"});
    cluster_.remove("TrainingRuntime", "rt");
    const auto r = create(job(""));
    EXPECT_FALSE(r.allowed);
    EXPECT_EQ(r.code, 403);
    EXPECT_EQ(r.reason, "Forbidden");
    EXPECT_EQ(r.uid, "r-1");
    EXPECT_EQ(r.fields, std::vector<std::string>{"spec.runtimeRef"});
    EXPECT_TRUE(r.message.contains("\"rt\" not found")) << r.message;
    EXPECT_EQ(create(job("", "", "kind: ClusterTrainingRuntime")).fields, r.fields) << "difference 35";
}

TEST_F(validator, a_runtime_of_a_kind_nobody_serves_is_named) {
    for (const auto* runtime : {"kind: Pod", "kind: TrainingRuntime, apiGroup: example.com"}) {
        const auto r = create(job("", "", runtime));
        EXPECT_EQ(r.code, 403) << runtime;
        EXPECT_TRUE(r.message.starts_with("unsupported runtime: ")) << r.message;
        EXPECT_THAT(cluster_.asked, IsEmpty());
    }
}

TEST_F(validator, what_cannot_be_read_is_an_error_of_the_server) {
    cluster_.hide("TrainingRuntime");
    const auto r = create(job(""));
    EXPECT_EQ(r.code, 500);
    EXPECT_EQ(r.reason, "InternalError");
    EXPECT_TRUE(r.message.contains("403 Forbidden")) << r.message;
}

// Difference 22.
TEST_F(validator, metadata_and_suspension_of_a_job_with_its_snapshot_outlive_the_runtime) {
    add_snapshot(runtime_yaml("mlPolicy: {numNodes: 2, torch: {}}", one_job, "namespace: ns"));
    cluster_.remove("TrainingRuntime", "rt");
    EXPECT_TRUE(update(job("", "finalizers: []"), job("", "finalizers: [a.b/c]")).allowed);
    EXPECT_EQ(cluster_.asked, std::vector<std::string>{"TrainingRuntime rt"});
    EXPECT_TRUE(update(job("suspend: true"), job("suspend: false")).allowed);
    EXPECT_TRUE(update(job("suspend: false"), job("suspend: true")).allowed);
}

TEST_F(validator, without_runtime_and_snapshot_a_job_can_be_stopped_but_not_started) {
    cluster_.remove("TrainingRuntime", "rt");
    EXPECT_TRUE(update(job("", "labels: {a: b}"), job("")).allowed);
    EXPECT_TRUE(update(job("suspend: true"), job("suspend: false")).allowed);
    EXPECT_FALSE(update(job("suspend: false"), job("suspend: true")).allowed);
    EXPECT_FALSE(update(job("suspend: true, activeDeadlineSeconds: 5"), job("suspend: false")).allowed);
}

// The runtime has lost its initializer since: a job that began before goes on.
TEST_F(validator, the_snapshot_decides_not_the_live_runtime) {
    constexpr std::string_view with_initializer = R"(
      replicatedJobs:
      - name: dataset-initializer
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: dataset-initializer}}
          spec: {template: {spec: {containers: [{name: dataset-initializer, image: i, volumeMounts: [{name: initializer, mountPath: /d}]}]}}}
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec: {template: {spec: {containers: [{name: node, image: i}]}}}
)";
    constexpr std::string_view wanted = "initializer: {dataset: {storageUri: 'hf://a/b'}}, suspend: ";
    const ref on = job(std::string(wanted) + "false");
    const ref off = job(std::string(wanted) + "true");
    EXPECT_FALSE(update(on, off).allowed);
    add_snapshot(runtime_yaml("mlPolicy: {numNodes: 2}", with_initializer, "namespace: ns"));
    EXPECT_TRUE(update(on, off).allowed);
    EXPECT_FALSE(create(on).allowed) << "a new job has no snapshot, whatever lies around";
}

// Who answers from stores may know that there is a snapshot, and not what it says.
TEST_F(validator, a_snapshot_that_was_not_read_lets_a_job_go_on) {
    cluster_.know_of("ConfigMap", "job-runtime-snapshot");
    EXPECT_FALSE(
        update(job("suspend: true, activeDeadlineSeconds: 5, trainer: {numProcPerNode: 0}"), job("suspend: true"))
            .allowed)
        << "the live runtime decides";
    cluster_.remove("TrainingRuntime", "rt");
    EXPECT_TRUE(update(job("suspend: true"), job("suspend: false")).allowed);
    const auto resumed = update(job("suspend: false"), job("suspend: true"));
    EXPECT_TRUE(resumed.allowed) << resumed.message;
    EXPECT_THAT(resumed.warnings, IsEmpty());
    const auto marked = update(job("suspend: false, fieldsKept: true"), job("suspend: true"));
    EXPECT_TRUE(marked.allowed) << marked.message;
    EXPECT_THAT(marked.warnings, IsEmpty()) << "that member is the mutating webhook's";
    const auto changed = update(job("suspend: true, activeDeadlineSeconds: 5"), job("suspend: true"));
    EXPECT_TRUE(changed.allowed) << changed.message;
    EXPECT_EQ(changed.warnings.size(), 1U);
    cluster_.hide("TrainingRuntime");
    EXPECT_TRUE(update(job("suspend: false"), job("suspend: true")).allowed) << "nor may it be read";
}

TEST_F(validator, a_snapshot_of_somebody_else_does_not_count) {
    add_snapshot(runtime_yaml("mlPolicy: {numNodes: 2}", one_job, "namespace: ns"), "another");
    cluster_.remove("TrainingRuntime", "rt");
    EXPECT_FALSE(update(job("suspend: false"), job("suspend: true")).allowed);
}

TEST_F(validator, another_spelling_of_a_patch_is_no_change) {
    const ref plain =
        job("runtimePatches: [{manager: a.b/c, trainingRuntimeSpec: {template: {metadata: {labels: {a: b}}}}}]");
    const ref wordy =
        job("runtimePatches: [{manager: a.b/c, trainingRuntimeSpec: {template: {spec: {replicatedJobs: []}, metadata: "
            "{annotations: {}, labels: {a: b}}}}}], podTemplateOverrides: []");
    EXPECT_TRUE(update(wordy, plain).allowed);
    EXPECT_TRUE(update(plain, wordy).allowed);
    EXPECT_FALSE(update(job("runtimePatches: [{manager: a.b/c}]"), plain).allowed);
}

TEST_F(validator, patches_wait_until_no_job_is_active) {
    constexpr std::string_view patch = "runtimePatches: [{manager: a.b/c}], suspend: true";
    EXPECT_FALSE(update(job("runtimePatches: [{manager: a.b/c}]"), job("")).allowed);
    EXPECT_TRUE(update(job(patch), job("suspend: true")).allowed);
    EXPECT_EQ(cluster_.asked.back(), "JobSet job");
    cluster_.add(
        "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: job, namespace: ns}\nstatus: "
        "{replicatedJobsStatus: [{name: node, active: 1, ready: 0, failed: 0, succeeded: 0, suspended: 0}]}\n");
    const auto r = update(job(patch), job("suspend: true"));
    EXPECT_EQ(r.code, 403);
    EXPECT_EQ(r.fields, std::vector<std::string>{"spec.runtimePatches"});
}

// What Kueue sends to admit a job and to stop it: suspension and its patch in one request.
TEST_F(validator, a_queue_resumes_and_patches_in_one_request) {
    constexpr std::string_view patch =
        "runtimePatches: [{manager: kueue.x-k8s.io/manager, time: '2026-03-04T05:00:00Z', trainingRuntimeSpec: "
        "{template: "
        "{spec: {replicatedJobs: [{name: node, template: {spec: {template: {metadata: {labels: {a: b}}, spec: "
        "{nodeSelector: {pool: gpu}, tolerations: [{key: gpu, operator: Exists}]}}}}}]}}}}]";
    const ref waiting = job("suspend: true");
    const ref admitted = job("suspend: false, " + std::string(patch));
    EXPECT_TRUE(update(admitted, waiting).allowed);
    EXPECT_TRUE(update(job("suspend: true"), admitted).allowed);
    EXPECT_FALSE(update(job("suspend: false"), admitted).allowed) << "not while it runs";
}

TEST_F(validator, the_trainer_is_immutable_unless_the_gate_is_open) {
    const ref two = job("trainer: {numNodes: 2, image: i}, suspend: true");
    const ref three = job("trainer: {numNodes: 3, image: i}, suspend: true");
    EXPECT_EQ(update(three, two).fields, std::vector<std::string>{"spec.trainer"});
    const ref none = job("suspend: true");
    EXPECT_TRUE(update(two, none).allowed);
    EXPECT_TRUE(update(none, two).allowed);
    cluster_.open.mutable_while_suspended = true;
    EXPECT_TRUE(update(three, two).allowed);
    EXPECT_FALSE(update(job("trainer: {numNodes: 3, image: j}, suspend: true"), two).allowed);
    EXPECT_FALSE(update(job("trainer: {numNodes: 3}"), job("trainer: {numNodes: 2}")).allowed);
    EXPECT_TRUE(update(job("trainer: {numNodes: 3}"), job("trainer: {numNodes: 2}, suspend: true")).allowed);
}

TEST_F(validator, the_word_for_processes_is_as_immutable_as_the_trainer) {
    constexpr std::string_view cpu = "annotations: {trainer.kubeflow.org/num-proc-per-node: cpu}";
    constexpr std::string_view gpu = "annotations: {trainer.kubeflow.org/num-proc-per-node: gpu}";
    EXPECT_TRUE(create(job("trainer: {}", cpu)).allowed);
    EXPECT_TRUE(update(job("suspend: true", cpu), job("", cpu)).allowed);
    EXPECT_FALSE(update(job("", gpu), job("", cpu)).allowed);
    EXPECT_TRUE(update(job("", "deletionTimestamp: '2026-01-01T00:00:00Z'"), job("", cpu)).allowed);
}

// Differences 11 and 16, and what they leave alone.
TEST_F(validator, added_rules_judge_what_is_new) {
    constexpr std::string_view bad =
        "trainer: {numNodes: -1}, runtimePatches: [{manager: a.b/c, trainingRuntimeSpec: "
        "{template: {spec: {replicatedJobs: [{name: gone}]}}}}]";
    const auto r = create(job(bad));
    EXPECT_EQ(r.fields, (std::vector<std::string>{"spec.runtimePatches", "spec.trainer.numNodes"}));
    EXPECT_TRUE(update(job(std::string(bad) + ", suspend: true"), job(bad)).allowed);
}

TEST_F(validator, gang_schedulers_exclude_each_other) {
    cluster_.add(runtime_yaml("podGroupPolicy: {coscheduling: {}, volcano: {}}"));
    EXPECT_EQ(create(job("")).fields, std::vector<std::string>{"spec.runtimeRef"});
    EXPECT_TRUE(update(job("suspend: true"), job("")).allowed);
}

constexpr std::string_view two_classes = R"(
      replicatedJobs:
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec: {template: {spec: {priorityClassName: high, containers: [{name: node, image: i}]}}}
      - name: other
        template: {spec: {template: {spec: {priorityClassName: low, containers: [{name: o, image: i}]}}}}
      - name: system
        template: {spec: {template: {spec: {priorityClassName: system-node-critical, containers: [{name: s, image: i}]}}}}
)";

// Difference 26.
TEST_F(validator, every_priority_class_is_looked_up) {
    cluster_.add(runtime_yaml("podGroupPolicy: {volcano: {}}", two_classes));
    cluster_.add("apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 1\n");
    const auto r = create(job(""));
    EXPECT_EQ(cluster_.asked,
              (std::vector<std::string>{"TrainingRuntime rt", "PriorityClass high", "PriorityClass low"}));
    EXPECT_EQ(r.fields, std::vector<std::string>{"spec.templateSpec.priorityClassName"});
    EXPECT_TRUE(r.message.contains("\"low\"")) << r.message;
    EXPECT_TRUE(update(job("", "labels: {a: b}"), job("")).allowed);
}

// The reference's ClusterRole has no PriorityClasses.
TEST_F(validator, a_priority_class_that_may_not_be_read_is_a_warning) {
    cluster_.add(runtime_yaml("podGroupPolicy: {volcano: {}}", two_classes));
    cluster_.hide("PriorityClass");
    const auto r = create(job(""));
    EXPECT_TRUE(r.allowed) << r.message;
    EXPECT_EQ(r.warnings.size(), 2U);
}

// Difference 5.
TEST_F(validator, a_hostfile_that_no_config_map_takes_is_refused_before_anything_is_made) {
    cluster_.add(runtime_yaml("mlPolicy: {mpi: {}}", launcher_and_node));
    EXPECT_TRUE(create(job("trainer: {numNodes: 10000}")).allowed);
    const auto r = create(job("trainer: {numNodes: 2147483647}"));
    EXPECT_EQ(r.fields, std::vector<std::string>{"spec.trainer.numNodes"});
    EXPECT_TRUE(r.message.contains("hosts with these names fit")) << r.message;
}

TEST_F(validator, warns_of_a_deprecated_cluster_runtime_on_every_change) {
    cluster_.add(runtime_yaml("mlPolicy: {numNodes: 1}", one_job, "labels: {trainer.kubeflow.org/support: deprecated}",
                              "ClusterTrainingRuntime"));
    const std::string_view cluster_wide = "kind: ClusterTrainingRuntime";
    for (const auto& r : {create(job("", "", cluster_wide)),
                          update(job("", "labels: {a: b}", cluster_wide), job("", "", cluster_wide))}) {
        ASSERT_EQ(r.warnings.size(), 1U);
        EXPECT_TRUE(r.warnings[0].starts_with("Referenced ClusterTrainingRuntime \"rt\" is deprecated"))
            << r.warnings[0];
    }
}

TEST_F(validator, a_ttl_that_nobody_obeys_is_a_warning) {
    EXPECT_EQ(create(job("ttlSecondsAfterFinished: 5")).warnings.size(), 1U);
    cluster_.open.ttl = true;
    EXPECT_THAT(create(job("ttlSecondsAfterFinished: 5")).warnings, IsEmpty());
}

// Difference 30.
class queued : public validator {
   public:
    std::string warning(std::string_view policies, std::string_view jobs, std::string_view spec) {
        cluster_.add(runtime_yaml(policies, jobs));
        const auto r = create(job(spec, "labels: {kueue.x-k8s.io/queue-name: q}"));
        EXPECT_TRUE(r.allowed) << r.message;
        EXPECT_THAT(create(job(spec)).warnings, IsEmpty()) << "no queue, no warning";
        return r.warnings.empty() ? "" : r.warnings.front();
    }
};

constexpr std::string_view unlabelled = R"(
      replicatedJobs:
      - name: node
        template: {spec: {template: {spec: {containers: [{name: node, image: i}]}}}}
)";

TEST_F(queued, jobs_that_kueue_counts_right_get_no_warning) {
    EXPECT_EQ(warning("mlPolicy: {numNodes: 2, torch: {}}", one_job, "trainer: {numNodes: 4}"), "");
    EXPECT_EQ(warning("mlPolicy: {numNodes: 1, mpi: {}}", launcher_and_node, "trainer: {numNodes: 4}"), "");
    EXPECT_EQ(warning("mlPolicy: {numNodes: 1}", one_job, "trainer: {resourcesPerNode: {limits: {cpu: 1}}}"), "");
}

TEST_F(queued, an_unlabelled_trainer_is_one_pod_to_kueue) {
    const std::string text = warning("mlPolicy: {numNodes: 4, torch: {}}", unlabelled, "");
    EXPECT_TRUE(text.contains(R"(job "node" as 1 pod, not 4)")) << text;
}

TEST_F(queued, the_runtimes_number_scales_nodes_here_and_launchers_there) {
    const std::string text = warning("mlPolicy: {numNodes: 3, mpi: {}}", launcher_and_node, "");
    EXPECT_TRUE(text.contains(R"(job "launcher" as 3 pods, not 1)")) << text;
    EXPECT_TRUE(text.contains(R"(job "node" as 1 pod, not 3)")) << text;
}

constexpr std::string_view six_workers = R"(
      replicatedJobs:
      - name: launcher
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec: {template: {spec: {containers: [{name: node, image: i}]}}}
      - name: node
        replicas: 2
        template: {spec: {parallelism: 3, template: {spec: {containers: [{name: node, image: i}]}}}}
      - {name: idle, template: {spec: {parallelism: 0, template: {spec: {containers: [{name: c, image: i}]}}}}}
)";

TEST_F(queued, counts_that_are_the_references_get_no_warning) {
    EXPECT_EQ(warning("mlPolicy: {numNodes: 1, mpi: {}}", six_workers, ""), "");
    EXPECT_EQ(warning("mlPolicy: {mpi: {runLauncherAsNode: true}}", six_workers, "trainer: {numNodes: 0}"), "");
    EXPECT_EQ(warning("mlPolicy: {numNodes: 0, torch: {}}", one_job, ""), "");
    EXPECT_EQ(warning("mlPolicy: {torch: {}}", one_job, "trainer: {numNodes: 0}"), "");
    EXPECT_EQ(warning("mlPolicy: {torch: {}}", unlabelled, ""), "");
}

TEST_F(queued, replicas_count) {
    const std::string text = warning("mlPolicy: {numNodes: 2, mpi: {}}", six_workers, "");
    EXPECT_TRUE(text.contains(R"(job "node" as 6 pods, not 4)")) << text;
    EXPECT_FALSE(text.contains("idle")) << text;
}

TEST_F(queued, resources_over_a_runtime_without_policy_are_not_seen_by_kueue) {
    const std::string text =
        warning("podGroupPolicy: {coscheduling: {}}", one_job, "trainer: {resourcesPerNode: {limits: {cpu: 1}}}");
    EXPECT_TRUE(text.contains("resourcesPerNode")) << text;
}

}  // namespace
}  // namespace cotrain::admission
