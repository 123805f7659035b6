// The retry table: what happens after each kind of failure, and when it ends.
#include "kube/pacing.hpp"

#include <gtest/gtest.h>

#include "kube/status.hpp"

namespace cotrain::kube {
namespace {

using namespace std::chrono_literals;
using base::errc;

struct first_failure {
    const char* name;
    base::error failure;
    bool idempotent;
    verdict expected;
};

base::error status(int code, net::header_list headers = {}) { return status_error("x", code, headers, ""); }

TEST(after_failure, table) {
    const net::header_list soon{{"retry-after", "1"}};
    const first_failure table[] = {
        {"conflict", status(409), true, verdict::give_up},
        {"not found", status(404), true, verdict::give_up},
        {"forbidden", status(403), true, verdict::give_up},
        {"invalid", status(422), true, verdict::give_up},
        {"gone", status(410), true, verdict::give_up},
        {"unauthorized", status(401), false, verdict::renew},
        {"throttled apply", status(429), true, verdict::wait},
        {"throttled create", status(429, soon), false, verdict::wait},
        {"failing apply", status(500), true, verdict::wait},
        {"failing create", status(500), false, verdict::give_up},
        {"bad gateway, create", status(502), false, verdict::give_up},
        {"unavailable, create", status(503), false, verdict::give_up},
        {"unavailable with a time, create", status(503, soon), false, verdict::wait},
        {"timeout, create", status(504), false, verdict::give_up},
        {"timeout, apply", status(504), true, verdict::wait},
        {"cannot connect, create", base::make_error(errc::connect, ""), false, verdict::wait},
        {"refused, create", base::make_error(errc::refused, ""), false, verdict::wait},
        {"lost, create", base::make_error(errc::lost, ""), false, verdict::give_up},
        {"lost, apply", base::make_error(errc::lost, ""), true, verdict::wait},
        {"reset, apply", base::make_error(errc::protocol, base::retry::idempotent, ""), true, verdict::wait},
        {"deadline", base::make_error(errc::deadline, ""), true, verdict::give_up},
        {"cancelled", base::make_error(errc::canceled, ""), true, verdict::give_up},
        {"too large", base::make_error(errc::too_large, ""), true, verdict::give_up},
        {"tls", base::make_error(errc::tls, ""), false, verdict::renew},
        {"no credentials", base::make_error(errc::auth, ""), true, verdict::give_up},
    };
    for (const first_failure& one : table) {
        retry_state state;
        EXPECT_EQ(after_failure({}, state, one.failure, one.idempotent, 30s, 0.5).what, one.expected) << one.name;
    }
}

TEST(after_failure, renews_credentials_once) {
    retry_state state;
    EXPECT_EQ(after_failure({}, state, status(401), true, 30s, 0).what, verdict::renew);
    EXPECT_EQ(after_failure({}, state, status(401), true, 30s, 0).what, verdict::give_up);
}

TEST(after_failure, waits_double_up_to_the_ceiling_and_half_of_them_is_chance) {
    const retry_policy policy{.failing_max = 20, .wait_first = 100ms, .wait_max = 1s};
    retry_state low, high;
    const std::chrono::milliseconds lows[] = {50ms, 100ms, 200ms, 400ms, 500ms, 500ms};
    for (const auto expected : lows) {
        EXPECT_EQ(after_failure(policy, low, status(500), true, 1h, 0).wait, expected);
        const auto wait = after_failure(policy, high, status(500), true, 1h, 0.999).wait;
        EXPECT_GE(wait, expected * 2 - 2ms);
        EXPECT_LE(wait, expected * 2);
    }
}

TEST(after_failure, honours_the_servers_wish_within_bounds) {
    retry_state state;
    EXPECT_EQ(after_failure({}, state, status(429, {{"retry-after", "2"}}), true, 1h, 0).wait, 2050ms);
    retry_state other;
    EXPECT_EQ(after_failure({}, other, status(429, {{"retry-after", "3600"}}), true, 24h, 0).wait, 30'050ms);
    retry_state starting;
    EXPECT_EQ(after_failure({}, starting, status(503, {{"retry-after", "5"}}), true, 1h, 0).wait, 2'050ms)
        << "a server that starts does not know how long that takes";
}

TEST(after_failure, does_not_begin_a_wait_that_outlasts_the_deadline) {
    retry_state state;
    EXPECT_EQ(after_failure({}, state, status(429, {{"retry-after", "2"}}), true, 2s, 0).what, verdict::give_up);
    EXPECT_EQ(after_failure({}, state, status(500), true, 0ms, 0).what, verdict::give_up);
    EXPECT_EQ(after_failure({}, state, status(500), true, -5ms, 0).what, verdict::give_up);
}

TEST(after_failure, budgets_of_throttling_and_failing_are_apart) {
    const retry_policy policy{.throttled_max = 3, .failing_max = 2};
    retry_state state;
    for (int i = 0; i < 3; ++i) EXPECT_EQ(after_failure(policy, state, status(429), false, 1h, 0).what, verdict::wait);
    EXPECT_EQ(after_failure(policy, state, status(429), false, 1h, 0).what, verdict::give_up);
    for (int i = 0; i < 2; ++i) EXPECT_EQ(after_failure(policy, state, status(500), true, 1h, 0).what, verdict::wait);
    EXPECT_EQ(after_failure(policy, state, status(500), true, 1h, 0).what, verdict::give_up);
}

}  // namespace
}  // namespace cotrain::kube
