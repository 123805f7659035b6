// Who waits how urgently: what just happened goes before what a start or a relist brings up.
#include "reconcile/event_handlers.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "reconcile/trainjob_case.hpp"

namespace cotrain::reconcile {
namespace {

using watch::kind;

// A new process over the cluster, whose keys wait in a real queue; nothing is in sync yet.
struct urgency_case : trainjob_case {
    controller_core queue{controller_limits{.in_flight_max = 100}};

    void begin_anew() {
        w.restart(false);
        w.waker = std::make_unique<event_handlers>(
            *w.known, *w.reconciler, [this](key k, work how) { queue.add(k, how, {}); },
            [this](key k, work how) { queue.add(k, how, {}); });
        w.waker->enqueue_all();
    }
    void in_sync() {
        for (const kind k : watch::all_kinds()) w.waker->synced(k);
    }
    void make_jobs(int from, int to) {
        for (int i = from; i < to; ++i) w.apply_yaml(named(i));
        w.deliver();
    }
    static std::string named(int i) {
        std::string text = train_job("", "11111111-0000-4000-8000-00000000000" + std::to_string(i));
        return text.replace(text.find("name: job"), 9, "name: job-" + std::to_string(i));
    }
    // The names in the order of their turns, which all are over then.
    std::vector<std::string> turns() {
        std::vector<std::string> out;
        std::vector<slot> running;
        while (const auto run = queue.start({})) {
            out.emplace_back(w.texts.view(run->what.name));
            running.push_back(run->id);
        }
        for (const slot each : running) queue.finish(each, outcome::done(), {});
        return out;
    }
};

using names = std::vector<std::string>;

TEST_F(urgency_case, what_happens_goes_before_what_a_start_brings_up) {
    w.apply_yaml(torch_runtime);
    make_jobs(0, 3);
    begin_anew();
    in_sync();
    make_jobs(3, 5);
    EXPECT_EQ(turns(), (names{"ns/job-3", "ns/job-4", "ns/job-0", "ns/job-1", "ns/job-2"}));
}

TEST_F(urgency_case, a_job_of_the_start_that_something_happens_to_goes_before_the_others) {
    make_jobs(0, 3);
    begin_anew();
    in_sync();
    w.patch("TrainJob ns/job-2", R"({"spec":{"suspend":true}})");
    w.deliver();
    EXPECT_EQ(turns(), (names{"ns/job-2", "ns/job-0", "ns/job-1"}));
}

TEST_F(urgency_case, what_comes_before_a_kind_is_in_sync_is_the_starts) {
    make_jobs(0, 1);
    begin_anew();
    make_jobs(1, 2);
    EXPECT_EQ(turns(), (names{"ns/job-0", "ns/job-1"}));
    in_sync();
    w.patch("TrainJob ns/job-0", R"({"spec":{"suspend":true}})");
    w.deliver();
    w.waker->enqueue_all();
    EXPECT_EQ(turns(), (names{"ns/job-0", "ns/job-1"}));
    w.patch("TrainJob ns/job-1", R"({"spec":{"suspend":true}})");
    w.deliver();
    w.waker->enqueue_all();
    EXPECT_EQ(turns(), (names{"ns/job-1", "ns/job-0"})) << "now it is fresh";
}

TEST_F(urgency_case, a_kind_that_went_is_the_starts_again_until_it_is_back) {
    begin_anew();
    in_sync();
    w.waker->missing(kind::train_job);
    make_jobs(0, 2);
    w.waker->synced(kind::train_job);
    make_jobs(2, 3);
    EXPECT_EQ(turns(), (names{"ns/job-2", "ns/job-0", "ns/job-1"}));
}

TEST_F(urgency_case, a_new_runtime_lets_its_jobs_wait_behind_what_happens_to_one) {
    make_jobs(0, 3);
    w.settle();
    begin_anew();
    in_sync();
    EXPECT_EQ(turns().size(), 3U);
    w.apply_yaml(torch_runtime);
    w.deliver();
    for (const char* const other : {"TrainJob ns/job-0", "TrainJob ns/job-1"})
        w.patch(other, R"({"spec":{"suspend":true}})");
    w.deliver();
    EXPECT_EQ(turns(), (names{"ns/job-0", "ns/job-1", "ns/job-2"}));
}

}  // namespace
}  // namespace cotrain::reconcile
