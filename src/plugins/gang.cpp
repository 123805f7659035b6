// Gang schedulers: PodGroups are made once and left alone while the job runs; while it is suspended they follow it.
#include "plugins/builtin.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "api/names.hpp"
#include "runtime/guards.hpp"

namespace cotrain::plugins {
namespace {

using doc::editor;
using doc::ref;
namespace names = api::names;

constexpr std::array built_in_classes{std::string_view{"system-cluster-critical"},
                                      std::string_view{"system-node-critical"}};

const api::volcano_policy* volcano_of(const runtime::info& i) {
    return i.pod_groups() != nullptr && i.pod_groups()->volcano ? &*i.pod_groups()->volcano : nullptr;
}

runtime::presence presence_of(const runtime::review& r, std::string_view name) {
    const auto found = std::ranges::find(r.priority_classes, name, &runtime::known_class::name);
    return found == r.priority_classes.end() ? runtime::presence::unknown : found->state;
}

const api::coscheduling_policy* coscheduling_of(const runtime::info& i) {
    return i.pod_groups() != nullptr && i.pod_groups()->coscheduling ? &*i.pod_groups()->coscheduling : nullptr;
}

}  // namespace

base::result<> coscheduling::enforce_pod_group_policy(runtime::info& i, const api::train_job& job) const {
    if (coscheduling_of(i) != nullptr) i.pod_labels.emplace_back(names::coscheduling_pod_label, job.meta.name);
    return {};
}

base::result<> coscheduling::build(const runtime::info& i, const api::train_job& job, const runtime::observed& seen,
                                   runtime::object_list& out) const {
    const api::coscheduling_policy* const policy = coscheduling_of(i);
    if (policy == nullptr) return {};
    const auto& type = names::coscheduling_pod_group;
    auto group = runtime::pod_group_of(i, job, seen, type);
    if (!group) return base::fail(std::move(group.error()));
    if (!*group) return {};
    (*group)->ensure_object("spec").set("scheduleTimeoutSeconds", policy->schedule_timeout_seconds);
    out.push_back(runtime::finish(type, job.meta.name, **group));
    return {};
}

void coscheduling::validate(const runtime::info& i, const runtime::review& r, runtime::verdict& out) const {
    if (coscheduling_of(i) == nullptr || !i.pod_groups()->volcano || !r.added_rules(false)) return;
    out.invalid(
        "spec.runtimeRef", r.job.document.get({"spec", "runtimeRef"}),
        "must refer to a runtime with one gang scheduler: its podGroupPolicy has both coscheduling and volcano");
}

base::result<> volcano::enforce_pod_group_policy(runtime::info& i, const api::train_job& job) const {
    if (volcano_of(i) != nullptr) i.pod_annotations.emplace_back(names::volcano_group_annotation, job.meta.name);
    return {};
}

base::result<> volcano::build(const runtime::info& i, const api::train_job& job, const runtime::observed& seen,
                              runtime::object_list& out) const {
    const api::volcano_policy* const policy = volcano_of(i);
    if (policy == nullptr) return {};
    const auto& type = names::volcano_pod_group;
    auto group = runtime::pod_group_of(i, job, seen, type);
    if (!group) return base::fail(std::move(group.error()));
    if (!*group) return {};
    editor spec = (*group)->ensure_object("spec");
    if (const ref queue = i.annotations().get(names::volcano_queue_annotation)) spec.set("queue", queue);
    for (const auto& set : i.pod_sets()) {  // the last one that has a class
        const ref priority = i.pod_spec_view(set).get("priorityClassName");
        if (priority.is_string()) spec.set("priorityClassName", priority);
    }
    if (!policy->network_topology.is_unset()) spec.set("networkTopology", policy->network_topology);
    out.push_back(runtime::finish(type, job.meta.name, **group));
    return {};
}

std::vector<std::string> volcano::priority_classes(const runtime::info& i) {
    std::vector<std::string> all;
    std::set<std::string_view> known;
    if (volcano_of(i) == nullptr) return all;
    for (const auto& set : i.pod_sets()) {
        const auto wanted = i.pod_spec_view(set).get("priorityClassName").as_string();
        if (wanted.empty() || std::ranges::contains(built_in_classes, wanted)) continue;
        if (all.size() == priority_classes_max) break;
        if (known.insert(wanted).second) all.emplace_back(wanted);
    }
    return all;
}

void volcano::validate(const runtime::info& i, const runtime::review& r, runtime::verdict& out) const {
    if (volcano_of(i) == nullptr) return;
    const ref queue = i.annotations().get(names::volcano_queue_annotation);
    if (queue && queue.as_string().empty()) {
        out.invalid("spec.annotations[" + std::string(names::volcano_queue_annotation) + "]", "",
                    "Volcano queue name must not be empty");
    }
    const auto wanted_classes = priority_classes(i);
    if (wanted_classes.size() == priority_classes_max) {
        out.warn("only the first " + std::to_string(priority_classes_max) + " PriorityClasses were checked");
    }
    for (const auto& wanted : wanted_classes) {
        switch (presence_of(r, wanted)) {
            case runtime::presence::missing:
                out.invalid("spec.templateSpec.priorityClassName", wanted,
                            "PriorityClass \"" + wanted + "\" doesn't exist");
                break;
            case runtime::presence::unreadable:
                out.warn("PriorityClass \"" + wanted + "\" was not checked: the operator may not read PriorityClasses");
                break;
            case runtime::presence::unknown:
            case runtime::presence::exists: break;
        }
    }
}

}  // namespace cotrain::plugins
