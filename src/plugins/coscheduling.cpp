// The PodGroup is made once and left alone while the job runs; while it is suspended it follows the job.
#include "plugins/coscheduling.hpp"

#include <utility>

#include "api/names.hpp"
#include "runtime/gang.hpp"

namespace cotrain::plugins {
namespace {

namespace names = api::names;

const api::coscheduling_policy* policy_of(const runtime::info& i) {
    return i.pod_groups() != nullptr && i.pod_groups()->coscheduling ? &*i.pod_groups()->coscheduling : nullptr;
}

}  // namespace

base::result<> coscheduling::enforce_pod_group_policy(runtime::info& i, const api::train_job& job) const {
    if (policy_of(i) != nullptr) i.pod_labels.emplace_back(names::coscheduling_pod_label, job.meta.name);
    return {};
}

base::result<> coscheduling::build(const runtime::info& i, const api::train_job& job, const runtime::observed& seen,
                                   runtime::object_list& out) const {
    const api::coscheduling_policy* const policy = policy_of(i);
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
    if (policy_of(i) == nullptr || !i.pod_groups()->volcano || !r.added_rules(false)) return;
    out.invalid(
        "spec.runtimeRef", r.job.document.get({"spec", "runtimeRef"}),
        "must refer to a runtime with one gang scheduler: its podGroupPolicy has both coscheduling and volcano");
}

}  // namespace cotrain::plugins
