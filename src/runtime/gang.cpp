// Sums over pod sets.
#include "runtime/gang.hpp"

#include <string>
#include <utility>

#include "runtime/guards.hpp"
#include "runtime/object.hpp"

namespace cotrain::runtime {

base::result<gang> gang_of(const info& i) {
    gang out;
    if (auto good = check_pods(i); !good) return base::fail(std::move(good.error()));
    out.members = static_cast<std::int32_t>(i.pods());
    for (const auto& set : i.pod_sets()) {
        auto one = pod_requests(i.pod_spec_view(set));
        if (!one) return base::fail(std::move(one.error()).during("job " + std::string(set.name)));
        one->multiply(set.pods());
        out.resources.add(*one);
    }
    if (const auto* const name = out.resources.overflowed()) {
        return base::fail(base::errc::too_large, "all pods together ask for more " + *name + " than can be counted");
    }
    return out;
}

base::result<std::optional<api::editor>> pod_group_of(const info& i, const api::train_job& job, const observed& seen,
                                                      const api::resource_type& type) {
    const auto state = seen.state_of(type, job.meta.name);
    if (state == child_state::foreign && !seen.foreign_later) return foreign_child(type, job.meta.name);
    const bool runs = !job.spec.suspend && seen.job_set != nullptr;
    if (state == child_state::premade || (state == child_state::ours && runs)) return std::nullopt;
    const auto size = gang_of(i);
    if (!size) return base::fail(size.error());
    if (size->members == 0) return std::nullopt;  // schedulers want one member at least
    api::editor group = new_child(i.memory(), type, job.meta.name, job);
    group.ensure_object("spec")
        .set("minMember", size->members)
        .set("minResources", size->resources.document(i.memory()));
    return group;
}

void scale_trainer(info& i, const api::train_job& job) {
    if (!job.spec.trainer || !job.spec.trainer->num_nodes) return;
    if (pod_set* const set = i.trainer()) set->count = *job.spec.trainer->num_nodes;
}

}  // namespace cotrain::runtime
