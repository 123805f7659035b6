// The throttle: its arithmetic without a clock, and what it does to those who wait.
#include "kube/pacing.hpp"

#include <gtest/gtest.h>

#include "base/task_group.hpp"
#include "support/run.hpp"

namespace cotrain::kube {
namespace {

using namespace std::chrono_literals;
using time_point = std::chrono::steady_clock::time_point;

TEST(token_bucket, lets_a_burst_through_and_spaces_the_rest) {
    token_bucket bucket({.qps = 10, .burst = 3});
    const time_point t0{1h};
    for (int i = 0; i < 3; ++i) EXPECT_EQ(bucket.take(t0, 1h), 0s);
    EXPECT_EQ(bucket.take(t0, 1h), 100ms);
    EXPECT_EQ(bucket.take(t0, 1h), 200ms);
    EXPECT_EQ(bucket.take(t0 + 50ms, 1h), 250ms);
}

TEST(token_bucket, fills_up_to_the_burst_and_no_further) {
    token_bucket bucket({.qps = 10, .burst = 2});
    const time_point t0{1h};
    EXPECT_EQ(bucket.take(t0, 1h), 0s);
    EXPECT_EQ(bucket.take(t0 + 1h, 1h), 0s);
    EXPECT_EQ(bucket.take(t0 + 1h, 1h), 0s);
    EXPECT_EQ(bucket.take(t0 + 1h, 1h), 100ms);
}

TEST(token_bucket, changes_on_the_way) {
    token_bucket bucket({.qps = -1});
    const time_point t0{1h};
    for (int i = 0; i < 100; ++i) EXPECT_EQ(bucket.take(t0, 0s), 0s);
    bucket.change({.qps = 10, .burst = 2});
    for (int i = 0; i < 2; ++i) EXPECT_EQ(bucket.take(t0, 1h), 0s);
    EXPECT_EQ(bucket.take(t0, 1h), 100ms);
    bucket.change({.qps = 1, .burst = 1});
    EXPECT_EQ(bucket.take(t0, 1h), 2s) << "what was granted counts";
    bucket.change({});
    EXPECT_EQ(bucket.take(t0, 0s), 0s);
}

TEST(token_bucket, takes_nothing_when_the_wait_is_too_long) {
    token_bucket bucket({.qps = 1, .burst = 1});
    const time_point t0{1h};
    EXPECT_EQ(bucket.take(t0, 0s), 0s);
    EXPECT_EQ(bucket.take(t0, 999ms), std::nullopt);
    EXPECT_EQ(bucket.take(t0, 1s), 1s);
    bucket.give_back();
    EXPECT_EQ(bucket.take(t0, 1s), 1s);
}

TEST(token_bucket, minus_one_is_unlimited) {
    token_bucket bucket({.qps = -1, .burst = 1});
    for (int i = 0; i < 1000; ++i) EXPECT_EQ(bucket.take(time_point{}, 0s), 0s);
    EXPECT_TRUE(bucket.unlimited());
}

TEST(token_bucket, survives_a_clock_that_stands_or_goes_back) {
    token_bucket bucket({.qps = 10, .burst = 1});
    EXPECT_EQ(bucket.take(time_point{2h}, 1h), 0s);
    EXPECT_EQ(bucket.take(time_point{1h}, 1h), 100ms);
    EXPECT_EQ(bucket.take(time_point{2h}, 1h), 200ms);
}

awaitable<void> admit(limiter* l, net::priority rank, std::chrono::milliseconds patience, base::result<>* out) {
    *out = co_await l->admit(rank, std::chrono::steady_clock::now() + patience);
}

TEST(limiter, holds_back_and_measures) {
    asio::io_context loop(1);
    limiter slow({.qps = 50, .burst = 1});
    base::result<> first, second;
    test::run(loop, admit(&slow, net::priority::write, 1s, &first));
    EXPECT_EQ(slow.stats().waits, 0U);
    const auto start = std::chrono::steady_clock::now();
    test::run(loop, admit(&slow, net::priority::write, 1s, &second));
    EXPECT_TRUE(first && second);
    EXPECT_GE(std::chrono::steady_clock::now() - start, 15ms);
    EXPECT_EQ(slow.stats().waits, 1U);
    EXPECT_GE(slow.stats().waited, 15ms);
}

TEST(limiter, lease_renewals_pass_by) {
    asio::io_context loop(1);
    limiter slow({.qps = 0.001, .burst = 1});
    base::result<> used, lease, refused;
    test::run(loop, admit(&slow, net::priority::write, 1s, &used));
    test::run(loop, admit(&slow, net::priority::lease, 1s, &lease));
    test::run(loop, admit(&slow, net::priority::read, 1s, &refused));
    EXPECT_TRUE(used);
    EXPECT_TRUE(lease);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, base::errc::deadline);
    EXPECT_TRUE(slow.open(net::priority::lease));
    EXPECT_FALSE(slow.open(net::priority::watch));
}

TEST(limiter, stop_and_cancel_end_the_wait_and_give_the_token_back) {
    asio::io_context loop(1);
    limiter slow({.qps = 0.01, .burst = 1});
    base::result<> used, stopped, cancelled;
    test::run(loop, admit(&slow, net::priority::write, 1s, &used));
    base::task_group group(loop.get_executor());
    group.spawn("stopped", admit(&slow, net::priority::write, 150s, &stopped));
    loop.restart();
    loop.poll();
    slow.stop();
    loop.restart();
    loop.run();
    ASSERT_FALSE(stopped);
    EXPECT_EQ(stopped.error().code, base::errc::canceled);
    group.spawn("cancelled", admit(&slow, net::priority::write, 150s, &cancelled));
    loop.restart();
    loop.poll();
    group.cancel();
    loop.restart();
    loop.run();
    ASSERT_FALSE(cancelled);
    EXPECT_EQ(cancelled.error().code, base::errc::canceled);
}

}  // namespace
}  // namespace cotrain::kube
