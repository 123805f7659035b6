// A Torch job of eight nodes whose Pods are all ready: a reconcile of it changes nothing.
#pragma once

#include "trainjob_world.hpp"

namespace cotrain::reconcile {

inline constexpr std::string_view eight_nodes = R"(metadata: {name: job, namespace: ns}
spec: {runtimeRef: {name: rt, kind: TrainingRuntime}, trainer: {numNodes: 8}, activeDeadlineSeconds: 3600}
)";

inline key settle_running_job(trainjob_world& w, std::string_view job = eight_nodes) {
    w.apply_yaml(torch_runtime);
    w.apply_yaml("apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\n" + std::string(job));
    w.settle();
    w.patch("JobSet ns/job", R"({"status":{"replicatedJobsStatus":[{"name":"node","ready":8,"active":8}]}})");
    w.settle();
    w.taken();
    return {.name = w.texts.find("ns/job"), .kind = 0};
}

}  // namespace cotrain::reconcile
