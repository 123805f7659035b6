// Why a job's Pods do not all run: what to ask the API server for, and one sentence of what it answered.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/jobset.hpp"
#include "api/names.hpp"
#include "base/time.hpp"
#include "runtime/pod_reports.hpp"

namespace cotrain::runtime {

// Blocked: nothing changes until somebody acts. Pending: it goes on by itself, when there is room.
enum class hold : std::uint8_t { none, pending, blocked };

struct diagnosis {
    hold state = hold::none;
    std::string reason;  // "ImagePullBackOff", "Unschedulable", "FailedCreate"
    std::string message;

    [[nodiscard]] bool operator==(const diagnosis&) const = default;
};

inline constexpr std::size_t diagnosis_bytes_max = 512;  // of the message
// Of one look at a job.
inline constexpr unsigned look_requests_max = 3;
inline constexpr std::uint32_t look_page_items = 20;

// One page of a list in the job's namespace.
struct look_question {
    enum class what : std::uint8_t {
        pending_pods,
        running_pods,
        events,    // Warnings about the object of that kind and name
        workload,  // of Kueue, for the job with the uid `name`
    };
    what of = what::pending_pods;
    std::string kind{};
    std::string name{};

    [[nodiscard]] bool operator==(const look_question&) const = default;
    [[nodiscard]] bool about_pods() const { return of == what::pending_pods || of == what::running_pods; }
    [[nodiscard]] const api::resource_type& type() const;
    [[nodiscard]] std::string label_selector(std::string_view job_set) const;
    [[nodiscard]] std::string field_selector() const;
};

// A look: what was asked, and answered. `next()` until there is nothing more to ask; each answer goes to `take()`.
class look {
   public:
    // `set`: the job's own, which is to run. `since`: when its Pods were to come; older Events are about earlier ones.
    look(const api::job_set& set, base::seconds_time since);
    // Of a suspended job in one of Kueue's queues.
    explicit look(std::string_view job_uid) : job_(job_uid), stage_(stage::workload) {}

    [[nodiscard]] std::optional<look_question> next() const;
    // The answer to next(). What cannot be read, or may not be (an error), says nothing.
    void take(const base::result<std::string>& body);
    // What is known so far.
    [[nodiscard]] const diagnosis& found() const { return found_; }

   private:
    enum class stage : std::uint8_t { pending_pods, pod_events, job_events, running_pods, set_events, workload, over };

    void take_pods(const pod_page& page);
    void take_events(const event_page& page, const look_question& about);
    void go_on(stage to) { stage_ = to; }

    std::string set_;
    std::string job_;  // the first that has no Pods, or not all; of a queued job its uid
    bool job_runs_ = false;
    bool set_is_new_ = false;  // its controller has not said anything about it
    std::string pod_;          // that is scheduled, and does not start
    base::seconds_time since_{};
    stage stage_ = stage::pending_pods;
    unsigned asked_ = 0;
    diagnosis found_;
};

// The parts of a look, each pure.

// The worst that pending or running Pods say; `pod`: one that is scheduled and does not start, and does not say why.
[[nodiscard]] diagnosis diagnose_pods(const pod_page& page, std::string* pod = nullptr);
// Of Warnings about a Job, a JobSet or a Pod, those since then count.
[[nodiscard]] diagnosis diagnose_events(const event_page& page, std::string_view kind, std::string_view name,
                                        base::seconds_time since);
// What the scheduler says, without what is said of preemption.
[[nodiscard]] std::string_view scheduler_words(std::string_view message);
// Whether it says that no node can hold the Pod, whatever else ends.
[[nodiscard]] bool never_fits(std::string_view message);

}  // namespace cotrain::runtime
