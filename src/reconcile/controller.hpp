// Runs a reconcile function over the keys that its core hands out, many at once on one thread.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "base/asio.hpp"
#include "base/signal.hpp"
#include "base/task_group.hpp"
#include "reconcile/controller_core.hpp"

namespace cotrain::reconcile {

// May run for long: others go on meanwhile.
using reconciler = std::function<awaitable<outcome>(key k, attempt now)>;

// Hears of a run that ended in an exception: the key, the run, and what was thrown.
using panic_listener = std::function<void(key k, attempt now, std::string_view what)>;

// An exception ends its run alone; one of the controller's own costs a pause, and no key. Workers are started when they
// are needed first and then kept: a run costs no new coroutine but the reconciler's. Lives until its group has been
// joined.
class controller {
   public:
    controller(base::task_group& owner, base::logger& log, reconciler what, controller_limits limits = {},
               key_holder* holder = nullptr, panic_listener told = {});

    void start();
    [[nodiscard]] bool started() const { return started_; }
    // Never runs the reconciler on the caller's stack.
    void add(key k, work how);
    void add_after(key k, std::chrono::nanoseconds delay);
    // Nothing new starts, whatever is added. Goes before a cancel() of the group: a worker that is spawned behind it
    // would wait for ever.
    void close();
    // After close(): returns when all that ran has finished.
    [[nodiscard]] awaitable<void> drain();

    void set_in_flight_max(unsigned most);

    [[nodiscard]] const controller_core& core() const { return core_; }

   private:
    struct worker {
        base::signal wake;
        bool idle = false;
    };
    [[nodiscard]] awaitable<void> pump();
    [[nodiscard]] awaitable<void> work_on(worker* self);
    void note_panic(const controller_core::run& run) const;
    void dispatch();
    void start_worker();
    void nudge();

    base::task_group& owner_;
    base::logger& log_;
    reconciler reconcile_;
    panic_listener told_;
    controller_core core_;
    asio::steady_timer timer_;
    std::vector<std::unique_ptr<worker>> workers_;
    base::signal drained_;
    unsigned woken_ = 0;  // workers that have not looked yet
    bool started_ = false;
    bool nudged_ = false;
};

}  // namespace cotrain::reconcile
