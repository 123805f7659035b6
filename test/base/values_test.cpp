// The small values of base: errors, backoff, byte queues, JSON text, log lines.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "base/backoff.hpp"
#include "base/byte_queue.hpp"
#include "base/error.hpp"
#include "base/json_text.hpp"
#include "base/log.hpp"

namespace cotrain::base {
namespace {

using namespace std::chrono_literals;

TEST(error, says_what_was_attempted_first) {
    const error e = make_error(errc::status, "409 Conflict").during("apply JobSet ns/name");
    EXPECT_EQ(e.message, "apply JobSet ns/name: 409 Conflict");
    EXPECT_EQ(e.again, retry::never);
    EXPECT_EQ(make_error(errc::connect, "x").again, retry::later);
    EXPECT_EQ(make_error(errc::lost, "x").again, retry::idempotent);
}

TEST(error, one_line_is_bounded_and_cuts_between_characters) {
    EXPECT_EQ(one_line("a\nb\tc", 100), "a b c");
    EXPECT_EQ(one_line("123456789", 8), "12345…");
    EXPECT_EQ(one_line("ääääääää", 9), "äää…");
    EXPECT_LE(one_line(std::string(1 << 20, 'x'), 1024).size(), 1024U);
    EXPECT_EQ(one_line("", 0), "");
}

TEST(backoff, grows_to_the_ceiling_within_its_jitter_and_starts_again_after_reset) {
    random_source random(7);
    backoff b({100ms, 1000ms, 2.0, 0.5});
    for (const auto whole : {100ms, 200ms, 400ms, 800ms, 1000ms, 1000ms}) {
        const auto delay = b.next(random);
        EXPECT_LE(delay, whole);
        EXPECT_GE(delay, whole / 2);
    }
    EXPECT_EQ(b.attempts(), 6U);
    b.reset();
    EXPECT_LE(b.next(random), 100ms);
}

TEST(byte_queue, gives_back_what_went_in_whatever_the_steps) {
    random_source random(11);
    byte_queue queue(1024);
    std::string in;
    std::string out;
    for (int step = 0; step < 5000; ++step) {
        const std::string piece(random.next() % 700, static_cast<char>('a' + step % 26));
        queue.append(piece);
        in += piece;
        const std::size_t take = queue.empty() ? 0 : random.next() % (queue.size() + 1);
        out += queue.view().substr(0, take);
        queue.consume(take);
    }
    out += queue.view();
    queue.clear();
    EXPECT_EQ(in, out);
    EXPECT_EQ(queue.capacity(), 0U) << "memory above what is retained must be given back";
}

TEST(byte_queue, what_was_consumed_is_wiped) {
    const auto secrets = [](const char* at, std::size_t bytes) {
        return std::ranges::count(std::string_view(at, bytes), 's');
    };
    byte_queue queue;
    queue.append(std::string(3000, 's'));
    const char* const begin = queue.view().data();
    queue.consume(2500);
    EXPECT_EQ(secrets(begin, 2500), 0);
    queue.append(std::string(2000, 'x'));
    ASSERT_EQ(queue.view().data(), begin) << "it moved to the front";
    EXPECT_EQ(secrets(begin, 500), 500);
    EXPECT_EQ(secrets(begin + 500, 2500), 0) << "nothing stayed behind";
    queue.clear();
    EXPECT_EQ(secrets(begin, 3000), 0);
}

TEST(byte_queue, swap_and_move_carry_contents_along) {
    byte_queue a;
    byte_queue b;
    a.append("first");
    b.append("second");
    a.swap(b);
    EXPECT_EQ(a.view(), "second");
    byte_queue c(std::move(b));
    EXPECT_EQ(c.view(), "first");
    b = std::move(a);
    EXPECT_EQ(b.view(), "second");
}

TEST(json_text, escapes_whatever_bytes_come) {
    std::string out;
    append_json_string(out, "a\"b\\c\n\x01 ü \xff\xc3(");
    EXPECT_EQ(out, "\"a\\\"b\\\\c\\n\\u0001 ü \xEF\xBF\xBD\xEF\xBF\xBD(\"");
}

TEST(log, a_line_is_one_json_object_and_bounded) {
    EXPECT_EQ(format_line(1'700'000'000'123, level::warn, "cannot connect",
                          {{"peer", "a:1"}, {"tries", std::int64_t{3}}, {"ok", false}}),
              "{\"time\":\"2023-11-14T22:13:20.123Z\",\"level\":\"warn\",\"msg\":\"cannot connect\",\"peer\":\"a:1\","
              "\"tries\":3,\"ok\":false}\n");
    const std::string huge(1 << 20, '\x01');
    EXPECT_LT(format_line(0, level::info, "m", {{"a", huge}, {"b", huge}}).size(), log_line_bytes_max);
}

}  // namespace
}  // namespace cotrain::base
