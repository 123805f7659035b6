// JAX, XGBoost and progress reports: variables, counts, mounts.
#include "plan.hpp"

namespace cotrain::plugins {
namespace {

constexpr std::string_view gpu_worker = R"(
      network: {subdomain: mesh}
      replicatedJobs:
      - name: worker
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec:
            template: {spec: {containers: [{name: node, image: i, resources: {limits: {x/gpu: 4}}}, {name: side}]}}
)";

TEST(jax, points_everybody_at_the_coordinator) {
    plan p(runtime_text("mlPolicy: {numNodes: 3, jax: {}}", gpu_worker), job_text());
    EXPECT_EQ(p.env("JAX_NUM_PROCESSES", "worker"), "3");
    EXPECT_EQ(p.env("JAX_COORDINATOR_ADDRESS", "worker"), "job-worker-0-0.mesh:29500");
    EXPECT_EQ(p.container("worker").get("ports").at(0).get("containerPort").as_int(), 29500);
}

TEST(jax, leaves_its_variables_to_the_job) {
    plan p(runtime_text("mlPolicy: {jax: {}}", gpu_worker),
           job_text("trainer: {env: [{name: JAX_NUM_PROCESSES, value: '9'}]}"));
    EXPECT_TRUE(p.review().accepted());
    EXPECT_EQ(p.env("JAX_NUM_PROCESSES", "worker"), "9");
}

TEST(xgboost, counts_a_worker_per_gpu) {
    plan p(runtime_text("mlPolicy: {numNodes: 3, xgboost: {}}", gpu_worker), job_text());
    EXPECT_EQ(p.env("DMLC_NUM_WORKER", "worker"), "12");
    EXPECT_EQ(p.env("DMLC_TRACKER_URI", "worker"), "job-worker-0-0.mesh");
    plan cpus(runtime_text("mlPolicy: {xgboost: {}}"), job_text("trainer: {numNodes: 5}"));
    EXPECT_EQ(cpus.env("DMLC_NUM_WORKER"), "5");
    plan many(runtime_text("mlPolicy: {xgboost: {}}"),
              job_text("trainer: {numNodes: 4, resourcesPerNode: {limits: {nvidia.com/gpu: 8E}}}"));
    EXPECT_EQ(many.env("DMLC_NUM_WORKER"), "8589934588");
}

TEST(xgboost, refuses_its_own_variables) {
    plan p(runtime_text("mlPolicy: {xgboost: {}}"), job_text("trainer: {env: [{name: A}, {name: DMLC_TASK_ID}]}"));
    const auto verdict = p.review();
    ASSERT_EQ(verdict.errors.size(), 1U);
    EXPECT_EQ(verdict.errors[0].text(),
              "spec.trainer.env[1]: Forbidden: DMLC_TASK_ID is reserved for the XGBoost runtime");
}

TEST(trainjob_status, is_behind_its_gate) {
    plan p(runtime_text("mlPolicy: {torch: {}}", gpu_worker), job_text());
    EXPECT_EQ(p.env("KUBEFLOW_TRAINER_SERVER_URL", "worker"), "");
    EXPECT_FALSE(p.object("ConfigMap", "job-tls-config"));
}

TEST(trainjob_status, tells_all_containers_of_the_trainer) {
    plan p(runtime_text("mlPolicy: {torch: {}}", gpu_worker), job_text());
    p.framework.get<trainjob_status>().server_url = "https://svc.op.svc:10443";
    EXPECT_NE(p.error().find("ca.crt"), std::string::npos);
    p.seen.ca_certificate = "PEM\n";
    for (const auto* name : {"node", "side"}) {
        EXPECT_EQ(p.env("KUBEFLOW_TRAINER_SERVER_URL", "worker", name),
                  "https://svc.op.svc:10443/apis/trainer.kubeflow.org/v1alpha1/namespaces/ns/trainjobs/job/status");
        EXPECT_EQ(p.env("KUBEFLOW_TRAINER_SERVER_CA_CERT", "worker", name), "/var/run/secrets/kubeflow/trainer/ca.crt");
        EXPECT_EQ(p.env("KUBEFLOW_TRAINER_SERVER_TOKEN", "worker", name), "/var/run/secrets/kubeflow/trainer/token");
    }
    const doc::ref token = p.pod_spec("worker")
                               .get("volumes")
                               .find_by("name", "kubeflow-trainer-token")
                               .get({"projected", "sources"})
                               .at(0)
                               .get("serviceAccountToken");
    EXPECT_EQ(token.get("audience").as_string(), "trainer.kubeflow.org/v1alpha1/namespaces/ns/trainjobs/job/status");
    EXPECT_EQ(token.get("expirationSeconds").as_int(), 3600);
    EXPECT_EQ(p.object("ConfigMap", "job-tls-config").get({"data", "ca.crt"}).as_string(), "PEM\n");
}

// The seeds' own YAML, in the dialect they are written in.
TEST(seeds, the_overviews_job_runs) {
    plan p(R"(
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: torch-distributed-multi-node}
spec:
  mlPolicy:
    numNodes: 2
    torch: {numProcPerNode: auto}
  podGroupPolicy:
    coscheduling: {scheduleTimeoutSeconds: 300}
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          spec:
            template:
              spec:
                containers:
                - {name: node, image: pytorch/pytorch:2.0.0, command: [torchrun]}
)",
           R"(
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: pytorch-distributed, namespace: default}
spec:
  runtimeRef: {name: torch-distributed-multi-node, kind: ClusterTrainingRuntime}
  trainer:
    image: pytorch/pytorch:2.0.0
    numNodes: 4
    numProcPerNode: "auto"
    resourcesPerNode:
      limits: {nvidia.com/gpu: 8}
  podTemplateOverrides:
  - targetJobs: [{name: node}]
    spec:
      tolerations: [{key: gpu, operator: Exists}]
)");
    EXPECT_TRUE(p.review().accepted()) << p.review().message();
    const doc::ref set = p.object("JobSet", "pytorch-distributed");
    const doc::ref node = set.get({"spec", "replicatedJobs"}).at(0);
    EXPECT_EQ(node.get({"template", "spec", "parallelism"}).as_int(), 4);
    const doc::ref pods = node.get({"template", "spec", "template", "spec"});
    EXPECT_EQ(pods.get("tolerations").at(0).get("key").as_string(), "gpu");
    const doc::ref container = pods.get("containers").at(0);
    EXPECT_EQ(container.get({"resources", "limits", "nvidia.com/gpu"}).as_string(), "8");
    EXPECT_EQ(container.get("env").find_by("name", "PET_NPROC_PER_NODE").get("value").as_string(), "auto");
    const doc::ref group = p.object("PodGroup", "pytorch-distributed").get("spec");
    EXPECT_EQ(group.get("minMember").as_int(), 4);
    EXPECT_EQ(group.get({"minResources", "nvidia.com/gpu"}).as_string(), "32");
    EXPECT_EQ(group.get("scheduleTimeoutSeconds").as_int(), 300);
}

TEST(plan, is_the_same_every_time) {
    for (const auto* policy : {"{torch: {}}", "{jax: {}}", "{xgboost: {}}", "{flux: {}}", "{}"}) {
        const std::string text = runtime_text("mlPolicy: " + std::string(policy), gpu_worker);
        plan a(text, job_text("trainer: {numNodes: 2, env: [{name: A, value: b}]}"));
        plan b(text, job_text("trainer: {numNodes: 2, env: [{name: A, value: b}]}"));
        a.seen.make_curve_key = b.seen.make_curve_key = [] { return runtime::curve_key{"open", "secret"}; };
        const auto first = a.make();
        const auto again = a.make();
        const auto other = b.make();
        ASSERT_TRUE(first && again && other) << policy;
        ASSERT_EQ(first->size(), other->size());
        for (std::size_t i = 0; i < first->size(); ++i) {
            EXPECT_EQ((*first)[i].json, (*again)[i].json) << policy;
            EXPECT_EQ((*first)[i].json, (*other)[i].json) << policy;
        }
    }
}

TEST(plan, begins_with_the_snapshot_and_ends_with_the_job_set) {
    plan p(runtime_text("podGroupPolicy: {coscheduling: {}}\n  mlPolicy: {torch: {}}"), job_text());
    const auto objects = p.make();
    ASSERT_TRUE(objects);
    ASSERT_EQ(objects->size(), 3U);
    EXPECT_EQ(objects->front().name, "job-runtime-snapshot");
    EXPECT_EQ(objects->back().type->kind, "JobSet");
}

}  // namespace
}  // namespace cotrain::plugins
