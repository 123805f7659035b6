// Flux: an HPC resource manager started inside the job's own pods, which then runs the job's command.
#pragma once

#include <array>
#include <string_view>

#include "runtime/phases.hpp"

namespace cotrain::plugins {

struct flux {
    static constexpr std::string_view name = "Flux";
    static constexpr std::array event_sources{
        runtime::event_source{&api::names::config_map, runtime::event_source::wakes::owner},
        runtime::event_source{&api::names::secret, runtime::event_source::wakes::owner}};

    [[nodiscard]] base::result<> enforce_ml_policy(runtime::info& i, const api::train_job& job) const;
    [[nodiscard]] base::result<> build(runtime::info& i, const api::train_job& job, const runtime::observed& seen,
                                       runtime::object_list& out) const;
    void validate(const runtime::info& i, const runtime::review& r, runtime::verdict& out) const;
};

}  // namespace cotrain::plugins
