// How long TrainJobs wait for their JobSet and for their pods: cotrain_jobset_ready_seconds{until}.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "api/time.hpp"

namespace cotrain::reconcile {

// From creation, or the last resumption; the API server's times are whole seconds.
struct readiness_histogram {
    static constexpr std::array<double, 14> bounds{1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200};

    std::array<std::uint64_t, bounds.size() + 1> counts{};
    double sum = 0;

    void observe(double seconds) {
        std::size_t i = 0;
        while (i < bounds.size() && seconds > bounds[i]) ++i;
        ++counts[i];
        sum += seconds;
    }
};

struct readiness_times {
    readiness_histogram exists;  // until the JobSet exists
    readiness_histogram ready;   // until all pods are ready
};

// What is known of a job that is neither suspended nor finished. Who was ready when first seen is not counted.
enum class readiness : std::uint8_t { unseen, awaited, reached };

}  // namespace cotrain::reconcile
