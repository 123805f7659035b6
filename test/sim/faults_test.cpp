// Scripts of faults: what they say, when they strike, what they do to events.
#include "sim/faults.hpp"

#include <gtest/gtest.h>

#include <string>

namespace cotrain::sim {
namespace {

faults make(std::string_view script) {
    auto read = read_faults(script);
    EXPECT_TRUE(read) << (read ? "" : read.error().message);
    return {read ? std::move(*read) : std::vector<fault_rule>{}, 1};
}

TEST(faults, read_rules) {
    const auto read = read_faults(
        "# all of them\nalways * * delay 50ms\nevery 3 patch jobsets status 429 retry-after 2;"
        "once watch trainjobs expire\n5% * * drop");
    ASSERT_TRUE(read) << read.error().message;
    ASSERT_EQ(read->size(), 4U);
    EXPECT_EQ((*read)[0].delay, std::chrono::milliseconds(50));
    EXPECT_EQ((*read)[1].code, 429);
    EXPECT_EQ((*read)[1].retry_after_seconds, 2);
    EXPECT_EQ((*read)[1].resource, "jobsets");
    EXPECT_EQ((*read)[2].action, fault_action::expire);
    EXPECT_EQ((*read)[3].number, 5U);
}

TEST(faults, name_the_line_that_is_wrong) {
    const auto error = [](std::string_view script) {
        const auto read = read_faults(script);
        return read ? std::string{} : read.error().message;
    };
    EXPECT_NE(error("\n* * explode").find("line 2: 'explode' is no action"), std::string::npos);
    EXPECT_NE(error("fetch * drop").find("'fetch' is no verb"), std::string::npos);
    EXPECT_NE(error("every x * * drop").find("number above 0"), std::string::npos);
    EXPECT_NE(error("101% * * drop").find("percentage"), std::string::npos);
    EXPECT_NE(error("* * status 200").find("from 400 to 599"), std::string::npos);
    EXPECT_NE(error("* * delay soon").find("a time such as"), std::string::npos);
    EXPECT_NE(error("* * drop twice").find("'twice' is too much"), std::string::npos);
    EXPECT_NE(error("* drop").find("needs a verb"), std::string::npos);
}

TEST(faults, strike_as_often_as_they_say) {
    faults every = make("every 3 patch jobsets status 500");
    int struck = 0;
    for (int i = 0; i < 9; ++i) struck += every.judge("patch", "jobsets").rule != nullptr ? 1 : 0;
    EXPECT_EQ(struck, 3);
    EXPECT_EQ(every.judge("patch", "trainjobs").rule, nullptr);
    EXPECT_EQ(every.judge("get", "jobsets").rule, nullptr);

    faults once = make("once * * drop; always * * delay 5ms");
    EXPECT_NE(once.judge("get", "pods").rule, nullptr);
    const auto second = once.judge("get", "pods");
    EXPECT_EQ(second.rule, nullptr);
    EXPECT_EQ(second.delay, std::chrono::milliseconds(5));

    faults some = make("50% * * hang");
    int hung = 0;
    for (int i = 0; i < 1000; ++i) hung += some.judge("get", "pods").rule != nullptr ? 1 : 0;
    EXPECT_GT(hung, 400);
    EXPECT_LT(hung, 600);
}

TEST(faults, double_and_swap_events) {
    faults all = make("every 2 watch trainjobs duplicate");
    event_faults twice(all, "trainjobs");
    std::string out;
    for (const char* line : {"a", "b", "c"}) twice.pass(line, out);
    EXPECT_EQ(out, "abbc");

    faults swapping = make("first 1 watch trainjobs reorder");
    event_faults swapped(swapping, "trainjobs");
    out.clear();
    for (const char* line : {"a", "b", "c"}) swapped.pass(line, out);
    EXPECT_EQ(out, "bac");

    faults last = make("always watch trainjobs reorder");
    event_faults held(last, "trainjobs");
    out.clear();
    held.pass("a", out);
    EXPECT_EQ(out, "");
    held.flush(out);
    EXPECT_EQ(out, "a") << "nothing is lost";
}

}  // namespace
}  // namespace cotrain::sim
