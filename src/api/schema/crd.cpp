// Puts names, columns and schemas together.
#include "api/schema/crd.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "api/edit.hpp"
#include "api/schema/types.hpp"
#include "api/schema/write.hpp"

namespace cotrain::api::schema {
namespace {

constexpr std::array job_columns{
    // The first condition that is true: after a resumption Suspended is there, but false.
    column{"State", "string", R"(.status.conditions[?(@.status=="True")].type)", false,
           "Suspended, Complete or Failed"},
    column{"Nodes", "integer", ".spec.trainer.numNodes", false, "Training nodes, where the TrainJob gives them"},
    column{"Runtime", "string", ".spec.runtimeRef.name", false, "What it is made from"},
    column{"Suspended", "boolean", ".spec.suspend", false, "Whether it is to hold no Pods"},
    column{"Age", "date", ".metadata.creationTimestamp", false, ""},
    column{"Reason", "string", R"(.status.conditions[?(@.status=="True")].reason)", true, "Why it is in that state"},
    column{"Active", "integer", R"(.status.jobsStatus[?(@.name=="node")].active)", true,
           "Jobs of the trainer with Pods"},
    column{"Ready", "integer", R"(.status.jobsStatus[?(@.name=="node")].ready)", true,
           "Jobs of the trainer whose Pods are all ready"},
    column{"Progress", "integer", ".status.trainerStatus.progressPercentage", true, "Percentage that is done"},
    column{"Deadline", "integer", ".spec.activeDeadlineSeconds", true, "Seconds it may be active"},
    column{"Runtime Kind", "string", ".spec.runtimeRef.kind", true, "TrainingRuntime or ClusterTrainingRuntime"},
    column{"Managed By", "string", ".spec.managedBy", true, "The controller it belongs to"},
};

constexpr std::array runtime_columns{
    column{"Framework", "string", R"(.metadata.labels.trainer\.kubeflow\.org/framework)", false, "As the SDK lists it"},
    column{"Nodes", "integer", ".spec.mlPolicy.numNodes", false, "Training nodes, unless the TrainJob says otherwise"},
    column{"Age", "date", ".metadata.creationTimestamp", false, ""},
    column{"Support", "string", R"(.metadata.labels.trainer\.kubeflow\.org/support)", true, "deprecated, or nothing"},
    column{"Gang Timeout", "integer", ".spec.podGroupPolicy.coscheduling.scheduleTimeoutSeconds", true,
           "Seconds that coscheduling may take"},
};

constexpr std::array all_definitions{
    definition{names::train_job, "TrainJobList", "trainjob", "A training job, made from a runtime.", job_columns, true},
    definition{names::training_runtime, "TrainingRuntimeList", "trainingruntime",
               "A template that TrainJobs of its namespace are made from.", runtime_columns, false},
    definition{names::cluster_training_runtime, "ClusterTrainingRuntimeList", "clustertrainingruntime",
               "A template that TrainJobs of any namespace are made from.", runtime_columns, false},
};

node make_schema(const definition& of) {
    if (!of.has_status) {
        return object({{"apiVersion", text(), ""},
                       {"kind", text(), ""},
                       {"metadata", object(), ""},
                       {"spec", runtime_spec(), "What TrainJobs are made into."}})
            .described(of.description)
            .get();
    }
    return object({{"apiVersion", text(), ""},
                   {"kind", text(), ""},
                   {"metadata", object(), ""},
                   {"spec", train_job_spec(), "What is wanted."},
                   {"status", train_job_status(), "What is."}})
        .described(of.description)
        .rule("self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",
              "metadata.name must be a DNS label of RFC 1035: a-z, 0-9 and -, a letter first, no - last")
        .rule("size(self.metadata.name) <= 63", "metadata.name must have at most 63 characters")
        .get();
}

void write_columns(editor& version, const definition& of) {
    editor columns = version.ensure_array("additionalPrinterColumns");
    for (const column& c : of.columns) {
        editor out = columns.append_object();
        out.set("name", c.name).set("type", c.type).set("jsonPath", c.json_path);
        if (!c.description.empty()) out.set("description", c.description);
        if (c.wide) out.set("priority", 1);
    }
}

}  // namespace

std::span<const definition> definitions() { return all_definitions; }

const node* schema_of(std::string_view kind) {
    static const node job = make_schema(all_definitions[0]);
    static const node runtime = make_schema(all_definitions[1]);
    if (kind == names::train_job_kind) return &job;
    if (kind == names::training_runtime_kind || kind == names::cluster_training_runtime_kind) return &runtime;
    return nullptr;
}

ref make_crd(arena& memory, const definition& of) {
    const resource_type& type = of.resource;
    editor crd = editor::object(memory);
    crd.set("apiVersion", "apiextensions.k8s.io/v1").set("kind", "CustomResourceDefinition");
    crd.ensure_object("metadata").set("name", std::string{type.plural} + "." + std::string{type.group});
    editor spec = crd.ensure_object("spec");
    spec.set("group", type.group).set("scope", type.namespaced ? "Namespaced" : "Cluster");
    spec.ensure_object("names")
        .set("kind", type.kind)
        .set("listKind", of.list_kind)
        .set("plural", type.plural)
        .set("singular", of.singular);
    editor version = spec.ensure_array("versions").append_object();
    version.set("name", type.version).set("served", true).set("storage", true);
    if (of.has_status) version.ensure_object("subresources").ensure_object("status");
    write_columns(version, of);
    version.ensure_object("schema").set("openAPIV3Schema", write_schema(memory, make_schema(of)));
    return crd.view();
}

ref without_status(arena& memory, ref document) {
    if (!document.contains("status")) return document;
    editor copy = editor::of(memory, document);
    copy.remove("status");
    return copy.view();
}

}  // namespace cotrain::api::schema
