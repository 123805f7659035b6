// A runtime and a TrainJob of the reconciler tests, and what happens to them.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "trainjob_world.hpp"

namespace cotrain::reconcile {

inline constexpr std::string_view mpi_runtime = R"(
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata: {name: rt, namespace: ns}
spec:
  mlPolicy: {numNodes: 2, mpi: {numProcPerNode: 1, mpiImplementation: OpenMPI}}
  podGroupPolicy: {coscheduling: {}}
  template:
    spec:
      replicatedJobs:
      - name: launcher
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec: {template: {spec: {containers: [{name: node, image: i}]}}}
      - name: node
        template:
          spec: {template: {spec: {containers: [{name: node, image: i}]}}}
)";

inline std::string train_job(std::string_view more = "",
                             std::string_view uid = "11111111-0000-4000-8000-000000000001") {
    std::string text =
        "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: job, namespace: ns, uid: " +
        std::string(uid) +
        "}\nspec:\n  runtimeRef: {apiGroup: trainer.kubeflow.org, kind: TrainingRuntime, name: rt}\n";
    return text.append("  trainer: {numNodes: 2}\n").append(more);
}

inline constexpr const char* job = "TrainJob ns/job";
inline constexpr const char* set = "JobSet ns/job";
inline constexpr const char* snapshot = "ConfigMap ns/job-runtime-snapshot";
inline constexpr const char* hostfile = "ConfigMap ns/job-mpi-hostfile";

struct trainjob_case : testing::Test {
    trainjob_world w;

    void begin(std::string_view runtime = torch_runtime, std::string_view more = "") {
        w.apply_yaml(runtime);
        w.apply_yaml(train_job(more));
        w.settle();
    }
    void finish(std::string_view type) {
        w.patch(set,
                R"({"status":{"conditions":[{"type":")" + std::string(type) +
                    R"(","status":"True","reason":"R","message":"m","lastTransitionTime":"2026-01-01T01:00:00Z"}]}})");
        w.settle();
    }
};

}  // namespace cotrain::reconcile
