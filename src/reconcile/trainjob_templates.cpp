// Two JobSets are laid over each other, job by job.
#include "reconcile/trainjob_templates.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <span>

#include "api/edit.hpp"
#include "api/json.hpp"
#include "api/managed_fields.hpp"
#include "api/names.hpp"
#include "api/time.hpp"

namespace cotrain::reconcile {

namespace {

// What JobSet's webhook lets others change in Pod templates while a JobSet is suspended.
constexpr std::array changing_metadata{std::string_view{"labels"}, std::string_view{"annotations"}};
constexpr std::array changing_spec{std::string_view{"nodeSelector"}, std::string_view{"tolerations"},
                                   std::string_view{"schedulingGates"}};

// That part of an object gets of these members what `from` has; no part is made to stay empty.
void take(api::editor of, std::string_view part, api::ref from, std::span<const std::string_view> keys) {
    for (const std::string_view key : keys) {
        if (const api::ref v = from.get(key); !v.is_unset()) {
            of.ensure_object(part).set(key, v);
        } else if (api::editor to = of.child(part)) {
            to.remove(key);
        }
    }
}

// What was applied to it before, not what defaults and webhooks made of that: whoever applies next, and leaves those
// out, would take them away, which JobSet refuses.
api::editor applied_spec(api::arena& memory, api::ref found) {
    const api::ref fields = api::applied_fields(found, api::names::field_manager).get("f:spec");
    if (!fields) return api::editor::object(memory);
    return api::editor::of(memory, api::owned_part(memory, found.get("spec"), fields));
}

bool has_only(api::ref object, std::span<const std::string_view> keys) {
    return std::ranges::all_of(object.members(),
                               [&](const api::member& m) { return std::ranges::find(keys, m.key()) != keys.end(); });
}
bool has_only(api::ref object, std::initializer_list<std::string_view> keys) {
    return has_only(object, std::span(keys.begin(), keys.size()));
}

// Whether a runtime patch changes nothing but what a JobSet that is there lets be changed.
bool passes(api::ref patch) {
    const api::ref spec = patch.get({"template", "spec"});
    if (!has_only(patch, {"template"}) || !has_only(patch.get("template"), {"metadata", "spec"})) return false;
    return has_only(spec, {"replicatedJobs"}) &&
           std::ranges::all_of(spec.get("replicatedJobs").items(), [](api::ref job) {
               const api::ref pod = job.get({"template", "spec", "template"});
               return has_only(job, {"name", "template"}) && has_only(job.get("template"), {"spec"}) &&
                      has_only(job.get({"template", "spec"}), {"template"}) && has_only(pod, {"metadata", "spec"}) &&
                      has_only(pod.get("metadata"), changing_metadata) && has_only(pod.get("spec"), changing_spec);
           });
}

}  // namespace

std::string with_templates_of(std::string_view wanted, std::string_view found) {
    api::arena memory;
    const auto plan = api::parse_json_copy(memory, wanted);
    const auto there = api::parse_json_copy(memory, found);
    if (!plan || !there) return {};
    const api::ref planned = plan->get("spec");
    if (!planned.is_object() || !there->get("spec").is_object()) return {};
    api::editor spec = applied_spec(memory, *there);
    spec.set("suspend", planned.get("suspend").as_bool(false));
    for (const api::ref each : there->get({"spec", "replicatedJobs"}).items()) {
        const std::string_view name = each.get("name").as_string();
        const api::ref job = planned.get("replicatedJobs").find_by("name", name);
        const api::ref from = job.get({"template", "spec", "template"});
        if (!from) continue;
        api::editor pod = spec.ensure_array("replicatedJobs")
                              .ensure_entry("name", name)
                              .ensure_object({"template", "spec", "template"});
        take(pod, "metadata", from.get("metadata"), changing_metadata);
        take(pod, "spec", from.get("spec"), changing_spec);
    }
    api::editor object = api::editor::object(memory);
    for (const std::string_view key : {"apiVersion", "kind", "metadata"}) object.set(key, plan->get(key));
    object.set("spec", spec);
    return api::to_json(object.view());
}

api::ref applied_fixed_jobs(api::arena& memory, api::ref found) {
    api::editor jobs = applied_spec(memory, found).child("replicatedJobs");
    for (std::size_t i = 0; jobs && i < jobs.size(); ++i) {
        api::editor pod = jobs.child(i).child({"template", "spec", "template"});
        if (!pod) continue;
        take(pod, "metadata", {}, changing_metadata);
        take(pod, "spec", {}, changing_spec);
    }
    return jobs ? jobs.view() : api::ref{};
}

bool must_refuse_patch(const api::train_job& job, const api::job_set& set) {
    return std::ranges::any_of(job.spec.runtime_patches, [&](const api::runtime_patch& p) {
        const auto when = api::parse_time_seconds(p.time);
        return when && set.meta.creation_time && *when > *set.meta.creation_time && !passes(p.training_runtime_spec);
    });
}

}  // namespace cotrain::reconcile
