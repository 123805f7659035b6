// The TrainJob reconciler's course: what it sends, what it leaves, and what it says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "trainjob_case.hpp"

namespace cotrain::reconcile {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using trainjob_reconciler_test = trainjob_case;

TEST_F(trainjob_reconciler_test, a_torch_job_costs_two_applies_and_then_nothing) {
    begin();
    EXPECT_THAT(w.taken(), ElementsAre("apply ConfigMap ns/job-runtime-snapshot", "apply JobSet ns/job"));
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(w.rests(w.run_job()));
    EXPECT_THAT(w.taken(), IsEmpty());
    EXPECT_EQ(w.reconciler->counts().quiet, 3U);
    // JobSet's controller says nothing, which is told.
    w.now += look_after;
    static_cast<void>(w.run_job());
    EXPECT_THAT(w.taken(), Contains("patch TrainJob ns/job/status"));
    EXPECT_THAT(w.objects[job], HasSubstr(R"("state":"Blocked")"));
}

TEST_F(trainjob_reconciler_test, answers_count_before_their_events_come) {
    w.apply_yaml(torch_runtime);
    w.apply_yaml(train_job());
    w.deliver();
    static_cast<void>(w.run_job());
    w.taken();
    static_cast<void>(w.run_job());  // no event has come since
    EXPECT_THAT(w.taken(), IsEmpty());
}

TEST_F(trainjob_reconciler_test, counts_and_outcome_are_passed_on_once_each) {
    begin();
    w.taken();
    w.patch(set, R"({"status":{"replicatedJobsStatus":[{"name":"node","ready":2,"active":2}]}})");
    w.settle();
    EXPECT_THAT(w.taken(), ElementsAre("patch TrainJob ns/job/status"));
    finish("Completed");
    EXPECT_THAT(w.taken(), ElementsAre("patch TrainJob ns/job/status"));
    EXPECT_EQ(w.condition("Complete"), "True");
    // Pods may end after their job.
    w.patch(set, R"({"status":{"replicatedJobsStatus":[{"name":"node","succeeded":2}]}})");
    w.settle();
    EXPECT_THAT(w.taken(), ElementsAre("patch TrainJob ns/job/status"));
    EXPECT_EQ(w.condition("Complete"), "True");
    EXPECT_THAT(w.objects[job], HasSubstr("\"succeeded\":2"));
}

TEST_F(trainjob_reconciler_test, a_finished_job_never_starts_again) {
    begin();
    finish("Failed");
    w.taken();
    w.erase(set);
    w.settle();
    w.restart();
    static_cast<void>(w.run_job());
    EXPECT_THAT(w.taken(), IsEmpty());
    EXPECT_EQ(w.condition("Failed"), "True");
}

// Two watches: that of TrainJobs is behind when another replica takes over, that of JobSets is not.
// The end of a namesake is none.
TEST_F(trainjob_reconciler_test, a_restart_with_unchanged_jobs_writes_nothing) {
    for (const auto runtime : {torch_runtime, mpi_runtime}) {
        for (const std::string_view more : {"", "  suspend: true\n"}) {
            trainjob_world fresh;
            fresh.apply_yaml(runtime);
            fresh.apply_yaml(train_job(more));
            fresh.settle();
            fresh.taken();
            fresh.restart();
            static_cast<void>(fresh.run_job());
            for (const std::string& r : fresh.taken())
                EXPECT_TRUE(r == "get " + std::string(snapshot) || r == "get Secret ns/job-mpi-ssh-auth") << r;
        }
    }
}

TEST_F(trainjob_reconciler_test, suspends_and_resumes) {
    begin(torch_runtime, "  suspend: true\n");
    EXPECT_THAT(w.taken(), ElementsAre("apply ConfigMap ns/job-runtime-snapshot", "apply JobSet ns/job",
                                       "patch TrainJob ns/job/status"));
    EXPECT_EQ(w.condition("Suspended"), "True");
    w.patch(job, R"({"spec":{"suspend":false}})");
    w.settle();
    EXPECT_THAT(w.taken(), ElementsAre("apply JobSet ns/job", "patch TrainJob ns/job/status"));
    EXPECT_EQ(w.condition("Suspended"), "False");
    EXPECT_THAT(w.objects[set], HasSubstr("\"suspend\":false"));
}

// The answer to the status patch would bring the change before its event, which then says nothing new.
TEST_F(trainjob_reconciler_test, a_snapshot_is_read_once_per_version) {
    begin(torch_runtime, "  suspend: true\n");
    w.taken();
    w.patch(snapshot, R"({"metadata":{"labels":{"theirs":"x"}}})");
    w.settle();
    EXPECT_THAT(w.taken(), Contains("get ConfigMap ns/job-runtime-snapshot"));
    w.patch(job, R"({"spec":{"trainer":{"numNodes":3}}})");
    w.settle();
    EXPECT_THAT(w.taken(), ElementsAre("apply JobSet ns/job", "patch TrainJob ns/job/status")) << "it has three nodes";
}

TEST_F(trainjob_reconciler_test, what_a_patch_no_longer_says_is_taken_back) {
    begin(torch_runtime,
          "  suspend: true\n  runtimePatches: [{manager: a.b/c, trainingRuntimeSpec: {template: {spec: "
          "{replicatedJobs: [{name: node, template: {spec: {template: {spec: {nodeSelector: {disk: ssd}}}}}}]}}}}]\n");
    ASSERT_THAT(w.events, IsEmpty());
    ASSERT_THAT(w.objects[set], HasSubstr("nodeSelector"));
    w.taken();
    w.patch(job, R"({"spec":{"runtimePatches":null}})");
    w.settle();
    EXPECT_THAT(w.taken(), Contains("apply JobSet ns/job"));
    EXPECT_THAT(w.objects[set], testing::Not(HasSubstr("nodeSelector")));
}

TEST_F(trainjob_reconciler_test, a_foreign_child_is_left_alone_and_said) {
    w.apply_yaml(
        "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: job, namespace: ns}\nspec: {}\n");
    begin();
    EXPECT_THAT(w.taken(), ElementsAre("patch TrainJob ns/job/status"));
    EXPECT_EQ(w.last.kind, outcome::what::failed);
    EXPECT_EQ(w.condition("ResourcesReady"), "False");
    EXPECT_THAT(w.condition("ResourcesReady", "message"), HasSubstr("not controlled by this TrainJob"));
    ASSERT_FALSE(w.events.empty());
    EXPECT_THAT(w.events[0], HasSubstr("TrainJobResourcesCreationFailed"));
    // Once it is gone the job goes on, and nothing is left of the trouble.
    w.erase(set);
    w.settle();
    EXPECT_TRUE(w.objects.contains(set));
    EXPECT_EQ(w.condition("ResourcesReady"), "-");
}

TEST_F(trainjob_reconciler_test, children_of_a_deleted_namesake_are_waited_for) {
    begin();
    w.erase(job);
    w.apply_yaml(train_job("", "11111111-0000-4000-8000-000000000002"));
    w.settle();
    EXPECT_EQ(w.condition("ResourcesReady"), "False");
    w.erase(set);
    w.erase(snapshot);
    w.settle();
    EXPECT_EQ(w.condition("ResourcesReady"), "-");
    EXPECT_THAT(w.objects[set], HasSubstr("11111111-0000-4000-8000-000000000002"));
}

TEST_F(trainjob_reconciler_test, a_missing_runtime_is_waited_for_and_said_only_when_it_does_not_come) {
    w.apply_yaml(train_job());
    w.deliver();
    EXPECT_EQ(w.run_job("ns/job", 0).kind, outcome::what::failed);
    EXPECT_THAT(w.taken(), IsEmpty());
    EXPECT_EQ(w.run_job("ns/job", 6).kind, outcome::what::failed);
    EXPECT_EQ(w.condition("ResourcesReady", "reason"), "RuntimeNotFound");
    w.queue.clear();
    w.apply_yaml(torch_runtime);
    w.settle();
    EXPECT_TRUE(w.objects.contains(set));
    EXPECT_EQ(w.condition("ResourcesReady"), "-");
}

TEST_F(trainjob_reconciler_test, a_vanished_runtime_does_not_keep_a_job_from_resuming) {
    begin(torch_runtime, "  suspend: true\n");
    w.erase("TrainingRuntime ns/rt");
    w.settle();
    w.restart();
    w.patch(job, R"({"spec":{"suspend":false}})");
    w.settle();
    EXPECT_THAT(w.objects[set], HasSubstr("\"suspend\":false"));
    EXPECT_EQ(w.condition("ResourcesReady"), "-");
}

TEST_F(trainjob_reconciler_test, at_the_deadline_the_job_fails_and_its_job_set_goes_however_often_it_takes) {
    begin(torch_runtime, "  activeDeadlineSeconds: 60\n");
    EXPECT_EQ(w.last.kind, outcome::what::again_after);
    EXPECT_EQ(w.run_job().kind, outcome::what::again_after);  // an event took the timer away
    w.taken();
    w.now += std::chrono::seconds(61);
    base::error unavailable = base::make_error(base::errc::status, "503");
    unavailable.http_status = 503;
    w.refusals["delete JobSet ns/job"] = unavailable;
    EXPECT_EQ(w.run_job().kind, outcome::what::failed);
    EXPECT_EQ(w.condition("Failed", "reason"), "DeadlineExceeded");
    EXPECT_EQ(w.run_job().kind, outcome::what::failed);
    w.refusals.clear();
    w.restart();
    EXPECT_EQ(w.run_job().kind, outcome::what::done);
    EXPECT_THAT(w.taken(), ElementsAre("patch TrainJob ns/job/status", "delete JobSet ns/job", "delete JobSet ns/job",
                                       "delete JobSet ns/job"));
    w.settle();
    EXPECT_FALSE(w.objects.contains(set));
}

TEST_F(trainjob_reconciler_test, lifecycle_conditions_are_one_patch_a_change) {
    w.tune = [](trainjob_options& s) { s.lifecycle_conditions = true; };
    w.restart();
    begin();
    EXPECT_EQ(w.condition("Pending"), "True");
    EXPECT_EQ(w.condition("Running"), "False");
    w.taken();
    w.patch(set, R"({"status":{"replicatedJobsStatus":[{"name":"node","active":1}]}})");
    w.settle();
    EXPECT_THAT(w.taken(), ElementsAre("patch TrainJob ns/job/status"));
    EXPECT_EQ(w.condition("Running"), "True");
    EXPECT_EQ(w.condition("Pending"), "False");
    EXPECT_EQ(w.condition("Ready"), "False");
    static_cast<void>(w.run_job());
    EXPECT_THAT(w.taken(), IsEmpty());
    finish("Completed");
    EXPECT_EQ(w.condition("Running"), "False");
    EXPECT_EQ(w.condition("Complete"), "True");
}

TEST_F(trainjob_reconciler_test, the_life_of_a_job_is_told_by_events) {
    w.tune = [](trainjob_options& s) { s.normal_events = true; };
    w.restart();
    begin();
    const auto count = [&](int ready, int restarts) {
        w.patch(set, R"({"status":{"restarts":)" + std::to_string(restarts) +
                         R"(,"replicatedJobsStatus":[{"name":"node","active":1,"ready":)" + std::to_string(ready) +
                         "}]}}");
        w.settle();
    };
    count(0, 0);
    count(1, 0);
    for (int restart = 1; restart <= 2; ++restart) {
        count(0, restart);
        count(1, restart);
    }
    std::erase_if(w.events, [](const std::string& e) { return e.starts_with("TrainJobPodFailed"); });
    EXPECT_THAT(w.events, ElementsAre("Created: JobSet job is made", "Started: all 2 nodes are ready",
                                      "Restarted: JobSet has started all Jobs again",
                                      "Restarted: JobSet has started all Jobs again"));
    w.events.clear();
    w.patch(job, R"({"spec":{"suspend":true}})");
    w.settle();
    w.patch(job, R"({"spec":{"suspend":false}})");
    w.settle();
    finish("Failed");
    EXPECT_THAT(w.events, ElementsAre("Suspended: TrainJob is suspended", "Resumed: TrainJob is resumed", "Failed: m"));
}

TEST_F(trainjob_reconciler_test, what_happened_under_another_controller_is_no_event) {
    w.tune = [](trainjob_options& s) { s.normal_events = true; };
    w.restart();
    begin();
    constexpr auto counts = R"("name":"node","ready":1,"active":1,"succeeded":0,"failed":0,"suspended":0)";
    w.patch(job, std::string(R"({"status":{"jobsStatus":[{)") + counts + "}]}}");
    w.patch(set, std::string(R"({"status":{"restarts":2,"replicatedJobsStatus":[{)") + counts + "}]}}");
    w.events.clear();
    w.settle();
    EXPECT_THAT(w.events, IsEmpty());
    finish("Completed");
    EXPECT_THAT(w.events, ElementsAre("Completed: m"));
}

TEST_F(trainjob_reconciler_test, an_end_in_failure_is_told_without_normal_events) {
    begin();
    finish("Failed");
    EXPECT_THAT(w.events, ElementsAre("Failed: m"));
}

TEST_F(trainjob_reconciler_test, waits_for_the_job_set_and_for_its_pods_are_counted_once_each) {
    constexpr auto ready = R"({"status":{"replicatedJobsStatus":[{"name":"node","active":1,"ready":1}]}})";
    constexpr auto unready = R"({"status":{"replicatedJobsStatus":[{"name":"node","active":1}]}})";
    begin();
    const auto of = [](const readiness_histogram& h) { return std::accumulate(h.counts.begin(), h.counts.end(), 0U); };
    EXPECT_EQ(of(w.reconciler->waits().exists), 1U);
    EXPECT_EQ(of(w.reconciler->waits().ready), 0U);
    w.now += std::chrono::seconds(42);
    for (const auto* status : {unready, ready, unready, ready}) {
        w.patch(set, status);
        w.settle();
    }
    EXPECT_EQ(of(w.reconciler->waits().exists), 1U);
    EXPECT_EQ(of(w.reconciler->waits().ready), 1U) << "pods that come back are no start";
    EXPECT_EQ(w.reconciler->waits().ready.sum, 42);
    // Suspended and resumed it starts once more, from then on.
    w.patch(job, R"({"spec":{"suspend":true}})");
    w.settle();
    w.patch(set, R"({"status":{"replicatedJobsStatus":[{"name":"node","suspended":1}]}})");
    w.settle();
    w.now += std::chrono::hours(1);
    w.patch(job, R"({"spec":{"suspend":false}})");
    w.settle();
    w.now += std::chrono::seconds(5);
    w.patch(set, ready);
    w.settle();
    EXPECT_EQ(of(w.reconciler->waits().ready), 2U);
    EXPECT_EQ(w.reconciler->waits().ready.sum, 47);
    // Who is ready when a process begins was not waited for by it.
    w.restart();
    static_cast<void>(w.run_job());
    EXPECT_EQ(of(w.reconciler->waits().ready), 0U);
}

TEST_F(trainjob_reconciler_test, an_mpi_job_costs_five_applies_with_its_pod_group_and_its_key_is_made_once) {
    begin(mpi_runtime);
    EXPECT_THAT(w.taken(), ElementsAre("apply ConfigMap ns/job-runtime-snapshot", "apply Secret ns/job-mpi-ssh-auth",
                                       "apply ConfigMap ns/job-mpi-hostfile",
                                       "apply PodGroup.scheduling.x-k8s.io ns/job", "apply JobSet ns/job"));
    w.patch(job, R"({"spec":{"suspend":true}})");
    w.settle();
    w.patch(job, R"({"spec":{"suspend":false}})");
    w.settle();
    const auto later = w.taken();
    EXPECT_THAT(later, testing::Not(testing::Contains("apply Secret ns/job-mpi-ssh-auth")));
    EXPECT_EQ(std::ranges::count(later, "get Secret ns/job-mpi-ssh-auth"), 1) << "before its Pods start again";
}

TEST_F(trainjob_reconciler_test, drift_is_repaired_once_and_not_fought_over) {
    begin(mpi_runtime);
    w.patch(set, R"({"status":{"replicatedJobsStatus":[{"name":"node","ready":1,"active":1}]}})");
    w.settle();
    w.taken();
    int edits = 0;
    const auto repairs_of = [&](int times) {
        int repairs = 0;
        for (int i = 0; i < times; ++i) {
            w.patch(hostfile, R"({"data":{"hostfile":"wrong )" + std::to_string(++edits) + "\\n\"}}");
            w.settle();
            for (const std::string& r : w.taken()) {
                EXPECT_EQ(r, "apply ConfigMap ns/job-mpi-hostfile");
                ++repairs;
            }
        }
        return repairs;
    };
    EXPECT_EQ(repairs_of(1), 1);
    EXPECT_THAT(w.objects[hostfile], HasSubstr("job-node-0-0"));
    EXPECT_EQ(repairs_of(20), static_cast<int>(repairs_at_once) - 1);
    EXPECT_EQ(w.last.kind, outcome::what::again_after);
    EXPECT_EQ(w.last.after, repair_pause);
    for (int minute = 0; minute < 3; ++minute) {
        w.now += repair_pause;
        static_cast<void>(w.run_job());
        EXPECT_THAT(w.objects[hostfile], HasSubstr("job-node-0-0"));
        EXPECT_EQ(w.taken().size(), 1U);
        EXPECT_EQ(repairs_of(5), 0) << "further ones once a minute";
    }
    // Who has been left in peace for long begins anew.
    w.now += repair_calm;
    EXPECT_EQ(repairs_of(20), static_cast<int>(repairs_at_once));
}

TEST_F(trainjob_reconciler_test, repairs_that_are_refused_do_not_make_the_next_one_wait) {
    begin(torch_runtime);
    base::error forbidden = base::make_error(base::errc::status, "403, its definition is going");
    forbidden.http_status = 403;
    w.refusals["apply JobSet ns/job"] = forbidden;
    w.erase(set);
    w.deliver();
    for (unsigned i = 0; i < 3 * repairs_at_once; ++i) EXPECT_EQ(w.run_job().kind, outcome::what::failed);
    w.refusals.clear();
    EXPECT_TRUE(w.rests(w.run_job()));
    EXPECT_TRUE(w.objects.contains(set));
    EXPECT_EQ(w.reconciler->counts().repairs, 1U);
}

TEST_F(trainjob_reconciler_test, a_child_that_was_deleted_while_nobody_looked_is_made_again) {
    begin(mpi_runtime);
    w.erase(hostfile);
    w.deliver();
    w.queue.clear();
    w.taken();
    w.restart();
    static_cast<void>(w.run_job());
    EXPECT_THAT(w.taken(), ElementsAre("get ConfigMap ns/job-runtime-snapshot", "get Secret ns/job-mpi-ssh-auth",
                                       "get JobSet ns/job", "get TrainJob ns/job",
                                       "apply ConfigMap ns/job-mpi-hostfile", "patch TrainJob ns/job/status"));
}

TEST_F(trainjob_reconciler_test, an_edit_of_a_finished_job_costs_one_patch) {
    begin();
    finish("Completed");
    w.taken();
    w.patch(job, R"({"spec":{"suspend":true}})");
    w.settle();
    EXPECT_THAT(w.taken(), ElementsAre("patch TrainJob ns/job/status"));
    EXPECT_EQ(w.condition("Complete"), "True");
    EXPECT_EQ(w.condition("Suspended"), "True");
}

TEST_F(trainjob_reconciler_test, a_failed_job_that_is_suspended_and_resumed_has_failed_all_the_same) {
    begin();
    finish("Failed");
    const std::string before = w.objects[job];
    for (const char* to : {"true", "false"}) {
        w.patch(job, std::string(R"({"spec":{"suspend":)") + to + "}}");
        w.settle();
        EXPECT_EQ(w.condition("Failed"), "True");
        EXPECT_EQ(w.condition("Suspended"), to == std::string_view("true") ? "True" : "False");
    }
    const std::size_t at = before.find(R"({"type":"Failed")");
    EXPECT_THAT(w.objects[job], HasSubstr(before.substr(at, before.find('}', at) - at))) << "as it was";
}

TEST_F(trainjob_reconciler_test, a_failure_that_others_took_away_comes_back_as_the_job_set_says) {
    begin();
    finish("Failed");
    w.patch(job, R"({"status":{"conditions":[]}})");
    w.settle();
    EXPECT_EQ(w.condition("Failed"), "True");
    EXPECT_THAT(w.objects[job], HasSubstr(R"("reason":"R")"));
}

TEST_F(trainjob_reconciler_test, a_failure_that_others_wrote_while_the_job_set_runs_is_taken_back) {
    begin();
    w.patch(job, R"({"status":{"conditions":[{"type":"Failed","status":"True","reason":"Fake","message":"m",
                     "lastTransitionTime":"2031-02-03T04:05:06Z"}]}})");
    w.settle();
    EXPECT_EQ(w.condition("Failed"), "-");
    EXPECT_TRUE(w.rests(w.last)) << "it was looked at once more, as a job that goes on";
}

TEST_F(trainjob_reconciler_test, who_does_not_lead_sends_nothing) {
    w.leads = false;
    begin();
    EXPECT_THAT(w.taken(), IsEmpty());
}

TEST_F(trainjob_reconciler_test, jobs_of_other_controllers_are_not_touched) {
    begin(torch_runtime, "  managedBy: kueue.x-k8s.io/multikueue\n");
    EXPECT_THAT(w.taken(), IsEmpty());
    // Nor when they have ended: not their counts, not what they own.
    w.apply_yaml(R"({"apiVersion":"jobset.x-k8s.io/v1alpha2","kind":"JobSet","metadata":{"name":"job","namespace":"ns",
        "ownerReferences":[{"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob","name":"job",
        "uid":"11111111-0000-4000-8000-000000000001","controller":true}]},"spec":{},
        "status":{"replicatedJobsStatus":[{"name":"node","active":1}]}})");
    for (const char* type : {"Complete", "Failed"}) {
        w.patch(job, R"({"status":{"conditions":[{"type":")" + std::string(type) +
                         R"(","status":"True","reason":"DeadlineExceeded","message":"m",
                         "lastTransitionTime":"2026-01-01T00:00:00Z"}]}})");
        w.settle();
        EXPECT_THAT(w.taken(), IsEmpty()) << type;
    }
    EXPECT_TRUE(w.objects.contains(set));
}

TEST_F(trainjob_reconciler_test, a_job_that_the_garbage_collector_takes_gets_no_new_children) {
    begin();
    w.patch(job, R"({"metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z","finalizers":["foregroundDeletion"]}})");
    w.erase(set);
    w.settle();
    EXPECT_FALSE(w.objects.contains(set));
    // Another finalizer holds it: it is still a job.
    w.patch(job, R"({"metadata":{"finalizers":["f.test/hold"],"labels":{"a":"b"}}})");
    w.deliver();
    w.reconciler->mark_dirty(w.texts.find("ns/job"));
    static_cast<void>(w.run_job());
    EXPECT_TRUE(w.objects.contains(set));
}

TEST_F(trainjob_reconciler_test, a_spec_that_cannot_be_read_is_said_and_harms_nobody) {
    w.apply_yaml(torch_runtime);
    w.apply_yaml(train_job("  runtimePatches: 7\n"));
    w.settle();
    EXPECT_EQ(w.condition("ResourcesReady", "reason"), "InvalidTrainJob");
    EXPECT_FALSE(w.objects.contains(set));
}

TEST_F(trainjob_reconciler_test, a_passing_failure_is_not_written_into_the_status_at_once) {
    w.apply_yaml(torch_runtime);
    w.apply_yaml(train_job());
    w.deliver();
    base::error busy = base::make_error(base::errc::status, "503 busy");
    busy.http_status = 503;
    w.refusals["apply JobSet ns/job"] = busy;
    EXPECT_EQ(w.run_job("ns/job", 0).kind, outcome::what::failed);
    EXPECT_EQ(w.condition("ResourcesReady"), "-");
    EXPECT_EQ(w.run_job("ns/job", 5).kind, outcome::what::failed);
    EXPECT_EQ(w.condition("ResourcesReady"), "False");
}

}  // namespace
}  // namespace cotrain::reconcile
