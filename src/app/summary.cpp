// Writes summaries.
#include "app/summary.hpp"

#include <string_view>

#include "api/json.hpp"
#include "base/error.hpp"
#include "runtime/gang.hpp"

namespace cotrain::app {
namespace {

using api::ref;
namespace names = api::names;

constexpr std::size_t value_bytes_max = 100;

std::string env_value(ref entry) {
    if (const ref plain = entry.get("value")) return base::one_line(plain.as_string(), value_bytes_max);
    if (const ref field = entry.get({"valueFrom", "fieldRef", "fieldPath"}))
        return "<" + std::string(field.as_string()) + ">";
    if (const ref source = entry.get("valueFrom"))
        return "<" + base::one_line(api::to_json(source), value_bytes_max) + ">";
    return {};
}

void append_pods(std::string& out, const runtime::pod_set& set, bool trainer) {
    out.append("  job ").append(set.name).append(": ").append(std::to_string(set.pods())).append(" pod");
    out.append(set.pods() == 1 ? "" : "s");
    if (set.replicas != 1) out.append(" (").append(std::to_string(set.replicas)).append(" replicas)");
    if (trainer) out.append(", trains");
    if (!set.hosts.empty()) {
        out.append("\n    endpoints: ").append(set.hosts.front());
        if (set.hosts.size() > 1) out.append(" … ").append(set.hosts.back());
        out.append(" (").append(std::to_string(set.hosts.size())).append(")");
    }
    out.append("\n");
}

void append_resources(std::string& out, ref resources) {
    for (const std::string_view part : {"requests", "limits"}) {
        const ref list = resources.get(part);
        if (list.empty()) continue;
        out.append("    ").append(part).append(":");
        for (const auto& m : list.members()) out.append(" ").append(m.key()).append("=").append(m.value.text());
        out.append("\n");
    }
}

// The container that a job is there for: the one of its role, else the first.
ref main_container(ref containers, const runtime::pod_set& set) {
    const bool trains = set.ancestor == names::ancestor_trainer || set.ancestor.empty();
    const ref own = containers.find_by("name", trains ? names::node : set.ancestor);
    return own ? own : containers.at(0);
}

void append_container(std::string& out, ref container) {
    out.append("    image: ").append(container.get("image").as_string()).append("\n");
    append_resources(out, container.get("resources"));
    for (const ref entry : container.get("env").items()) {
        out.append("    env ").append(entry.get("name").as_string()).append("=").append(env_value(entry)).append("\n");
    }
}

// Nothing where the JobSet exists and is left alone.
ref planned_jobs(api::arena& memory, const job_plan& plan) {
    for (const auto& object : plan.objects) {
        if (object.type->kind != names::job_set.kind) continue;
        const auto set = api::parse_json_copy(memory, object.json);
        if (set) return set->get({"spec", "replicatedJobs"});
    }
    return {};
}

void append_gang(std::string& out, const runtime::info& info) {
    const auto* const policy = info.pod_groups();
    if (policy == nullptr) return;
    const auto gang = runtime::gang_of(info);
    if (!gang) return;
    out.append("  gang: ").append(std::to_string(gang->members)).append(" pods");
    if (policy->coscheduling) {
        out.append(", coscheduling, timeout ")
            .append(std::to_string(policy->coscheduling->schedule_timeout_seconds))
            .append(" s");
    }
    if (policy->volcano) out.append(", volcano");
    for (const auto& [name, amount] : gang->resources.entries()) {
        out.append(" ").append(name).append("=").append(amount.to_string());
    }
    out.append("\n");
}

}  // namespace

std::string summarise(api::arena& memory, const job_plan& plan) {
    std::string out = "TrainJob ";
    out.append(plan.job.meta.ns).append("/").append(plan.job.meta.name).append(" on ");
    out.append(plan.job.spec.runtime.kind).append(" ").append(plan.job.spec.runtime.name);
    out.append(plan.job.spec.suspend ? ", suspended\n" : "\n");
    for (const runtime::info& info : plan.topology) {
        const auto* const trainer = info.trainer();
        const ref jobs = planned_jobs(memory, plan);
        for (const auto& set : info.pod_sets()) {
            append_pods(out, set, &set == trainer);
            const ref pods = jobs.find_by("name", set.name).get({"template", "spec", "template", "spec"});
            if (const ref c = main_container(pods.get("containers"), set)) append_container(out, c);
        }
        append_gang(out, info);
    }
    out.append("  objects, in this order:\n");
    for (const auto& object : plan.objects) {
        out.append("    ").append(object.type->kind).append(" ").append(object.name);
        out.append(" (").append(std::to_string(object.json.size())).append(" bytes)\n");
    }
    if (plan.objects.empty())
        out.append("    none: ").append(plan.idle.empty() ? "what is there stays as it is" : plan.idle).append("\n");
    return out;
}

}  // namespace cotrain::app
