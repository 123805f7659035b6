// Writes events without ever making anybody wait: one request at a time, and what does not fit is dropped.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>

#include "base/asio.hpp"
#include "base/log.hpp"
#include "base/signal.hpp"
#include "base/task_group.hpp"
#include "kube/client.hpp"
#include "reconcile/event_recorder.hpp"
#include "reconcile/write_permit.hpp"

namespace cotrain::reconcile {

inline constexpr std::size_t event_queue_max = 256;                       // writes that wait; more warnings are dropped
inline constexpr std::size_t event_queue_normal_max = 8;                  // beyond which normal events are
inline constexpr std::size_t event_queue_kept_max = 20'000;               // ends of jobs; some 16 MB of them
inline constexpr unsigned event_tries_max = 5;                            // of one that is kept
inline constexpr auto event_retry_pause = std::chrono::seconds(1);        // and twice, three times as long
inline constexpr auto event_deadline = std::chrono::milliseconds(5'000);  // of one write, throttling included

struct event_sink_metrics {
    std::uint64_t sent = 0;
    std::uint64_t failed = 0;   // refused, or not answered in time
    std::uint64_t dropped = 0;  // there was no room, or they were not ours to write
};

// Lives until its task group has been joined; what waits then is lost.
class event_sink {
   public:
    // `controller` is reportingController, `instance` reportingInstance. Without an allowance writes may always start.
    // While `busy` says so, normal events are dropped: other work goes first.
    event_sink(base::task_group& owner, kube::client& api, base::logger& log, std::string controller,
               std::string instance, write_allowance may_write = {}, std::function<bool()> busy = {});

    void start();
    void post(const event_note& what);

    [[nodiscard]] std::size_t waiting() const { return queue_.size(); }
    [[nodiscard]] const event_sink_metrics& metrics() const { return metrics_; }
    [[nodiscard]] const event_recorder& recorder() const { return recorder_; }

   private:
    [[nodiscard]] awaitable<void> run();
    [[nodiscard]] std::size_t room_for(const event_note& what) const;
    // Whether to try again: one that is kept, and that nobody has refused.
    [[nodiscard]] awaitable<bool> send(event_write what);

    base::task_group& owner_;
    kube::client& api_;
    base::logger& log_;
    event_recorder recorder_;
    write_allowance may_write_;
    std::function<bool()> busy_;
    std::deque<event_write> queue_;
    base::signal filled_;
    event_sink_metrics metrics_;
    int complained_ = 0;  // about this status, or -1 about no answer
};

}  // namespace cotrain::reconcile
