// What others do between two looks of the TrainJob reconciler: nothing of it is lost, nothing is done twice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "trainjob_case.hpp"

namespace cotrain::reconcile {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using trainjob_races = trainjob_case;

constexpr auto completed = R"({"status":{"replicatedJobsStatus":[{"name":"node","succeeded":2}],"conditions":[
    {"type":"Completed","status":"True","reason":"R","message":"m","lastTransitionTime":"2026-01-01T01:00:00Z"}]}})";

TEST_F(trainjob_races, a_job_set_that_ended_and_went_before_anybody_looked_is_not_made_again) {
    begin();
    w.taken();
    w.patch(set, completed);
    w.erase(set);
    w.settle();
    EXPECT_THAT(w.taken(), ElementsAre("patch TrainJob ns/job/status"));
    EXPECT_EQ(w.condition("Complete"), "True");
    EXPECT_EQ(w.condition("Complete", "lastTransitionTime"), "2026-01-01T01:00:00Z");
    EXPECT_THAT(w.objects[job], HasSubstr("\"succeeded\":2"));
}

TEST_F(trainjob_races, who_follows_remembers_an_end_that_the_leader_did_not_write_down) {
    begin();
    w.restart(false);
    w.taken();
    w.patch(set, completed);
    w.erase(set);
    w.settle();
    EXPECT_THAT(w.taken(), IsEmpty());
    w.leads = true;
    w.waker->enqueue_all();
    w.settle();
    EXPECT_THAT(w.taken(), ElementsAre("patch TrainJob ns/job/status"));
    EXPECT_EQ(w.condition("Complete"), "True");
}

TEST_F(trainjob_races, a_stale_store_does_not_make_a_job_set_again) {
    begin();
    w.taken();
    w.erase(set);
    w.settle();
    EXPECT_THAT(w.taken(), ElementsAre("get TrainJob ns/job", "apply JobSet ns/job"));
    w.patch(job, R"({"status":{"state":"Failed","conditions":[{"type":"Failed","status":"True","message":"m",
                     "reason":"DeadlineExceeded","lastTransitionTime":"2026-01-01T01:00:00Z"}]}})");
    w.hold_back(job);
    w.erase(set);
    w.restart();
    w.settle();
    EXPECT_THAT(w.taken(), ElementsAre("get TrainJob ns/job"));
    EXPECT_EQ(w.condition("Failed", "reason"), "DeadlineExceeded");
    EXPECT_FALSE(w.objects.contains(set));
}

TEST_F(trainjob_races, a_job_set_that_ends_and_goes_while_its_snapshot_is_read_is_not_made_again) {
    begin(mpi_runtime);
    w.erase(hostfile);
    w.restart();
    w.taken();
    w.on_get = [this] {
        w.patch(set, completed);
        w.erase(set);
        w.deliver();
    };
    w.settle();
    EXPECT_THAT(w.taken(), ElementsAre("get ConfigMap ns/job-runtime-snapshot", "patch TrainJob ns/job/status",
                                       "delete PodGroup.scheduling.x-k8s.io ns/job"));
    EXPECT_EQ(w.condition("Complete"), "True");
}

// The same between two applies, and of a JobSet that was not there when the run began: another replica's.
TEST_F(trainjob_races, a_job_set_that_ends_and_goes_while_another_child_is_applied_is_not_made_again) {
    begin(mpi_runtime);
    w.patch(job, R"({"spec":{"suspend":true}})");
    w.erase(hostfile);
    w.on_apply = [this] {
        w.on_apply = nullptr;
        w.patch(set, completed);
        w.erase(set);
        w.deliver();
    };
    w.taken();
    w.settle();
    EXPECT_THAT(w.taken(), ElementsAre("get TrainJob ns/job", "apply ConfigMap ns/job-mpi-hostfile",
                                       "patch TrainJob ns/job/status", "delete PodGroup.scheduling.x-k8s.io ns/job"));
    EXPECT_EQ(w.condition("Complete"), "True");
}

TEST_F(trainjob_races, a_job_set_that_came_ended_and_went_within_a_run_is_not_made_again) {
    begin();
    const std::string theirs = w.objects[set];
    w.erase(set);
    w.deliver();
    w.restart();
    w.taken();
    w.on_get = [&] {
        w.apply_yaml(theirs);
        w.patch(set, completed);
        w.erase(set);
        w.deliver();
    };
    static_cast<void>(w.run_job());
    w.settle();
    EXPECT_THAT(w.taken(), ElementsAre("get TrainJob ns/job", "patch TrainJob ns/job/status"));
    EXPECT_EQ(w.condition("Complete"), "True");
}

// Nothing looks after the last request of a run: the end is for the next one.
TEST_F(trainjob_races, a_job_set_that_ends_and_goes_while_its_counts_are_written_is_not_made_again) {
    begin();
    w.patch(set, R"({"status":{"replicatedJobsStatus":[{"name":"node","active":2}]}})");
    w.on_patch = [this] {
        w.on_patch = nullptr;
        w.patch(set, completed);
        w.erase(set);
        w.deliver();
    };
    w.taken();
    w.settle();
    EXPECT_THAT(w.taken(), ElementsAre("patch TrainJob ns/job/status", "patch TrainJob ns/job/status"));
    EXPECT_EQ(w.condition("Complete"), "True");
}

TEST_F(trainjob_races, a_job_that_is_replaced_meanwhile_gets_no_more_children) {
    w.apply_yaml(mpi_runtime);
    w.apply_yaml(train_job());
    w.on_apply = [this] {
        w.on_apply = nullptr;
        w.erase(job);
        w.apply_yaml(train_job("", "11111111-0000-4000-8000-000000000002"));
        w.deliver();
    };
    w.settle();
    EXPECT_THAT(w.taken(), ElementsAre("apply ConfigMap ns/job-runtime-snapshot", "patch TrainJob ns/job/status"));
    w.erase(snapshot);  // as the garbage collector does
    w.settle();
    EXPECT_THAT(w.objects[set], HasSubstr("11111111-0000-4000-8000-000000000002"));
}

TEST_F(trainjob_races, an_end_belongs_to_one_job) {
    begin();
    w.patch(set, R"({"status":{"conditions":[{"type":"Failed","status":"True","reason":"R","message":"m",
                     "lastTransitionTime":"2026-01-01T01:00:00Z"}]}})");
    w.erase(set);
    w.erase(snapshot);
    w.erase(job);
    w.apply_yaml(train_job("", "11111111-0000-4000-8000-000000000002"));
    w.settle();
    EXPECT_EQ(w.condition("Failed"), "-");
    EXPECT_TRUE(w.objects.contains(set));
}

TEST_F(trainjob_races, a_change_that_comes_between_is_not_lost_with_the_answer_to_the_status) {
    w.on_patch = [this] {
        w.on_patch = nullptr;
        w.patch(job, R"({"spec":{"suspend":false}})");
    };
    begin(torch_runtime, "  suspend: true\n");
    EXPECT_THAT(w.objects[set], HasSubstr("\"suspend\":false"));
    EXPECT_EQ(w.condition("Suspended"), "-") << "it never was: the patch that said so was refused";
}

TEST_F(trainjob_races, conditions_that_others_write_meanwhile_stay) {
    w.on_patch = [this] {
        w.on_patch = nullptr;
        w.patch(job, R"({"status":{"conditions":[{"type":"Theirs","status":"True","reason":"R","message":"m",
                         "lastTransitionTime":"2026-01-01T00:00:00Z"}]}})");
    };
    begin(torch_runtime, "  suspend: true\n");
    EXPECT_EQ(w.condition("Theirs"), "True");
    EXPECT_EQ(w.condition("Suspended"), "True");
}

TEST_F(trainjob_races, an_end_that_comes_with_the_answer_to_a_suspension_counts) {
    begin();
    w.patch(job, R"({"spec":{"suspend":true}})");
    w.on_apply = [this] {
        w.on_apply = nullptr;
        w.patch(set, R"({"status":{"conditions":[{"type":"Completed","status":"True","reason":"R","message":"m",
                         "lastTransitionTime":"2026-01-01T01:00:00Z"}]}})");
    };
    w.deliver();
    EXPECT_EQ(w.run_job().kind, outcome::what::done);
    EXPECT_EQ(w.condition("Complete"), "True") << "no event tells it again";
}

// What the API server answered before it was deleted, and the watch has told that before the answer is there.
struct trainjob_late_answers : trainjob_case {
    void forget_before_it_is_there(const std::string& label, int times = 1) {
        w.on_got = [this, label, times](const std::string& asked) mutable {
            if (asked != label || times-- == 0 || !w.objects.contains(label)) return;
            w.erase(label);
            w.deliver();
        };
    }
};

TEST_F(trainjob_late_answers, do_not_bring_a_child_back_that_went) {
    for (const char* label : {hostfile, snapshot}) {
        begin(mpi_runtime);
        const std::string ours = w.objects[label];
        w.erase(set);
        w.erase(label);
        w.deliver();
        w.restart();
        int made = 0;
        w.on_apply = [&] {
            if (w.objects.contains(label) || made++ != 0) return;
            w.apply_yaml(ours);  // another replica's
            w.hold_back(label);
        };
        forget_before_it_is_there(label);
        static_cast<void>(w.run_job());
        const std::string name = std::string(label).substr(std::string_view("ConfigMap ns/").size());
        EXPECT_EQ(w.known->find(watch::kind::config_map, "ns", name), nullptr) << label;
        for (int i = 0; i < 3; ++i) static_cast<void>(w.run_job());
        w.settle();
        EXPECT_TRUE(w.objects.contains(label)) << label;
        EXPECT_TRUE(w.objects.contains(set)) << label;
        EXPECT_EQ(w.condition("ResourcesReady"), "-");
        w.on_got = nullptr;
        w.on_apply = nullptr;
        for (const char* each :
             {job, set, snapshot, hostfile, "Secret ns/job-mpi-ssh-auth", "PodGroup.scheduling.x-k8s.io ns/job"})
            w.erase(each);
        w.settle();
    }
}

TEST_F(trainjob_late_answers, do_not_bring_back_what_a_reopened_job_had) {
    for (const char* label : {set, snapshot}) {
        SCOPED_TRACE(label);
        begin();
        w.patch(job, R"({"status":{"conditions":[{"type":"Complete","status":"True","reason":"Fake","message":"m",
                         "lastTransitionTime":"2026-01-01T00:00:00Z"}]}})");
        w.settle();
        w.patch(job, R"({"status":{"conditions":[]}})");
        forget_before_it_is_there(label);
        w.settle();
        static_cast<void>(w.run_job());
        w.settle();
        EXPECT_TRUE(w.objects.contains(set));
        const auto* const known =
            w.known->find(kind_of_label(label), "ns", label == set ? "job" : "job-runtime-snapshot");
        EXPECT_EQ(known != nullptr, w.objects.contains(label));
        w.on_got = nullptr;
        for (const char* each : {job, set, snapshot})
            if (w.objects.contains(each)) w.erase(each);
        w.settle();
    }
}

// After a break everything of a job is gone, and the watches come back in any order, that of TrainJobs last.
TEST(trainjob_orders, nothing_is_made_for_a_job_that_went) {
    std::vector<std::string> children{set, snapshot, hostfile, "Secret ns/job-mpi-ssh-auth",
                                      "PodGroup.scheduling.x-k8s.io ns/job"};
    std::ranges::sort(children);
    do {
        for (const bool suspended : {false, true}) {
            SCOPED_TRACE(testing::PrintToString(children));
            trainjob_world w;
            w.apply_yaml(mpi_runtime);
            w.apply_yaml(train_job(suspended ? "  suspend: true\n" : ""));
            w.settle();
            w.erase(job);
            for (const std::string& each : children) w.erase(each);
            w.taken();
            for (const std::string& each : children) {
                w.deliver(each);
                for (; !w.queue.empty(); w.queue.pop_front()) static_cast<void>(w.run_once(w.queue.front()));
            }
            for (const std::string& request : w.taken()) EXPECT_FALSE(request.starts_with("apply ")) << request;
        }
    } while (std::ranges::next_permutation(children).found);
}

TEST_F(trainjob_races, a_new_job_is_asked_for_only_while_its_own_kind_does_not_come_in) {
    w.follows = false;
    w.apply_yaml(torch_runtime);
    w.apply_yaml(train_job());
    w.deliver();
    w.erase(job);
    w.run_job();
    EXPECT_THAT(w.taken(), ElementsAre("get TrainJob ns/job"));
}

TEST_F(trainjob_races, a_kind_that_is_served_again_wakes_who_failed_without_it) {
    base::error unknown = base::make_error(base::errc::status, "404 the server could not find the requested resource");
    unknown.http_status = 404;
    w.refusals["apply PodGroup.scheduling.x-k8s.io ns/job"] = unknown;
    w.waker->missing(watch::kind::coscheduling_pod_group);
    begin(mpi_runtime);
    EXPECT_EQ(w.condition("ResourcesReady"), "False");
    w.refusals.clear();
    w.settle();
    EXPECT_FALSE(w.objects.contains(set)) << "it waits";
    w.waker->synced(watch::kind::coscheduling_pod_group);
    w.settle();
    EXPECT_TRUE(w.objects.contains(set));
    EXPECT_EQ(w.condition("ResourcesReady"), "-");
    w.waker->synced(watch::kind::coscheduling_pod_group);
    EXPECT_THAT(w.queue, IsEmpty()) << "a relist is nothing to wait for";
}

}  // namespace
}  // namespace cotrain::reconcile
