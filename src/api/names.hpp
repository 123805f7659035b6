// The names that the outside world knows: kinds, labels, annotations, suffixes, ports, volumes, variables.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace cotrain::api {

// How a kind is called in paths and documents.
struct resource_type {
    std::string_view group;
    std::string_view version;
    std::string_view kind;
    std::string_view plural;
    bool namespaced = true;
    std::string_view api_version;  // group/version
};

namespace names {

inline constexpr std::string_view trainer_group = "trainer.kubeflow.org";
inline constexpr std::string_view trainer_api_version = "trainer.kubeflow.org/v1alpha1";
inline constexpr std::string_view train_job_kind = "TrainJob";
inline constexpr std::string_view training_runtime_kind = "TrainingRuntime";
inline constexpr std::string_view cluster_training_runtime_kind = "ClusterTrainingRuntime";

inline constexpr resource_type train_job{trainer_group, "v1alpha1", train_job_kind,
                                         "trainjobs",   true,       trainer_api_version};
inline constexpr resource_type training_runtime{trainer_group,      "v1alpha1", training_runtime_kind,
                                                "trainingruntimes", true,       trainer_api_version};
inline constexpr resource_type cluster_training_runtime{
    trainer_group, "v1alpha1", cluster_training_runtime_kind, "clustertrainingruntimes", false, trainer_api_version};
inline constexpr resource_type job_set{"jobset.x-k8s.io", "v1alpha2", "JobSet",
                                       "jobsets",         true,       "jobset.x-k8s.io/v1alpha2"};
inline constexpr resource_type coscheduling_pod_group{
    "scheduling.x-k8s.io", "v1alpha1", "PodGroup", "podgroups", true, "scheduling.x-k8s.io/v1alpha1"};
inline constexpr resource_type volcano_pod_group{
    "scheduling.volcano.sh", "v1beta1", "PodGroup", "podgroups", true, "scheduling.volcano.sh/v1beta1"};
inline constexpr resource_type config_map{"", "v1", "ConfigMap", "configmaps", true, "v1"};
inline constexpr resource_type secret{"", "v1", "Secret", "secrets", true, "v1"};
inline constexpr resource_type limit_range{"", "v1", "LimitRange", "limitranges", true, "v1"};
inline constexpr resource_type runtime_class{"node.k8s.io",    "v1",  "RuntimeClass",
                                             "runtimeclasses", false, "node.k8s.io/v1"};
inline constexpr resource_type priority_class{"scheduling.k8s.io", "v1",  "PriorityClass",
                                              "priorityclasses",   false, "scheduling.k8s.io/v1"};
inline constexpr resource_type lease{"coordination.k8s.io", "v1", "Lease", "leases", true, "coordination.k8s.io/v1"};
inline constexpr resource_type event{"events.k8s.io", "v1", "Event", "events", true, "events.k8s.io/v1"};
inline constexpr resource_type pod{"", "v1", "Pod", "pods", true, "v1"};

// Who we are.
inline constexpr std::string_view field_manager = "trainer";
inline constexpr std::string_view status_field_manager = "trainer-status";
// Owns the counts of an elastic job's running JobSet, and nothing else of it.
inline constexpr std::string_view scale_field_manager = "trainer-scale";
inline constexpr std::string_view managed_by_self = "trainer.kubeflow.org/trainjob-controller";
inline constexpr std::string_view lease_name = "trainer.kubeflow.org";
inline constexpr std::string_view reporting_controller = "trainer-trainjob-controller";
inline constexpr std::string_view resource_in_use_finalizer = "trainer.kubeflow.org/resource-in-use";

// Labels and annotations.
inline constexpr std::string_view ancestor_label = "trainer.kubeflow.org/trainjob-ancestor-step";
inline constexpr std::string_view ancestor_trainer = "trainer";
inline constexpr std::string_view ancestor_dataset = "dataset-initializer";
inline constexpr std::string_view ancestor_model = "model-initializer";
inline constexpr std::string_view framework_label = "trainer.kubeflow.org/framework";
inline constexpr std::string_view support_label = "trainer.kubeflow.org/support";
inline constexpr std::string_view support_deprecated = "deprecated";
inline constexpr std::string_view webhook_validation_label = "trainer.kubeflow.org/webhook-validation";
// Ours: keeps "cpu" or "gpu" of trainer.numProcPerNode, which is stored as an integer only.
inline constexpr std::string_view num_proc_annotation = "trainer.kubeflow.org/num-proc-per-node";
// Ours: "2:8", how many nodes the TrainJob may have while it runs.
inline constexpr std::string_view elastic_annotation = "trainer.kubeflow.org/elastic";
// Ours: copies of fields that typed clients do not know (admission/own_fields.hpp), and the member of spec that such a
// client drops with them.
inline constexpr std::string_view overrides_annotation = "trainer.kubeflow.org/pod-template-overrides";
inline constexpr std::string_view ttl_annotation = "trainer.kubeflow.org/ttl-seconds-after-finished";
inline constexpr std::string_view fields_kept = "fieldsKept";
inline constexpr std::string_view completion_index_field =
    "metadata.annotations['batch.kubernetes.io/job-completion-index']";
inline constexpr std::string_view job_index_field = "metadata.annotations['jobset.sigs.k8s.io/job-index']";
inline constexpr std::string_view coscheduling_pod_label = "scheduling.x-k8s.io/pod-group";
inline constexpr std::string_view volcano_queue_annotation = "scheduling.volcano.sh/queue-name";
inline constexpr std::string_view volcano_group_annotation = "scheduling.k8s.io/group-name";
inline constexpr std::string_view job_set_name_label = "jobset.sigs.k8s.io/jobset-name";
inline constexpr std::string_view replicated_job_label = "jobset.sigs.k8s.io/replicatedjob-name";
inline constexpr std::string_view restart_attempt_label = "jobset.sigs.k8s.io/restart-attempt";
inline constexpr std::string_view batch_job_label = "batch.kubernetes.io/job-name";
inline constexpr std::string_view completion_index_label = "batch.kubernetes.io/job-completion-index";
inline constexpr std::string_view kueue_queue_label = "kueue.x-k8s.io/queue-name";
inline constexpr std::string_view kueue_elastic_annotation = "kueue.x-k8s.io/elastic-job";

// Jobs, containers and volumes of a runtime.
inline constexpr std::string_view node = "node";
inline constexpr std::string_view launcher = "launcher";
inline constexpr std::string_view dataset_initializer = "dataset-initializer";
inline constexpr std::string_view model_initializer = "model-initializer";
inline constexpr std::string_view initializer_volume = "initializer";
inline constexpr std::string_view dataset_mount_path = "/workspace/dataset";
inline constexpr std::string_view model_mount_path = "/workspace/model";
inline constexpr std::int32_t trainer_port = 29500;
inline constexpr std::string_view trainer_port_text = "29500";

// Children: the job's name and one of these.
inline constexpr std::string_view snapshot_suffix = "-runtime-snapshot";
inline constexpr std::string_view snapshot_key = "runtime";
inline constexpr std::string_view ssh_auth_suffix = "-mpi-ssh-auth";
inline constexpr std::string_view hostfile_suffix = "-mpi-hostfile";
inline constexpr std::string_view flux_entrypoint_suffix = "-flux-entrypoint";
inline constexpr std::string_view flux_curve_suffix = "-flux-curve";
inline constexpr std::string_view tls_config_suffix = "-tls-config";
inline constexpr std::string_view ca_key = "ca.crt";

// MPI.
inline constexpr std::string_view ssh_auth_volume = "mpi-ssh-auth";
inline constexpr std::string_view hostfile_volume = "mpi-hostfile";
inline constexpr std::string_view hostfile_dir = "/etc/mpi";
inline constexpr std::string_view hostfile_key = "hostfile";
inline constexpr std::string_view hostfile_path = "/etc/mpi/hostfile";
inline constexpr std::string_view ssh_secret_type = "kubernetes.io/ssh-auth";
inline constexpr std::string_view ssh_private_key = "ssh-privatekey";
inline constexpr std::string_view ssh_public_key = "ssh-publickey";
inline constexpr std::string_view ssh_auth_mount_path_default = "/root/.ssh";

// Variables.
inline constexpr std::string_view env_storage_uri = "STORAGE_URI";
inline constexpr std::string_view env_torch_nodes = "PET_NNODES";
inline constexpr std::string_view env_torch_procs = "PET_NPROC_PER_NODE";
inline constexpr std::string_view env_torch_rank = "PET_NODE_RANK";
inline constexpr std::string_view env_torch_master_addr = "PET_MASTER_ADDR";
inline constexpr std::string_view env_torch_master_port = "PET_MASTER_PORT";
inline constexpr std::array torch_reserved_env{env_torch_nodes, env_torch_procs, env_torch_rank, env_torch_master_addr,
                                               env_torch_master_port};
// Of elastic jobs, whose nodes find their ranks themselves.
inline constexpr std::string_view env_torch_backend = "PET_RDZV_BACKEND";
inline constexpr std::string_view env_torch_endpoint = "PET_RDZV_ENDPOINT";
inline constexpr std::string_view env_torch_rendezvous = "PET_RDZV_ID";
inline constexpr std::string_view env_torch_restarts = "PET_MAX_RESTARTS";
inline constexpr std::array elastic_reserved_env{env_torch_backend, env_torch_endpoint, env_torch_rendezvous};
inline constexpr std::string_view env_ompi_hostfile = "OMPI_MCA_orte_default_hostfile";
inline constexpr std::string_view env_ompi_rsh_args = "OMPI_MCA_plm_rsh_args";
inline constexpr std::string_view env_ompi_keep_fqdn = "OMPI_MCA_orte_keep_fqdn_hostnames";
inline constexpr std::string_view env_ompi_slots = "OMPI_MCA_orte_set_default_slots";
inline constexpr std::array mpi_reserved_env{env_ompi_hostfile, env_ompi_rsh_args, env_ompi_keep_fqdn, env_ompi_slots};
inline constexpr std::string_view env_jax_processes = "JAX_NUM_PROCESSES";
inline constexpr std::string_view env_jax_id = "JAX_PROCESS_ID";
inline constexpr std::string_view env_jax_coordinator = "JAX_COORDINATOR_ADDRESS";
inline constexpr std::string_view env_xgboost_uri = "DMLC_TRACKER_URI";
inline constexpr std::string_view env_xgboost_port = "DMLC_TRACKER_PORT";
inline constexpr std::string_view env_xgboost_task = "DMLC_TASK_ID";
inline constexpr std::string_view env_xgboost_workers = "DMLC_NUM_WORKER";
inline constexpr std::array xgboost_reserved_env{env_xgboost_uri, env_xgboost_port, env_xgboost_task,
                                                 env_xgboost_workers};
inline constexpr std::string_view env_status_url = "KUBEFLOW_TRAINER_SERVER_URL";
inline constexpr std::string_view env_status_ca = "KUBEFLOW_TRAINER_SERVER_CA_CERT";
inline constexpr std::string_view env_status_token = "KUBEFLOW_TRAINER_SERVER_TOKEN";
inline constexpr std::string_view status_mount_path = "/var/run/secrets/kubeflow/trainer";

// Conditions of a TrainJob, their reasons and messages.
inline constexpr std::string_view suspended = "Suspended";
inline constexpr std::string_view complete = "Complete";
inline constexpr std::string_view failed = "Failed";
inline constexpr std::string_view resources_ready = "ResourcesReady";
inline constexpr std::string_view reason_suspended = "Suspended";
inline constexpr std::string_view reason_resumed = "Resumed";
inline constexpr std::string_view reason_not_supported = "TrainingRuntimeNotSupported";
inline constexpr std::string_view reason_deadline = "DeadlineExceeded";
inline constexpr std::string_view message_suspended = "TrainJob is suspended";
inline constexpr std::string_view message_resumed = "TrainJob is resumed";
inline constexpr std::string_view pending = "Pending";  // these three with gate TrainJobLifecycleConditions
inline constexpr std::string_view running = "Running";
inline constexpr std::string_view ready = "Ready";
inline constexpr std::string_view message_deadline = "TrainJob exceeded its active deadline";

// What JobSet says of itself.
inline constexpr std::string_view job_set_completed = "Completed";
inline constexpr std::string_view job_set_failed = "Failed";

}  // namespace names
}  // namespace cotrain::api
