// Ownership of coroutines: a group cancels, joins and reports what it owns.
#include "base/task_group.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "support/run.hpp"

namespace cotrain::base {
namespace {

awaitable<void> sleep_for_ever(bool* ended) {
    struct mark {
        bool* flag;
        ~mark() { *flag = true; }
    } on_exit{ended};
    asio::steady_timer timer(co_await asio::this_coro::executor, asio::steady_timer::time_point::max());
    co_await timer.async_wait(use_tuple);
    co_await timer.async_wait(use_tuple);
    ADD_FAILURE() << "a cancelled task must not reach its second wait";
}

TEST(task_group, cancel_ends_every_task_and_join_returns) {
    asio::io_context loop(1);
    bool first = false;
    bool second = false;
    test::run(loop, [](bool* a, bool* b) -> awaitable<void> {
        task_group group(co_await asio::this_coro::executor);
        group.spawn("first", sleep_for_ever(a));
        group.spawn("second", sleep_for_ever(b));
        EXPECT_EQ(group.size(), 2U);
        EXPECT_EQ(group.oldest(), "first");
        group.cancel();
        co_await group.join();
        EXPECT_EQ(group.size(), 0U);
    }(&first, &second));
    EXPECT_TRUE(first);
    EXPECT_TRUE(second);
}

awaitable<void> throw_a_bug() {
    throw std::runtime_error("bug");
    co_return;
}

TEST(task_group, an_exception_is_not_swallowed) {
    asio::io_context loop(1);
    task_group group(loop.get_executor());
    group.spawn("bug", throw_a_bug());
    EXPECT_THROW(loop.run(), std::runtime_error);
    EXPECT_EQ(group.size(), 0U);
}

awaitable<void> wait_for(signal* s, bool* notified) { *notified = co_await s->wait(); }

TEST(signal, notify_before_wait_is_remembered_once) {
    asio::io_context loop(1);
    signal s;
    s.notify();
    s.notify();
    bool notified = false;
    test::run(loop, wait_for(&s, &notified));
    EXPECT_TRUE(notified);
    notified = false;
    task_group group(loop.get_executor());
    group.spawn("waits", wait_for(&s, &notified));
    loop.restart();
    loop.poll();
    EXPECT_TRUE(s.waiting());
    EXPECT_FALSE(notified);
    s.notify();
    EXPECT_TRUE(notified);
    loop.restart();
    loop.run();
}

TEST(signal, a_cancelled_wait_leaves_the_signal_free) {
    asio::io_context loop(1);
    signal s;
    bool notified = true;
    task_group group(loop.get_executor());
    group.spawn("waits", wait_for(&s, &notified));
    loop.poll();
    ASSERT_TRUE(s.waiting());
    group.cancel();
    loop.restart();
    loop.run();
    EXPECT_FALSE(s.waiting());
    EXPECT_EQ(group.size(), 0U);
}

}  // namespace
}  // namespace cotrain::base
