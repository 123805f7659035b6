// Progress reports (gate TrainJobStatus): tells the trainer's containers where to send them, and with what token.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "runtime/phases.hpp"

namespace cotrain::plugins {

struct trainjob_status {
    static constexpr std::string_view name = "TrainJobStatus";
    static constexpr std::array event_sources{
        runtime::event_source{&api::names::config_map, runtime::event_source::wakes::owner}};

    // "https://<service>.<namespace>.svc:<port>"; empty: the gate is closed.
    std::string server_url;

    [[nodiscard]] base::result<> enforce_ml_policy(runtime::info& i, const api::train_job& job) const;
    [[nodiscard]] base::result<> build(const runtime::info& i, const api::train_job& job, const runtime::observed& seen,
                                       runtime::object_list& out) const;
};

}  // namespace cotrain::plugins
