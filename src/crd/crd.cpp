// Puts names, columns and schemas together.
#include "crd/crd.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "crd/build.hpp"
#include "crd/node.hpp"
#include "doc/edit.hpp"

namespace cotrain::crd {
namespace {

constexpr std::array job_columns{
    column{"State", "string", ".status.state", false, "How it fares, in one word"},
    column{"Nodes", "string", ".status.nodes.summary", false,
           "Training nodes that are ready, of those there are to be"},
    column{"Restarts", "integer", ".status.restarts", false, "How often its Jobs were started again"},
    column{"Runtime", "string", ".spec.runtimeRef.name", false, "What it is made from"},
    column{"Age", "date", ".metadata.creationTimestamp", false, ""},
    column{"Started", "date", ".status.startTime", true, "When all nodes were ready first"},
    column{"Finished", "date", ".status.completionTime", true, "When it completed or failed"},
    column{"Progress", "integer", ".status.trainerStatus.progressPercentage", true, "Percentage that is done"},
    column{"Deadline", "integer", ".spec.activeDeadlineSeconds", true, "Seconds it may be active"},
    column{"Runtime Kind", "string", ".spec.runtimeRef.kind", true, "TrainingRuntime or ClusterTrainingRuntime"},
    column{"Managed By", "string", ".spec.managedBy", true, "The controller it belongs to"},
    // The last one: kubectl cuts no column, and this one is as long as its sentence.
    column{"Message", "string", ".status.message", true, "What it waits for, or why it is in that state"},
};

constexpr std::array runtime_columns{
    column{"Framework", "string", R"(.metadata.labels.trainer\.kubeflow\.org/framework)", false, "As the SDK lists it"},
    column{"Nodes", "integer", ".spec.mlPolicy.numNodes", false, "Training nodes, unless the TrainJob says otherwise"},
    column{"Age", "date", ".metadata.creationTimestamp", false, ""},
    column{"Support", "string", R"(.metadata.labels.trainer\.kubeflow\.org/support)", true, "deprecated, or nothing"},
    column{"Gang Timeout", "integer", ".spec.podGroupPolicy.coscheduling.scheduleTimeoutSeconds", true,
           "Seconds that coscheduling may take"},
};

// `kubectl get all` shows the jobs, `kubectl get kubeflow` the runtimes, too.
constexpr std::array<std::string_view, 2> job_categories{"all", "kubeflow"};
constexpr std::array<std::string_view, 1> runtime_categories{"kubeflow"};

constexpr std::array all_definitions{
    definition{api::names::train_job, "TrainJobList", "trainjob", "tj", job_categories,
               "A training job, made from a runtime.", job_columns, true},
    definition{api::names::training_runtime, "TrainingRuntimeList", "trainingruntime", "tr", runtime_categories,
               "A template that TrainJobs of its namespace are made from.", runtime_columns, false},
    definition{api::names::cluster_training_runtime, "ClusterTrainingRuntimeList", "clustertrainingruntime", "ctr",
               runtime_categories, "A template that TrainJobs of any namespace are made from.", runtime_columns, false},
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

void write_columns(doc::editor& version, const definition& of) {
    doc::editor columns = version.ensure_array("additionalPrinterColumns");
    for (const column& c : of.columns) {
        doc::editor out = columns.append_object();
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
    if (kind == api::names::train_job_kind) return &job;
    if (kind == api::names::training_runtime_kind || kind == api::names::cluster_training_runtime_kind) return &runtime;
    return nullptr;
}

doc::ref make_crd(doc::arena& memory, const definition& of) {
    const api::resource_type& type = of.resource;
    doc::editor crd = doc::editor::object(memory);
    crd.set("apiVersion", "apiextensions.k8s.io/v1").set("kind", "CustomResourceDefinition");
    crd.ensure_object("metadata").set("name", std::string{type.plural} + "." + std::string{type.group});
    doc::editor spec = crd.ensure_object("spec");
    spec.set("group", type.group).set("scope", type.namespaced ? "Namespaced" : "Cluster");
    doc::editor names = spec.ensure_object("names");
    names.set("kind", type.kind).set("listKind", of.list_kind).set("plural", type.plural).set("singular", of.singular);
    names.ensure_array("shortNames").append(of.short_name);
    for (const std::string_view category : of.categories) names.ensure_array("categories").append(category);
    doc::editor version = spec.ensure_array("versions").append_object();
    version.set("name", type.version).set("served", true).set("storage", true);
    if (of.has_status) {
        doc::editor parts = version.ensure_object("subresources");
        parts.ensure_object("status");
        parts.ensure_object("scale")
            .set("specReplicasPath", ".spec.trainer.numNodes")
            .set("statusReplicasPath", ".status.nodes.ready")
            .set("labelSelectorPath", ".status.nodes.selector");
    }
    write_columns(version, of);
    version.ensure_object("schema").set("openAPIV3Schema", write_schema(memory, make_schema(of)));
    return crd.view();
}

doc::ref without_status(doc::arena& memory, doc::ref document) {
    if (!document.contains("status")) return document;
    doc::editor copy = doc::editor::of(memory, document);
    copy.remove("status");
    return copy.view();
}

}  // namespace cotrain::crd
