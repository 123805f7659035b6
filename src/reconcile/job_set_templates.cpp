#include "reconcile/job_set_templates.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <span>

#include "api/managed_fields.hpp"
#include "api/names.hpp"
#include "base/time.hpp"
#include "doc/edit.hpp"
#include "doc/json.hpp"

namespace cotrain::reconcile {

namespace {

// What JobSet's webhook lets others change in Pod templates while a JobSet is suspended.
constexpr std::array changing_metadata{std::string_view{"labels"}, std::string_view{"annotations"}};
constexpr std::array changing_spec{std::string_view{"nodeSelector"}, std::string_view{"tolerations"},
                                   std::string_view{"schedulingGates"}};

// That part of an object gets of these members what `from` has; no part is made to stay empty.
void take(doc::editor of, std::string_view part, doc::ref from, std::span<const std::string_view> keys) {
    for (const std::string_view key : keys) {
        if (const doc::ref v = from.get(key); !v.is_unset()) {
            of.ensure_object(part).set(key, v);
        } else if (doc::editor to = of.child(part)) {
            to.remove(key);
        }
    }
}

// What was applied to it before, not what defaults and webhooks made of that: whoever applies next, and leaves those
// out, would take them away, which JobSet refuses.
doc::editor applied_spec(doc::arena& memory, doc::ref found) {
    const doc::ref fields = api::applied_fields(found, api::names::field_manager).get("f:spec");
    if (!fields) return doc::editor::object(memory);
    return doc::editor::of(memory, api::owned_part(memory, found.get("spec"), fields));
}

bool has_only(doc::ref object, std::span<const std::string_view> keys) {
    return std::ranges::all_of(object.members(),
                               [&](const doc::member& m) { return std::ranges::find(keys, m.key()) != keys.end(); });
}
bool has_only(doc::ref object, std::initializer_list<std::string_view> keys) {
    return has_only(object, std::span(keys.begin(), keys.size()));
}

// Whether a runtime patch changes nothing but what a JobSet that is there lets be changed.
bool passes(doc::ref patch) {
    const doc::ref spec = patch.get({"template", "spec"});
    if (!has_only(patch, {"template"}) || !has_only(patch.get("template"), {"metadata", "spec"})) return false;
    return has_only(spec, {"replicatedJobs"}) &&
           std::ranges::all_of(spec.get("replicatedJobs").items(), [](doc::ref job) {
               const doc::ref pod = job.get({"template", "spec", "template"});
               return has_only(job, {"name", "template"}) && has_only(job.get("template"), {"spec"}) &&
                      has_only(job.get({"template", "spec"}), {"template"}) && has_only(pod, {"metadata", "spec"}) &&
                      has_only(pod.get("metadata"), changing_metadata) && has_only(pod.get("spec"), changing_spec);
           });
}

// Members that appear by themselves where nobody set them: defaults of JobSet's CRD and of its mutating webhook.
constexpr std::array<std::string_view, 25> filled_in{
    "groupName",      "replicas",      "network",       "enableDNSHostnames", "publishNotReadyAddresses",
    "subdomain",      "successPolicy", "startupPolicy", "startupPolicyOrder", "restartStrategy",
    "completionMode", "restartPolicy", "protocol",      "retentionPolicy",    "optional",
    "name",           "service",       "fsType",        "readOnly",           "iscsiInterface",
    "keyring",        "pool",          "user",          "storageMode",        "creationTimestamp"};

bool is_nothing(doc::ref value) {
    if (value.is_unset()) return true;
    if (value.is_array()) return value.empty();
    return value.is_object() &&
           std::ranges::all_of(value.members(), [](const doc::member& m) { return is_nothing(m.value); });
}

bool objects_agree(doc::ref wanted, doc::ref found) {
    for (const doc::member& m : wanted.members()) {
        if (!already_so(m.value, found.get(m.key()))) return false;
    }
    return std::ranges::all_of(found.members(), [&](const doc::member& m) {
        return wanted.contains(m.key()) || is_nothing(m.value) ||
               std::ranges::find(filled_in, m.key()) != filled_in.end();
    });
}

}  // namespace

std::string with_templates_of(std::string_view wanted, std::string_view found) {
    doc::arena memory;
    const auto plan = doc::parse_json_copy(memory, wanted);
    const auto there = doc::parse_json_copy(memory, found);
    if (!plan || !there) return {};
    const doc::ref planned = plan->get("spec");
    if (!planned.is_object() || !there->get("spec").is_object()) return {};
    doc::editor spec = applied_spec(memory, *there);
    spec.set("suspend", planned.get("suspend").as_bool(false));
    for (const doc::ref each : there->get({"spec", "replicatedJobs"}).items()) {
        const std::string_view name = each.get("name").as_string();
        const doc::ref job = planned.get("replicatedJobs").find_by("name", name);
        const doc::ref from = job.get({"template", "spec", "template"});
        if (!from) continue;
        doc::editor pod = spec.ensure_array("replicatedJobs")
                              .ensure_entry("name", name)
                              .ensure_object({"template", "spec", "template"});
        take(pod, "metadata", from.get("metadata"), changing_metadata);
        take(pod, "spec", from.get("spec"), changing_spec);
    }
    doc::editor object = doc::editor::object(memory);
    for (const std::string_view key : {"apiVersion", "kind", "metadata"}) object.set(key, plan->get(key));
    object.set("spec", spec);
    return doc::to_json(object.view());
}

doc::ref fixed_jobs(doc::arena& memory, doc::ref spec) {
    if (!spec.get("replicatedJobs").is_array()) return {};
    doc::editor jobs = doc::editor::of(memory, doc::deep_copy(memory, spec.get("replicatedJobs")));
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        doc::editor pod = jobs.child(i).child({"template", "spec", "template"});
        if (!pod) continue;
        take(pod, "metadata", {}, changing_metadata);
        take(pod, "spec", {}, changing_spec);
    }
    return jobs.view();
}

doc::ref applied_fixed_jobs(doc::arena& memory, doc::ref found) {
    return fixed_jobs(memory, applied_spec(memory, found).view());
}

bool must_refuse_patch(const api::train_job& job, const api::job_set& set) {
    return std::ranges::any_of(job.spec.runtime_patches, [&](const api::runtime_patch& p) {
        const auto when = base::parse_time_seconds(p.time);
        return when && set.meta.creation_time && *when > *set.meta.creation_time && !passes(p.training_runtime_spec);
    });
}

bool already_so(doc::ref wanted, doc::ref found) {
    if (is_nothing(wanted) && is_nothing(found)) return true;
    if (wanted.is_object() && (found.is_object() || found.is_unset())) return objects_agree(wanted, found);
    if (wanted.is_array() && found.is_array()) {
        if (wanted.size() != found.size()) return false;
        for (std::size_t i = 0; i < wanted.size(); ++i) {
            if (!already_so(wanted.at(i), found.at(i))) return false;
        }
        return true;
    }
    return equal(wanted, found);
}

}  // namespace cotrain::reconcile
