// The owner of coroutines: what is spawned here is cancelled and joined here, and nowhere else.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <string_view>

#include "base/asio.hpp"
#include "base/backoff.hpp"
#include "base/log.hpp"
#include "base/signal.hpp"

namespace cotrain::base {

// Single-threaded: all calls come from the executor's thread. Destroying a group with work inside asserts.
//
// Cancellation: after cancel() every task's pending wait ends with operation_aborted and its next co_await throws
// system_error(operation_aborted); the group swallows exactly that. Any other exception is a bug and leaves
// through io_context::run(), unless the task is supervised. A task that has to clean up asynchronously resets its own
// cancellation state first.
class task_group {
   public:
    explicit task_group(asio::any_io_executor executor);
    ~task_group();
    task_group(const task_group&) = delete;
    task_group& operator=(const task_group&) = delete;

    // Starts `task` now, on this stack, up to its first suspension. `name` must outlive the task; it is for humans.
    void spawn(std::string_view name, awaitable<void> task);
    // The same for a task that runs as long as the program does: when it ends in an exception, that is logged, and
    // after a pause `make` gives another. `log` must outlive the group.
    void supervise(std::string_view name, std::function<awaitable<void>()> make, logger& log,
                   backoff_policy pause = supervised_pause);
    static constexpr backoff_policy supervised_pause{std::chrono::milliseconds(1'000),
                                                     std::chrono::milliseconds(60'000), 2.0, 0.5};
    // Asks all tasks to end; returns at once. New tasks may still be spawned.
    void cancel();
    // Waits until no task is left. One waiter at a time.
    [[nodiscard]] awaitable<void> join();

    [[nodiscard]] std::size_t size() const { return tasks_.size(); }
    [[nodiscard]] asio::any_io_executor executor() const { return executor_; }
    // The name of the task that was spawned first and still runs; empty if none.
    [[nodiscard]] std::string_view oldest() const;

   private:
    struct entry;
    void finished(std::list<entry>::iterator task, const std::exception_ptr& error);
    void forget(std::list<entry>::iterator task);

    asio::any_io_executor executor_;
    std::list<entry> tasks_;
    signal idle_;
    bool cancelling_ = false;
};

}  // namespace cotrain::base
