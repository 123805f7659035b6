#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "crd/node.hpp"
#include "doc/edit.hpp"
#include "sim/built_in.hpp"
#include "sim/table.hpp"

namespace cotrain::sim {

namespace {

namespace schema = crd;

schema::shared_node body_of(std::string_view spec, std::string_view status) {
    schema::node out{.type = schema::value_type::object};
    out.properties.push_back({"spec", schema::kubernetes_types().find(spec)});
    out.properties.push_back({"status", own_type(status)});
    return std::make_shared<const schema::node>(std::move(out));
}

std::string pod_ready(doc::ref pod, base::seconds_time) {
    const doc::ref states = pod.get({"status", "containerStatuses"});
    const auto ready =
        std::ranges::count_if(states.items(), [](doc::ref each) { return each.get("ready").as_bool(false); });
    return fmt::format("{}/{}", ready, pod.get({"spec", "containers"}).size());
}

// As kubectl says it: the reason of whatever holds a container back, else the phase.
std::string pod_status(doc::ref pod, base::seconds_time) {
    if (pod.get("metadata").contains("deletionTimestamp")) return "Terminating";
    const doc::ref status = pod.get("status");
    for (const doc::ref each : status.get("containerStatuses").items()) {
        for (const char* state : {"waiting", "terminated"}) {
            const std::string_view reason = each.get({"state", state, "reason"}).as_string();
            if (!reason.empty()) return std::string{reason};
        }
    }
    return std::string{status.get("reason").as_string(status.get("phase").as_string("Unknown"))};
}

std::string pod_restarts(doc::ref pod, base::seconds_time) {
    std::int64_t sum = 0;
    for (const doc::ref each : pod.get({"status", "containerStatuses"}).items())
        sum += each.get("restartCount").as_int(0);
    return fmt::format("{}", sum);
}

void fill_pod(doc::arena&, doc::editor& object) {
    object.ensure_object("status").set_default("phase", "Pending");
    doc::editor spec = object.ensure_object("spec");
    default_pod_spec(spec);
    spec.set_default("serviceAccountName", "default").set_default("enableServiceLinks", true);
}

// Of a Service that has an address of its own. Nobody is reached there.
void fill_service(doc::arena&, doc::editor& object) {
    doc::editor spec = object.ensure_object("spec");
    spec.set_default("type", "ClusterIP").set_default("sessionAffinity", "None");
    spec.set_default("internalTrafficPolicy", "Cluster");
    doc::editor ports = spec.child("ports");
    for (std::size_t i = 0; ports && i < ports.size(); ++i) {
        doc::editor port = ports.child(i);
        if (!port) continue;
        port.set_default("protocol", "TCP");
        if (const doc::ref number = port.get("port")) port.set_default("targetPort", number);
    }
}

bool holds(doc::ref conditions, std::string_view type) {
    return conditions.find_by("type", type).get("status").as_string() == "True";
}

std::string job_status(doc::ref job, base::seconds_time) {
    const doc::ref conditions = job.get({"status", "conditions"});
    for (const char* type : {"Complete", "Failed", "Suspended"}) {
        if (holds(conditions, type)) return type;
    }
    return job.get("metadata").contains("deletionTimestamp") ? "Terminating" : "Running";
}

std::string job_completions(doc::ref job, base::seconds_time) {
    const doc::ref wanted = job.get({"spec", "completions"});
    return fmt::format("{}/{}", job.get({"status", "succeeded"}).as_int(0), wanted.as_int(1));
}

std::string job_duration(doc::ref job, base::seconds_time now) {
    const auto from = base::parse_time_seconds(job.get({"status", "startTime"}).as_string());
    const auto to = base::parse_time_seconds(job.get({"status", "completionTime"}).as_string());
    return from ? short_duration(to.value_or(now) - *from) : "";
}

std::string node_status(doc::ref node, base::seconds_time) {
    return holds(node.get({"status", "conditions"}), "Ready") ? "Ready" : "NotReady";
}

const column age{"Age", "date", ".metadata.creationTimestamp", 0, "Time since the object was created."};

void add_pods(std::vector<kind>& to) {
    kind pod = make_kind({"", "v1", "pods", "pod", "Pod", true, {"po"}}, body_of("PodSpec", "PodStatus"));
    pod.has_status = pod.has_generation = true;
    pod.categories = {"all"};
    pod.fill = fill_pod;
    pod.check = check_pod;
    pod.selectable = {"spec.nodeName", "status.phase", "spec.restartPolicy", "spec.serviceAccountName",
                      "spec.schedulerName"};
    pod.columns = {{"Ready", "string", "", 0, "How many containers are ready", pod_ready},
                   {"Status", "string", "", 0, "What the pod is doing", pod_status},
                   {"Restarts", "string", "", 0, "How often containers were restarted", pod_restarts},
                   age,
                   {"IP", "string", ".status.podIP", 1, "The pod's address"},
                   {"Node", "string", ".spec.nodeName", 1, "The node it runs on"}};
    to.push_back(std::move(pod));
}

void add_jobs(std::vector<kind>& to) {
    kind job = make_kind({"batch", "v1", "jobs", "job", "Job"}, body_of("JobSpec", "JobStatus"));
    job.has_status = job.has_generation = true;
    job.categories = {"all"};
    job.selectable = {"status.successful"};
    job.fill = fill_job;
    job.check = check_job;
    job.orphans_dependents = true;
    job.columns = {{"Status", "string", "", 0, "What the job is doing", job_status},
                   {"Completions", "string", "", 0, "Pods that have succeeded", job_completions},
                   {"Duration", "string", "", 0, "From start to end", job_duration}};
    to.push_back(std::move(job));
}

namespace schema = crd;

schema::shared_node job_set_body() {
    schema::node out{.type = schema::value_type::object};
    out.properties.push_back({"spec", schema::kubernetes_types().find("JobSetSpec")});
    out.properties.push_back({"status", own_type("JobSetStatus")});
    return std::make_shared<const schema::node>(std::move(out));
}

void fill_job_set(doc::arena&, doc::editor& object) {
    doc::editor spec = object.ensure_object("spec");
    spec.ensure_object("successPolicy").set_default("operator", "All");
    spec.ensure_object("startupPolicy").set_default("startupPolicyOrder", "AnyOrder");
    spec.ensure_object("network").set_default("enableDNSHostnames", true).set_default("publishNotReadyAddresses", true);
    doc::editor jobs = spec.ensure_array("replicatedJobs");
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        doc::editor job = jobs.child(i);
        job.set_default("groupName", "default").set_default("replicas", 1);
        doc::editor wish = job.ensure_object({"template", "spec"});
        wish.set_default("completionMode", "Indexed");
        wish.ensure_object({"template", "spec"}).set_default("restartPolicy", "OnFailure");
    }
}

// What may not change once pods may run.
std::string refuse_job_set(doc::ref live, doc::ref wanted) {
    const doc::ref before = live.get("spec");
    const doc::ref after = wanted.get("spec");
    if (before.get("suspend").as_bool(false) || after.get("suspend").as_bool(false)) return {};
    if (equal(before.get("replicatedJobs"), after.get("replicatedJobs"))) return {};
    return "spec.replicatedJobs: Invalid value: field is immutable";
}

}  // namespace

void add_workloads(std::vector<kind>& to) {
    add_pods(to);
    add_jobs(to);
    kind service = make_kind({"", "v1", "services", "service", "Service", true, {"svc"}}, free_body());
    service.has_status = true;
    service.fill = fill_service;
    service.categories = {"all"};
    service.columns = {{"Type", "string", ".spec.type", 0, "How it is reached"},
                       {"Cluster-IP", "string", ".spec.clusterIP", 0, "Its address"}};
    to.push_back(std::move(service));
    kind node = make_kind({"", "v1", "nodes", "node", "Node", false, {"no"}}, free_body());
    node.has_status = true;
    node.selectable = {"spec.unschedulable"};
    node.columns = {{"Status", "string", "", 0, "Whether it takes pods", node_status},
                    age,
                    {"Version", "string", ".status.nodeInfo.kubeletVersion", 0, "Of its kubelet"}};
    to.push_back(std::move(node));
}

void add_permissions(std::vector<kind>& to) {
    constexpr std::string_view group = "rbac.authorization.k8s.io";
    for (kind_names& each : std::vector<kind_names>{
             {group, "v1", "roles", "role", "Role"},
             {group, "v1", "rolebindings", "rolebinding", "RoleBinding"},
             {group, "v1", "clusterroles", "clusterrole", "ClusterRole", false},
             {group, "v1", "clusterrolebindings", "clusterrolebinding", "ClusterRoleBinding", false}}) {
        to.push_back(make_kind(std::move(each), free_body()));
        to.back().made_by_update = true;
    }
}

void add_neighbours(kinds& to) {
    const auto add = [&](kind made) {
        made.custom = made.has_generation = made.has_status = true;
        if (to.find(made.group, made.version, made.plural) == nullptr) to.add(std::move(made));
    };
    kind job_set = make_kind({"jobset.x-k8s.io", "v1alpha2", "jobsets", "jobset", "JobSet"}, job_set_body());
    job_set.fill = fill_job_set;
    job_set.refuse = refuse_job_set;
    job_set.columns = {{"TerminalState", "string", ".status.terminalState", 0, "Final state of JobSet"},
                       {"Restarts", "string", ".status.restarts", 0, "Number of restarts"},
                       {"Completed", "string", ".status.conditions[?(@.type==\"Completed\")].status", 0, ""},
                       {"Suspended", "string", ".spec.suspend", 0, "JobSet suspended"},
                       {"Age", "date", ".metadata.creationTimestamp", 0, "Time this JobSet was created"}};
    add(std::move(job_set));
    for (const auto& [group, version] :
         {std::pair{"scheduling.x-k8s.io", "v1alpha1"}, std::pair{"scheduling.volcano.sh", "v1beta1"}}) {
        kind gang =
            make_kind({group, version, "podgroups", "podgroup", "PodGroup", true, {"pg"}}, own_type("PodGroup"));
        gang.columns = {{"MinMember", "integer", ".spec.minMember", 0, "Pods that must run together"},
                        {"Phase", "string", ".status.phase", 0, "How far it is"}};
        add(std::move(gang));
    }
}

}  // namespace cotrain::sim
