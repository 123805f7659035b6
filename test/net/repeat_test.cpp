// Which requests go out again after their attempt ended, and what the others are told.
#include "net/repeat.hpp"

#include <gtest/gtest.h>

namespace cotrain::net {
namespace {

struct repeat_case {
    const char* name;
    attempt made;
    bool repeated;
};

class repeat_table : public testing::TestWithParam<repeat_case> {};

TEST_P(repeat_table, decides) { EXPECT_EQ(should_repeat(GetParam().made), GetParam().repeated); }

INSTANTIATE_TEST_SUITE_P(
    all, repeat_table,
    testing::Values(
        repeat_case{"refused_is_always_repeated", {.how = h2::ending::refused, .repeats_max = 5}, true},
        repeat_case{"lost_and_idempotent", {.how = h2::ending::lost, .idempotent = true, .repeats_max = 5}, true},
        repeat_case{"lost_and_not_idempotent", {.how = h2::ending::lost, .repeats_max = 5}, false},
        repeat_case{"lost_in_the_answer",
                    {.how = h2::ending::lost, .idempotent = true, .answered = true, .repeats_max = 5},
                    false},
        repeat_case{"the_last_repeat", {.how = h2::ending::refused, .made = 5, .repeats_max = 5}, true},
        repeat_case{"one_too_many", {.how = h2::ending::refused, .made = 6, .repeats_max = 5}, false},
        repeat_case{"reset_by_the_peer", {.how = h2::ending::reset, .idempotent = true, .repeats_max = 5}, false},
        repeat_case{"cancelled", {.how = h2::ending::cancelled, .idempotent = true, .repeats_max = 5}, false},
        repeat_case{"too_large", {.how = h2::ending::too_large, .idempotent = true, .repeats_max = 5}, false}),
    [](const auto& each) { return each.param.name; });

TEST(repeat, an_error_says_whether_the_request_may_have_been_processed) {
    const auto lost = explain({.how = h2::ending::lost, .detail = "read: Connection reset by peer"}, "server:443");
    EXPECT_EQ(lost.code, base::errc::lost);
    EXPECT_EQ(lost.again, base::retry::idempotent);
    EXPECT_EQ(lost.message, "server:443: read: Connection reset by peer; the request may have been processed");
    const auto refused = explain({.how = h2::ending::refused, .detail = "GOAWAY", .made = 6}, "server:443");
    EXPECT_EQ(refused.again, base::retry::later);
    EXPECT_EQ(refused.message, "server:443: GOAWAY (attempt 6)");
}

}  // namespace
}  // namespace cotrain::net
