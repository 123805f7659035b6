// How long the parts of a reconcile take: cotrain_reconcile_stage_seconds{stage}.
#pragma once

#include <array>
#include <chrono>
#include <string_view>

#include "reconcile/queue_metrics.hpp"

namespace cotrain::reconcile {

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

}  // namespace cotrain::reconcile
