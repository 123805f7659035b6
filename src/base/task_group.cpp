// Spawning, cancelling and joining of owned coroutines.
#include "base/task_group.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/system/system_error.hpp>
#include <cassert>
#include <chrono>
#include <exception>
#include <string>
#include <utility>

#include "base/contain.hpp"

namespace cotrain::base {

struct task_group::entry {
    std::string_view name;
    asio::cancellation_signal stop{};
    bool done = false;
};

namespace {

bool is_cancellation(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const boost::system::system_error& e) {
        return e.code() == asio::error::operation_aborted;
    } catch (...) {
        return false;
    }
}

using clock = std::chrono::steady_clock;

awaitable<void> run_again(std::string_view name, std::function<awaitable<void>()> make, logger* log,
                          backoff_policy pause) {
    asio::steady_timer timer(co_await asio::this_coro::executor);
    random_source random = random_source::from_system();
    backoff next(pause);
    for (;;) {
        const auto begun = clock::now();
        std::string mistake;
        try {
            co_await make();
            co_return;
        } catch (...) {
            mistake = caught();
        }
        log->error("unexpected exception", {{"in", "task"}, {"task", name}, {"error", mistake}});
        if (clock::now() - begun > pause.ceiling) next.reset();  // it went well for long
        timer.expires_after(next.next(random));
        co_await timer.async_wait(use_tuple);
    }
}

}  // namespace

task_group::task_group(asio::any_io_executor executor) : executor_(std::move(executor)) {}

task_group::~task_group() { assert(tasks_.empty() && "a task group must be joined before it goes"); }

void task_group::spawn(std::string_view name, awaitable<void> task) {
    auto it = tasks_.emplace(tasks_.end(), name);
    try {
        asio::co_spawn(executor_, std::move(task),
                       asio::bind_cancellation_slot(
                           it->stop.slot(), [this, it](const std::exception_ptr& error) { finished(it, error); }));
    } catch (...) {  // no memory: it does not begin, and nobody has to wait for it
        tasks_.erase(it);
        throw;
    }
}

void task_group::supervise(std::string_view name, std::function<awaitable<void>()> make, logger& log,
                           backoff_policy pause) {
    spawn(name, run_again(name, std::move(make), &log, pause));
}

void task_group::finished(std::list<entry>::iterator task, const std::exception_ptr& error) {
    task->done = true;
    if (!cancelling_) forget(task);
    if (error && !is_cancellation(error)) std::rethrow_exception(error);
}

void task_group::forget(std::list<entry>::iterator task) {
    tasks_.erase(task);
    if (tasks_.empty() && idle_.waiting()) idle_.notify_later();
}

void task_group::cancel() {
    if (std::exchange(cancelling_, true)) return;
    // A task may end, or end another, while it is stopped: nothing leaves the list during the walk.
    for (entry& task : tasks_)
        if (!task.done) task.stop.emit(asio::cancellation_type::all);
    cancelling_ = false;
    for (auto it = tasks_.begin(); it != tasks_.end();)
        if (const auto task = it++; task->done) forget(task);
}

awaitable<void> task_group::join() {
    while (!tasks_.empty()) co_await idle_.wait();
}

std::string_view task_group::oldest() const { return tasks_.empty() ? std::string_view{} : tasks_.front().name; }

}  // namespace cotrain::base
