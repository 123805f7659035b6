// Ownership of coroutines: a group cancels, joins and reports what it owns.
#include "base/task_group.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

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

awaitable<void> fail_twice(int* runs, signal* third) {
    if (++*runs == 1) throw std::runtime_error("first bug");
    if (*runs == 2) throw 7;  // NOLINT(hicpp-exception-baseclass): whatever is thrown
    third->notify_later();
    bool ended = false;
    co_await sleep_for_ever(&ended);
}

TEST(task_group, a_supervised_task_begins_again_after_an_exception_and_still_ends_when_asked) {
    asio::io_context loop(1);
    std::vector<std::string> lines;
    logger log([](void* to, std::string_view line) { static_cast<std::vector<std::string>*>(to)->emplace_back(line); },
               &lines, level::info);
    int runs = 0;
    test::run(loop, [](logger* log, int* runs) -> awaitable<void> {
        task_group group(co_await asio::this_coro::executor);
        signal third;
        group.supervise("tea", [&] { return fail_twice(runs, &third); }, *log,
                        {std::chrono::milliseconds(1), std::chrono::milliseconds(2), 2.0, 0.5});
        co_await third.wait();
        EXPECT_EQ(group.oldest(), "tea");
        group.cancel();
        co_await group.join();
    }(&log, &runs));
    EXPECT_EQ(runs, 3);
    ASSERT_EQ(lines.size(), 2U);
    EXPECT_TRUE(lines[0].contains(R"("task":"tea","error":"first bug")")) << lines[0];
    EXPECT_TRUE(lines[1].contains("no std::exception")) << lines[1];
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

awaitable<void> note_when_woken(signal* s, std::vector<int>* order, int number, signal* wakes) {
    if (!co_await s->wait()) co_return;
    order->push_back(number);
    if (wakes != nullptr) wakes->notify_later();
}

struct turn_test : testing::Test {
    turn_test() {
        group.spawn("first", note_when_woken(&first, &order, 1, &third));
        group.spawn("second", note_when_woken(&second, &order, 2, nullptr));
        group.spawn("third", note_when_woken(&third, &order, 3, nullptr));
        loop.poll();
        loop.restart();
    }
    void TearDown() override {
        loop.restart();
        loop.run();
        EXPECT_EQ(group.size(), 0U);
    }

    asio::io_context loop{1};
    signal first, second, third;
    std::vector<int> order;
    task_group group{loop.get_executor()};
};

TEST_F(turn_test, resumes_at_its_end_who_was_woken_and_whom_they_wake) {
    {
        turn now;
        first.notify_later();
        second.notify_later();
        EXPECT_TRUE(order.empty());
        now.end();
    }
    EXPECT_EQ(order, (std::vector{1, 2, 3}));
}

TEST_F(turn_test, without_its_end_they_go_on_from_the_event_loop) {
    {
        turn now;
        first.notify_later();
        second.notify_later();
        EXPECT_EQ(loop.poll(), 0U);
    }
    EXPECT_TRUE(order.empty());
    loop.restart();
    loop.run();
    EXPECT_EQ(order, (std::vector{1, 2, 3}));
}

TEST_F(turn_test, one_inside_another_leaves_all_to_the_outer) {
    turn now;
    {
        turn inner;
        first.notify_later();
        inner.end();
    }
    EXPECT_TRUE(order.empty());
    now.end();
    EXPECT_EQ(order, (std::vector{1, 3}));
    second.notify();
}

TEST(turn, wakes_beyond_its_bound_are_not_lost) {
    asio::io_context loop(1);
    constexpr std::size_t many = 1000;
    std::vector<signal> signals(many);
    std::vector<int> order;
    task_group group(loop.get_executor());
    for (signal& s : signals) group.spawn("waits", note_when_woken(&s, &order, 0, nullptr));
    loop.poll();
    loop.restart();
    {
        turn now;
        for (signal& s : signals) s.notify_later();
        now.end();
        EXPECT_LT(order.size(), many);
    }
    loop.run();
    EXPECT_EQ(order.size(), many);
}

}  // namespace
}  // namespace cotrain::base
