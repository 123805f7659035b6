// One kind of pods of a job: what a replicated job of the template amounts to.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "api/edit.hpp"
#include "api/names.hpp"
#include "runtime/endpoints.hpp"

namespace cotrain::runtime {

struct pod_set {
    std::string_view name;      // of the replicated job
    std::string_view ancestor;  // trainer, dataset-initializer, …; empty = none
    std::size_t index = 0;      // in the template's replicatedJobs
    std::int32_t count = 1;     // pods of one replica: what parallelism and completions become
    std::int32_t replicas = 1;
    endpoints hosts;  // from IdentifyPodNetwork on

    [[nodiscard]] std::int64_t pods() const {
        return std::int64_t{std::max(count, 0)} * std::int64_t{std::max(replicas, 0)};
    }
    // The field with a number that each Pod has for itself, from 0 on; nothing where there is none.
    [[nodiscard]] std::optional<api::word> rank_field() const {
        if (replicas <= 1) return api::names::completion_index_field;
        if (count == 1) return api::names::job_index_field;
        return std::nullopt;
    }
};

}  // namespace cotrain::runtime
