// A Torch job of eight nodes whose Pods are all ready: a reconcile of it changes nothing.
#pragma once

#include "trainjob_world.hpp"

namespace cotrain::reconcile {

inline key settle_running_job(trainjob_world& w) {
    w.apply_yaml(torch_runtime);
    w.apply_yaml(R"(
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: job, namespace: ns}
spec: {runtimeRef: {name: rt, kind: TrainingRuntime}, trainer: {numNodes: 8}, activeDeadlineSeconds: 3600}
)");
    w.settle();
    w.patch("JobSet ns/job", R"({"status":{"replicatedJobsStatus":[{"name":"node","ready":8,"active":8}]}})");
    w.settle();
    w.taken();
    return {.name = w.texts.find("ns/job"), .kind = 0};
}

}  // namespace cotrain::reconcile
