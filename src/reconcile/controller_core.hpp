// The decisions of a controller: which key runs next, how many at once, and when one comes back.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/task_group.hpp"
#include "reconcile/delay_queue.hpp"
#include "reconcile/key.hpp"
#include "reconcile/queue_metrics.hpp"
#include "reconcile/retry_limit.hpp"
#include "reconcile/work_queue.hpp"

namespace cotrain::reconcile {

inline constexpr unsigned in_flight_default = 32;  // where the configuration names no concurrency

// What a run is told of itself.
struct attempt {
    unsigned failures = 0;     // of the key in a row, before this run
    std::uint64_t number = 0;  // of the run: see reconcile_id()
};

// The field reconcileID of a run's log lines.
[[nodiscard]] std::string reconcile_id(std::uint64_t number);

// How one run ended. A key that is not requeued is forgotten until it is added again.
struct outcome {
    enum class what : std::uint8_t { done, again_after, failed, panicked };
    what kind = what::done;
    std::chrono::nanoseconds after{0};
    bool passing = false;  // of a failure: not the key's own, see retry_policy

    [[nodiscard]] static outcome done() { return {}; }
    [[nodiscard]] static outcome again_after(std::chrono::nanoseconds d) { return {what::again_after, d}; }
    // Comes back after its backoff, and after `at_latest` at the latest: a deadline does not wait for a long one. A
    // moment that has come already (zero) hurries nobody.
    [[nodiscard]] static outcome failed(std::chrono::nanoseconds at_latest = std::chrono::nanoseconds::max(),
                                        bool passing = false) {
        return {what::failed, at_latest, passing};
    }
    [[nodiscard]] static outcome failed_by(const base::error& why) {
        return failed(std::chrono::nanoseconds::max(), is_passing(why));
    }
    // An exception: a mistake of ours, or no memory. Like a failure, but see panics_max.
    [[nodiscard]] static outcome panicked() { return {what::panicked, std::chrono::nanoseconds::max()}; }
};

// A key whose runs end in so many exceptions in a row does not run for that long, whatever happens to it.
inline constexpr unsigned panics_max = 5;
inline constexpr std::chrono::nanoseconds parking = std::chrono::minutes(10);

struct controller_limits {
    unsigned in_flight_max = in_flight_default;
    retry_policy retry{};
    std::uint64_t first_run = 1;  // number of the first run; random, so that processes have no number in common
    base::backoff_policy mistake_pause = base::task_group::supervised_pause;  // after one of the controller's own
};

// No I/O and no clock. A key never runs twice at once. A key that is added while it waits for a later moment runs now,
// and the run's outcome alone decides what comes after: a run that still wants a timer asks for it again. Only a key
// that is not known yet takes memory: what throws for want of it changes nothing.
class controller_core {
   public:
    struct run {
        slot id = no_slot;
        key what{};
        attempt now{};
    };

    explicit controller_core(controller_limits limits = {}, key_holder* holder = nullptr);

    void add(key k, work how, moment now);
    void add_after(key k, std::chrono::nanoseconds delay, moment now);
    // Puts keys whose moment has come into the queue. Call before start().
    void tick(moment now);
    // The next key to run; nothing when none waits, too many run, or the core drains.
    [[nodiscard]] std::optional<run> start(moment now);
    void finish(slot id, outcome how, moment now);

    // Whether start() would give a key.
    [[nodiscard]] bool ready() const;
    [[nodiscard]] std::optional<moment> next_due() const { return draining_ ? std::nullopt : delays_.next_due(); }
    // From now on nothing new starts; what runs may finish.
    void drain() { draining_ = true; }

    [[nodiscard]] std::uint32_t depth() const { return queue_.depth(); }
    [[nodiscard]] std::size_t delayed() const { return delays_.size(); }
    [[nodiscard]] unsigned in_flight() const { return static_cast<unsigned>(running_.size()); }
    [[nodiscard]] const controller_limits& limits() const { return limits_; }
    [[nodiscard]] unsigned in_flight_max() const { return limits_.in_flight_max; }
    // What is more than that under way may finish.
    void set_in_flight_max(unsigned most);
    [[nodiscard]] std::uint32_t known_keys() const { return keys_.size(); }
    [[nodiscard]] const queue_metrics& metrics() const { return metrics_; }
    // workqueue_longest_running_processor_seconds and workqueue_unfinished_work_seconds.
    [[nodiscard]] std::chrono::nanoseconds longest_running(moment now) const;
    [[nodiscard]] std::chrono::nanoseconds unfinished(moment now) const;

   private:
    struct running {
        slot id;
        moment since;
    };
    // A slot that panicked too often in a row, and until when it is left alone.
    struct panics {
        unsigned count = 0;
        moment parked_until{};
    };
    [[nodiscard]] slot slot_of(key k);
    [[nodiscard]] moment note_panic(slot s, moment now) noexcept;
    [[nodiscard]] bool parked(slot s, moment now) const;
    void enqueue(slot s, work how, moment now);
    void drop_if_idle(slot s);

    controller_limits limits_;
    key_table keys_;
    work_queue queue_;
    delay_queue delays_;
    retry_limit retries_;
    std::vector<moment> added_at_;  // of each slot that there is room for
    std::vector<running> running_;
    std::map<slot, panics> panics_;  // empty but for mistakes of ours
    queue_metrics metrics_;
    bool draining_ = false;
};

}  // namespace cotrain::reconcile
