// Complete jobs whose conditions somebody takes away: they do not start again for that.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainjob_case.hpp"

namespace cotrain::reconcile {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr auto no_conditions = R"({"status":{"conditions":[]}})";
constexpr const char* runtime = "TrainingRuntime ns/rt";

using trainjob_reopened = trainjob_case;

TEST_F(trainjob_reopened, is_complete_again_as_its_job_set_says) {
    begin();
    finish("Completed");
    w.erase(runtime);
    w.taken();
    for (int i = 0; i < 2; ++i) {
        w.patch(job, no_conditions);
        w.settle();
        EXPECT_THAT(w.taken(), ElementsAre("patch TrainJob ns/job/status"));
        EXPECT_EQ(w.condition("Complete"), "True");
        EXPECT_EQ(w.condition("Complete", "lastTransitionTime"), "2026-01-01T01:00:00Z");
    }
}

TEST_F(trainjob_reopened, is_complete_however_long_ago_its_deadline_was) {
    begin(torch_runtime, "  activeDeadlineSeconds: 7200\n");
    finish("Completed");
    w.now += std::chrono::hours(24);
    w.patch(job, no_conditions);
    w.settle();
    EXPECT_EQ(w.condition("Complete"), "True");
    EXPECT_EQ(w.condition("Failed"), "-");
    // The same where only a closer look brings it up.
    w.patch(job, R"({"spec":{"activeDeadlineSeconds":7201}})");
    w.deliver();
    w.patch(job, no_conditions);
    static_cast<void>(w.run_job());
    w.settle();
    EXPECT_EQ(w.condition("Complete"), "True");
    EXPECT_EQ(w.condition("Failed"), "-");
}

TEST_F(trainjob_reopened, starts_again_from_its_snapshot_when_its_job_set_is_gone) {
    begin();
    finish("Completed");
    w.erase(set);
    w.patch(runtime, R"({"spec":{"template":{"spec":{"replicatedJobs":[{"name":"node","template":{
        "metadata":{"labels":{"trainer.kubeflow.org/trainjob-ancestor-step":"trainer"}},
        "spec":{"template":{"spec":{"containers":[{"name":"node","image":"other"}]}}}}}]}}}})");
    w.settle();
    w.patch(job, no_conditions);
    w.taken();
    w.settle();
    EXPECT_THAT(w.taken(), Not(Contains("apply ConfigMap ns/job-runtime-snapshot")));
    EXPECT_THAT(w.objects[set], HasSubstr("\"image\":\"i\""));
}

// The key of an MPI job is immutable: it has to be known before anything is planned.
TEST_F(trainjob_reopened, keeps_its_key_when_it_starts_again) {
    begin(mpi_runtime);
    const std::string key = w.objects["Secret ns/job-mpi-ssh-auth"];
    finish("Completed");
    w.erase(set);
    w.settle();
    w.patch(job, no_conditions);
    w.taken();
    w.settle();
    EXPECT_THAT(w.taken(), Not(Contains("apply Secret ns/job-mpi-ssh-auth")));
    EXPECT_EQ(w.objects["Secret ns/job-mpi-ssh-auth"], key);
    EXPECT_TRUE(w.objects.contains(set));
    EXPECT_TRUE(w.objects.contains("PodGroup.scheduling.x-k8s.io ns/job"));
}

TEST_F(trainjob_reopened, that_is_over_asks_for_nothing_any_more) {
    begin(torch_runtime, "  ttlSecondsAfterFinished: 100\n");
    finish("Completed");
    w.patch(job, no_conditions);
    w.settle();
    w.taken();
    w.patch(job, R"({"spec":{"ttlSecondsAfterFinished":200}})");
    w.settle();
    EXPECT_TRUE(w.taken().empty());
}

TEST_F(trainjob_reopened, goes_on_when_it_had_never_ended) {
    begin();
    w.patch(job, R"({"status":{"conditions":[{"type":"Complete","status":"True","reason":"Fake","message":"m",
                     "lastTransitionTime":"2026-01-01T00:00:00Z"}]}})");
    w.settle();
    w.patch(job, no_conditions);
    w.taken();
    w.settle();
    EXPECT_TRUE(w.rests(w.run_job()));
    EXPECT_EQ(w.taken(), std::vector<std::string>{"patch TrainJob ns/job/status"}) << "its state, and no question";
    finish("Failed");
    EXPECT_EQ(w.condition("Failed"), "True");
}

TEST_F(trainjob_reopened, waits_until_its_snapshot_is_read) {
    begin();
    finish("Completed");
    w.restart();
    base::error busy = base::make_error(base::errc::status, "503 busy");
    busy.http_status = 503;
    w.refusals["get ConfigMap ns/job-runtime-snapshot"] = busy;
    w.erase(set);
    w.patch(job, no_conditions);
    w.taken();
    w.settle();
    EXPECT_EQ(w.last.kind, outcome::what::failed);
    EXPECT_THAT(w.taken(), ElementsAre("get TrainJob ns/job", "get ConfigMap ns/job-runtime-snapshot",
                                       "patch TrainJob ns/job/status"));
    w.refusals.clear();
    EXPECT_TRUE(w.rests(w.run_job()));
    EXPECT_TRUE(w.objects.contains(set));
}

}  // namespace
}  // namespace cotrain::reconcile
