// Kinds of the projects that ours works with, and what their own controllers' webhooks fill in.
#include <string>
#include <utility>

#include "api/edit.hpp"
#include "api/schema/kubernetes.hpp"
#include "sim/built_in.hpp"

namespace cotrain::sim {
namespace {

namespace schema = api::schema;

schema::shared_node job_set_body() {
    schema::node out{.type = schema::value_type::object};
    out.properties.push_back({"spec", schema::kubernetes_types().find("JobSetSpec")});
    out.properties.push_back({"status", own_type("JobSetStatus")});
    return std::make_shared<const schema::node>(std::move(out));
}

void fill_job_set(api::arena&, api::editor& object) {
    api::editor spec = object.ensure_object("spec");
    spec.ensure_object("successPolicy").set_default("operator", "All");
    spec.ensure_object("startupPolicy").set_default("startupPolicyOrder", "AnyOrder");
    spec.ensure_object("network").set_default("enableDNSHostnames", true).set_default("publishNotReadyAddresses", true);
    api::editor jobs = spec.ensure_array("replicatedJobs");
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        api::editor job = jobs.child(i);
        job.set_default("groupName", "default").set_default("replicas", 1);
        api::editor wish = job.ensure_object({"template", "spec"});
        wish.set_default("completionMode", "Indexed");
        wish.ensure_object({"template", "spec"}).set_default("restartPolicy", "OnFailure");
    }
}

// What may not change once pods may run.
std::string refuse_job_set(api::ref live, api::ref wanted) {
    const api::ref before = live.get("spec");
    const api::ref after = wanted.get("spec");
    if (before.get("suspend").as_bool(false) || after.get("suspend").as_bool(false)) return {};
    if (equal(before.get("replicatedJobs"), after.get("replicatedJobs"))) return {};
    return "spec.replicatedJobs: Invalid value: field is immutable";
}

}  // namespace

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
