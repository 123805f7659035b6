// Jobs that have ended: whatever their JobSet says later, they have ended as they did first (difference 1).
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "base/random.hpp"
#include "trainjob_case.hpp"

namespace cotrain::reconcile {
namespace {

// Which terminal condition is true, and all that it says; empty while there is none.
std::string end_of(const trainjob_world& w) {
    std::string end;
    for (const char* type : {"Complete", "Failed"}) {
        if (w.condition(type) != "True") continue;
        for (const char* member : {"status", "reason", "message", "lastTransitionTime"})
            end.append(w.condition(type, member)).append(" ");
        end.append(type).append("; ");
    }
    return end;
}

std::string condition(std::string_view type, base::random_source& random) {
    return R"({"type":")" + std::string(type) + R"(","status":")" + (random.next() % 3 == 0 ? "False" : "True") +
           R"(","reason":"R)" + std::to_string(random.next() % 3) + R"(","message":"m)" +
           std::to_string(random.next() % 3) + R"(","lastTransitionTime":"2026-01-01T0)" +
           std::to_string(random.next() % 9) + R"(:00:00Z"})";
}

// Any conditions in any order, or none.
std::string any_status(base::random_source& random) {
    std::array<std::string_view, 3> types{"Completed", "Failed", "Suspended"};
    std::swap(types[0], types[random.next() % 3]);
    std::string list;
    for (const std::string_view type : types) {
        if (random.next() % 3 != 0) list.append(list.empty() ? "" : ",").append(condition(type, random));
    }
    return R"({"status":{"conditions":[)" + list + R"(],"replicatedJobsStatus":[{"name":"node","failed":)" +
           std::to_string(random.next() % 3) + "}]}}";
}

void happen(trainjob_world& w, base::random_source& random) {
    switch (random.next() % 8) {
        case 0:
            if (w.objects.contains(set)) w.erase(set);
            break;
        case 1: w.restart(); break;
        case 2:
            w.patch(job, R"({"spec":{"suspend":)" + std::string(random.next() % 2 == 0 ? "true}}" : "false}}"));
            break;
        case 3: w.now += std::chrono::minutes(random.next() % 40); break;
        case 4: w.patch(job, R"({"metadata":{"labels":{"n":")" + std::to_string(random.next() % 4) + "\"}}}"); break;
        default:
            if (w.objects.contains(set)) w.patch(set, any_status(random));
    }
    if (random.next() % 3 != 0) w.settle();
}

TEST(trainjob_terminal_orders, the_first_end_stays_whatever_comes_after_it) {
    int ended = 0;
    for (unsigned seed = 0; seed < 300; ++seed) {
        SCOPED_TRACE(seed);
        base::random_source random(seed);
        trainjob_world w;
        w.apply_yaml(seed % 2 == 0 ? torch_runtime : mpi_runtime);
        constexpr std::array more{"", "  activeDeadlineSeconds: 3600\n", "  ttlSecondsAfterFinished: 100000\n"};
        w.apply_yaml(train_job(more[seed % more.size()]));
        w.settle();
        std::string first;
        for (int step = 0; step < 25 && !testing::Test::HasFailure(); ++step) {
            happen(w, random);
            const std::string end = end_of(w);
            if (first.empty()) first = end;
            ASSERT_EQ(end, first) << "after step " << step;
        }
        ended += first.empty() ? 0 : 1;
    }
    EXPECT_GT(ended, 200) << "most of them end";
}

using trainjob_terminal = trainjob_case;

TEST_F(trainjob_terminal, a_failure_does_not_go_with_that_of_the_job_set) {
    begin();
    finish("Failed");
    const std::string end = end_of(w);
    w.patch(set, R"({"status":{"conditions":[]}})");
    w.settle();
    EXPECT_EQ(end_of(w), end);
    w.patch(job, R"({"metadata":{"labels":{"a":"b"}}})");
    w.settle();
    w.restart();
    static_cast<void>(w.run_job());
    EXPECT_EQ(end_of(w), end);
    finish("Completed");
    EXPECT_EQ(end_of(w), end);
}

TEST_F(trainjob_terminal, of_two_ends_that_are_seen_at_once_the_earlier_one_counts) {
    begin();
    w.patch(set, R"({"status":{"conditions":[
        {"type":"Completed","status":"True","reason":"R","message":"m","lastTransitionTime":"2026-01-01T02:00:00Z"},
        {"type":"Failed","status":"True","reason":"R","message":"m","lastTransitionTime":"2026-01-01T01:00:00Z"}]}})");
    w.settle();
    EXPECT_EQ(w.condition("Failed"), "True");
    EXPECT_EQ(w.condition("Complete"), "-");
}

// Somebody else wrote it. Who finds it at a start cannot know that.
TEST(trainjob_terminal_others, a_failure_of_theirs_is_taken_back_by_who_saw_the_job_go_on_and_by_nobody_else) {
    for (const bool restarted : {false, true}) {
        for (const char* more : {"", "  ttlSecondsAfterFinished: 100000\n"}) {
            trainjob_world w;
            w.apply_yaml(torch_runtime);
            w.apply_yaml(train_job(more));
            w.settle();
            w.patch(job, R"({"status":{"conditions":[{"type":"Failed","status":"True","reason":"Fake","message":"m",
                             "lastTransitionTime":"2031-02-03T04:05:06Z"}]}})");
            w.deliver();
            if (restarted) w.restart();
            static_cast<void>(w.run_job());
            w.settle();
            EXPECT_EQ(w.condition("Failed"), restarted ? "True" : "-") << more;
        }
    }
}

}  // namespace
}  // namespace cotrain::reconcile
