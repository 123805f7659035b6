// Gang scheduling by Volcano: a PodGroup with queue, priority and network topology.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/phases.hpp"

namespace cotrain::plugins {

struct volcano {
    static constexpr std::string_view name = "Volcano";
    static constexpr std::array event_sources{
        runtime::event_source{&api::names::volcano_pod_group, runtime::event_source::wakes::owner},
        runtime::event_source{&api::names::limit_range, runtime::event_source::wakes::suspended_in_namespace},
        runtime::event_source{&api::names::runtime_class, runtime::event_source::wakes::suspended_of_runtime_class}};

    [[nodiscard]] base::result<> enforce_pod_group_policy(runtime::info& i, const api::train_job& job) const;
    [[nodiscard]] base::result<> build(const runtime::info& i, const api::train_job& job, const runtime::observed& seen,
                                       runtime::object_list& out) const;
    void validate(const runtime::info& i, const runtime::review& r, runtime::verdict& out) const;

    // More are not asked for.
    static constexpr std::size_t priority_classes_max = 64;
    // The PriorityClasses a job will name, apart from the built-in ones: what a review must know before validate().
    [[nodiscard]] static std::vector<std::string> priority_classes(const runtime::info& i);
};

}  // namespace cotrain::plugins
