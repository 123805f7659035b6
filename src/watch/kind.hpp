// The kinds that an operator keeps records of: where they live, which have to be there, what they are called in
// metrics.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "kube/request.hpp"

namespace cotrain::watch {

enum class kind : std::uint8_t {
    train_job,
    training_runtime,
    cluster_training_runtime,
    job_set,
    coscheduling_pod_group,
    volcano_pod_group,
    limit_range,
    runtime_class,
    priority_class,
    secret,
    config_map,
    workload,
    pod_group
};
inline constexpr std::size_t kinds = 13;

struct kind_info {
    kube::resource of;
    std::string_view label;  // the label `kind` of metrics: the two PodGroups carry their group
    bool required = false;   // without it the operator is not ready; others may be missing
    kube::shape as = kube::shape::whole;
    // Secrets are neither listed nor watched (docs/decisions/0007-secrets-by-name.md): records of them come from
    // answers to requests for one by its name.
    bool watched = true;
    // An older version of its API, which the server may have instead.
    std::string_view older{};
    bool on_demand = false;  // watched only where a plugin declares it
};

[[nodiscard]] const kind_info& info_of(kind k);
[[nodiscard]] constexpr std::array<kind, kinds> all_kinds() {
    std::array<kind, kinds> all{};
    for (std::size_t i = 0; i < kinds; ++i) all[i] = static_cast<kind>(i);
    return all;
}

}  // namespace cotrain::watch
