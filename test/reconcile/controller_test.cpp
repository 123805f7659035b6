// The controller's decisions, and its driver on a real loop.
#include "reconcile/controller.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <map>
#include <new>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "support/counted_memory.hpp"
#include "support/run.hpp"

namespace cotrain::reconcile {
namespace {

using namespace std::chrono_literals;

key job(std::uint32_t n) { return {n, 0}; }

TEST(controller_core, keeps_many_in_flight_and_no_key_twice) {
    controller_core core(controller_limits{.in_flight_max = 3});
    const moment now{1s};
    for (std::uint32_t n = 0; n < 5; ++n) core.add(job(n), work::fresh, now);
    core.add(job(0), work::fresh, now);
    EXPECT_EQ(core.depth(), 5U);
    std::vector<controller_core::run> runs;
    while (const auto run = core.start(now)) runs.push_back(*run);
    ASSERT_EQ(runs.size(), 3U);
    EXPECT_FALSE(core.ready());
    core.add(job(0), work::fresh, now);
    core.finish(runs[1].id, outcome::done(), now);
    EXPECT_EQ(core.start(now)->what, job(3));
    EXPECT_EQ(core.start(now), std::nullopt);
}

TEST(controller_core, a_failed_key_comes_back_later_and_later_until_it_succeeds) {
    controller_core core;
    moment now{1s};
    core.add(job(1), work::fresh, now);
    for (unsigned failures = 0; failures < 4; ++failures) {
        const auto run = core.start(now);
        ASSERT_TRUE(run);
        EXPECT_EQ(run->now.failures, failures);
        core.finish(run->id, outcome::failed(), now);
        EXPECT_FALSE(core.ready());
        ASSERT_EQ(core.next_due(), now + 5ms * (1U << failures));
        core.tick(*core.next_due() - 1ns);
        EXPECT_FALSE(core.ready());
        now = *core.next_due();
        core.tick(now);
    }
    core.finish(core.start(now)->id, outcome::done(), now);
    EXPECT_EQ(core.known_keys(), 0U);
    core.add(job(1), work::fresh, now);
    EXPECT_EQ(core.start(now)->now.failures, 0U);
    EXPECT_EQ(core.metrics().errors, 4U);
    EXPECT_EQ(core.metrics().done, 1U);
}

TEST(controller_core, a_failed_key_comes_back_when_it_has_to_however_often_it_failed) {
    controller_core core;
    moment now{1s};
    core.add(job(1), work::fresh, now);
    for (unsigned failures = 0; failures < 20; ++failures) {
        core.finish(core.start(now)->id, outcome::failed(1min), now);
        EXPECT_LE(*core.next_due(), now + 1min);
        now = *core.next_due();
        core.tick(now);
    }
}

// Else it would come back every few milliseconds until it succeeds, and owe the bucket what others then wait for.
TEST(controller_core, a_failed_key_whose_moment_has_come_waits_for_its_backoff) {
    controller_core core;
    moment now{1s};
    core.add(job(1), work::fresh, now);
    std::chrono::nanoseconds backoff = retry_policy{}.first;
    for (unsigned failures = 0; failures < 10; ++failures) {
        core.finish(core.start(now)->id, outcome::failed(0s), now);
        ASSERT_EQ(core.next_due(), now + backoff);
        backoff *= 2;
        now = *core.next_due();
        core.tick(now);
    }
    core.finish(core.start(now)->id, outcome::done(), now);
    core.add(job(2), work::fresh, now);
    core.finish(core.start(now)->id, outcome::failed(), now);
    EXPECT_EQ(core.next_due(), now + retry_policy{}.first) << "others do not pay for it";
}

TEST(controller_core, a_key_that_panics_again_and_again_is_parked_whatever_happens_to_it) {
    controller_core core;
    moment now{1s};
    core.add(job(1), work::fresh, now);
    for (unsigned n = 0; n < panics_max; ++n) {
        const auto run = core.start(now);
        ASSERT_TRUE(run) << n;
        core.add(job(1), work::fresh, now);  // while it runs
        core.finish(run->id, outcome::panicked(), now);
    }
    EXPECT_EQ(core.start(now), std::nullopt);
    core.add(job(1), work::fresh, now + 1min);
    core.add(job(2), work::fresh, now + 1min);
    EXPECT_EQ(core.start(now + 1min)->what, job(2)) << "others go on";
    EXPECT_EQ(core.start(now + 1min), std::nullopt);
    EXPECT_EQ(core.next_due(), now + parking);
    now += parking;
    core.tick(now);
    const auto again = core.start(now);
    ASSERT_TRUE(again);
    core.finish(again->id, outcome::panicked(), now);
    core.add(job(1), work::fresh, now);
    EXPECT_EQ(core.start(now), std::nullopt) << "the next mistake parks it again";
    core.tick(now + parking);
    core.finish(core.start(now + parking)->id, outcome::done(), now + parking);
    core.add(job(1), work::fresh, now + parking);
    EXPECT_TRUE(core.start(now + parking));
    EXPECT_EQ(core.metrics().panics, panics_max + 1);
    EXPECT_EQ(core.metrics().errors, panics_max + 1);
}

TEST(controller_core, only_panics_in_a_row_count) {
    controller_core core;
    moment now{1s};
    core.add(job(1), work::fresh, now);
    for (unsigned n = 0; n < 4 * panics_max; ++n) {
        core.tick(now);
        const auto run = core.start(now);
        ASSERT_TRUE(run) << n;
        core.finish(run->id, n % panics_max == 0 ? outcome::failed() : outcome::panicked(), now);
        now = *core.next_due();
    }
}

TEST(controller_core, an_event_does_not_wait_for_a_timer) {
    controller_core core;
    const moment now{1s};
    core.add_after(job(1), 1h, now);
    EXPECT_FALSE(core.ready());
    core.add(job(1), work::fresh, now);
    const auto run = core.start(now);
    ASSERT_TRUE(run);
    EXPECT_EQ(core.next_due(), std::nullopt);
    core.finish(run->id, outcome::again_after(30min), now);
    EXPECT_EQ(core.next_due(), now + 30min);
    core.add_after(job(1), 10min, now);
    EXPECT_EQ(core.next_due(), now + 10min);
    core.add_after(job(1), 20min, now);
    EXPECT_EQ(core.next_due(), now + 10min);
}

TEST(controller_core, an_event_during_a_run_makes_another_one_at_once) {
    controller_core core;
    const moment now{1s};
    for (const outcome how : {outcome::done(), outcome::again_after(1h), outcome::failed()}) {
        core.add(job(1), work::fresh, now);
        const auto run = core.start(now);
        core.add(job(1), work::fresh, now);
        core.add_after(job(1), 1ms, now);
        core.finish(run->id, how, now);
        EXPECT_EQ(core.next_due(), std::nullopt);
        const auto again = core.start(now);
        ASSERT_TRUE(again);
        core.finish(again->id, outcome::done(), now);
        EXPECT_EQ(core.known_keys(), 0U);
    }
}

TEST(controller_core, drains) {
    controller_core core;
    core.add(job(1), work::fresh, moment{});
    core.add(job(2), work::fresh, moment{});
    const auto run = core.start(moment{});
    core.drain();
    core.finish(run->id, outcome::failed(), moment{});
    EXPECT_EQ(core.in_flight(), 0U);
    EXPECT_EQ(core.start(moment{}), std::nullopt);
    EXPECT_EQ(core.next_due(), std::nullopt);
}

// Whatever happens, every key that was added is run after its last addition, and never beside itself.
TEST(controller_core, loses_nothing_under_chance) {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        base::random_source random(seed);
        controller_core core(controller_limits{.in_flight_max = 4});
        moment now{1s};
        std::map<std::uint32_t, int> owed;
        std::map<std::uint32_t, slot> running;
        const auto step = [&](bool adding) {
            const auto n = static_cast<std::uint32_t>(random.next() % 10);
            const auto dice = random.next() % 8;
            if (adding && dice < 3) {
                core.add(job(n), dice == 0 ? work::backlog : work::fresh, now);
                owed[n] = 1;
            } else if (adding && dice == 3) {
                core.add_after(job(n), std::chrono::milliseconds(random.next() % 40), now);
                owed[n] = 1;
            } else if (dice < 6) {
                if (const auto run = core.start(now)) {
                    ASSERT_FALSE(running.contains(run->what.name));
                    running[run->what.name] = run->id;
                    owed.erase(run->what.name);
                }
            } else if (!running.empty()) {
                const auto it = std::next(running.begin(), static_cast<long>(random.next() % running.size()));
                const auto how = random.next() % 5;
                if (how == 4) core.finish(it->second, outcome::panicked(), now);
                if (how == 0) core.finish(it->second, outcome::failed(), now);
                if (how == 1) core.finish(it->second, outcome::again_after(std::chrono::milliseconds(n)), now);
                if (how == 2 || how == 3) core.finish(it->second, outcome::done(), now);
                if (how < 2 || how == 4) owed[it->first] = 1;
                running.erase(it);
            }
            ASSERT_LE(core.in_flight(), 4U);
            ASSERT_EQ(core.in_flight(), running.size());
            now += std::chrono::milliseconds(random.next() % 10);
            core.tick(now);
        };
        for (int i = 0; i < 3000; ++i) step(true);
        for (int i = 0; i < 100'000 && (!owed.empty() || !running.empty()); ++i) {
            if (core.next_due()) now = std::max(now, *core.next_due());
            step(false);
        }
        EXPECT_TRUE(owed.empty()) << "seed " << seed;
        EXPECT_EQ(core.known_keys(), 0U) << "seed " << seed;
    }
}

TEST(controller_core, counts) {
    controller_core core;
    core.add(job(1), work::fresh, moment{1s});
    core.add(job(1), work::fresh, moment{2s});
    const auto run = core.start(moment{3s});
    EXPECT_EQ(core.longest_running(moment{5s}), 2s);
    core.finish(run->id, outcome::done(), moment{5s});
    EXPECT_EQ(core.metrics().adds, 1U);
    EXPECT_EQ(core.metrics().waited.sum, 2s);
    EXPECT_EQ(core.metrics().worked.sum, 2s);
    EXPECT_EQ(core.metrics().worked.count, 1U);
    EXPECT_EQ(core.metrics().worked.counts[9], 1U);  // ≤ 10 s
    EXPECT_EQ(core.unfinished(moment{5s}), 0s);
}

// Whether each key that was added runs to its end, whichever allocation fails; a key that could not be added is added
// again.
void survives_without_memory(std::uint64_t n, bool& failed) {
    controller_core core(controller_limits{.in_flight_max = 2});
    moment now{1s};
    std::vector<bool> done(200);
    {
        const test::failing_allocation at(n);
        const auto add = [&](std::uint32_t name) {
            const key k = job(name);
            const auto once = [&] { name % 3 == 0 ? core.add_after(k, 1ms, now) : core.add(k, work::fresh, now); };
            try {
                once();
            } catch (const std::bad_alloc&) {
                once();
            }
        };
        for (std::uint32_t name = 0; name < 200; ++name) {
            add(name);
            add(name / 2);
            core.tick(now += 1ms);
            const auto run = core.start(now);
            if (!run) continue;
            const bool ends = run->now.failures >= run->what.name % 4;
            if (ends) done[run->what.name] = true;
            core.finish(run->id, ends ? outcome::done() : name % 2 == 0 ? outcome::failed() : outcome::panicked(), now);
        }
        failed = at.failed();
    }
    while (core.known_keys() != 0) {
        ASSERT_TRUE(core.next_due() || core.ready()) << "a key is lost, allocation " << n;
        if (core.next_due()) now = std::max(now, *core.next_due());
        core.tick(now);
        while (const auto run = core.start(now)) {
            done[run->what.name] = true;
            core.finish(run->id, outcome::done(), now);
        }
    }
    ASSERT_EQ(std::ranges::count(done, true), 200) << "allocation " << n;
}

TEST(controller_core, loses_no_key_whichever_allocation_fails) {
    bool failed = true;
    for (std::uint64_t n = 1; failed; ++n) survives_without_memory(n, failed);
}

// Reconcilers of the driver's tests: what they count, and a gate that holds them up.
struct lab {
    explicit lab(asio::any_io_executor executor) : group(executor), done(executor) {}

    base::task_group group;
    base::logger& log = base::null_logger();
    std::map<std::uint32_t, int> runs;
    std::map<std::uint32_t, unsigned> failures;
    int in_flight = 0;
    int most = 0;
    int expected = 0;
    asio::steady_timer done;
};

awaitable<outcome> yielding(lab* l, key k, unsigned failures) {
    const auto executor = co_await asio::this_coro::executor;
    l->most = std::max(l->most, ++l->in_flight);
    for (int i = 0; i < 3; ++i) co_await asio::post(executor, use_tuple);
    --l->in_flight;
    ++l->runs[k.name];
    l->failures[k.name] = failures;
    if (--l->expected == 0) l->done.cancel();
    co_return failures < 2 && k.name % 2 == 1 ? outcome::failed() : outcome::done();
}

awaitable<void> drive(asio::io_context* loop) {
    lab l(loop->get_executor());
    controller c(
        l.group, l.log, [&l](key k, attempt now) { return yielding(&l, k, now.failures); },
        controller_limits{.in_flight_max = 8});
    c.start();
    l.expected = 100 + 2 * 50;  // odd ones fail twice
    for (std::uint32_t n = 0; n < 100; ++n) c.add(job(n), work::backlog);
    EXPECT_TRUE(l.runs.empty());
    l.done.expires_at(asio::steady_timer::time_point::max());
    co_await l.done.async_wait(use_tuple);
    c.close();
    co_await c.drain();
    EXPECT_EQ(l.most, 8);
    EXPECT_EQ(l.runs.size(), 100U);
    for (const auto& [name, count] : l.runs) EXPECT_EQ(count, name % 2 == 1 ? 3 : 1) << name;
    EXPECT_EQ(c.core().in_flight(), 0U);
    l.group.cancel();
    co_await l.group.join();
}

TEST(controller, runs_many_at_once_and_repeats_failures) {
    asio::io_context loop;
    test::run(loop, drive(&loop));
}

awaitable<outcome> throwing(lab* l, key k) {
    co_await asio::post(co_await asio::this_coro::executor, use_tuple);
    ++l->runs[k.name];
    if (k.name == 1) throw std::logic_error("one");
    if (k.name == 2) throw std::bad_alloc();
    co_return outcome::done();
}

awaitable<outcome> throws_or_not(lab* l, key k) {
    if (k.name == 3) throw std::runtime_error("before it waits");
    return throwing(l, k);
}

awaitable<void> drive_mistakes(asio::io_context* loop) {
    lab l(loop->get_executor());
    std::set<std::string> told;
    controller c(
        l.group, l.log, [&l](key k, attempt) { return throws_or_not(&l, k); }, controller_limits{.in_flight_max = 2},
        nullptr,
        [&told](key k, attempt, std::string_view what) {
            told.insert(std::to_string(k.name) + " " + std::string(what));
        });
    c.start();
    for (std::uint32_t n = 1; n <= 10; ++n) c.add(job(n), work::fresh);
    asio::steady_timer timer(*loop);
    while (c.core().depth() != 0 || c.core().in_flight() != 0 || c.core().metrics().panics < 3 * panics_max) {
        timer.expires_after(1ms);
        co_await timer.async_wait(use_tuple);
    }
    EXPECT_EQ(l.runs.size(), 9U);
    EXPECT_EQ(l.runs[1], static_cast<int>(panics_max));
    EXPECT_EQ(l.runs[10], 1);
    EXPECT_EQ(told, (std::set<std::string>{"1 one", "2 std::bad_alloc", "3 before it waits"}));
    EXPECT_EQ(c.core().delayed(), 3U) << "they are parked";
    c.close();
    l.group.cancel();
    co_await l.group.join();
}

TEST(controller, an_exception_ends_its_run_alone) {
    asio::io_context loop;
    test::run(loop, drive_mistakes(&loop));
}

// A pump or a worker that ended in an exception would end the program's loop, and so this test.
void runs_without_memory(std::uint64_t n, bool& failed) {
    asio::io_context loop;
    lab l(loop.get_executor());
    controller c(
        l.group, l.log, [&l](key k, attempt) { return throws_or_not(&l, k); },
        controller_limits{.in_flight_max = 4, .mistake_pause = {1ms, 2ms, 2.0, 0}});
    c.start();
    loop.poll();
    for (std::uint32_t name = 4; name < 8; ++name) c.add_after(job(name), 1ns);
    {
        const test::failing_allocation at(n);
        loop.poll();
        failed = at.failed();
    }
    for (int i = 0; i < 1000 && l.runs.size() < 4; ++i) loop.run_for(1ms);
    EXPECT_EQ(l.runs.size(), 4U) << "allocation " << n;
    EXPECT_EQ(c.core().in_flight(), 0U) << "allocation " << n;
    c.close();
    l.group.cancel();
    loop.restart();
    loop.run();
    EXPECT_EQ(l.group.size(), 0U);
}

// The worker, the list of workers, the task: behind them is what Asio takes for a wait.
TEST(controller, goes_on_where_no_worker_can_be_started) {
    for (std::uint64_t n = 1; n <= 3; ++n) {
        bool failed = false;
        runs_without_memory(n, failed);
        EXPECT_EQ(failed, test::counts_memory());
    }
}

awaitable<outcome> never(lab* l, key k) {
    ++l->runs[k.name];
    asio::steady_timer forever(co_await asio::this_coro::executor, asio::steady_timer::time_point::max());
    co_await forever.async_wait(use_tuple);
    co_return outcome::done();
}

// One turn of the loop: workers that were wanted have begun.
awaitable<void> turn(asio::io_context* loop) {
    for (int i = 0; i < 3; ++i) co_await asio::post(*loop, use_tuple);
}

awaitable<void> end_with_events(asio::io_context* loop) {
    lab l(loop->get_executor());
    controller c(l.group, l.log, [&l](key k, attempt) { return never(&l, k); }, controller_limits{.in_flight_max = 8});
    c.start();
    c.add(job(1), work::fresh);
    co_await turn(loop);
    EXPECT_EQ(l.runs.size(), 1U);
    c.close();
    l.group.cancel();
    c.add(job(2), work::fresh);
    c.add_after(job(3), 1ms);
    c.set_in_flight_max(16);
    co_await l.group.join();
    c.add(job(4), work::fresh);
    EXPECT_EQ(l.group.size(), 0U) << "a worker that nobody would cancel";
    EXPECT_EQ(l.runs.size(), 1U);
}

TEST(controller, ends_though_events_go_on) {
    asio::io_context loop;
    test::run(loop, end_with_events(&loop));
}

awaitable<void> raise_the_bound(asio::io_context* loop) {
    lab l(loop->get_executor());
    controller c(l.group, l.log, [&l](key k, attempt) { return never(&l, k); }, controller_limits{.in_flight_max = 1});
    c.start();
    for (std::uint32_t n = 0; n < 4; ++n) c.add(job(n), work::fresh);
    co_await turn(loop);
    EXPECT_EQ(l.runs.size(), 1U);
    c.set_in_flight_max(3);
    co_await turn(loop);
    EXPECT_EQ(l.runs.size(), 3U) << "at once, without another event";
    c.close();
    l.group.cancel();
    co_await l.group.join();
}

TEST(controller, takes_over_a_higher_bound_at_once) {
    asio::io_context loop;
    test::run(loop, raise_the_bound(&loop));
}

}  // namespace
}  // namespace cotrain::reconcile
