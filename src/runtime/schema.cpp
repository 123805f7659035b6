// The API's types: merge keys, defaults, forms.
#include "runtime/schema.hpp"

namespace cotrain::runtime {

const field_info* type_info::find(std::string_view field) const {
    for (const auto& f : fields) {
        if (f.name == field) return &f;
    }
    return nullptr;
}

namespace schema {
namespace {

// Short words to write the tables with.
constexpr field_info plain(std::string_view name, std::string_view preset = {}) {
    return {name, form::plain, nullptr, {}, list_rule::replace, preset};
}
constexpr field_info brief(std::string_view name, std::string_view preset = {}) {
    return {name, form::brief, nullptr, {}, list_rule::replace, preset};
}
constexpr field_info amount(std::string_view name) { return {name, form::amount}; }
constexpr field_info sure_amount(std::string_view name) { return {name, form::sure_amount}; }
constexpr field_info amounts(std::string_view name) { return {name, form::amounts}; }
constexpr field_info map(std::string_view name) { return {name, form::map}; }
constexpr field_info object(std::string_view name, const type_info& of) { return {name, form::object, &of}; }
constexpr field_info opaque(std::string_view name) { return {name, form::object}; }
constexpr field_info list(std::string_view name) { return {name, form::list}; }
constexpr field_info list(std::string_view name, const type_info& of) { return {name, form::list, &of}; }
constexpr field_info keyed(std::string_view name, const type_info& of, std::string_view merge_key) {
    return {name, form::list, &of, merge_key, list_rule::by_key};
}
constexpr field_info united(std::string_view name) { return {name, form::list, nullptr, {}, list_rule::values}; }

constexpr field_info owner_reference_fields[] = {brief("controller"), brief("blockOwnerDeletion")};
constexpr type_info owner_reference{"OwnerReference", owner_reference_fields};

constexpr field_info requirement_fields[] = {plain("key"), plain("operator"), list("values")};
constexpr type_info requirement{"Requirement", requirement_fields};

constexpr field_info selector_fields[] = {map("matchLabels"), list("matchExpressions", requirement)};

constexpr field_info local_reference_fields[] = {brief("name", R"("")")};
constexpr type_info local_reference{"LocalObjectReference", local_reference_fields};
constexpr field_info plain_reference_fields[] = {brief("name")};
constexpr type_info named{"Named", plain_reference_fields};

constexpr field_info field_ref_fields[] = {brief("apiVersion"), plain("fieldPath")};
constexpr type_info field_ref{"ObjectFieldSelector", field_ref_fields};
constexpr field_info resource_ref_fields[] = {brief("containerName"), plain("resource"), sure_amount("divisor")};
constexpr type_info resource_ref{"ResourceFieldSelector", resource_ref_fields};
constexpr field_info key_ref_fields[] = {brief("name", R"("")"), plain("key"), plain("optional")};
constexpr type_info key_ref{"KeySelector", key_ref_fields};
constexpr field_info file_key_ref_fields[] = {plain("volumeName"), plain("path"), plain("key"),
                                              plain("optional", "false")};
constexpr type_info file_key_ref{"FileKeySelector", file_key_ref_fields};
constexpr field_info env_source_fields[] = {object("fieldRef", field_ref), object("resourceFieldRef", resource_ref),
                                            object("configMapKeyRef", key_ref), object("secretKeyRef", key_ref),
                                            object("fileKeyRef", file_key_ref)};
constexpr type_info env_source{"EnvVarSource", env_source_fields, choice::any_member};
constexpr field_info env_var_fields[] = {plain("name"), brief("value"), object("valueFrom", env_source)};

constexpr field_info env_from_ref_fields[] = {brief("name", R"("")"), plain("optional")};
constexpr type_info env_from_ref{"EnvSource", env_from_ref_fields};
constexpr field_info env_from_fields[] = {brief("prefix"), object("configMapRef", env_from_ref),
                                          object("secretRef", env_from_ref)};
constexpr type_info env_from{"EnvFromSource", env_from_fields};

constexpr field_info port_fields[] = {brief("name"), brief("hostPort"), plain("containerPort"),
                                      brief("protocol", R"("TCP")"), brief("hostIP")};
constexpr type_info port{"ContainerPort", port_fields};
constexpr field_info mount_fields[] = {plain("name"), brief("readOnly"), plain("mountPath"), brief("subPath"),
                                       brief("subPathExpr")};
constexpr type_info mount{"VolumeMount", mount_fields};
constexpr field_info device_fields[] = {plain("name"), plain("devicePath")};
constexpr type_info device{"VolumeDevice", device_fields};

constexpr field_info exec_fields[] = {list("command")};
constexpr type_info exec{"ExecAction", exec_fields};
constexpr field_info http_fields[] = {brief("path"), plain("port"), brief("host"), brief("scheme"),
                                      list("httpHeaders")};
constexpr type_info http{"HTTPGetAction", http_fields};
constexpr field_info tcp_fields[] = {plain("port"), brief("host")};
constexpr type_info tcp{"TCPSocketAction", tcp_fields};
constexpr field_info grpc_fields[] = {plain("port"), plain("service", R"("")")};
constexpr type_info grpc{"GRPCAction", grpc_fields};
constexpr field_info probe_fields[] = {object("exec", exec),    object("httpGet", http),   object("tcpSocket", tcp),
                                       object("grpc", grpc),    brief("periodSeconds"),    brief("initialDelaySeconds"),
                                       brief("timeoutSeconds"), brief("successThreshold"), brief("failureThreshold")};
constexpr type_info probe{"Probe", probe_fields};
constexpr field_info handler_fields[] = {object("exec", exec), object("httpGet", http), object("tcpSocket", tcp),
                                         opaque("sleep")};
constexpr type_info handler{"LifecycleHandler", handler_fields};
constexpr field_info lifecycle_fields[] = {object("postStart", handler), object("preStop", handler),
                                           plain("stopSignal")};
constexpr type_info lifecycle{"Lifecycle", lifecycle_fields};

constexpr field_info selinux_fields[] = {brief("user"), brief("role"), brief("type"), brief("level")};
constexpr type_info selinux{"SELinuxOptions", selinux_fields};
constexpr field_info capabilities_fields[] = {list("add"), list("drop")};
constexpr type_info capabilities{"Capabilities", capabilities_fields};
constexpr field_info security_fields[] = {object("capabilities", capabilities), object("seLinuxOptions", selinux),
                                          opaque("windowsOptions"), opaque("seccompProfile"),
                                          opaque("appArmorProfile")};
constexpr type_info security{"SecurityContext", security_fields};
constexpr field_info pod_security_fields[] = {object("seLinuxOptions", selinux), opaque("windowsOptions"),
                                              opaque("seccompProfile"),          opaque("appArmorProfile"),
                                              list("supplementalGroups"),        list("sysctls")};
constexpr type_info pod_security{"PodSecurityContext", pod_security_fields};

constexpr field_info claim_fields[] = {plain("name"), brief("request")};
constexpr type_info claim{"ResourceClaim", claim_fields};
// The API publishes no merge key for claims; the reference merges them by name where a TrainJob brings some.
constexpr field_info requirements_fields[] = {amounts("limits"), amounts("requests"), keyed("claims", claim, "name")};
constexpr field_info template_requirements_fields[] = {amounts("limits"), amounts("requests"), list("claims", claim)};
constexpr type_info template_requirements{"ResourceRequirements", template_requirements_fields};

constexpr field_info container_fields[] = {
    plain("name"),
    brief("image"),
    list("command"),
    list("args"),
    brief("workingDir"),
    keyed("ports", port, "containerPort"),
    list("envFrom", env_from),
    keyed("env", schema::env_var, "name"),
    object("resources", template_requirements),
    list("resizePolicy"),
    plain("restartPolicy"),
    list("restartPolicyRules"),
    keyed("volumeMounts", mount, "mountPath"),
    keyed("volumeDevices", device, "devicePath"),
    object("livenessProbe", probe),
    object("readinessProbe", probe),
    object("startupProbe", probe),
    object("lifecycle", lifecycle),
    brief("terminationMessagePath"),
    brief("terminationMessagePolicy"),
    brief("imagePullPolicy"),
    object("securityContext", security),
    brief("stdin"),
    brief("stdinOnce"),
    brief("tty"),
    brief("targetContainerName"),
};

constexpr field_info selector_term_fields[] = {list("matchExpressions", requirement), list("matchFields", requirement)};
constexpr type_info selector_term{"NodeSelectorTerm", selector_term_fields};
constexpr field_info node_selector_fields[] = {list("nodeSelectorTerms", selector_term)};
constexpr type_info node_selector{"NodeSelector", node_selector_fields};
constexpr field_info preferred_node_fields[] = {plain("weight"), object("preference", selector_term)};
constexpr type_info preferred_node{"PreferredSchedulingTerm", preferred_node_fields};
constexpr field_info node_affinity_fields[] = {object("requiredDuringSchedulingIgnoredDuringExecution", node_selector),
                                               list("preferredDuringSchedulingIgnoredDuringExecution", preferred_node)};
constexpr type_info node_affinity{"NodeAffinity", node_affinity_fields};
constexpr field_info pod_term_fields[] = {
    object("labelSelector", schema::label_selector),     list("namespaces"),     plain("topologyKey"),
    object("namespaceSelector", schema::label_selector), list("matchLabelKeys"), list("mismatchLabelKeys")};
constexpr type_info pod_term{"PodAffinityTerm", pod_term_fields};
constexpr field_info weighted_pod_fields[] = {plain("weight"), object("podAffinityTerm", pod_term)};
constexpr type_info weighted_pod{"WeightedPodAffinityTerm", weighted_pod_fields};
constexpr field_info pod_affinity_fields[] = {list("requiredDuringSchedulingIgnoredDuringExecution", pod_term),
                                              list("preferredDuringSchedulingIgnoredDuringExecution", weighted_pod)};
constexpr type_info pod_affinity{"PodAffinity", pod_affinity_fields};
constexpr field_info affinity_fields[] = {object("nodeAffinity", node_affinity), object("podAffinity", pod_affinity),
                                          object("podAntiAffinity", pod_affinity)};
constexpr type_info affinity{"Affinity", affinity_fields};

constexpr field_info toleration_fields[] = {brief("key"), brief("operator"), brief("value"), brief("effect")};
constexpr type_info toleration{"Toleration", toleration_fields};
constexpr field_info host_alias_fields[] = {plain("ip"), list("hostnames")};
constexpr type_info host_alias{"HostAlias", host_alias_fields};
constexpr field_info spread_fields[] = {plain("maxSkew"), plain("topologyKey"), plain("whenUnsatisfiable"),
                                        object("labelSelector", schema::label_selector), list("matchLabelKeys")};
constexpr type_info spread{"TopologySpreadConstraint", spread_fields};
constexpr field_info dns_option_fields[] = {brief("name")};
constexpr type_info dns_option{"PodDNSConfigOption", dns_option_fields};
constexpr field_info dns_fields[] = {list("nameservers"), list("searches"), list("options", dns_option)};
constexpr type_info dns{"PodDNSConfig", dns_fields};

constexpr field_info pod_spec_fields[] = {
    keyed("volumes", schema::volume, "name"),
    keyed("initContainers", schema::container, "name"),
    keyed("containers", schema::container, "name"),
    keyed("ephemeralContainers", schema::container, "name"),
    brief("restartPolicy"),
    brief("dnsPolicy"),
    map("nodeSelector"),
    brief("serviceAccountName"),
    brief("serviceAccount"),
    brief("nodeName"),
    brief("hostNetwork"),
    brief("hostPID"),
    brief("hostIPC"),
    object("securityContext", pod_security),
    keyed("imagePullSecrets", local_reference, "name"),
    brief("hostname"),
    brief("subdomain"),
    object("affinity", affinity),
    brief("schedulerName"),
    list("tolerations", toleration),
    keyed("hostAliases", host_alias, "ip"),
    brief("priorityClassName"),
    object("dnsConfig", dns),
    list("readinessGates"),
    amounts("overhead"),
    keyed("topologySpreadConstraints", spread, "topologyKey"),
    opaque("os"),
    keyed("schedulingGates", named, "name"),
    keyed("resourceClaims", named, "name"),
    object("resources", template_requirements),
    opaque("workloadRef"),
};

constexpr field_info meta_fields[] = {brief("name"),        brief("generateName"),
                                      brief("namespace"),   brief("selfLink"),
                                      brief("uid"),         brief("resourceVersion"),
                                      brief("generation"),  map("labels"),
                                      map("annotations"),   keyed("ownerReferences", owner_reference, "uid"),
                                      united("finalizers"), list("managedFields")};
constexpr field_info pod_template_fields[] = {object("metadata", schema::object_meta),
                                              object("spec", schema::pod_spec)};

}  // namespace

const constinit type_info object_meta{"ObjectMeta", meta_fields};
const constinit type_info label_selector{"LabelSelector", selector_fields};
const constinit type_info env_var{"EnvVar", env_var_fields, choice::value_or_source};
const constinit type_info resource_requirements{"ResourceRequirements", requirements_fields};
const constinit type_info container{"Container", container_fields};
const constinit type_info pod_spec{"PodSpec", pod_spec_fields};
const constinit type_info pod_template{"PodTemplateSpec", pod_template_fields};

namespace {

constexpr field_info projected_config_fields[] = {brief("name", R"("")"), list("items"), plain("optional")};
constexpr type_info projected_config{"ConfigMapProjection", projected_config_fields};
constexpr field_info downward_item_fields[] = {plain("path"), object("fieldRef", field_ref),
                                               object("resourceFieldRef", resource_ref), plain("mode")};
constexpr type_info downward_item{"DownwardAPIVolumeFile", downward_item_fields};
constexpr field_info downward_fields[] = {list("items", downward_item), plain("defaultMode")};
constexpr type_info downward{"DownwardAPIVolumeSource", downward_fields};
constexpr field_info token_fields[] = {brief("audience"), plain("expirationSeconds"), plain("path")};
constexpr type_info token{"ServiceAccountTokenProjection", token_fields};
constexpr field_info trust_bundle_fields[] = {object("labelSelector", schema::label_selector)};
constexpr type_info trust_bundle{"ClusterTrustBundleProjection", trust_bundle_fields};
constexpr field_info projection_fields[] = {
    object("secret", projected_config),         object("downwardAPI", downward),
    object("configMap", projected_config),      object("serviceAccountToken", token),
    object("clusterTrustBundle", trust_bundle), opaque("podCertificate")};
constexpr type_info projection{"VolumeProjection", projection_fields};
constexpr field_info projected_fields[] = {list("sources", projection), plain("defaultMode")};
constexpr type_info projected{"ProjectedVolumeSource", projected_fields};

constexpr field_info empty_dir_fields[] = {brief("medium"), amount("sizeLimit")};
constexpr type_info empty_dir{"EmptyDirVolumeSource", empty_dir_fields};
constexpr field_info secret_fields[] = {brief("secretName"), list("items"), plain("defaultMode"), plain("optional")};
constexpr type_info secret{"SecretVolumeSource", secret_fields};
constexpr field_info config_map_fields[] = {brief("name", R"("")"), list("items"), plain("defaultMode"),
                                            plain("optional")};
constexpr type_info config_map{"ConfigMapVolumeSource", config_map_fields};
constexpr field_info claim_volume_fields[] = {plain("claimName"), brief("readOnly")};
constexpr type_info claim_volume{"PersistentVolumeClaimVolumeSource", claim_volume_fields};
constexpr field_info image_fields[] = {brief("reference"), brief("pullPolicy")};
constexpr type_info image{"ImageVolumeSource", image_fields};
constexpr field_info csi_fields[] = {map("volumeAttributes"), object("nodePublishSecretRef", local_reference)};
constexpr type_info csi{"CSIVolumeSource", csi_fields};
constexpr field_info nfs_fields[] = {brief("readOnly")};
constexpr type_info nfs{"NFSVolumeSource", nfs_fields};

constexpr field_info disk_fields[] = {brief("fsType"), brief("partition"), brief("readOnly")};
constexpr type_info disk{"DiskVolumeSource", disk_fields};
constexpr field_info secret_disk_fields[] = {brief("fsType"), brief("readOnly"), object("secretRef", local_reference),
                                             map("options")};
constexpr type_info secret_disk{"SecretDiskVolumeSource", secret_disk_fields};
constexpr field_info iscsi_fields[] = {brief("iscsiInterface", R"("default")"),
                                       brief("fsType"),
                                       brief("readOnly"),
                                       list("portals"),
                                       brief("chapAuthDiscovery"),
                                       brief("chapAuthSession"),
                                       object("secretRef", local_reference)};
constexpr type_info iscsi{"ISCSIVolumeSource", iscsi_fields};
constexpr field_info rbd_fields[] = {brief("fsType"),
                                     brief("pool", R"("rbd")"),
                                     brief("user", R"("admin")"),
                                     brief("keyring", R"("/etc/ceph/keyring")"),
                                     object("secretRef", local_reference),
                                     brief("readOnly")};
constexpr type_info rbd{"RBDVolumeSource", rbd_fields};
constexpr field_info cephfs_fields[] = {brief("path"), brief("user"), brief("secretFile"),
                                        object("secretRef", local_reference), brief("readOnly")};
constexpr type_info cephfs{"CephFSVolumeSource", cephfs_fields};
constexpr field_info flocker_fields[] = {brief("datasetName"), brief("datasetUUID")};
constexpr type_info flocker{"FlockerVolumeSource", flocker_fields};
constexpr field_info fibre_fields[] = {list("targetWWNs"), brief("fsType"), brief("readOnly"), list("wwids")};
constexpr type_info fibre{"FCVolumeSource", fibre_fields};
constexpr field_info azure_disk_fields[] = {plain("fsType", R"("ext4")"), plain("readOnly", "false")};
constexpr type_info azure_disk{"AzureDiskVolumeSource", azure_disk_fields};
constexpr field_info vsphere_fields[] = {brief("fsType"), brief("storagePolicyName"), brief("storagePolicyID")};
constexpr type_info vsphere{"VsphereVirtualDiskVolumeSource", vsphere_fields};
constexpr field_info quobyte_fields[] = {brief("readOnly"), brief("user"), brief("group"), brief("tenant")};
constexpr type_info quobyte{"QuobyteVolumeSource", quobyte_fields};
constexpr field_info scale_io_fields[] = {object("secretRef", local_reference),
                                          brief("sslEnabled"),
                                          brief("protectionDomain"),
                                          brief("storagePool"),
                                          brief("storageMode", R"("ThinProvisioned")"),
                                          brief("volumeName"),
                                          brief("fsType", R"("xfs")"),
                                          brief("readOnly")};
constexpr type_info scale_io{"ScaleIOVolumeSource", scale_io_fields};
constexpr field_info storage_os_fields[] = {brief("volumeName"), brief("volumeNamespace"), brief("fsType"),
                                            brief("readOnly"), object("secretRef", local_reference)};
constexpr type_info storage_os{"StorageOSVolumeSource", storage_os_fields};

constexpr field_info claim_resources_fields[] = {amounts("limits"), amounts("requests")};
constexpr type_info claim_resources{"VolumeResourceRequirements", claim_resources_fields};
constexpr field_info claim_spec_fields[] = {list("accessModes"),
                                            object("selector", schema::label_selector),
                                            object("resources", claim_resources),
                                            brief("volumeName"),
                                            opaque("dataSource"),
                                            opaque("dataSourceRef")};
constexpr type_info claim_spec{"PersistentVolumeClaimSpec", claim_spec_fields};
constexpr field_info claim_template_fields[] = {object("metadata", schema::object_meta), object("spec", claim_spec),
                                                opaque("status")};
constexpr field_info ephemeral_fields[] = {object("volumeClaimTemplate", schema::persistent_volume_claim)};
constexpr type_info ephemeral{"EphemeralVolumeSource", ephemeral_fields};

constexpr field_info volume_fields[] = {
    plain("name"),
    opaque("hostPath"),
    object("emptyDir", empty_dir),
    object("secret", secret),
    object("configMap", config_map),
    object("persistentVolumeClaim", claim_volume),
    object("projected", projected),
    object("downwardAPI", downward),
    object("ephemeral", ephemeral),
    object("csi", csi),
    object("image", image),
    object("nfs", nfs),
    object("iscsi", iscsi),
    object("fc", fibre),
    object("rbd", rbd),
    object("cephfs", cephfs),
    object("cinder", secret_disk),
    object("flexVolume", secret_disk),
    object("glusterfs", nfs),
    object("gcePersistentDisk", disk),
    object("awsElasticBlockStore", disk),
    object("azureDisk", azure_disk),
    object("azureFile", nfs),
    object("vsphereVolume", vsphere),
    object("photonPersistentDisk", disk),
    object("portworxVolume", disk),
    object("quobyte", quobyte),
    object("scaleIO", scale_io),
    object("storageos", storage_os),
    object("flocker", flocker),
};

}  // namespace

const constinit type_info volume{"Volume", volume_fields, choice::any_but_name};
const constinit type_info persistent_volume_claim{"PersistentVolumeClaim", claim_template_fields};

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

}  // namespace schema

}  // namespace cotrain::runtime
