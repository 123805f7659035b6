// When a silent peer is asked and when it is given up: time as an argument.
#include "net/liveness.hpp"

#include <gtest/gtest.h>

namespace cotrain::net {
namespace {

using namespace std::chrono_literals;
using action = liveness::action;

TEST(liveness, asks_once_after_silence_and_gives_up_after_the_answer_time) {
    const time_point t0{};
    liveness pulse(15s, 10s, t0);
    EXPECT_EQ(pulse.tick(t0 + 14s), action::none);
    EXPECT_EQ(pulse.next(), t0 + 15s);
    EXPECT_EQ(pulse.tick(t0 + 15s), action::ask);
    EXPECT_EQ(pulse.tick(t0 + 16s), action::none);
    EXPECT_EQ(pulse.next(), t0 + 25s);
    EXPECT_EQ(pulse.tick(t0 + 24s), action::none);
    EXPECT_EQ(pulse.tick(t0 + 25s), action::dead);
}

TEST(liveness, any_byte_starts_again) {
    const time_point t0{};
    liveness pulse(15s, 10s, t0);
    ASSERT_EQ(pulse.tick(t0 + 15s), action::ask);
    pulse.heard(t0 + 24s);
    EXPECT_EQ(pulse.tick(t0 + 25s), action::none);
    EXPECT_EQ(pulse.next(), t0 + 39s);
}

TEST(liveness, doubt_asks_at_once_but_does_not_prolong_a_running_question) {
    const time_point t0{};
    liveness pulse(15s, 10s, t0);
    pulse.doubt(t0 + 1s);
    EXPECT_EQ(pulse.tick(t0 + 1s), action::ask);
    pulse.doubt(t0 + 9s);
    EXPECT_EQ(pulse.tick(t0 + 11s), action::dead);
}

TEST(liveness, a_doubt_lasts_until_the_next_byte) {
    const time_point t0{};
    liveness pulse(15s, 10s, t0);
    EXPECT_EQ(pulse.tick(t0 + 15s), action::ask);
    EXPECT_FALSE(pulse.doubted()) << "asking after silence is no doubt";
    pulse.doubt(t0 + 16s);
    EXPECT_TRUE(pulse.doubted());
    pulse.heard(t0 + 17s);
    EXPECT_FALSE(pulse.doubted());
}

TEST(liveness, the_default_finds_a_dead_peer_within_45_seconds) {
    const time_point t0{};
    liveness pulse(15s, 15s, t0);
    ASSERT_EQ(pulse.tick(pulse.next()), action::ask);
    EXPECT_LE(pulse.next() - t0, 45s);
}

}  // namespace
}  // namespace cotrain::net
