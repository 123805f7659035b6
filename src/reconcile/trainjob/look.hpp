// When a job is looked into whose Pods do not run, or whose Pods failed: bounds for each job and for all together.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

#include "reconcile/delay_queue.hpp"
#include "reconcile/fair_bucket.hpp"
#include "reconcile/trainjob/view.hpp"
#include "runtime/autopsy.hpp"
#include "runtime/diagnosis.hpp"

namespace cotrain::reconcile {

// A job whose Pods are not all there so long after they were to come is looked into.
inline constexpr std::chrono::seconds look_after{10};
// Between two looks at one job; twice as long each time that nothing new is found.
inline constexpr std::chrono::minutes look_pause{1};
inline constexpr std::chrono::minutes look_pause_max{8};
// An Event counts no longer: the Job controller tries again after ten minutes at most.
inline constexpr std::chrono::minutes event_age_max{15};
// Failed Pods are not asked for later than that: they are gone by then, or the job has ended long ago.
inline constexpr std::chrono::minutes autopsy_wait_max{5};
inline constexpr std::uint32_t autopsy_page_items = 50;

// Five a second in all: three looks, and two autopsies, whose Pods may go at any time. Namespaces share them fairly.
// A look lists three pages at most (runtime::look_requests_max), an autopsy two, and mostly one each.
inline constexpr double looks_per_second = 2.99;
inline constexpr double looks_at_once = 1;
inline constexpr double autopsies_per_second = 2;
inline constexpr double autopsies_at_once = 10;

// A turn among all jobs, and when to ask for it: others may come in between.
struct taken_turn {
    fair_bucket::turn turn;
    moment ask;
};

// What is known of a job that was looked into. Healthy jobs have none.
struct look_notes {
    std::optional<taken_turn> turn{};  // to look
    std::optional<moment> next{};      // no look before; nothing: there was none yet
    std::chrono::minutes pause{look_pause};
    runtime::diagnosis found{};
    std::optional<taken_turn> autopsy{};  // wanted
    std::int32_t attempt = 0;             // that failed
    std::int32_t told_attempt = -1;       // the last one of which Pods were asked for when it had failed
    std::optional<moment> dissected{};
    base::seconds_time told_until{};  // when the Pod failed that was told last, by the clock of its node

    // A look is over.
    void note(runtime::diagnosis d, moment now);
    // Whether nothing of it matters to a job whose Pods are there.
    [[nodiscard]] bool spent(moment now) const { return !autopsy && (!dissected || now - *dissected >= look_pause); }
};

// Whether each of its Jobs is there and has all Pods ready or done.
[[nodiscard]] bool pods_are_there(const job_view& v);
// The attempt that failed, and of which the status does not tell yet: its JobSet failed or was restarted.
// `tells_restarts`: the status has them.
[[nodiscard]] std::optional<std::int32_t> failed_attempt(const job_view& v, bool tells_restarts);
// When the Pods of the JobSet that is there were to come.
[[nodiscard]] base::seconds_time pods_wanted_since(const job_view& v);
// Whether the Pods of a job are to run, and nobody has ended it.
[[nodiscard]] bool pods_are_wanted(const job_view& v);
// Whether the job is suspended, and one of Kueue's queues has it.
[[nodiscard]] bool is_queued(const job_view& v);
// How long until the job is to be looked into: 0 now; nothing: not at all.
[[nodiscard]] std::optional<std::chrono::nanoseconds> look_wait(const job_view& v, const look_notes* known,
                                                                base::micros_time wall, moment steady);

}  // namespace cotrain::reconcile
