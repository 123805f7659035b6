// One pump that watches moments and wakes workers, and the workers.
#include "reconcile/controller.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <new>
#include <string>
#include <utility>

#include "base/contain.hpp"

namespace cotrain::reconcile {

namespace {

using clock = std::chrono::steady_clock;

// Runs that never wait must not keep the loop from reading its sockets for longer than this.
constexpr auto slice_max = std::chrono::microseconds(500);

}  // namespace

controller::controller(base::task_group& owner, base::logger& log, reconciler what, controller_limits limits,
                       key_holder* holder, panic_listener told)
    : owner_(owner),
      log_(log),
      reconcile_(std::move(what)),
      told_(std::move(told)),
      core_(limits, holder),
      timer_(owner.executor()) {}

void controller::start() {
    started_ = true;
    owner_.supervise("controller", [this] { return pump(); }, log_, core_.limits().mistake_pause);
}

void controller::add(key k, work how) {
    core_.add(k, how, clock::now());
    try {
        dispatch();
    } catch (const std::bad_alloc&) {  // for another worker: the pump tries again
        nudge();
    }
}

void controller::add_after(key k, std::chrono::nanoseconds delay) {
    core_.add_after(k, delay, clock::now());
    nudge();
}

void controller::nudge() {
    if (std::exchange(nudged_, true)) return;
    timer_.cancel();
}

awaitable<void> controller::pump() {
    for (;;) {
        core_.tick(clock::now());
        dispatch();
        timer_.expires_at(core_.next_due().value_or(clock::time_point::max()));
        // A nudge before the wait would cancel nothing.
        if (!nudged_) co_await timer_.async_wait(use_tuple);
        nudged_ = false;
        if ((co_await asio::this_coro::cancellation_state).cancelled() != asio::cancellation_type::none) co_return;
    }
}

// Wakes as many workers as can have a key; a woken one that finds none sleeps again.
void controller::dispatch() {
    if (!started_ || !core_.ready()) return;
    const auto wanted = std::min<std::size_t>(core_.in_flight_max() - core_.in_flight(), core_.depth());
    const auto wake = [this](worker& w) {
        w.wake.notify_later();  // who added the key is not to wait for it
        w.idle = false;
        ++woken_;
    };
    for (const auto& w : workers_) {
        if (woken_ >= wanted) return;
        if (w->idle) wake(*w);
    }
    while (woken_ < wanted && workers_.size() < core_.in_flight_max()) {
        start_worker();
        wake(*workers_.back());
    }
}

void controller::start_worker() {
    workers_.push_back(std::make_unique<worker>());
    try {
        owner_.spawn("reconcile worker", work_on(workers_.back().get()));
    } catch (...) {
        workers_.pop_back();
        throw;
    }
}

awaitable<void> controller::work_on(worker* self) {
    const auto executor = co_await asio::this_coro::executor;
    while (co_await self->wake.wait()) {
        --woken_;
        auto slice_end = clock::now() + slice_max;
        while (const auto run = core_.start(clock::now())) {
            outcome how = outcome::panicked();
            try {
                how = co_await reconcile_(run->what, run->now);
            } catch (...) {
                note_panic(*run);
            }
            const auto now = clock::now();
            core_.finish(run->id, how, now);
            if (const auto due = core_.next_due(); due && *due < timer_.expiry()) nudge();
            if (core_.in_flight() == 0 && drained_.waiting()) drained_.notify_later();
            if (now < slice_end) continue;
            try {
                co_await asio::post(executor, use_tuple);
            } catch (const std::bad_alloc&) {  // then the next key comes at once
            }
            slice_end = clock::now() + slice_max;
        }
        if (const auto due = core_.next_due(); due && *due < timer_.expiry()) nudge();  // a parked key's
        self->idle = true;
    }
}

// In a catch block. What tells a task to stop is thrown on; telling of a mistake may fail, too.
void controller::note_panic(const controller_core::run& run) const {
    try {
        const std::string what = base::caught();
        if (told_) told_(run.what, run.now, what);
    } catch (const std::bad_alloc&) {
    }
}

void controller::set_in_flight_max(unsigned most) {
    core_.set_in_flight_max(most);
    nudge();
}

void controller::close() { core_.drain(); }

awaitable<void> controller::drain() {
    while (core_.in_flight() != 0) co_await drained_.wait();
}

}  // namespace cotrain::reconcile
