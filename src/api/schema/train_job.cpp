// What a TrainJob is.
#include "api/names.hpp"
#include "api/schema/rules.hpp"
#include "api/schema/types.hpp"

namespace cotrain::api::schema {
namespace {

type_builder runtime_ref() {
    return object({
        {"name", text().size(1, dns_subdomain_characters_max),
         "Name of the runtime. A TrainingRuntime must be in the TrainJob's namespace.", mandatory},
        {"apiGroup", text().size({}, dns_subdomain_characters_max).fallback(R"("trainer.kubeflow.org")"),
         "API group of the runtime."},
        {"kind", text().size({}, dns_subdomain_characters_max).fallback(R"("ClusterTrainingRuntime")"),
         "ClusterTrainingRuntime or TrainingRuntime."},
    });
}

type_builder initializer_source() {
    const type_builder uri = text()
                                 .size({}, uri_characters_max)
                                 .rule("self == '' || self.matches('^[A-Za-z][A-Za-z0-9+.-]*://.+$')",
                                       "storageUri must be empty or a URI with a scheme, such as s3://bucket/path");
    return object({
        {"storageUri", uri, "Where to download from, such as hf://org/name or s3://bucket/path."},
        {"env", env_list(), "Variables of the initializer's container, merged over the runtime's."},
        {"secretRef", foreign("LocalObjectReference"), "Secret in the TrainJob's namespace with the credentials."},
    });
}

type_builder initializer() {
    return object({
        {"dataset", initializer_source(), "Fills the job labelled dataset-initializer."},
        {"model", initializer_source(), "Fills the job labelled model-initializer."},
    });
}

type_builder arguments() {
    return list(text().size({}, argument_characters_max)).size({}, common_list_items_max).atomic();
}

type_builder trainer() {
    return object({
        {"image", text().size({}, image_characters_max), "Image of the training container."},
        {"command", arguments(), "Entrypoint of the training container."},
        {"args", arguments(), "Arguments of the entrypoint."},
        {"env", env_list(), "Variables of the training container, merged over the runtime's."},
        {"numNodes", int32(), "Number of training nodes. Defaults to the runtime's."},
        {"resourcesPerNode", foreign("ResourceRequirements"), "Compute resources of each training node."},
        {"numProcPerNode", process_count(),
         "Processes on every node: a number, or in the earlier dialect auto, cpu or gpu. Defaults to the runtime's."},
    });
}

type_builder conditions() {
    const type_builder type = text().size({}, condition_type_characters_max).pattern(condition_type_pattern);
    const type_builder reason = text().size(1, condition_reason_characters_max).pattern(condition_reason_pattern);
    const type_builder condition = object({
        {"type", type, "What the condition is about.", mandatory},
        {"status", text().one_of({"True", "False", "Unknown"}), "Whether it is so.", mandatory},
        {"reason", reason, "Why, for programs.", mandatory},
        {"message", text().size({}, condition_message_characters_max), "Why, for people.", mandatory},
        {"lastTransitionTime", time(), "When the status changed last.", mandatory},
        {"observedGeneration", int64().at_least(0), "The generation that was looked at."},
    });
    return list(condition).size({}, conditions_max).keyed_by("type");
}

type_builder jobs_status() {
    const type_builder count = int32().at_least(0);
    const type_builder job = object({
        {"name", text().size(1, dns_subdomain_characters_max), "Name of the replicated job.", mandatory},
        {"ready", count, "Jobs whose Pods are all ready or completed.", mandatory},
        {"succeeded", count, "Jobs that completed.", mandatory},
        {"failed", count, "Jobs that failed.", mandatory},
        {"active", count, "Jobs with a Pod that is pending or running.", mandatory},
        {"suspended", count, "Jobs that are suspended.", mandatory},
    });
    return list(job).size({}, replicated_jobs_max).keyed_by("name");
}

type_builder trainer_status() {
    const type_builder short_text = text().size(1, metric_characters_max);
    const type_builder metric = object({
        {"name", short_text, "What is measured, such as loss.", mandatory},
        {"value", short_text, "The measure, as a text.", mandatory},
    });
    return object({
                      {"progressPercentage", int32().between(0, 100), "How much of the training is done."},
                      {"estimatedRemainingSeconds", int32().at_least(0), "How long the rest may take."},
                      {"metrics", list(metric).size({}, metrics_max).atomic(), "Latest measures of the model."},
                      {"lastUpdatedTime", time(), "When this was reported."},
                  })
        .rule("has(self.lastUpdatedTime)", "lastUpdatedTime is required when trainerStatus is present");
}

}  // namespace

type_builder train_job_spec() {
    const type_builder managed_by =
        text()
            .size({}, dns_subdomain_characters_max)
            .fallback(R"("trainer.kubeflow.org/trainjob-controller")")
            .rule("self in ['trainer.kubeflow.org/trainjob-controller', 'kueue.x-k8s.io/multikueue']",
                  "managedBy must be trainer.kubeflow.org/trainjob-controller or kueue.x-k8s.io/multikueue")
            .immutable();
    return object({
        {"runtimeRef", runtime_ref().immutable(), "The runtime that this TrainJob is made from.", mandatory},
        {"initializer", initializer().immutable(), "What to download before the training starts."},
        {"trainer", trainer().immutable(), "What to train with, and on how many nodes."},
        {"runtimePatches", runtime_patches(), "Changes to the runtime's template, one entry for each manager."},
        {"podTemplateOverrides", pod_template_overrides(),
         "Changes to Pod templates in the earlier dialect, applied in order after runtimePatches."},
        {"suspend", flag().fallback("false"), "Whether the TrainJob is to hold no Pods."},
        {"activeDeadlineSeconds", int64().at_least(1).immutable(),
         "How long the TrainJob may be active since its start or its last resumption before it fails."},
        {"ttlSecondsAfterFinished", int32().at_least(0),
         "How long a finished TrainJob is kept, with feature gate TrainJobTTL. Kept for ever if not set."},
        {"managedBy", managed_by, "The controller that this TrainJob belongs to."},
        {names::fields_kept, flag(),
         "Set at admission where annotations hold copies of fields that the Kubeflow Trainer does not have. A client "
         "that writes the TrainJob without this member does not know those fields either, and they are kept."},
    });
}

type_builder train_job_status() {
    return object({
                      {"conditions", conditions(),
                       "Suspended, Complete and Failed; ResourcesReady while children cannot be made."},
                      {"jobsStatus", jobs_status(), "State of the replicated jobs."},
                      {"runtimeSnapshotHash", text().size({}, 64),
                       "SHA-256 of the runtime in the job's snapshot; a snapshot that has another one is not used."},
                      {"trainerStatus", trainer_status(),
                       "What the training reports of itself, with feature gate TrainJobStatus."},
                  })
        .size(1);
}

}  // namespace cotrain::api::schema
