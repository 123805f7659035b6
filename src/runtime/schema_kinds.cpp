// The schema of jobs, JobSets, TrainJobs and runtimes, with the defaults their CRDs fill in.
#include "runtime/schema_fields.hpp"

namespace cotrain::runtime::schema {
namespace {

constexpr field_info failure_rule_fields[] = {opaque("onExitCodes"), list("onPodConditions")};
constexpr type_info failure_rule{"PodFailurePolicyRule", failure_rule_fields};
constexpr field_info failure_policy_fields[] = {list("rules", failure_rule)};
constexpr type_info pod_failure_policy{"PodFailurePolicy", failure_policy_fields};
constexpr field_info success_policy_fields[] = {list("rules")};
constexpr type_info job_success_policy{"SuccessPolicy", success_policy_fields};

constexpr field_info job_spec_fields[] = {
    object("selector", schema::label_selector), object("podFailurePolicy", pod_failure_policy),
    object("successPolicy", job_success_policy), object("template", schema::pod_template)};
constexpr field_info job_template_fields[] = {object("metadata", schema::object_meta),
                                              object("spec", schema::job_spec)};

constexpr field_info depends_on_fields[] = {plain("name"), plain("status")};
constexpr type_info depends_on{"DependsOn", depends_on_fields};
constexpr field_info replicated_job_fields[] = {plain("name"), brief("groupName", R"("default")"),
                                                object("template", schema::job_template), brief("replicas", "1"),
                                                list("dependsOn", depends_on)};
constexpr type_info replicated_job{"ReplicatedJob", replicated_job_fields};
constexpr field_info replicated_job_patch_fields[] = {plain("name"), object("template", schema::job_template)};
constexpr type_info replicated_job_patch{"ReplicatedJobPatch", replicated_job_patch_fields};

constexpr field_info network_fields[] = {plain("enableDNSHostnames"), brief("subdomain"),
                                         plain("publishNotReadyAddresses")};
constexpr type_info network{"Network", network_fields};
constexpr field_info success_fields[] = {plain("operator"), list("targetReplicatedJobs")};
constexpr type_info success{"SuccessPolicy", success_fields};
constexpr field_info set_rule_fields[] = {plain("name"), plain("action"), list("onJobFailureReasons"),
                                          list("onJobFailureMessagePatterns"), list("targetReplicatedJobs")};
constexpr type_info set_rule{"FailurePolicyRule", set_rule_fields};
constexpr field_info failure_fields[] = {brief("maxRestarts"), brief("restartStrategy", R"("Recreate")"),
                                         list("rules", set_rule)};
constexpr type_info failure{"FailurePolicy", failure_fields};
constexpr field_info coordinator_fields[] = {plain("replicatedJob"), brief("jobIndex"), brief("podIndex")};
constexpr type_info coordinator{"Coordinator", coordinator_fields};
constexpr field_info retention_fields[] = {plain("whenDeleted", R"("Delete")")};
constexpr type_info retention{"VolumeRetentionPolicy", retention_fields};
constexpr field_info claim_policy_fields[] = {list("templates", schema::persistent_volume_claim),
                                              object("retentionPolicy", retention)};
constexpr type_info claim_policy{"VolumeClaimPolicy", claim_policy_fields};

constexpr field_info job_set_fields[] = {keyed("replicatedJobs", replicated_job, "name"),
                                         object("network", network),
                                         object("successPolicy", success),
                                         object("failurePolicy", failure),
                                         opaque("startupPolicy"),
                                         object("coordinator", coordinator),
                                         list("volumeClaimPolicies", claim_policy)};
constexpr field_info job_set_patch_fields[] = {keyed("replicatedJobs", replicated_job_patch, "name")};
constexpr field_info job_set_template_fields[] = {object("metadata", schema::object_meta),
                                                  object("spec", schema::job_set_spec)};
constexpr type_info job_set_template{"JobSetTemplateSpec", job_set_template_fields};

// Policies of a runtime.
constexpr field_info torch_fields[] = {opaque("envInjection")};
constexpr type_info torch{"TorchMLPolicySource", torch_fields};
constexpr field_info mpi_fields[] = {plain("numProcPerNode", "1"), plain("mpiImplementation", R"("OpenMPI")"),
                                     plain("sshAuthMountPath", R"("/root/.ssh")"), plain("runLauncherAsNode", "false")};
constexpr type_info mpi{"MPIMLPolicySource", mpi_fields};
constexpr field_info flux_fields[] = {plain("numProcPerNode", "1")};
constexpr type_info flux{"FluxMLPolicySource", flux_fields};
constexpr field_info ml_fields[] = {object("torch", torch), object("mpi", mpi), object("flux", flux), opaque("jax"),
                                    opaque("xgboost")};
constexpr type_info ml{"MLPolicy", ml_fields};
constexpr field_info coscheduling_fields[] = {plain("scheduleTimeoutSeconds", "60")};
constexpr type_info coscheduling{"CoschedulingPodGroupPolicySource", coscheduling_fields};
constexpr field_info topology_fields[] = {brief("mode", R"("hard")"), plain("highestTierAllowed", "1"),
                                          brief("highestTierName")};
constexpr type_info topology{"NetworkTopologySpec", topology_fields};
constexpr field_info volcano_fields[] = {object("networkTopology", topology)};
constexpr type_info volcano{"VolcanoPodGroupPolicySource", volcano_fields};
constexpr field_info groups_fields[] = {object("coscheduling", coscheduling), object("volcano", volcano)};
constexpr type_info groups{"PodGroupPolicy", groups_fields};
constexpr field_info runtime_spec_fields[] = {object("mlPolicy", ml), object("podGroupPolicy", groups),
                                              object("template", job_set_template)};
constexpr type_info runtime_spec{"TrainingRuntimeSpec", runtime_spec_fields};
constexpr field_info runtime_fields[] = {object("metadata", schema::object_meta), object("spec", runtime_spec)};

// A TrainJob.
constexpr field_info runtime_ref_fields[] = {plain("name"), plain("apiGroup", R"("trainer.kubeflow.org")"),
                                             plain("kind", R"("ClusterTrainingRuntime")")};
constexpr type_info runtime_ref{"RuntimeRef", runtime_ref_fields};
constexpr field_info secret_ref_fields[] = {brief("name", R"("")")};
constexpr type_info secret_ref{"LocalObjectReference", secret_ref_fields};
constexpr field_info source_fields[] = {list("env", schema::env_var), object("secretRef", secret_ref)};
constexpr type_info source{"Initializer", source_fields};
constexpr field_info initializer_fields[] = {object("dataset", source), object("model", source)};
constexpr type_info initializer{"Initializer", initializer_fields};
constexpr field_info trainer_fields[] = {list("env", schema::env_var),
                                         object("resourcesPerNode", schema::resource_requirements)};
constexpr type_info trainer{"Trainer", trainer_fields};
constexpr field_info patch_template_fields[] = {object("metadata", schema::object_meta),
                                                object("spec", schema::job_set_spec_patch)};
constexpr type_info patch_template{"JobSetTemplatePatch", patch_template_fields};
constexpr field_info patch_spec_fields[] = {object("template", patch_template)};
constexpr type_info patch_spec{"TrainingRuntimeSpecPatch", patch_spec_fields};
constexpr field_info patch_fields[] = {object("trainingRuntimeSpec", patch_spec)};
constexpr type_info patch{"RuntimePatch", patch_fields};
constexpr field_info override_fields[] = {list("targetJobs"), object("metadata", schema::object_meta),
                                          object("spec", schema::pod_spec)};
constexpr type_info pod_override{"PodTemplateOverride", override_fields};
constexpr field_info job_fields[] = {object("runtimeRef", runtime_ref),
                                     object("initializer", initializer),
                                     object("trainer", trainer),
                                     list("runtimePatches", patch),
                                     list("podTemplateOverrides", pod_override),
                                     plain("suspend", "false"),
                                     plain("managedBy", R"("trainer.kubeflow.org/trainjob-controller")")};
constexpr type_info job{"TrainJobSpec", job_fields};
constexpr field_info train_job_fields[] = {object("metadata", schema::object_meta), object("spec", job)};

}  // namespace

const constinit type_info job_spec{"JobSpec", job_spec_fields};
const constinit type_info job_template{"JobTemplateSpec", job_template_fields};
const constinit type_info job_set_spec{"JobSetSpec", job_set_fields};
const constinit type_info job_set_spec_patch{"JobSetSpecPatch", job_set_patch_fields};
const constinit type_info train_job{"TrainJob", train_job_fields};
const constinit type_info training_runtime{"TrainingRuntime", runtime_fields};

}  // namespace cotrain::runtime::schema
