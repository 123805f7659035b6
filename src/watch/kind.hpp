// The kinds that an operator watches: where they live, which have to be there, and what they are called in metrics.
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
    secret,
    config_map
};
inline constexpr std::size_t kinds = 10;

struct kind_info {
    kube::resource of;
    std::string_view label;  // the label `kind` of metrics: the two PodGroups carry their group
    bool required = false;   // without it the operator is not ready; others may be missing
    kube::shape as = kube::shape::whole;
};

[[nodiscard]] const kind_info& info_of(kind k);
[[nodiscard]] constexpr std::array<kind, kinds> all_kinds() {
    std::array<kind, kinds> all{};
    for (std::size_t i = 0; i < kinds; ++i) all[i] = static_cast<kind>(i);
    return all;
}

}  // namespace cotrain::watch
