// Repairs slow down while somebody undoes them, and are quick again after a time of calm.
#include "certs/keeper.hpp"

#include <gtest/gtest.h>

namespace cotrain::certs {
namespace {

using namespace std::chrono_literals;
using found = repair_pace::found;
using moment = repair_pace::moment;

struct at {
    repair_pace pace{repair_policy{}};
    moment now{1000s};
    base::random_source random{1};
    // Looks, and lets the pause pass.
    std::chrono::milliseconds look(found what) {
        const auto pause = pace.after(what, now, random);
        now += pause;
        return pause;
    }
};

TEST(repair_pace, looks_at_most_once_a_second_whoever_changes_things) {
    at t;
    for (int i = 0; i < 100; ++i) {
        const auto pause = t.look(found::good);
        EXPECT_GE(pause, 500ms);
        EXPECT_LE(pause, 1s);
    }
    EXPECT_FALSE(t.pace.contested());
}

TEST(repair_pace, a_fight_costs_a_few_repairs_and_then_one_a_minute) {
    at t;
    for (int i = 0; i < 5; ++i) EXPECT_LE(t.look(found::repaired), 1s);
    EXPECT_FALSE(t.pace.contested());
    std::chrono::milliseconds last = 0ms;
    int repairs = 0;
    for (const moment end = t.now + 1h; t.now < end; ++repairs) {
        last = t.look(found::repaired);
        EXPECT_LE(last, 60s);
    }
    EXPECT_TRUE(t.pace.contested());
    EXPECT_GE(last, 30s);
    EXPECT_LE(repairs, 130);
}

TEST(repair_pace, two_that_fight_do_not_keep_step) {
    at a;
    at b;
    b.random = base::random_source{2};
    int same = 0;
    for (int i = 0; i < 50; ++i) same += a.look(found::repaired) == b.look(found::repaired) ? 1 : 0;
    EXPECT_LT(same, 5);
}

// Looks in between that find all well, since the other one had not come yet, end nothing.
TEST(repair_pace, only_calm_ends_a_fight) {
    at t;
    for (int i = 0; i < 12; ++i) {
        t.look(found::repaired);
        t.look(found::good);
    }
    EXPECT_TRUE(t.pace.contested());
    EXPECT_GT(t.look(found::repaired), 20s);
    t.now += 500s;
    EXPECT_GT(t.look(found::repaired), 20s);
    t.now += 600s;
    EXPECT_LE(t.look(found::repaired), 1s);
    EXPECT_FALSE(t.pace.contested());
    for (int i = 0; i < 5; ++i) t.look(found::repaired);
    EXPECT_LE(t.look(found::repaired), 8s) << "its pauses begin anew, too";
}

TEST(repair_pace, what_does_not_work_is_tried_within_seconds) {
    at t;
    std::chrono::milliseconds most = 0ms;
    for (int i = 0; i < 50; ++i) most = std::max(most, t.look(found::failed));
    EXPECT_LE(most, 4s);
    EXPECT_GT(most, 2s);
    EXPECT_FALSE(t.pace.contested());
    t.look(found::good);
    EXPECT_LE(t.look(found::failed), 500ms);
}

}  // namespace
}  // namespace cotrain::certs
