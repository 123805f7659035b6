// Repeated log lines: the first comes at once, none is lost uncounted, and what is remembered is bounded.
#include "base/log_output.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "base/log.hpp"

namespace cotrain::base {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;
using time_point = log_limiter::clock::time_point;

TEST(log_limiter, the_first_line_comes_at_once_and_then_one_a_minute_says_how_many_did_not) {
    log_limiter limit;
    time_point now{};
    EXPECT_EQ(limit.admit("m", "m a", now), 0U);
    for (int i = 0; i < 10'950; ++i) EXPECT_EQ(limit.admit("m", "m a", now += milliseconds(1)), std::nullopt);
    EXPECT_EQ(limit.admit("m", "m b", now), 0U) << "another cause does not wait";
    now = time_point{} + log_limiter::period;
    EXPECT_EQ(limit.admit("m", "m a", now), 10'950U);
    EXPECT_EQ(limit.admit("m", "m a", now), std::nullopt);
}

TEST(log_limiter, what_was_suppressed_is_told_although_no_line_follows) {
    log_limiter limit;
    time_point now{};
    static_cast<void>(limit.admit("m", "m a", now));
    for (int i = 0; i < 7; ++i) static_cast<void>(limit.admit("m", "m a", now));
    EXPECT_THAT(limit.take(now + seconds(59)), SizeIs(0));
    const auto due = limit.take(now + log_limiter::period);
    ASSERT_THAT(due, SizeIs(1));
    EXPECT_EQ(due[0].text, "m a");
    EXPECT_EQ(due[0].lines, 7U);
    EXPECT_EQ(limit.admit("m", "m a", now + log_limiter::period), std::nullopt) << "that was this minute's line";
    EXPECT_THAT(limit.take(now + log_limiter::period, true), SizeIs(1));
    EXPECT_THAT(limit.take(now + 9 * log_limiter::period), SizeIs(0));
    EXPECT_EQ(limit.causes() + limit.messages(), 0U) << "forgotten";
}

TEST(log_limiter, many_causes_of_one_message_take_no_line_from_another) {
    log_limiter limit;
    const time_point now{};
    unsigned written = 0;
    for (int i = 0; i < 10'000; ++i) written += limit.admit("m", "m " + std::to_string(i), now).has_value();
    EXPECT_EQ(written, log_limiter::lines_of_message_max);
    EXPECT_EQ(limit.admit("lease", "lease lost", now), 0U);
    const auto due = limit.take(now + log_limiter::period);
    ASSERT_THAT(due, SizeIs(1));
    EXPECT_EQ(due[0].text, "m");
    EXPECT_EQ(due[0].lines, 10'000 - written);
}

// Whatever comes in whichever order: each line is written or counted, and memory stays bounded.
TEST(log_limiter, every_line_is_written_or_counted_and_memory_is_bounded) {
    std::mt19937 random(7);
    log_limiter limit;
    time_point now{};
    std::uint64_t asked = 0;
    std::uint64_t told = 0;
    for (int i = 0; i < 200'000; ++i) {
        const std::string message = "m" + std::to_string(random() % 300);
        ++asked;
        if (const auto may = limit.admit(message, message + " " + std::to_string(random() % 40), now)) told += 1 + *may;
        if (random() % 100 == 0) now += milliseconds(random() % 2'000);
        if (random() % 5'000 == 0)
            for (const auto& each : limit.take(now)) told += each.lines;
        ASSERT_LE(limit.causes(), log_limiter::causes_max);
        ASSERT_LE(limit.messages(), log_limiter::messages_max);
    }
    for (const auto& each : limit.take(now, true)) told += each.lines;
    EXPECT_EQ(told, asked);
}

struct lines {
    std::vector<std::string> all;
    limited_lines limited{[](void* to, std::string_view line) { static_cast<lines*>(to)->all.emplace_back(line); },
                          this};
    logger log{limited_lines::write, &limited, level::info};
};

TEST(log_limiter, lines_of_a_logger_are_told_apart_by_what_they_say) {
    lines out;
    const auto fail = [&out](std::string_view name, std::string_view error) {
        out.log.warn("it \"failed\"", {{"namespace", "team"}, {"name", name}, {"error", error}});
    };
    for (int i = 0; i < 6; ++i) fail("a", "no");
    fail("b", "no");
    fail("a", "never");
    out.log.error("it \"failed\"", {{"namespace", "team"}, {"name", "a"}, {"error", "no"}});
    ASSERT_THAT(out.all, SizeIs(4));
    EXPECT_THAT(out.all[0], AllOf(HasSubstr(R"("name":"a","error":"no"})"), Not(HasSubstr("suppressed"))));
    out.limited.write_suppressed();
    EXPECT_THAT(out.all, SizeIs(4)) << "not yet";
    out.limited.write_suppressed(true);
    ASSERT_THAT(out.all, SizeIs(5));
    EXPECT_THAT(out.all[4], StartsWith(R"({"time":"20)"));
    EXPECT_THAT(out.all[4],
                EndsWith(R"("level":"warn","msg":"it \"failed\"","namespace":"team","name":"a","error":"no",)"
                         "\"suppressed\":5}\n"));
}

TEST(log_limiter, runs_of_the_reconciler_that_say_the_same_are_counted_as_one_cause) {
    lines out;
    const auto fail = [&out](std::string_view run, std::string_view error) {
        out.log.warn("m", {{"name", "a"}, {"reconcileID", run}, {"error", error}});
    };
    fail("01", "no");
    fail("02", "no");
    fail("03", R"(,"reconcileID":"04")");  // within a text it is no field
    fail("03", R"(,"reconcileID":"05")");
    ASSERT_THAT(out.all, SizeIs(3));
    EXPECT_THAT(out.all[0], HasSubstr(R"("name":"a","reconcileID":"01","error":"no")"));
    out.limited.write_suppressed(true);
    ASSERT_THAT(out.all, SizeIs(4));
    EXPECT_THAT(out.all[3], EndsWith(R"("msg":"m","name":"a","error":"no","suppressed":1})"
                                     "\n"));
}

TEST(log_limiter, a_message_with_ever_other_fields_has_its_bound) {
    lines out;
    for (int i = 0; i < 1000; ++i) out.log.warn("m", {{"number", std::int64_t{i}}});
    EXPECT_THAT(out.all, SizeIs(log_limiter::lines_of_message_max));
    out.limited.write_suppressed(true);
    EXPECT_THAT(out.all.back(), EndsWith(R"("level":"warn","msg":"m","suppressed":940})"
                                         "\n"));
}

TEST(log_limiter, what_is_remembered_of_a_huge_line_is_its_message) {
    lines out;
    const std::string huge(1 << 20, 'x');
    for (int i = 0; i < 2; ++i) out.log.warn("m", {{"error", huge}});
    out.limited.write_suppressed(true);
    ASSERT_THAT(out.all, SizeIs(2));
    EXPECT_THAT(out.all[1], EndsWith(R"("msg":"m","suppressed":1})"
                                     "\n"));
}

}  // namespace
}  // namespace cotrain::base
