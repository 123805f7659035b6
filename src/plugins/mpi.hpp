// MPI: a launcher that logs in to nodes, the keys it does so with, and the list of its hosts.
#pragma once

#include <array>
#include <string_view>

#include "runtime/phases.hpp"

namespace cotrain::plugins {

struct mpi {
    static constexpr std::string_view name = "MPI";
    static constexpr std::array event_sources{
        runtime::event_source{&api::names::config_map, runtime::event_source::wakes::owner},
        runtime::event_source{&api::names::secret, runtime::event_source::wakes::owner}};

    [[nodiscard]] base::result<> enforce_ml_policy(runtime::info& i, const api::train_job& job) const;
    [[nodiscard]] base::result<> build(const runtime::info& i, const api::train_job& job, const runtime::observed& seen,
                                       runtime::object_list& out) const;
    void validate(runtime::info& i, const runtime::review& r, runtime::verdict& out) const;
};

}  // namespace cotrain::plugins
