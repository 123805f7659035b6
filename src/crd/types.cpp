// What a TrainJob, a TrainingRuntime and a ClusterTrainingRuntime are.
#include <vector>

#include "api/names.hpp"
#include "api/runtime.hpp"
#include "api/trainjob.hpp"
#include "crd/build.hpp"
#include "crd/rules.hpp"

namespace cotrain::crd {

namespace {

// Bounds of the API.
constexpr std::int64_t dns_subdomain_characters_max = 253;
constexpr std::int64_t container_name_characters_max = 63;
constexpr std::int64_t image_characters_max = 500;
constexpr std::int64_t argument_characters_max = 1048576;
constexpr std::int64_t uri_characters_max = 2048;
constexpr std::int64_t path_characters_max = 4096;
constexpr std::int64_t metric_characters_max = 64;
constexpr std::int64_t common_list_items_max = 128;  // env, arguments, volumes, mounts, tolerations
constexpr std::int64_t containers_max = 64;
constexpr std::int64_t pull_secrets_max = 64;
constexpr std::int64_t scheduling_gates_max = 16;
constexpr std::int64_t runtime_patches_max = 16;
constexpr std::int64_t replicated_jobs_max = 100;
constexpr std::int64_t conditions_max = 8;
constexpr std::int64_t condition_type_characters_max = 316;
constexpr std::int64_t condition_reason_characters_max = 1024;
constexpr std::int64_t condition_message_characters_max = 32768;
constexpr std::int64_t metrics_max = 256;
constexpr std::int64_t selector_characters_max = 1024;

// Lists that several types have.
type_builder named(std::string_view foreign_item, std::int64_t items_max) {
    return list(foreign(foreign_item)).size({}, items_max).keyed_by("name");
}
type_builder env_list() { return named("EnvVar", common_list_items_max); }
// Of an object that is made from a template.
type_builder template_metadata() { return foreign("ObjectMeta"); }

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

type_builder node_counts() {
    return object({
        {"desired", int32().at_least(0), "Pods that train: of the jobs labelled trainer and of the job node."},
        {"ready", int32().at_least(0), "Those that are ready. A JobSet tells it of whole Jobs, not of each Pod."},
        {"summary", text().size({}, 32), "ready/desired, for kubectl get."},
        {"selector", text().size({}, selector_characters_max),
         "Finds the Pods that train, for autoscalers; with feature gate ElasticTrainJob."},
    });
}

type_builder failures() {
    const auto name = [](std::size_t most) { return text().size({}, static_cast<std::int64_t>(most)); };
    const type_builder failure = object({
        {"attempt", int32().at_least(0), "Restarts of the JobSet before: 0 is the first attempt.", mandatory},
        {"time", time(), "When the Pod failed.", mandatory},
        {"pod", name(api::failure_name_bytes_max), "The Pod that failed first."},
        {"rank", int32().at_least(0), "Its completion index."},
        {"node", name(api::failure_name_bytes_max), "The node it ran on."},
        {"container", name(api::failure_word_bytes_max), "Its container that failed."},
        {"exitCode", int32(), "Exit code of that container."},
        {"reason", name(api::failure_word_bytes_max), "Why, in a word: OOMKilled, Evicted, Error, NodeLost."},
        {"message", name(api::failure_message_bytes_max), "The termination message, or its last line."},
        {"pods", int32().at_least(0), "Pods that failed in this attempt, as far as one page of a list shows."},
    });
    return list(failure).size({}, static_cast<std::int64_t>(api::failures_max)).atomic();
}

type_builder job_state() {
    return text().one_of(
        {"Pending", "Starting", "Running", "Restarting", "Suspending", "Suspended", "Blocked", "Complete", "Failed"});
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
        {api::names::fields_kept, flag(),
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
                      {"state", job_state(), "How the TrainJob fares, in one word."},
                      {"message", text().size({}, 1024), "What it waits for, or why it is in that state."},
                      {"startTime", time(),
                       "When all nodes were ready for the first time since creation or the last resumption."},
                      {"completionTime", time(), "When it completed or failed."},
                      {"restarts", int32().at_least(0), "How often the JobSet has started its Jobs again."},
                      {"nodes", node_counts(), "Training nodes."},
                      {"failures", failures(), "How the last attempts failed, the oldest first."},
                  })
        .size(1);
}

namespace {

type_builder container_name() { return text().size(1, dns_subdomain_characters_max); }

// `extra` are members that only one of the dialects has.
type_builder container_list(std::initializer_list<field> extra) {
    std::vector<field> fields{
        {"name", container_name(), "Name of a container of the job.", mandatory},
        {"env", env_list(), "Variables, merged over the runtime's. Not for the trainer's or initializers' containers."},
        {"volumeMounts", named("VolumeMount", common_list_items_max), "Mounts, merged over the runtime's."},
    };
    fields.insert(fields.end(), extra);
    return list(object(fields)).size({}, containers_max).keyed_by("name");
}

type_builder tolerations() { return list(foreign("Toleration")).size({}, common_list_items_max).atomic(); }

type_builder pod_spec_patch() {
    const type_builder containers =
        container_list({{"securityContext", foreign("SecurityContext"), "Security context of the container."}});
    const type_builder account = text().size({}, dns_subdomain_characters_max);
    return object({
        {"serviceAccountName", account.immutable(), "Service account of the Pods."},
        {"volumes", named("Volume", common_list_items_max).immutable(), "Volumes, merged over the runtime's."},
        {"initContainers", containers.immutable(), "Changes to init containers."},
        {"containers", containers.immutable(), "Changes to containers."},
        {"imagePullSecrets", named("LocalObjectReference", pull_secrets_max).immutable(), "Secrets for pulling."},
        {"securityContext", foreign("PodSecurityContext").immutable(), "Security context of the Pods."},
        {"nodeSelector", map_of(text()), "Labels that nodes must have."},
        {"affinity", foreign("Affinity"), "Where Pods want to be."},
        {"tolerations", tolerations(), "Taints that Pods tolerate; replaces the runtime's."},
        {"schedulingGates", named("PodSchedulingGate", scheduling_gates_max), "Gates before scheduling."},
        {"terminationGracePeriodSeconds", int64().at_least(0).immutable(), "How long Pods may take to end."},
    });
}

type_builder job_patches() {
    const type_builder pod = object({
        {"metadata", template_metadata(), "Labels and annotations of the Pods."},
        {"spec", pod_spec_patch(), "The part of the Pods' specification that may be changed."},
    });
    const type_builder job = object({
        {"metadata", template_metadata(), "Labels and annotations of the Job."},
        {"spec", object({{"template", pod, "Changes to the Pod template."}}), "Changes to the Job."},
    });
    const type_builder replicated = object({
        {"name", container_name(), "Name of a job of the runtime.", mandatory},
        {"template", job, "Changes to the Job's template."},
    });
    return list(replicated).size({}, replicated_jobs_max).keyed_by("name");
}

type_builder override_spec() {
    const type_builder containers = container_list({});
    return object({
        {"serviceAccountName", text().size({}, dns_subdomain_characters_max), "Service account of the Pods."},
        {"nodeSelector", map_of(text()), "Labels that nodes must have."},
        {"affinity", foreign("Affinity"), "Where Pods want to be."},
        {"tolerations", tolerations(), "Taints that Pods tolerate; replaces the runtime's."},
        {"volumes", named("Volume", common_list_items_max), "Volumes, merged over the runtime's."},
        {"initContainers", containers, "Changes to init containers."},
        {"containers", containers, "Changes to containers."},
        {"schedulingGates", named("PodSchedulingGate", scheduling_gates_max), "Gates before scheduling."},
        {"imagePullSecrets", named("LocalObjectReference", pull_secrets_max), "Secrets for pulling."},
    });
}

}  // namespace

type_builder runtime_patches() {
    const type_builder jobs = object({{"replicatedJobs", job_patches(), "Changes to jobs, by name."}});
    const type_builder job_set = object({
        {"metadata", template_metadata(), "Labels and annotations of the JobSet."},
        {"spec", jobs, "Changes to the JobSet."},
    });
    const type_builder patch = object({
        {"manager", text().size(1, dns_subdomain_characters_max).immutable(),
         "Who owns this entry: a domain-prefixed path, such as kueue.x-k8s.io/manager.", mandatory},
        {"time", time(), "When the entry was written last; set at admission."},
        {"trainingRuntimeSpec", object({{"template", job_set, "Changes to the JobSet's template."}}),
         "Changes to the runtime's specification."},
    });
    return list(patch).size({}, runtime_patches_max).keyed_by("manager");
}

type_builder pod_template_overrides() {
    const type_builder target = object({{"name", container_name(), "Name of a job of the runtime.", mandatory}});
    const type_builder entry = object({
        {"targetJobs", list(target).size({}, replicated_jobs_max).atomic(), "Jobs to change.", mandatory},
        {"metadata", template_metadata(), "Labels and annotations of the Pods."},
        {"spec", override_spec(), "The part of the Pods' specification that may be changed."},
    });
    return list(entry).size({}, common_list_items_max).atomic();
}

namespace {

type_builder env_injection() {
    const type_builder containers =
        list(text().size({}, container_name_characters_max))
            .size(1, api::env_target_containers_max)
            .unique()
            .rule("!self.exists(c, c == 'node')", "containerNames must not name node, which gets the variables always");
    const type_builder target = object({
        {"jobName", text().size(1, dns_subdomain_characters_max), "Name of a job of the template.", mandatory},
        {"containerNames", containers, "Containers and init containers of that job.", mandatory},
    });
    return object({{"targets", list(target).size({}, api::env_targets_max).keyed_by("jobName"), "Jobs, by name."}});
}

type_builder elastic_policy() {
    const type_builder nodes = int32().at_least(1);
    return object(
               {
                   {"minNodes", nodes, "The fewest nodes that a TrainJob may have.", mandatory},
                   {"maxNodes", nodes, "The most.", mandatory},
                   {"maxRestarts", int32().at_least(0), "How often torchrun starts its workers again: 10 by default."},
               })
        .rule("self.minNodes <= self.maxNodes", "minNodes must be at most maxNodes");
}

type_builder torch() {
    return object({
        {"elasticPolicy", elastic_policy(),
         "How many nodes TrainJobs may have while they run, with feature gate ElasticTrainJob."},
        {"numProcPerNode", process_count().at_least(1),
         "Processes on every node in the earlier dialect: auto, cpu, gpu or a number. A TrainJob's own value wins."},
        {"envInjection", env_injection(), "Containers besides node that get the PET_ variables, too."},
    });
}

type_builder mpi() {
    return object({
        {"numProcPerNode", int32().fallback("1"), "Processes, and so slots of the hostfile, on every node."},
        {"mpiImplementation", text().one_of({"OpenMPI", "Intel", "MPICH", ""}).fallback(R"("OpenMPI")"),
         "Whose hostfile and variables are made; empty means OpenMPI."},
        {"sshAuthMountPath", text().size({}, path_characters_max).fallback(R"("/root/.ssh")"),
         "Where the SSH keys are mounted."},
        {"runLauncherAsNode", flag().fallback("false"), "Whether the launcher is a training node, too."},
    });
}

type_builder flux() {
    return object({
        {"numProcPerNode",
         int32().fallback("1").rule("self >= 1", "numProcPerNode of the flux policy must be at least 1"),
         "Processes on every node."},
    });
}

type_builder ml_policy() {
    return object({
                      {"numNodes", int32(), "Number of training nodes, for TrainJobs that give none."},
                      {"torch", torch(), "PyTorch, started with torchrun or torchtune."},
                      {"mpi", mpi(), "MPI over SSH."},
                      {"jax", object(), "JAX."},
                      {"xgboost", object(), "XGBoost."},
                      {"flux", flux(), "Flux."},
                  })
        .rule(
            "[has(self.torch), has(self.mpi), has(self.jax), has(self.xgboost), has(self.flux)]"
            ".filter(x, x).size() <= 1",
            "only one of torch, mpi, jax, xgboost and flux may be set");
}

type_builder pod_group_policy() {
    const type_builder coscheduling = object({
        {"scheduleTimeoutSeconds", int32().fallback("60"), "How long all Pods may take to be scheduled together."},
    });
    const type_builder topology = object({
        {"mode", text().one_of({"hard", "soft"}).fallback(R"("hard")"), "Whether the limit must hold."},
        {"highestTierAllowed", integer().fallback("1"), "The highest tier that Pods may cross."},
    });
    return object({
        {"coscheduling", coscheduling, "A PodGroup for the coscheduling plugin."},
        {"volcano", object({{"networkTopology", topology, "How far apart Pods may be in the network."}}),
         "A PodGroup for Volcano."},
    });
}

constexpr std::int64_t scheduling_groups_max = 8;
constexpr std::int64_t label_key_characters_max = 317;

type_builder scheduling_policy() {
    return object({{"basic", object(), "Each Pod is scheduled by itself."},
                   {"gang", object(), "All Pods or none. How many they are is counted, never given."}})
        .size(1, 1);
}

type_builder scheduling_constraints() {
    const type_builder topology = object(
        {{"key", text().size(1, label_key_characters_max), "Label of Nodes whose value all Pods share.", mandatory}});
    return object({{"topology", list(topology).size({}, 1).atomic(), "Parts of the cluster that Pods do not leave."}});
}

type_builder disruption_mode() {
    return object({{"single", object(), "Pods may be preempted one by one."},
                   {"all", object(), "All Pods of the group are preempted together."}})
        .size(1, 1);
}

type_builder scheduling() {
    const type_builder targets =
        list(text().size(1, dns_subdomain_characters_max)).size(1, scheduling_groups_max).unique();
    const type_builder entry = object({
        {"targetReplicatedJobs", targets, "Names of replicated jobs of the template.", mandatory},
        {"schedulingPolicy", scheduling_policy(), "How they are scheduled: as a gang by default."},
        {"schedulingConstraints", scheduling_constraints(), "Where they may be."},
        {"disruptionMode", disruption_mode(), "How they are preempted."},
    });
    return object({
                      {"schedulingPolicy", scheduling_policy(),
                       "How the Pods of the whole job are scheduled, initialisers apart: as a gang by default."},
                      {"schedulingConstraints", scheduling_constraints(), "Where they may be."},
                      {"disruptionMode", disruption_mode(), "How they are preempted."},
                      {"replicatedJobs", list(entry).size({}, scheduling_groups_max).atomic(),
                       "Groups of replicated jobs instead, a PodGroup for each: every job is in one."},
                  })
        .rule(
            "!has(self.replicatedJobs) || !(has(self.schedulingPolicy) || has(self.schedulingConstraints) || "
            "has(self.disruptionMode))",
            "replicatedJobs cannot be set beside schedulingPolicy, schedulingConstraints or disruptionMode");
}

}  // namespace

type_builder runtime_spec() {
    const type_builder job_set = object({
                                            {"metadata", template_metadata(), "Labels and annotations of the JobSet."},
                                            {"spec", foreign("JobSetSpec"), "Specification of the JobSet."},
                                        })
                                     .size(1);
    return object({
                      {"mlPolicy", ml_policy(), "The framework, and on how many nodes it runs."},
                      {"podGroupPolicy", pod_group_policy(), "Gang scheduling: all Pods or none."},
                      {"scheduling", scheduling(),
                       "Gangs by the Workload API of Kubernetes, with feature gate TrainJobWorkloadAwareScheduling."},
                      {"template", job_set, "The JobSet that TrainJobs are made into."},
                  })
        .rule("!(has(self.scheduling) && has(self.podGroupPolicy))",
              "only one of scheduling and podGroupPolicy may be set")
        .size(1);
}

}  // namespace cotrain::crd
