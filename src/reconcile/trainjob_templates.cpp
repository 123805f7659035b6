// Two JobSets are laid over each other, job by job.
#include "reconcile/trainjob_templates.hpp"

#include <algorithm>
#include <initializer_list>

#include "api/edit.hpp"
#include "api/json.hpp"
#include "api/time.hpp"

namespace cotrain::reconcile {

namespace {

void take(api::editor to, api::ref from, std::initializer_list<std::string_view> keys) {
    for (const std::string_view key : keys) {
        const api::ref v = from.get(key);
        if (v.is_unset()) {
            to.remove(key);
        } else {
            to.set(key, v);
        }
    }
}

}  // namespace

std::string with_templates_of(std::string_view wanted, std::string_view found) {
    api::arena memory;
    const auto plan = api::parse_json_copy(memory, wanted);
    const auto there = api::parse_json_copy(memory, found);
    if (!plan || !there) return {};
    const api::ref planned = plan->get("spec");
    api::editor spec = api::editor::of(memory, there->get("spec"));
    if (!spec || !planned.is_object()) return {};
    take(spec, planned, {"suspend"});
    api::editor jobs = spec.child("replicatedJobs");
    for (std::size_t i = 0; jobs && i < jobs.size(); ++i) {
        const api::ref job = planned.get("replicatedJobs").find_by("name", jobs.at(i).get("name").as_string());
        const api::ref from = job.get({"template", "spec", "template"});
        api::editor pod = jobs.child(i).child({"template", "spec", "template"});
        if (!from || !pod) continue;
        take(pod.ensure_object("metadata"), from.get("metadata"), {"labels", "annotations"});
        take(pod.ensure_object("spec"), from.get("spec"), {"nodeSelector", "tolerations", "schedulingGates"});
    }
    api::editor object = api::editor::object(memory);
    for (const std::string_view key : {"apiVersion", "kind", "metadata"}) object.set(key, plan->get(key));
    object.set("spec", spec);
    return api::to_json(object.view());
}

bool patched_since(const api::train_job& job, const api::job_set& set) {
    return std::ranges::any_of(job.spec.runtime_patches, [&](const api::runtime_patch& p) {
        const auto when = api::parse_time_seconds(p.time);
        return when && set.meta.creation_time && *when > *set.meta.creation_time;
    });
}

}  // namespace cotrain::reconcile
