// TrainJobs, runtimes and their children, read from JSON and YAML in both dialects and written back.
#include <gtest/gtest.h>

#include "api/admission_review.hpp"
#include "api/jobset.hpp"
#include "api/lease.hpp"
#include "api/runtime.hpp"
#include "api/trainjob.hpp"
#include "support/documents.hpp"

namespace cotrain::api {
namespace {

class objects : public ::testing::Test {
   protected:
    template <class T>
    T good(base::result<T> r) {
        if (!r) throw std::invalid_argument(r.error().message);
        return std::move(*r);
    }
    train_job job(std::string_view yaml) { return good(decode_train_job(doc::from_yaml(memory_, yaml))); }
    std::string job_error(std::string_view yaml) {
        const auto r = decode_train_job(doc::from_yaml(memory_, yaml));
        return r ? "accepted" : r.error().message;
    }
    std::string runtime_error(std::string_view yaml) {
        const auto r = decode_training_runtime(doc::from_yaml(memory_, yaml));
        return r ? "accepted" : r.error().message;
    }
    doc::arena memory_;
};

TEST_F(objects, a_train_job_with_everything) {
    const train_job j = job(R"(
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: j
  namespace: ns
  uid: u
  resourceVersion: "7"
  generation: 2
  labels: {a: b}
  creationTimestamp: "2026-01-02T12:00:00Z"
  ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: c, uid: o, controller: true}]
spec:
  runtimeRef: {name: torch, kind: TrainingRuntime}
  initializer:
    dataset: {storageUri: hf://d, env: [{name: A, value: "1"}], secretRef: {name: s}}
    model: {}
  trainer:
    image: i
    command: [torchrun]
    args: []
    env: [{name: X, valueFrom: {fileKeyRef: {path: newer}}}]
    numNodes: 4
    numProcPerNode: 8
    resourcesPerNode: {limits: {nvidia.com/gpu: 8}}
  runtimePatches:
  - {manager: a.test/b, time: "2026-01-02T12:00:00Z", trainingRuntimeSpec: {template: {spec: {replicatedJobs: [{name: node}]}}}}
  podTemplateOverrides:
  - targetJobs: [{name: node}]
    spec: {tolerations: [{key: k}]}
  suspend: true
  activeDeadlineSeconds: 60
  managedBy: kueue.x-k8s.io/multikueue
status:
  conditions: [{type: Suspended, status: "True", reason: r, message: m, lastTransitionTime: "2026-01-02T12:00:00Z"}]
  jobsStatus: [{name: node, ready: 1, active: 2}]
  trainerStatus: {progressPercentage: 3}
)");
    EXPECT_EQ(j.meta.name, "j");
    EXPECT_EQ(j.meta.generation, 2);
    EXPECT_EQ(j.meta.label("a"), "b");
    EXPECT_EQ(j.meta.label("z"), "");
    EXPECT_TRUE(j.meta.controlled_by("o"));
    EXPECT_FALSE(j.meta.controlled_by(""));
    EXPECT_FALSE(j.meta.deleting());
    EXPECT_EQ(j.spec.runtime.kind, "TrainingRuntime");
    EXPECT_EQ(j.spec.runtime.api_group, "trainer.kubeflow.org");
    EXPECT_EQ(j.spec.dataset->storage_uri, "hf://d");
    EXPECT_EQ(j.spec.dataset->secret_name, "s");
    EXPECT_FALSE(j.spec.model->storage_uri);
    EXPECT_FALSE(j.spec.model->has_secret);
    EXPECT_EQ(j.spec.trainer->num_nodes, 4);
    EXPECT_EQ(j.spec.trainer->num_proc_per_node.count, 8);
    EXPECT_FALSE(j.spec.trainer->num_proc_per_node.written_as_text);
    EXPECT_TRUE(j.spec.trainer->args) << "an empty list is not an absent one";
    EXPECT_EQ(doc::to_json(j.spec.trainer->env), R"([{"name":"X","valueFrom":{"fileKeyRef":{"path":"newer"}}}])");
    EXPECT_EQ(j.spec.runtime_patches.at(0).manager, "a.test/b");
    EXPECT_EQ(j.spec.pod_template_overrides.at(0).target_jobs.at(0), "node");
    EXPECT_TRUE(j.spec.suspend);
    EXPECT_EQ(j.spec.active_deadline_seconds, 60);
    EXPECT_EQ(j.spec.managed_by, "kueue.x-k8s.io/multikueue");
    EXPECT_TRUE(is_true(j.status.conditions, "Suspended"));
    EXPECT_EQ(j.status.jobs.at(0), (job_status{.name = "node", .ready = 1, .active = 2}));
    EXPECT_EQ(j.trainer_status.get("progressPercentage").as_int(), 3);
}

TEST_F(objects, defaults_of_a_train_job) {
    const train_job j = job("spec: {runtimeRef: {name: r}, trainer: null, suspend: null}");
    EXPECT_EQ(j.spec.runtime.kind, "ClusterTrainingRuntime");
    EXPECT_EQ(j.spec.managed_by, "trainer.kubeflow.org/trainjob-controller");
    EXPECT_FALSE(j.spec.suspend);
    EXPECT_FALSE(j.spec.trainer);
    EXPECT_FALSE(j.spec.dataset);
}

TEST_F(objects, process_counts_in_both_dialects) {
    const auto count = [&](std::string_view value) {
        return job("spec: {trainer: {numProcPerNode: " + std::string(value) + "}}").spec.trainer->num_proc_per_node;
    };
    EXPECT_EQ(count("8").count, 8);
    EXPECT_EQ(count("\"8\"").count, 8);
    EXPECT_TRUE(count("\"8\"").written_as_text);
    EXPECT_EQ(count("auto").kind, process_count::form::automatic);
    EXPECT_EQ(count("cpu").kind, process_count::form::cpu);
    EXPECT_EQ(count("gpu").kind, process_count::form::gpu);
    EXPECT_FALSE(count("null").is_set());
    EXPECT_EQ(job_error("spec: {trainer: {numProcPerNode: many}}"),
              "TrainJob: spec.trainer.numProcPerNode: expected an integer, \"auto\", \"cpu\" or \"gpu\", got \"many\"");
    EXPECT_EQ(
        job_error("spec: {trainer: {numProcPerNode: 3000000000}}"),
        "TrainJob: spec.trainer.numProcPerNode: expected an integer from -2147483648 to 2147483647, got 3000000000");
}

TEST_F(objects, a_process_count_kept_in_an_annotation_comes_back) {
    const auto kept = [&](std::string_view spec) {
        return job("metadata: {annotations: {trainer.kubeflow.org/num-proc-per-node: gpu}}\nspec: " + std::string(spec))
            .spec;
    };
    EXPECT_EQ(kept("{}").trainer->num_proc_per_node.kind, process_count::form::gpu);
    EXPECT_EQ(kept("{trainer: {numNodes: 2}}").trainer->num_proc_per_node.kind, process_count::form::gpu);
    EXPECT_EQ(kept("{trainer: {numProcPerNode: 3}}").trainer->num_proc_per_node.count, 3) << "the field wins";
}

TEST_F(objects, wrong_types_are_told_with_their_path) {
    EXPECT_EQ(job_error("spec: {trainer: {numNodes: \"2\"}}"),
              "TrainJob: spec.trainer.numNodes: expected an integer, got \"2\"");
    EXPECT_EQ(job_error("spec: {trainer: {numNodes: 1.5}}"),
              "TrainJob: spec.trainer.numNodes: expected an integer, got 1.5");
    EXPECT_EQ(job_error("spec: {trainer: {command: x}}"), "TrainJob: spec.trainer.command: expected a list, got \"x\"");
    EXPECT_EQ(job_error("spec: {trainer: {command: [a, 1]}}"),
              "TrainJob: spec.trainer.command[1]: expected a string, got 1");
    EXPECT_EQ(job_error("spec: {trainer: {env: {A: b}}}"),
              "TrainJob: spec.trainer.env: expected a list, got an object");
    EXPECT_EQ(job_error("spec: {trainer: {env: [{value: x}]}}"), "TrainJob: spec.trainer.env[0].name: is required");
    EXPECT_EQ(job_error("spec: {suspend: \"yes\"}"), "TrainJob: spec.suspend: expected true or false, got \"yes\"");
    EXPECT_EQ(
        job_error("spec: {trainer: {resourcesPerNode: {limits: {nvidia.com/gpu: lots}}}}"),
        "TrainJob: spec.trainer.resourcesPerNode.limits[nvidia.com/gpu]: \"lots\" is not a quantity: expected a number "
        "with an optional suffix, like 2, 500m, 1.5Gi, 3k or 2e3");
    EXPECT_EQ(job_error("metadata: {labels: {a: 1}}"), "TrainJob: metadata.labels.a: expected a string, got 1");
    EXPECT_EQ(job_error("metadata: {creationTimestamp: now}"),
              "TrainJob: metadata.creationTimestamp: expected a time like 2026-01-02T03:04:05Z, got \"now\"");
    EXPECT_EQ(job_error("[]"), "TrainJob: expected an object, got a list");
    EXPECT_EQ(job_error("spec: {podTemplateOverrides: [{spec: {containers: [{name: a, env: [x]}]}}]}"),
              "TrainJob: spec.podTemplateOverrides[0].spec.containers[0].env[0]: expected an object, got \"x\"");
    EXPECT_EQ(job_error("spec: {runtimePatches: [{trainingRuntimeSpec: {template: {spec: {replicatedJobs: [{}]}}}}]}"),
              "TrainJob: spec.runtimePatches[0].trainingRuntimeSpec.template.spec.replicatedJobs[0].name: is required");
}

TEST_F(objects, a_runtime_with_its_policies) {
    const training_runtime r = good(decode_training_runtime(doc::from_yaml(memory_, R"(
kind: ClusterTrainingRuntime
metadata: {name: r}
spec:
  mlPolicy: {numNodes: 2, torch: {numProcPerNode: auto, envInjection: {targets: [{jobName: x, containerNames: [a, b]}]}}}
  podGroupPolicy: {coscheduling: {}}
  template:
    metadata: {labels: {a: b}}
    spec: {replicatedJobs: [{name: node, template: {spec: {template: {spec: {containers: [{name: node, newer: 1}]}}}}}]}
)")));
    EXPECT_TRUE(r.cluster_wide());
    EXPECT_EQ(r.ml->num_nodes, 2);
    EXPECT_EQ(r.ml->torch->num_proc_per_node.kind, process_count::form::automatic);
    EXPECT_EQ(r.ml->torch->env_injection.at(0).job_name, "x");
    EXPECT_EQ(r.ml->torch->env_injection.at(0).container_names.size(), 2U);
    EXPECT_FALSE(r.ml->mpi);
    EXPECT_EQ(r.pod_groups->coscheduling->schedule_timeout_seconds, 60);
    EXPECT_FALSE(r.pod_groups->volcano);
    EXPECT_EQ(r.template_metadata.get({"labels", "a"}).text(), "b");
    EXPECT_EQ(r.template_spec.get("replicatedJobs").size(), 1U);
}

TEST_F(objects, a_runtime_for_mpi_and_the_others) {
    const auto policy = [&](std::string_view ml) {
        return *good(decode_training_runtime(doc::from_yaml(memory_, "spec: {mlPolicy: " + std::string(ml) + "}"))).ml;
    };
    const ml_policy defaults = policy("{mpi: {}}");
    EXPECT_EQ(defaults.mpi->num_proc_per_node, 1);
    EXPECT_EQ(defaults.mpi->implementation, mpi_implementation::open_mpi);
    EXPECT_EQ(defaults.mpi->ssh_auth_mount_path, "/root/.ssh");
    EXPECT_FALSE(defaults.mpi->run_launcher_as_node);
    EXPECT_EQ(policy("{mpi: {mpiImplementation: MPICH}}").mpi->implementation, mpi_implementation::mpich);
    EXPECT_EQ(policy("{mpi: {mpiImplementation: \"\"}}").mpi->implementation, mpi_implementation::open_mpi);
    EXPECT_TRUE(policy("{jax: {}}").jax);
    EXPECT_TRUE(policy("{xgboost: {}}").xgboost);
    EXPECT_EQ(policy("{flux: {numProcPerNode: 3}}").flux->num_proc_per_node, 3);
    EXPECT_FALSE(policy("{flux: {}}").flux->num_proc_per_node);
    EXPECT_EQ(runtime_error("spec: {mlPolicy: {mpi: {mpiImplementation: Other}}}"),
              "TrainingRuntime: spec.mlPolicy.mpi.mpiImplementation: expected OpenMPI, Intel or MPICH, got \"Other\"");
}

TEST_F(objects, a_template_that_cannot_be_walked_through_is_refused) {
    const auto error = [&](std::string_view pod) {
        return runtime_error(
            "spec: {template: {spec: {replicatedJobs: [{name: node, template: {spec: {template: {spec: " +
            std::string(pod) + "}}}}]}}}");
    };
    const std::string pod = "TrainingRuntime: spec.template.spec.replicatedJobs[0].template.spec.template.spec.";
    EXPECT_EQ(error("{containers: 5}"), pod + "containers: expected a list, got 5");
    EXPECT_EQ(error("{containers: [null]}"), pod + "containers[0]: expected an object, got null");
    EXPECT_EQ(error("{containers: [{image: i}]}"), pod + "containers[0].name: is required");
    EXPECT_EQ(error("{containers: [{name: a, ports: [{containerPort: x}]}]}"),
              pod + "containers[0].ports[0].containerPort: expected an integer, got \"x\"");
    EXPECT_EQ(error("{volumes: [{}]}"), pod + "volumes[0].name: is required");
    EXPECT_EQ(error("{nodeSelector: {a: 1}}"), pod + "nodeSelector.a: expected a string, got 1");
    EXPECT_EQ(error("{containers: null, volumes: null}"), "accepted");
    EXPECT_EQ(runtime_error("spec: {template: {spec: {replicatedJobs: [{name: a, replicas: -3000000000}]}}}"),
              "TrainingRuntime: spec.template.spec.replicatedJobs[0].replicas: expected an integer from -2147483648 to "
              "2147483647, got -3000000000");
}

TEST_F(objects, a_status_patch_says_what_differs_and_never_empties_the_status) {
    train_job_status from;
    EXPECT_FALSE(status_patch(memory_, from, from));
    train_job_status to = from;
    to.jobs.push_back({.name = "node", .ready = 1});
    EXPECT_EQ(
        doc::to_json(status_patch(memory_, from, to)),
        R"({"status":{"jobsStatus":[{"name":"node","ready":1,"succeeded":0,"failed":0,"active":0,"suspended":0}]}})");
    EXPECT_EQ(doc::to_json(status_patch(memory_, to, from)), R"({"status":{"jobsStatus":[]}})");
    set_condition(to.conditions, {.type = "Complete", .status = condition_status::yes},
                  *base::parse_time_seconds("2026-01-02T12:00:00Z"));
    train_job_status same_jobs = to;
    same_jobs.conditions.clear();
    EXPECT_EQ(
        doc::to_json(status_patch(memory_, same_jobs, to)),
        R"({"status":{"conditions":[{"type":"Complete","status":"True","lastTransitionTime":"2026-01-02T12:00:00Z",)"
        R"("reason":"","message":""}]}})");
    EXPECT_EQ(encode_status(memory_, to).size(), 2U);
    EXPECT_EQ(encode_status(memory_, from).size(), 0U);
}

TEST_F(objects, a_job_set_as_it_is_observed) {
    const job_set s = good(decode_job_set(doc::from_yaml(memory_, R"(
metadata: {name: j, deletionTimestamp: "2026-01-02T12:00:00Z"}
spec: {suspend: true}
status:
  restarts: 2
  terminalState: Failed
  conditions: [{type: Failed, status: "True", reason: FailedJobs, message: m, lastTransitionTime: "2026-01-02T12:00:00Z"}]
  replicatedJobsStatus: [{name: node, ready: 1, succeeded: 2, failed: 3, active: 0, suspended: 5}]
)")));
    EXPECT_TRUE(s.meta.deleting());
    EXPECT_TRUE(s.suspend);
    EXPECT_EQ(s.restarts, 2);
    EXPECT_EQ(s.terminal_state, "Failed");
    EXPECT_TRUE(is_true(s.conditions, "Failed"));
    EXPECT_EQ(s.jobs.at(0).suspended, 5);
    EXPECT_FALSE(s.any_active());
    EXPECT_TRUE(good(decode_job_set(doc::from_yaml(memory_, "status: {replicatedJobsStatus: [{name: a, active: 1}]}")))
                    .any_active());
}

TEST_F(objects, a_lease_keeps_what_it_does_not_know) {
    lease l = good(decode_lease(doc::from_json(
        memory_,
        R"({"metadata":{"name":"l","resourceVersion":"9","labels":{"a":"b"}},"spec":{"holderIdentity":"x",)"
        R"("leaseDurationSeconds":15,"renewTime":"2026-01-02T12:00:00.000001Z","leaseTransitions":4,"strategy":"s"}})")));
    EXPECT_EQ(l.holder, "x");
    EXPECT_EQ(l.transitions, 4);
    l.holder = "y";
    *l.renew_time += std::chrono::seconds(2);
    EXPECT_EQ(
        doc::to_json(encode_lease(memory_, l)),
        R"({"metadata":{"name":"l","resourceVersion":"9","labels":{"a":"b"}},"spec":{"holderIdentity":"y",)"
        R"("leaseDurationSeconds":15,"renewTime":"2026-01-02T12:00:02.000001Z","leaseTransitions":4,"strategy":"s"}})");
    lease fresh;
    fresh.meta.name = "n";
    fresh.meta.ns = "ns";
    fresh.holder = "z";
    fresh.duration_seconds = 15;
    EXPECT_EQ(doc::to_json(encode_lease(memory_, fresh)),
              R"({"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"n","namespace":"ns"},)"
              R"("spec":{"holderIdentity":"z","leaseDurationSeconds":15,"leaseTransitions":0}})");
}

TEST_F(objects, an_admission_review_both_ways) {
    const admission_request r =
        good(decode_admission_review(doc::from_json(memory_, R"({"apiVersion":"admission.k8s.io/v1",
        "kind":"AdmissionReview","request":{"uid":"u","kind":{"group":"trainer.kubeflow.org","version":"v1alpha1","kind":"TrainJob"},
        "resource":{"resource":"trainjobs"},"name":"j","namespace":"ns","operation":"UPDATE","dryRun":true,
        "object":{"a":1},"oldObject":null}})")));
    EXPECT_EQ(r.uid, "u");
    EXPECT_EQ(r.kind, "TrainJob");
    EXPECT_EQ(r.resource, "trainjobs");
    EXPECT_EQ(r.operation, admission_operation::update);
    EXPECT_TRUE(r.dry_run);
    EXPECT_EQ(r.object.get("a").as_int(), 1);
    EXPECT_FALSE(r.old_object);

    EXPECT_EQ(encode_admission_review("u", {.warnings = {"w"}, .json_patch = "[{}]"}),
              R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"u","allowed":true,)"
              R"("patch":"W3t9XQ==","patchType":"JSONPatch","warnings":["w"]}})");
    EXPECT_EQ(
        encode_admission_review("u", {.allowed = false,
                                      .code = 422,
                                      .reason = "Invalid",
                                      .message = "no",
                                      .causes = {{"FieldValueInvalid", "bad", "spec.x"}},
                                      .group = "g",
                                      .kind = "k",
                                      .name = "n"}),
        R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"u","allowed":false,)"
        R"("status":{"status":"Failure","message":"no","reason":"Invalid","code":422,"details":{"name":"n","group":"g",)"
        R"("kind":"k","causes":[{"reason":"FieldValueInvalid","message":"bad","field":"spec.x"}]}}}})");
}

TEST_F(objects, an_admission_review_that_is_none) {
    const auto error = [&](std::string_view json) {
        return decode_admission_review(doc::from_json(memory_, json)).error().message;
    };
    EXPECT_EQ(error("{}"), "AdmissionReview: apiVersion: expected admission.k8s.io/v1, got nothing");
    EXPECT_EQ(error(R"({"apiVersion":"admission.k8s.io/v1"})"), "AdmissionReview: request: is required");
    EXPECT_EQ(error(R"({"apiVersion":"admission.k8s.io/v1","request":{"uid":"u","operation":"PATCH"}})"),
              "AdmissionReview: request.operation: expected CREATE, UPDATE, DELETE or CONNECT, got \"PATCH\"");
}

TEST_F(objects, a_mistake_names_its_place) {
    doc::decoding outcome("Configuration");
    const doc::ref d = doc::from_yaml(memory_, "a: 1\nb: {x.y/z: {c: 1}}\n");
    const doc::place root(outcome, d);
    root.require("a");
    EXPECT_TRUE(outcome.ok());
    root.object("b").object("x.y/z").member("c").mistake("unknown field");
    EXPECT_EQ(outcome.fail().error().message, "Configuration: b[x.y/z].c: unknown field");
}

TEST_F(objects, the_beginnings_of_objects_to_apply) {
    object_meta owner;
    owner.name = "j";
    owner.uid = "u";
    EXPECT_EQ(doc::to_json(controller_reference(memory_, "a/v1", "K", owner)),
              R"({"apiVersion":"a/v1","kind":"K","name":"j","uid":"u","controller":true,"blockOwnerDeletion":true})");
    EXPECT_EQ(doc::to_json(new_object(memory_, "v1", "Secret", "n", "")),
              R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":"n"}})");
}

}  // namespace
}  // namespace cotrain::api
