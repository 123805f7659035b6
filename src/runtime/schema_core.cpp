// The schema of pods: core/v1 as of Kubernetes 1.36, with the merge keys and defaults its API publishes.
#include "runtime/schema_fields.hpp"

namespace cotrain::runtime {

const field_info* type_info::find(std::string_view field) const {
    for (const auto& f : fields) {
        if (f.name == field) return &f;
    }
    return nullptr;
}

namespace schema {
namespace {

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

}  // namespace schema
}  // namespace cotrain::runtime
