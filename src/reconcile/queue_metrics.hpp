// What a controller's queue counts, under the meanings of the ecosystem's workqueue_* and controller_runtime_* metrics.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>

namespace cotrain::reconcile {

// Upper bounds 10 ns, 100 ns, … 1000 s, and one more for everything longer.
struct duration_histogram {
    static constexpr unsigned bounds = 12;
    static constexpr std::chrono::nanoseconds first{10};

    std::array<std::uint64_t, bounds + 1> counts{};
    std::uint64_t count = 0;
    std::chrono::nanoseconds sum{0};

    void observe(std::chrono::nanoseconds d) {
        std::int64_t bound = first.count();
        unsigned i = 0;
        while (i < bounds && d.count() > bound) {
            bound *= 10;
            ++i;
        }
        ++counts[i];
        ++count;
        sum += d;
    }
};

struct queue_metrics {
    std::uint64_t adds = 0;     // workqueue_adds_total
    std::uint64_t retries = 0;  // workqueue_retries_total
    std::uint64_t done = 0;     // controller_runtime_reconcile_total by result …
    std::uint64_t requeued = 0;
    std::uint64_t errors = 0;
    std::uint64_t panics = 0;   // controller_runtime_reconcile_panics_total; in `errors`, too
    duration_histogram waited;  // workqueue_queue_duration_seconds
    duration_histogram worked;  // workqueue_work_duration_seconds
};

}  // namespace cotrain::reconcile
