// A plugin of somebody else's: TrainJobs that say so may run on machines which can be taken away at any time.
#pragma once

#include <array>
#include <string_view>

#include "api/names.hpp"
#include "runtime/phases.hpp"

namespace example {

// A plain type: a name, and one function for each phase it takes part in.
struct spot {
    static constexpr std::string_view name = "Spot";
    static constexpr std::string_view variable = "SPOT_ALLOWED";  // in spec.trainer.env: "true" or "false"
    // Followed by the operator, made again when it is changed or deleted, deleted with its job.
    static constexpr cotrain::runtime::child notes{&cotrain::api::names::config_map, "-spot"};
    static constexpr std::array children{notes};
    // Its jobs are looked at again when a LimitRange of their namespace changes, as long as they are suspended.
    static constexpr std::array event_sources{cotrain::runtime::event_source{
        &cotrain::api::names::limit_range, cotrain::runtime::event_source::wakes::suspended_in_namespace}};

    // Pods tolerate the taint of such machines, and the trainer learns where its notes of the job's life are.
    [[nodiscard]] cotrain::base::result<> enforce_ml_policy(cotrain::runtime::info& i,
                                                            const cotrain::api::train_job& job) const;
    // A ConfigMap beside the JobSet: how many nodes there were to begin with.
    [[nodiscard]] cotrain::base::result<> build(const cotrain::runtime::info& i, const cotrain::api::train_job& job,
                                                const cotrain::runtime::observed& seen,
                                                cotrain::runtime::object_list& out) const;
    void validate(const cotrain::runtime::info& i, const cotrain::runtime::review& r,
                  cotrain::runtime::verdict& out) const;
};

}  // namespace example
