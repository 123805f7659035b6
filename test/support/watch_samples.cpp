// The texts behind the samples.
#include "watch_samples.hpp"

namespace cotrain::test {

namespace {

std::string with(std::string text, std::initializer_list<std::pair<std::string_view, std::string>> values) {
    for (const auto& [name, value] : values)
        for (std::size_t at = 0; (at = text.find(name, at)) != std::string::npos; at += value.size())
            text.replace(at, name.size(), value);
    return text;
}

std::string fill(std::string text, const sample_job& job) {
    return with(std::move(text), {{"$NS", job.ns},
                                  {"$NAME", job.name},
                                  {"$UID", job.uid},
                                  {"$RV", job.resource_version},
                                  {"$RUNTIME", job.runtime},
                                  {"$SUSPEND", job.suspend ? "true" : "false"},
                                  {"$ACTIVE", std::to_string(job.active)},
                                  {"$SUCCEEDED", std::to_string(job.succeeded)}});
}

constexpr std::string_view meta =
    R"("metadata":{"creationTimestamp":"2026-05-04T10:11:12Z","generation":1,"managedFields":[)";

constexpr std::string_view managed_create =
    R"({"apiVersion":"trainer.kubeflow.org/v1alpha1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{".":{},)"
    R"("f:managedBy":{},"f:runtimeRef":{".":{},"f:apiGroup":{},"f:kind":{},"f:name":{}},"f:suspend":{},)"
    R"("f:trainer":{".":{},"f:image":{},"f:numNodes":{}}}},"manager":"kubectl-create","operation":"Update",)"
    R"("time":"2026-05-04T10:11:12Z"})";

constexpr std::string_view managed_status =
    R"(,{"apiVersion":"trainer.kubeflow.org/v1alpha1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:trainer":{)"
    R"("f:args":{},"f:command":{},"f:env":{},"f:resourcesPerNode":{".":{},"f:limits":{".":{},"f:cpu":{},"f:memory":{},)"
    R"("f:nvidia.com/gpu":{}},"f:requests":{".":{},"f:cpu":{},"f:memory":{}}}}}},"manager":"kubeflow-sdk",)"
    R"("operation":"Update","time":"2026-05-04T10:11:12Z"},{"apiVersion":"trainer.kubeflow.org/v1alpha1",)"
    R"("fieldsType":"FieldsV1","fieldsV1":{"f:status":{".":{},"f:conditions":{".":{},"k:{\"type\":\"Complete\"}":{)"
    R"(".":{},"f:lastTransitionTime":{},"f:message":{},"f:reason":{},"f:status":{},"f:type":{}},)"
    R"("k:{\"type\":\"Suspended\"}":{".":{},"f:lastTransitionTime":{},"f:message":{},"f:reason":{},"f:status":{},)"
    R"("f:type":{}}},"f:jobsStatus":{".":{},"k:{\"name\":\"node\"}":{".":{},"f:active":{},"f:failed":{},"f:name":{},)"
    R"("f:ready":{},"f:succeeded":{},"f:suspended":{}}}}},"manager":"trainer-controller-manager",)"
    R"("operation":"Update","subresource":"status","time":"2026-05-04T10:11:15Z"})";

constexpr std::string_view meta_end = R"(],"name":"$NAME","namespace":"$NS","resourceVersion":"$RV","uid":"$UID"})";

constexpr std::string_view spec_begin =
    R"("spec":{"managedBy":"trainer.kubeflow.org/trainjob-controller","runtimeRef":{)"
    R"("apiGroup":"trainer.kubeflow.org","kind":"ClusterTrainingRuntime","name":"$RUNTIME"},"suspend":$SUSPEND,)";

std::string conditions(const sample_job& job) {
    std::string text = R"({"lastTransitionTime":"2026-05-04T10:11:13Z","message":"TrainJob is resumed",)"
                       R"("reason":"Resumed","status":"False","type":"Suspended"})";
    if (job.suspend)
        text = R"({"lastTransitionTime":"2026-05-04T10:11:13Z","message":"TrainJob is suspended",)"
               R"("reason":"Suspended","status":"True","type":"Suspended"})";
    if (!job.terminal.empty())
        text += R"(,{"lastTransitionTime":"2026-05-04T11:12:13Z","message":"jobset completed successfully",)"
                R"("reason":"AllJobsCompleted","status":"True","type":")" +
                job.terminal + R"("})";
    return text;
}

constexpr std::string_view counts =
    R"({"active":$ACTIVE,"failed":0,"name":"node","ready":$ACTIVE,"succeeded":$SUCCEEDED,"suspended":0})";

}  // namespace

std::string watch_line(std::string_view type, std::string_view object) {
    return std::string(R"({"type":")").append(type).append(R"(","object":)").append(object).append("}");
}

std::string new_train_job(const sample_job& job) {
    std::string text = R"({"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob",)";
    text.append(meta).append(managed_create).append(meta_end).append(",").append(spec_begin);
    text.append(R"("trainer":{"image":"docker.io/acme/train:v7","numNodes":4}}})");
    return fill(std::move(text), job);
}

std::string running_train_job(const sample_job& job) {
    std::string text = R"({"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob",)";
    text.append(meta).append(managed_create).append(managed_status).append(meta_end).append(",").append(spec_begin);
    text.append(
        R"("trainer":{"args":["--epochs=3","--data=/workspace/dataset"],"command":["torchrun","train.py"],)"
        R"("env":[{"name":"NCCL_DEBUG","value":"INFO"},{"name":"TOKEN","valueFrom":{"secretKeyRef":{)"
        R"("key":"token","name":"hub"}}}],"image":"docker.io/acme/train:v7","numNodes":4,"resourcesPerNode":{)"
        R"("limits":{"cpu":"8","memory":"64Gi","nvidia.com/gpu":"2"},"requests":{"cpu":"4","memory":"32Gi"}}}},)");
    text.append(R"("status":{"conditions":[)").append(conditions(job)).append(R"(],"jobsStatus":[)");
    text.append(counts).append("]}}");
    return fill(std::move(text), job);
}

std::string job_set_of(const sample_job& job, std::string_view uid, std::string_view resource_version) {
    std::string managed = R"({"apiVersion":"jobset.x-k8s.io/v1alpha2","fieldsType":"FieldsV1","fieldsV1":{)"
                          R"("f:metadata":{"f:ownerReferences":{"k:{\"uid\":\"$UID\"}":{}}},"f:spec":{)"
                          R"("f:replicatedJobs":{"k:{\"name\":\"node\"}":{".":{},"f:name":{},"f:template":{)";
    for (int i = 0; i < 40; ++i) managed += R"("f:field)" + std::to_string(i) + R"(":{".":{},"f:inner":{}},)";
    managed +=
        R"("f:spec":{}}}},"f:suspend":{}}},"manager":"trainer","operation":"Apply","time":"2026-05-04T10:11:13Z"})";
    std::string env;
    for (int i = 0; i < 20; ++i)
        env += R"({"name":"VARIABLE_)" + std::to_string(i) + R"(","value":"some \"quoted\" value {)" +
               std::to_string(i) + R"(}"},)";
    env += R"({"name":"PET_NNODES","value":"4"})";
    std::string text = R"({"apiVersion":"jobset.x-k8s.io/v1alpha2","kind":"JobSet",)";
    text.append(R"("metadata":{"creationTimestamp":"2026-05-04T10:11:13Z","generation":1,"labels":{"team":"a"},)")
        .append(R"("managedFields":[)")
        .append(managed)
        .append(R"(],"name":"$NAME","namespace":"$NS","ownerReferences":[{"apiVersion":)")
        .append(R"("trainer.kubeflow.org/v1alpha1","blockOwnerDeletion":true,"controller":true,"kind":"TrainJob",)")
        .append(R"("name":"$NAME","uid":"$UID"}],"resourceVersion":")")
        .append(resource_version)
        .append(R"(","uid":")")
        .append(uid)
        .append(
            R"("},"spec":{"network":{"enableDNSHostnames":true,"publishNotReadyAddresses":true},"replicatedJobs":[)")
        .append(R"({"groupName":"default","name":"node","replicas":1,"template":{"metadata":{"labels":{)")
        .append(R"("trainer.kubeflow.org/trainjob-ancestor-step":"trainer"}},"spec":{"completionMode":"Indexed",)")
        .append(R"("completions":4,"parallelism":4,"template":{"metadata":{},"spec":{"containers":[{"env":[)")
        .append(env)
        .append(R"(],"image":"docker.io/acme/train:v7","name":"node","ports":[{"containerPort":29500,)")
        .append(R"("protocol":"TCP"}],"resources":{}}],"restartPolicy":"Never"}}}}}],"startupPolicy":{)")
        .append(R"("startupPolicyOrder":"AnyOrder"},"successPolicy":{"operator":"All"},"suspend":$SUSPEND},)")
        .append(R"("status":{)");
    if (!job.terminal.empty()) {
        text.append(R"("conditions":[{"lastTransitionTime":"2026-05-04T11:12:13Z","message":)")
            .append(R"("jobset completed successfully","reason":"AllJobsCompleted","status":"True","type":")")
            .append(job.terminal == "Complete" ? "Completed" : job.terminal)
            .append(R"("}],"terminalState":")")
            .append(job.terminal == "Complete" ? "Completed" : job.terminal)
            .append(R"(",)");
    }
    text.append(R"("replicatedJobsStatus":[)").append(counts).append(R"(],"restarts":0}})");
    return fill(std::move(text), job);
}

}  // namespace cotrain::test
