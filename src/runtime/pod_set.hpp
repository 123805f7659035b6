// One kind of pods of a job: what a replicated job of the template amounts to.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

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
};

}  // namespace cotrain::runtime
