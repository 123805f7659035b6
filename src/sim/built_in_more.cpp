// Kinds that controllers own or look at and that nothing here brings to life, and what the API server fills into Pods,
// their templates and Jobs.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>

#include "crd/node.hpp"
#include "doc/edit.hpp"
#include "doc/json.hpp"
#include "sim/built_in.hpp"

namespace cotrain::sim {

namespace {

namespace schema = crd;

schema::shared_node shared(schema::node made) { return std::make_shared<const schema::node>(std::move(made)); }

// A spec of which only some members are known by type.
schema::shared_node body_with(std::vector<schema::property> known) {
    schema::node spec{.type = schema::value_type::object, .keeps_unknown = true};
    spec.properties = std::move(known);
    schema::node out{.type = schema::value_type::object, .keeps_unknown = true};
    out.properties.push_back({"spec", shared(std::move(spec))});
    out.properties.push_back({"status", own_type("AnyStatus")});
    return shared(std::move(out));
}

schema::property foreign(const char* name, std::string_view type) {
    return {name, schema::kubernetes_types().find(type)};
}

schema::shared_node workload_body() {
    return body_with({foreign("template", "PodTemplateSpec"), foreign("selector", "LabelSelector")});
}

void default_probe(doc::editor probe) {
    if (!probe) return;
    probe.set_default("timeoutSeconds", 1).set_default("periodSeconds", 10);
    probe.set_default("successThreshold", 1).set_default("failureThreshold", 3);
    if (doc::editor http = probe.child("httpGet")) http.set_default("path", "/").set_default("scheme", "HTTP");
}

void default_env(doc::editor container) {
    doc::editor list = container.child("env");
    for (std::size_t i = 0; list && i < list.size(); ++i) {
        if (doc::editor field = list.child(i).child({"valueFrom", "fieldRef"})) field.set_default("apiVersion", "v1");
    }
}

void default_container(doc::editor container) {
    if (!container) return;
    const std::string image{container.get("image").as_string()};
    const std::size_t colon = image.find(':', image.rfind('/') + 1);
    const bool latest = !image.contains('@') && (colon == std::string::npos || image.substr(colon) == ":latest");
    container.set_default("imagePullPolicy", latest ? "Always" : "IfNotPresent");
    container.ensure_object("resources");
    container.set_default("terminationMessagePath", "/dev/termination-log");
    container.set_default("terminationMessagePolicy", "File");
    for (const char* each : {"livenessProbe", "readinessProbe", "startupProbe"}) default_probe(container.child(each));
    default_env(container);
    doc::editor ports = container.child("ports");
    for (std::size_t i = 0; ports && i < ports.size(); ++i) {
        if (doc::editor port = ports.child(i)) port.set_default("protocol", "TCP");
    }
}

void default_volume(doc::editor volume) {
    if (!volume) return;
    if (volume.size() == 1) volume.ensure_object("emptyDir");
    for (const char* each : {"configMap", "secret", "downwardAPI", "projected"}) {
        if (doc::editor source = volume.child(each)) source.set_default("defaultMode", 420);
    }
    if (doc::editor path = volume.child("hostPath")) path.set_default("type", "");
}

void each_item(doc::editor list, void (*call)(doc::editor)) {
    for (std::size_t i = 0; list && i < list.size(); ++i) call(list.child(i));
}

void default_template(doc::editor from) {
    if (doc::editor metadata = from.child("metadata"); metadata && metadata.get("creationTimestamp").is_null())
        metadata.remove("creationTimestamp");
    default_pod_spec(from.ensure_object("spec"));
}

void fill_workload(doc::arena&, doc::editor& object) {
    doc::editor spec = object.ensure_object("spec");
    if (doc::editor made_from = spec.child("template")) default_template(made_from);
    spec.set_default("revisionHistoryLimit", 10);
}

void fill_deployment(doc::arena& memory, doc::editor& object) {
    fill_workload(memory, object);
    doc::editor spec = object.child("spec");
    spec.set_default("replicas", 1).set_default("progressDeadlineSeconds", 600);
    doc::editor strategy = spec.ensure_object("strategy");
    strategy.set_default("type", "RollingUpdate");
    if (strategy.get("type").as_string() != "RollingUpdate") return;
    strategy.ensure_object("rollingUpdate").set_default("maxUnavailable", "25%").set_default("maxSurge", "25%");
}

void fill_stateful_set(doc::arena& memory, doc::editor& object) {
    fill_workload(memory, object);
    doc::editor spec = object.child("spec");
    spec.set_default("replicas", 1).set_default("podManagementPolicy", "OrderedReady");
    doc::editor strategy = spec.ensure_object("updateStrategy");
    strategy.set_default("type", "RollingUpdate");
    if (strategy.get("type").as_string() == "RollingUpdate")
        strategy.ensure_object("rollingUpdate").set_default("partition", 0);
    doc::editor retention = spec.ensure_object("persistentVolumeClaimRetentionPolicy");
    retention.set_default("whenDeleted", "Retain").set_default("whenScaled", "Retain");
}

void fill_replica_set(doc::arena&, doc::editor& object) {
    doc::editor spec = object.ensure_object("spec");
    spec.set_default("replicas", 1);
    if (doc::editor made_from = spec.child("template")) default_template(made_from);
}

void fill_cron_job(doc::arena&, doc::editor& object) {
    doc::editor spec = object.ensure_object("spec");
    spec.set_default("concurrencyPolicy", "Allow").set_default("suspend", false);
    spec.set_default("successfulJobsHistoryLimit", 3).set_default("failedJobsHistoryLimit", 1);
    if (doc::editor made_from = spec.child({"jobTemplate", "spec", "template"})) default_template(made_from);
}

void fill_claim(doc::arena&, doc::editor& object) {
    object.ensure_object("spec").set_default("volumeMode", "Filesystem");
    object.ensure_object("status").set_default("phase", "Pending");
}

const column age{"Age", "date", ".metadata.creationTimestamp", 0, "Time since the object was created."};

void check_workload(doc::ref object, std::vector<schema::violation>& out);

void add_scaled(std::vector<kind>& to) {
    const auto add = [&](kind_names names, decltype(kind::fill) fill, bool scales) {
        kind made = make_kind(std::move(names), workload_body());
        made.has_status = made.has_generation = true;
        made.categories = {"all"};
        made.fill = fill;
        if (!made.group.empty()) made.check = check_workload;
        if (scales) made.scale = scale_paths{".spec.replicas", ".status.replicas", ".spec.selector"};
        made.columns = {{"Desired", "integer", ".spec.replicas", 0, "How many there are to be"},
                        {"Ready", "integer", ".status.readyReplicas", 0, "How many are ready"},
                        age};
        to.push_back(std::move(made));
    };
    add({"apps", "v1", "deployments", "deployment", "Deployment", true, {"deploy"}}, fill_deployment, true);
    add({"apps", "v1", "statefulsets", "statefulset", "StatefulSet", true, {"sts"}}, fill_stateful_set, true);
    add({"apps", "v1", "replicasets", "replicaset", "ReplicaSet", true, {"rs"}}, fill_replica_set, true);
    add({"apps", "v1", "daemonsets", "daemonset", "DaemonSet", true, {"ds"}}, fill_workload, false);
    add({"", "v1", "replicationcontrollers", "replicationcontroller", "ReplicationController", true, {"rc"}},
        fill_replica_set, true);
    kind cron = make_kind({"batch", "v1", "cronjobs", "cronjob", "CronJob", true, {"cj"}},
                          body_with({foreign("jobTemplate", "JobTemplateSpec")}));
    cron.has_status = cron.has_generation = true;
    cron.categories = {"all"};
    cron.fill = fill_cron_job;
    cron.columns = {{"Schedule", "string", ".spec.schedule", 0, "When it runs"},
                    {"Suspend", "boolean", ".spec.suspend", 0, "Whether it does not"},
                    age};
    to.push_back(std::move(cron));
}

// What the API server refuses first of a Pod or a template.
void check_pod_spec(doc::ref spec, const std::string& at, std::vector<schema::violation>& out) {
    using schema::fault;
    if (spec.get("containers").empty()) out.push_back({at + ".containers", fault::required, ""});
    std::set<std::string_view> names;
    for (const char* list : {"initContainers", "containers"}) {
        for (std::size_t i = 0; i < spec.get(list).size(); ++i) {
            const doc::ref each = spec.get(list).at(i);
            const std::string here = fmt::format("{}.{}[{}]", at, list, i);
            const std::string_view name = each.get("name").as_string();
            if (name.empty()) out.push_back({here + ".name", fault::required, ""});
            if (!name.empty() && !names.insert(name).second)
                out.push_back({here + ".name", fault::duplicate, fmt::format("\"{}\"", name)});
            if (each.get("image").as_string().empty()) out.push_back({here + ".image", fault::required, ""});
        }
    }
}

void check_workload(doc::ref object, std::vector<schema::violation>& out) {
    const doc::ref spec = object.get("spec");
    check_pod_spec(spec.get({"template", "spec"}), "spec.template.spec", out);
    const doc::ref wanted = spec.get("selector");
    if (wanted.is_unset()) {
        out.push_back({"spec.selector", schema::fault::required, ""});
        return;
    }
    const doc::ref labels = spec.get({"template", "metadata", "labels"});
    for (const doc::member& m : wanted.get("matchLabels").members()) {
        if (equal(labels.get(m.key()), m.value)) continue;
        out.push_back({"spec.template.metadata.labels", schema::fault::invalid,
                       doc::to_json(labels) + ": `selector` does not match template `labels`"});
        return;
    }
}

}  // namespace

void check_pod(doc::ref object, std::vector<schema::violation>& out) {
    check_pod_spec(object.get("spec"), "spec", out);
}

void check_job(doc::ref object, std::vector<schema::violation>& out) {
    const doc::ref spec = object.get({"spec", "template", "spec"});
    check_pod_spec(spec, "spec.template.spec", out);
    if (spec.get("restartPolicy").as_string() == "Always")
        out.push_back({"spec.template.spec.restartPolicy", schema::fault::unsupported,
                       "\"Always\": supported values: \"OnFailure\", \"Never\""});
}

void default_pod_spec(doc::editor spec) {
    spec.set_default("restartPolicy", "Always").set_default("terminationGracePeriodSeconds", 30);
    spec.set_default("dnsPolicy", "ClusterFirst").set_default("schedulerName", "default-scheduler");
    spec.ensure_object("securityContext");
    for (const char* each : {"initContainers", "containers"}) each_item(spec.child(each), default_container);
    each_item(spec.child("volumes"), default_volume);
}

void fill_job(doc::arena&, doc::editor& object) {
    doc::editor spec = object.ensure_object("spec");
    if (!spec.contains("completions") && !spec.contains("parallelism")) spec.set("completions", 1);
    spec.set_default("parallelism", 1);
    spec.set_default("completionMode", "NonIndexed").set_default("suspend", false);
    spec.set_default("backoffLimit", spec.contains("backoffLimitPerIndex") ? 2147483647 : 6);
    spec.set_default("podReplacementPolicy", spec.contains("podFailurePolicy") ? "Failed" : "TerminatingOrFailed");
    doc::editor made_from = spec.child("template");
    if (!made_from) return;
    default_template(made_from);
    const std::string uid{object.get({"metadata", "uid"}).as_string()};
    if (uid.empty() || spec.get("manualSelector").as_bool(false) || spec.contains("selector")) return;
    spec.set_default("manualSelector", false);
    const std::string name{object.get({"metadata", "name"}).as_string()};
    doc::editor labels = made_from.ensure_object({"metadata", "labels"});
    for (const char* prefix : {"batch.kubernetes.io/", ""}) {
        labels.set(std::string{prefix} + "controller-uid", uid);
        labels.set(std::string{prefix} + "job-name", name);
    }
    spec.ensure_object({"selector", "matchLabels"}).set("batch.kubernetes.io/controller-uid", uid);
}

static constexpr std::array<std::string_view, 11> with_generation{"CSIDriver",
                                                                  "DeviceClass",
                                                                  "EndpointSlice",
                                                                  "Ingress",
                                                                  "IngressClass",
                                                                  "PodTemplate",
                                                                  "NetworkPolicy",
                                                                  "PodDisruptionBudget",
                                                                  "ResourceSlice",
                                                                  "ValidatingAdmissionPolicy",
                                                                  "ValidatingAdmissionPolicyBinding"};

static std::string refuse_revision(doc::ref live, doc::ref wanted) {
    return equal(live.get("data"), wanted.get("data")) ? "" : "data: Invalid value: field is immutable";
}

void add_more(std::vector<kind>& to) {
    add_scaled(to);
    struct plain {
        kind_names names;
        bool has_status = true;
    };
    constexpr std::string_view resources = "resource.k8s.io";
    constexpr std::string_view net = "networking.k8s.io";
    constexpr std::string_view storage = "storage.k8s.io";
    constexpr std::string_view rules = "admissionregistration.k8s.io";
    for (plain& each : std::vector<plain>{
             {{"", "v1", "persistentvolumeclaims", "persistentvolumeclaim", "PersistentVolumeClaim", true, {"pvc"}}},
             {{"", "v1", "persistentvolumes", "persistentvolume", "PersistentVolume", false, {"pv"}}},
             {{"", "v1", "resourcequotas", "resourcequota", "ResourceQuota", true, {"quota"}}},
             {{"", "v1", "endpoints", "endpoints", "Endpoints", true, {"ep"}}, false},
             {{"", "v1", "podtemplates", "podtemplate", "PodTemplate"}, false},
             {{"apps", "v1", "controllerrevisions", "controllerrevision", "ControllerRevision"}, false},
             {{"autoscaling",
               "v2",
               "horizontalpodautoscalers",
               "horizontalpodautoscaler",
               "HorizontalPodAutoscaler",
               true,
               {"hpa"}}},
             {{"certificates.k8s.io",
               "v1",
               "certificatesigningrequests",
               "certificatesigningrequest",
               "CertificateSigningRequest",
               false,
               {"csr"}}},
             {{"discovery.k8s.io", "v1", "endpointslices", "endpointslice", "EndpointSlice"}, false},
             {{net, "v1", "ingresses", "ingress", "Ingress", true, {"ing"}}},
             {{net, "v1", "ingressclasses", "ingressclass", "IngressClass", false}, false},
             {{net, "v1", "networkpolicies", "networkpolicy", "NetworkPolicy", true, {"netpol"}}, false},
             {{"policy", "v1", "poddisruptionbudgets", "poddisruptionbudget", "PodDisruptionBudget", true, {"pdb"}}},
             {{storage, "v1", "storageclasses", "storageclass", "StorageClass", false, {"sc"}}, false},
             {{storage, "v1", "csidrivers", "csidriver", "CSIDriver", false}, false},
             {{storage, "v1", "csinodes", "csinode", "CSINode", false}, false},
             {{storage, "v1", "volumeattachments", "volumeattachment", "VolumeAttachment", false}},
             {{resources, "v1", "deviceclasses", "deviceclass", "DeviceClass", false}, false},
             {{resources, "v1", "resourceclaims", "resourceclaim", "ResourceClaim"}},
             {{resources, "v1", "resourceclaimtemplates", "resourceclaimtemplate", "ResourceClaimTemplate"}, false},
             {{resources, "v1", "resourceslices", "resourceslice", "ResourceSlice", false}, false},
             {{rules, "v1", "validatingadmissionpolicies", "validatingadmissionpolicy", "ValidatingAdmissionPolicy",
               false}},
             {{rules, "v1", "validatingadmissionpolicybindings", "validatingadmissionpolicybinding",
               "ValidatingAdmissionPolicyBinding", false},
              false},
             {{"apiregistration.k8s.io", "v1", "apiservices", "apiservice", "APIService", false}},
         }) {
        const schema::shared_node typed = own_type(each.names.name);
        kind made = make_kind(std::move(each.names), typed ? typed : free_body());
        made.has_status = each.has_status;
        made.has_generation = std::ranges::contains(with_generation, made.name);
        made.made_by_update = made.name == "Endpoints";
        if (made.name == "ControllerRevision") made.refuse = refuse_revision;
        if (made.name == "PersistentVolumeClaim") made.fill = fill_claim;
        to.push_back(std::move(made));
    }
}

}  // namespace cotrain::sim
