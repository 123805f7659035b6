// What a TrainJob may change in its runtime's template, in both dialects.
#include <vector>

#include "api/schema/types.hpp"

namespace cotrain::api::schema {
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

}  // namespace cotrain::api::schema
