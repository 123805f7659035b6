// What happens in a cluster as lines for people: one for each change that means something to a TrainJob. Pure.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/tree.hpp"
#include "sim/store.hpp"

namespace cotrain::app {

struct timeline_line {
    std::string who;  // the TrainJob, or what stands for the cluster
    std::string what;
};

// Where a TrainJob is, for a status line and for the summary.
struct job_course {
    std::string name;
    std::chrono::steady_clock::time_point created{};
    std::optional<std::chrono::steady_clock::time_point> job_set{};  // was made
    std::optional<std::chrono::steady_clock::time_point> ended{};
    std::int64_t pods_ready = 0;
    std::int64_t pods = 0;
    std::string condition{};  // the last one that became true
};

class timeline {
   public:
    using time = std::chrono::steady_clock::time_point;

    [[nodiscard]] std::vector<timeline_line> tell(const sim::change& what, time now);
    [[nodiscard]] const std::vector<job_course>& jobs() const { return jobs_; }
    [[nodiscard]] bool all_ended() const;

   private:
    job_course* find(std::string_view name);
    void tell_job(const sim::change& what, api::ref before, api::ref after, time now);
    void tell_child(const sim::kind& of, api::ref object, time now);
    void tell_job_set(api::ref before, api::ref after);
    void tell_pod(const sim::change& what, api::ref before, api::ref after);
    void say(std::string_view who, std::string what);

    std::vector<job_course> jobs_;
    std::vector<timeline_line> lines_;  // of the change at hand
};

}  // namespace cotrain::app
