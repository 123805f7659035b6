// A valid review with one node removed or replaced by a value of another type: it gets an answer, and a refusal is the
// sender's fault, not ours.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "admission/cluster.hpp"
#include "support/one_change.hpp"

namespace cotrain::admission {
namespace {

using doc::ref;

constexpr std::string_view runtime_yaml = R"(
apiVersion: trainer.kubeflow.org/v1alpha1
kind: KIND
metadata: {name: rt, namespace: ns, labels: {trainer.kubeflow.org/support: deprecated}, annotations: {a: b}}
spec:
  mlPolicy: {numNodes: 2, torch: {numProcPerNode: 2, envInjection: {targets: [{jobName: node, containerNames: [node]}]}}}
  podGroupPolicy: {volcano: {networkTopology: {mode: hard}}}
  template:
    metadata: {labels: {l: v}, annotations: {scheduling.volcano.sh/queue-name: q}}
    spec:
      network: {subdomain: sub}
      replicatedJobs:
      - name: dataset-initializer
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: dataset-initializer}}
          spec:
            template:
              spec:
                containers:
                - {name: dataset-initializer, image: i, volumeMounts: [{name: initializer, mountPath: /i}]}
      - name: node
        replicas: 1
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec:
            parallelism: 1
            template:
              spec:
                priorityClassName: high
                containers:
                - {name: node, image: i, env: [{name: A, value: b}, {name: S, valueFrom: {secretKeyRef: {name: s, key: k}}}], ports: [{containerPort: 1}],
                   resources: {requests: {cpu: 1}, limits: {nvidia.com/gpu: 2}}}
)";

constexpr std::string_view job_yaml = R"(
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: job, namespace: ns, labels: {l: v, kueue.x-k8s.io/queue-name: q}, annotations: {a: b}}
spec:
  runtimeRef: {name: rt, apiGroup: trainer.kubeflow.org, kind: TrainingRuntime}
  initializer:
    dataset: {storageUri: "hf://a/b", env: [{name: A, value: b}], secretRef: {name: s}}
  trainer:
    image: i
    command: [a]
    args: [b]
    env:
    - {name: A, valueFrom: {secretKeyRef: {name: s, key: k}}}
    - {name: B, valueFrom: {configMapKeyRef: {name: s, key: k}}}
    - {name: C, valueFrom: {fieldRef: {apiVersion: v1, fieldPath: metadata.name}}}
    - {name: D, valueFrom: {resourceFieldRef: {containerName: c, resource: limits.cpu, divisor: "1"}}}
    numNodes: 2
    numProcPerNode: "8"
    resourcesPerNode: {requests: {cpu: 1}, limits: {nvidia.com/gpu: 2}}
  runtimePatches:
  - manager: a.example/b
    time: "2026-01-02T03:04:05Z"
    trainingRuntimeSpec:
      template:
        metadata: {labels: {l: v}}
        spec:
          replicatedJobs:
          - name: node
            template:
              spec: {template: {metadata: {labels: {l: v}}, spec: {nodeSelector: {a: b}, tolerations: [{key: a}]}}}
  podTemplateOverrides:
  - targetJobs: [{name: node}]
    metadata: {labels: {l: v}}
    spec: {containers: [{name: node, volumeMounts: [{name: v, mountPath: /v}]}], schedulingGates: [{name: g}]}
  suspend: true
  activeDeadlineSeconds: 60
  managedBy: trainer.kubeflow.org/trainjob-controller
  ttlSecondsAfterFinished: 5
status: {conditions: [{type: Suspended, status: "True", reason: r, message: m}], jobsStatus: [{name: node, ready: 0}]}
)";

class malformed : public testing::Test {
   public:
    malformed() {
        for (const std::string kind : {"TrainingRuntime", "ClusterTrainingRuntime"}) {
            auto& document = kind == "TrainingRuntime" ? runtime_ : cluster_runtime_;
            std::string yaml(runtime_yaml);
            yaml.replace(yaml.find("KIND"), 4, kind);
            document = cluster_.load(yaml);
            cluster_.put(document);
            cluster_.know_of("PriorityClass", "high");
        }
        job_ = cluster_.load(job_yaml);
    }

    // Every node of the review in turn becomes each of the others.
    void vary(hook h, const std::string& json) {
        doc::arena memory;
        const auto review = doc::parse_json(memory, json);
        ASSERT_TRUE(review);
        const reply unchanged = cluster_.send(h, json);
        ASSERT_TRUE(unchanged.allowed) << unchanged.message;
        for (const test::one_change& each : test::every_one_change(*review)) {
            const std::string text = std::string(path_of(h)) + ": " + each.what;
            try {
                judge(cluster_.send(h, each.json), text);
            } catch (const std::exception& e) {
                ADD_FAILURE() << text << ": " << e.what();
            }
        }
    }

    static void judge(const reply& r, const std::string& text) {
        if (r.allowed) {
            EXPECT_EQ(r.code, 0) << text;
            return;
        }
        EXPECT_TRUE(r.code == 400 || r.code == 403) << text << ": " << r.code << " " << r.message;
        EXPECT_FALSE(r.message.empty()) << text;
        EXPECT_FALSE(r.message.contains('\n')) << text << ": " << r.message;
    }

    cluster cluster_;
    ref job_;
    ref runtime_;
    ref cluster_runtime_;
};

TEST_F(malformed, jobs_are_answered_whatever_one_node_is) {
    for (const hook h : {hook::default_train_job, hook::validate_train_job}) {
        vary(h, review_json(job_, {}));
        vary(h, review_json(job_, job_));
    }
}

TEST_F(malformed, runtimes_are_answered_whatever_one_node_is) {
    vary(hook::validate_training_runtime, review_json(runtime_, {}));
    vary(hook::validate_training_runtime, review_json(runtime_, runtime_));
    vary(hook::validate_cluster_training_runtime, review_json(cluster_runtime_, {}));
    vary(hook::validate_cluster_training_runtime, review_json(cluster_runtime_, cluster_runtime_));
}

TEST_F(malformed, a_job_without_spec_or_runtime_gets_one_clear_line) {
    cluster_.hide("ClusterTrainingRuntime");  // no answer about a runtime makes this an error of ours
    for (const std::string_view spec :
         {"", "spec: {}", "spec: null", "spec: {runtimeRef: {}}", "spec: {runtimeRef: null}"}) {
        const auto job = cluster_.load(
            "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\n"
            "metadata: {name: j, namespace: ns}\n" +
            std::string(spec));
        const auto r = cluster_.create(hook::validate_train_job, job);
        EXPECT_FALSE(r.allowed) << spec;
        EXPECT_EQ(r.code, 403) << spec;
        EXPECT_EQ(r.message, "spec.runtimeRef.name: Required value: it names the runtime of the TrainJob") << spec;
        EXPECT_TRUE(cluster_.asked.empty()) << spec << ": no runtime has no name";
        // What is stored without a spec can still lose a finalizer.
        EXPECT_TRUE(cluster_.update(hook::validate_train_job, job, job).allowed) << spec;
        EXPECT_TRUE(cluster_.create(hook::default_train_job, job).allowed) << spec;
    }
}

}  // namespace
}  // namespace cotrain::admission
