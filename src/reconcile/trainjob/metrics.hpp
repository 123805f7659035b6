// What the TrainJob reconciler counts and measures.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string_view>

#include "reconcile/queue_metrics.hpp"

namespace cotrain::reconcile {

struct trainjob_counts {
    std::uint64_t skipped = 0;  // objects that already were as planned
    std::uint64_t repairs = 0;  // applies that undid what others had done
    std::uint64_t quiet = 0;    // runs that had nothing to do
    std::uint64_t lists = 0;    // of Pods and Events, to explain a job
};

// How long the parts of a reconcile take: cotrain_reconcile_stage_seconds{stage}.
enum class stage : std::uint8_t { plan, diff, apply, status };
inline constexpr std::size_t stages = 4;
inline constexpr std::array<std::string_view, stages> stage_names{"plan", "diff", "apply", "status"};

using stage_histograms = std::array<duration_histogram, stages>;

// Observes the time from its making to its end.
class stage_timer {
   public:
    using clock = std::chrono::steady_clock;
    stage_timer(stage_histograms& to, stage s) : to_(to[static_cast<std::size_t>(s)]), since_(clock::now()) {}
    ~stage_timer() { to_.observe(clock::now() - since_); }
    stage_timer(const stage_timer&) = delete;
    stage_timer& operator=(const stage_timer&) = delete;

   private:
    duration_histogram& to_;
    clock::time_point since_;
};

// How long TrainJobs wait for their JobSet and for their Pods, from creation or the last resumption:
// cotrain_jobset_ready_seconds{until}. The API server's times are whole seconds.
struct readiness_bounds {
    static constexpr std::array<double, 14> bounds{1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200};
};
// How long TrainJobs are in a state: cotrain_trainjob_state_seconds{state}.
struct state_bounds {
    static constexpr std::array<double, 10> bounds{1, 10, 60, 300, 900, 3600, 14400, 43200, 86400, 604800};
};

template <class Bounds>
struct seconds_histogram : Bounds {
    using Bounds::bounds;

    std::array<std::uint64_t, bounds.size() + 1> counts{};
    double sum = 0;

    void observe(double seconds) {
        std::size_t i = 0;
        while (i < bounds.size() && seconds > bounds[i]) ++i;
        ++counts[i];
        sum += seconds;
    }
};

using readiness_histogram = seconds_histogram<readiness_bounds>;
using state_histogram = seconds_histogram<state_bounds>;

struct readiness_times {
    readiness_histogram exists;  // until the JobSet exists
    readiness_histogram ready;   // until all Pods are ready
};

// What is known of a job that is neither suspended nor finished. Who was ready when first seen is not counted.
enum class readiness : std::uint8_t { unseen, awaited, reached };

}  // namespace cotrain::reconcile
