// Gang scheduling by the scheduler-plugins' coscheduling: a PodGroup for all pods of a job.
#pragma once

#include <array>
#include <string_view>

#include "runtime/phases.hpp"

namespace cotrain::plugins {

struct coscheduling {
    static constexpr std::string_view name = "CoScheduling";
    static constexpr std::array event_sources{
        runtime::event_source{&api::names::coscheduling_pod_group, runtime::event_source::wakes::owner},
        runtime::event_source{&api::names::limit_range, runtime::event_source::wakes::suspended_in_namespace},
        runtime::event_source{&api::names::runtime_class, runtime::event_source::wakes::suspended_of_runtime_class}};

    [[nodiscard]] base::result<> enforce_pod_group_policy(runtime::info& i, const api::train_job& job) const;
    [[nodiscard]] base::result<> build(const runtime::info& i, const api::train_job& job, const runtime::observed& seen,
                                       runtime::object_list& out) const;
    void validate(const runtime::info& i, const runtime::review& r, runtime::verdict& out) const;
};

}  // namespace cotrain::plugins
