// What Pods and Events say of themselves: pages of lists as structs, only the members that explain a job.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/time.hpp"

namespace cotrain::runtime {

inline constexpr std::size_t report_page_bytes_max = 16UL << 20U;  // a larger answer is not read
inline constexpr std::size_t reported_pods_max = 50;               // of one page; further ones only count
inline constexpr std::size_t reported_events_max = 20;             // likewise
inline constexpr std::size_t reported_containers_max = 16;         // of one Pod, init containers apart
inline constexpr std::size_t report_text_bytes_max = 1024;         // of each message and note; one line

// A container that ended.
struct container_end {
    std::int32_t exit_code = 0;
    std::int32_t signal = 0;
    std::string reason;   // "OOMKilled", "Error"
    std::string message;  // the last line of its termination message
    base::seconds_time at{};
};

struct container_report {
    std::string name;
    std::string image;
    bool init = false;
    bool running = false;
    bool ready = false;
    std::int32_t restarts = 0;
    std::string waiting_reason;  // "ImagePullBackOff"; empty: it does not wait
    std::string waiting_message;
    std::optional<container_end> end{};       // how it ended
    std::optional<container_end> last_end{};  // how it ended before it was started again
};

struct pod_report {
    std::string name;
    std::string job;                        // the Job that made it
    std::string replicated_job;             // "node"
    std::optional<std::int32_t> rank{};     // completion index
    std::optional<std::int32_t> attempt{};  // how often its JobSet had been restarted before
    std::string gang;                       // the PodGroup that it belongs to, of scheduler-plugins or of Kubernetes
    std::string node;
    std::string scheduler;
    std::string phase;   // "Pending"
    std::string reason;  // "Evicted"
    std::string message;
    bool deleting = false;
    base::seconds_time created{};
    bool looked_at = false;         // by a scheduler
    std::string scheduling_reason;  // "Unschedulable", "SchedulingGated"; empty: it is scheduled, or not looked at yet
    std::string scheduling_message;
    base::seconds_time unscheduled{};  // since then
    std::string disruption_reason;     // "PreemptionByScheduler", "DeletionByTaintManager"
    std::string disruption_message;
    base::seconds_time disrupted{};
    std::vector<container_report> containers;  // init containers first
};

struct pod_page {
    std::vector<pod_report> pods;
    std::size_t shown = 0;  // Pods in the answer
    bool more = false;      // there are others than those
};

// A Warning.
struct event_report {
    std::string reason;  // "FailedCreate"
    std::string note;
    base::seconds_time at{};  // the last time
};

// Warnings among the first reported_events_max; the most recent first.
using event_page = std::vector<event_report>;

// Of a PodList, and of an EventList of events.k8s.io/v1, whatever their authors wrote into them.
[[nodiscard]] base::result<pod_page> read_pods(std::string_view body);
[[nodiscard]] base::result<event_page> read_warnings(std::string_view body);
// Of a WorkloadList of Kueue: why the first has no quota; empty: it does not say.
[[nodiscard]] base::result<std::string> read_quota_message(std::string_view body);

}  // namespace cotrain::runtime
