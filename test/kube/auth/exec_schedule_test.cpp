// When a plugin runs again, in numbers.
#include "kube/auth/exec_credential.hpp"

#include <gtest/gtest.h>

namespace cotrain::kube::auth {
namespace {

using namespace std::chrono_literals;
using need = exec_schedule::need;
const exec_schedule::time_point t0{1000h};

TEST(exec_schedule, runs_at_first_and_never_again_without_an_expiry) {
    exec_schedule s;
    EXPECT_EQ(s.at(t0), need::now);
    EXPECT_TRUE(s.may_run(t0));
    s.succeeded(t0, std::nullopt);
    EXPECT_EQ(s.at(t0 + 100'000h), need::none);
}

TEST(exec_schedule, renews_long_lives_five_minutes_before_their_end) {
    exec_schedule s;
    s.succeeded(t0, 3600s);
    EXPECT_EQ(s.at(t0 + 3299s), need::none);
    EXPECT_EQ(s.at(t0 + 3300s), need::soon);
    EXPECT_EQ(s.at(t0 + 3589s), need::soon);
    EXPECT_EQ(s.at(t0 + 3590s), need::now);
}

TEST(exec_schedule, renews_short_lives_in_proportion) {
    exec_schedule s;
    s.succeeded(t0, 100s);
    EXPECT_EQ(s.at(t0 + 79s), need::none);
    EXPECT_EQ(s.at(t0 + 80s), need::soon);
    EXPECT_EQ(s.at(t0 + 95s), need::now);
}

TEST(exec_schedule, pauses_after_every_run) {
    exec_schedule s;
    s.succeeded(t0, -5s);
    EXPECT_EQ(s.at(t0), need::now);
    EXPECT_FALSE(s.may_run(t0 + 999ms));
    EXPECT_TRUE(s.may_run(t0 + 1s));
    s.failed(t0 + 2s);
    EXPECT_FALSE(s.may_run(t0 + 2s));
}

TEST(exec_schedule, a_failure_leaves_what_is_still_good) {
    exec_schedule s;
    s.succeeded(t0, 3600s);
    s.failed(t0 + 3400s);
    EXPECT_EQ(s.at(t0 + 3500s), need::soon);
}

TEST(exec_schedule, a_rejection_ends_it) {
    exec_schedule s;
    s.succeeded(t0, 3600s);
    s.reject();
    EXPECT_EQ(s.at(t0 + 1s), need::now);
}

TEST(exec_schedule, absurd_lives_do_not_overflow) {
    exec_schedule s;
    s.succeeded(t0, std::chrono::seconds::max());
    EXPECT_EQ(s.at(t0 + 1h), need::none);
    s.succeeded(t0, std::chrono::seconds::min());
    EXPECT_EQ(s.at(t0), need::now);
}

}  // namespace
}  // namespace cotrain::kube::auth
