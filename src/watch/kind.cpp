// The table of watched kinds.
#include "watch/kind.hpp"

#include "api/names.hpp"
#include "api/workload.hpp"

namespace cotrain::watch {

namespace {

namespace names = api::names;

constexpr kube::resource resource_of(const api::resource_type& type) {
    return {type.group, type.version, type.plural, type.kind, type.namespaced};
}

constexpr kind_info whole(const api::resource_type& type, bool required) {
    return {resource_of(type), type.kind, required, kube::shape::whole};
}

constexpr kind_info metadata(const api::resource_type& type, bool required, bool watched = true) {
    return {resource_of(type), type.kind, required, kube::shape::metadata, watched};
}

constexpr kind_info on_demand(const api::resource_type& type, const api::resource_type& older, std::string_view label) {
    kind_info out{resource_of(type), label};
    out.older = older.version;
    out.on_demand = true;
    return out;
}

// In the order of the enumeration.
constexpr std::array<kind_info, kinds> table{
    whole(names::train_job, true),
    whole(names::training_runtime, true),
    whole(names::cluster_training_runtime, true),
    whole(names::job_set, true),
    kind_info{resource_of(names::coscheduling_pod_group), "PodGroup.scheduling.x-k8s.io"},
    kind_info{resource_of(names::volcano_pod_group), "PodGroup.scheduling.volcano.sh"},
    whole(names::limit_range, false),
    whole(names::runtime_class, false),
    metadata(names::priority_class, false),
    metadata(names::secret, false, false),
    metadata(names::config_map, true),
    on_demand(names::workload, names::workload_v1alpha2, "Workload.scheduling.k8s.io"),
    on_demand(names::pod_group, names::pod_group_v1alpha2, "PodGroup.scheduling.k8s.io"),
};
static_assert(table[static_cast<std::size_t>(kind::config_map)].of.kind == "ConfigMap");

}  // namespace

const kind_info& info_of(kind k) { return table[static_cast<std::size_t>(k)]; }

}  // namespace cotrain::watch
