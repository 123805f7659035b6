// JobSet: the template made real, with initialisers, trainer, counts and network; and its progress read back.
#pragma once

#include <array>
#include <string_view>

#include "runtime/phases.hpp"

namespace cotrain::plugins {

struct jobset {
    static constexpr std::string_view name = "JobSet";
    static constexpr std::array event_sources{
        runtime::event_source{&api::names::job_set, runtime::event_source::wakes::owner},
        runtime::event_source{&api::names::config_map, runtime::event_source::wakes::owner}};  // the snapshot

    [[nodiscard]] base::result<> identify_pod_network(runtime::info& i, const api::train_job& job) const;
    [[nodiscard]] base::result<> sync_parallelism(runtime::info& i) const;
    [[nodiscard]] base::result<> build_job_set(runtime::info& i, const api::train_job& job,
                                               const runtime::observed& seen, runtime::object_list& out) const;
    void validate(const runtime::info& i, const runtime::review& r, runtime::verdict& out) const;
    void report_status(api::train_job_status& status, const api::job_set& children, api::seconds_time now) const;
};

}  // namespace cotrain::plugins
