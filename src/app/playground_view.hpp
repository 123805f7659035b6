// What the playground's page shows: TrainJobs with their pods, gangs, events and how long the operator took. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/cluster.hpp"

namespace cotrain::app {

inline constexpr std::size_t shown_jobs_max = 200;  // the newest
inline constexpr std::size_t shown_events_max = 8;  // of each job
inline constexpr std::size_t latencies_max = 1000;  // the last ones

class playground_view {
   public:
    using time = std::chrono::steady_clock::time_point;

    explicit playground_view(const sim::cluster& of) : cluster_(of) {}

    // Takes notice of what has happened; whether the page looks different now.
    bool follow(time now);
    // The whole state as JSON.
    [[nodiscard]] std::string to_json() const;

   private:
    struct shown_job {
        std::string ns;
        std::string name;
        time created{};
        double latency_ms = -1;  // until its JobSet was there
        std::int64_t pods = 0;
        std::int64_t pods_ready = 0;
        std::deque<std::string> events;  // "Normal JobSetCreated: …"
    };
    using place = std::list<shown_job>::iterator;

    bool take(const sim::change& what, time now);
    bool take_job(const sim::change& what, time now);
    bool take_job_set(const sim::change& what, time now);
    bool take_pod(const sim::change& what);
    bool take_event(const sim::change& what);
    [[nodiscard]] shown_job* find(const std::string& ns, std::string_view name);

    const sim::cluster& cluster_;
    std::uint64_t seen_ = 1;
    std::list<shown_job> jobs_;  // the newest first
    std::unordered_map<std::string, place> by_name_;
    std::deque<double> latencies_ms_;
    std::uint64_t jobs_ever_ = 0;
};

}  // namespace cotrain::app
