// What is left to do for jobs that have ended: their PodGroups, and they themselves when their time is up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reconcile/missing_rights.hpp"
#include "trainjob_case.hpp"

namespace cotrain::reconcile {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Not;

base::error forbidden(std::string message) {
    base::error e = base::make_error(base::errc::status, "delete: 403 Forbidden: " + std::move(message));
    e.http_status = 403;
    return e;
}
base::error no_right(std::string resource) {
    return forbidden(resource + R"( "job" is forbidden: User "system:serviceaccount:s:o" cannot delete resource ")" +
                     resource + R"(" in API group "g" in the namespace "ns")");
}
base::error a_policys_no() {
    return forbidden(R"(admission webhook "w.example.com" denied the request: nobody may delete this)");
}
std::string group_of(const std::string& job) { return "delete PodGroup.scheduling.x-k8s.io " + job; }

struct trainjob_finished_test : trainjob_case {
    void add_job(const std::string& ns, const std::string& name) {
        w.apply_yaml("apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: " + name +
                     ", namespace: " + ns +
                     "}\nspec: {runtimeRef: {kind: TrainingRuntime, name: rt}, trainer: {numNodes: 2}}\n");
    }
    outcome::what end(const std::string& ns, const std::string& name) {
        w.patch("JobSet " + ns + "/" + name,
                R"({"status":{"conditions":[{"type":"Completed","status":"True","reason":"R","message":"m",
                   "lastTransitionTime":"2026-01-01T00:00:00Z"}]}})");
        w.deliver();
        w.queue.clear();
        return w.run_job(ns + "/" + name).kind;
    }
};

TEST_F(trainjob_finished_test, a_finished_job_goes_when_its_time_is_up_and_not_before) {
    w.tune = [](trainjob_options& s) { s.ttl = true; };
    w.restart();
    begin(torch_runtime, "  ttlSecondsAfterFinished: 100\n");
    finish("Completed");  // at 01:00
    w.taken();
    w.now = std::chrono::sys_days{std::chrono::year{2026} / 1 / 1} + std::chrono::seconds(3699);
    w.restart();
    outcome o = w.run_job();
    EXPECT_EQ(o.kind, outcome::what::again_after);
    EXPECT_EQ(o.after, std::chrono::seconds(1));
    EXPECT_THAT(w.taken(), IsEmpty());
    w.patch(job, R"({"spec":{"ttlSecondsAfterFinished":101}})");
    w.settle();
    w.now += std::chrono::seconds(1);
    EXPECT_EQ(w.run_job().kind, outcome::what::again_after);
    w.now += std::chrono::seconds(1);
    w.refusals["delete TrainJob ns/job"] = no_right("trainjobs");
    w.taken();
    EXPECT_EQ(w.run_job().after, missing_rights::pause) << "a missing right is said once, and no failure";
    EXPECT_EQ(w.run_job().kind, outcome::what::again_after);
    EXPECT_THAT(w.taken(), ElementsAre("get TrainJob ns/job", "delete TrainJob ns/job"));
    w.refusals.clear();
    w.now += missing_rights::pause;
    EXPECT_EQ(w.run_job().kind, outcome::what::done);
    w.settle();
    EXPECT_FALSE(w.objects.contains(job));
}

TEST_F(trainjob_finished_test, a_job_that_was_given_more_time_is_kept_though_its_event_is_late) {
    w.tune = [](trainjob_options& s) { s.ttl = true; };
    w.restart();
    begin(torch_runtime, "  ttlSecondsAfterFinished: 100\n");
    w.now = std::chrono::sys_days{std::chrono::year{2026} / 1 / 1} + std::chrono::seconds(3690);
    finish("Completed");  // at 01:00
    w.taken();
    w.patch(job, R"({"spec":{"ttlSecondsAfterFinished":200}})");
    w.now += std::chrono::seconds(10);
    const outcome o = w.run_job();
    EXPECT_THAT(w.taken(), ElementsAre("get TrainJob ns/job"));
    EXPECT_EQ(o.kind, outcome::what::again_after);
    EXPECT_EQ(o.after, std::chrono::seconds(100));
    // Nor is one that goes on after all.
    w.now += std::chrono::seconds(100);
    w.patch(job, R"({"status":{"conditions":[]}})");
    EXPECT_EQ(w.run_job().after.count(), 0) << "there is something to do for it";
    EXPECT_THAT(w.taken(), ElementsAre("get TrainJob ns/job"));
    EXPECT_TRUE(w.objects.contains(job));
}

TEST_F(trainjob_finished_test, a_job_that_is_given_more_time_at_the_last_moment_is_kept) {
    w.tune = [](trainjob_options& s) { s.ttl = true; };
    w.restart();
    begin(torch_runtime, "  ttlSecondsAfterFinished: 100\n");
    finish("Completed");  // at 01:00
    w.now = std::chrono::sys_days{std::chrono::year{2026} / 1 / 1} + std::chrono::seconds(3700);
    w.on_remove = [this] { w.patch(job, R"({"spec":{"ttlSecondsAfterFinished":200}})"); };
    const outcome o = w.run_job();
    EXPECT_EQ(o.kind, outcome::what::again_after);
    EXPECT_EQ(o.after, std::chrono::seconds(1));
    w.now += std::chrono::seconds(1);
    EXPECT_EQ(w.run_job().after, std::chrono::seconds(99));
    EXPECT_TRUE(w.objects.contains(job));
}

TEST_F(trainjob_finished_test, a_job_of_which_nobody_can_say_when_it_ended_is_kept) {
    w.tune = [](trainjob_options& s) { s.ttl = true; };
    w.restart();
    begin(torch_runtime, "  ttlSecondsAfterFinished: 0\n");
    w.patch(job, R"({"status":{"conditions":[{"type":"Complete","status":"True","reason":"R","message":"m",
                     "lastTransitionTime":"yesterday"}]}})");
    w.taken();
    w.settle();
    EXPECT_EQ(w.last.kind, outcome::what::done);
    EXPECT_THAT(w.taken(), ElementsAre("patch TrainJob ns/job/status")) << "its state";
    EXPECT_THAT(w.objects[job], Not(HasSubstr("completionTime")));
    EXPECT_TRUE(w.objects.contains(job));
}

TEST_F(trainjob_finished_test, a_finished_job_stays_without_the_gate) {
    begin(torch_runtime, "  ttlSecondsAfterFinished: 0\n");
    finish("Completed");
    w.now += std::chrono::hours(24);
    EXPECT_EQ(w.run_job().kind, outcome::what::done);
    EXPECT_TRUE(w.objects.contains(job));
}

TEST_F(trainjob_finished_test, a_running_job_is_kept_whatever_it_says) {
    w.tune = [](trainjob_options& s) { s.ttl = true; };
    w.restart();
    begin(torch_runtime, "  ttlSecondsAfterFinished: 0\n");
    w.now += std::chrono::hours(24);
    static_cast<void>(w.run_job());
    w.settle();
    EXPECT_TRUE(w.objects.contains(job));
}

TEST_F(trainjob_finished_test, pod_groups_go_with_the_end_and_a_missing_right_is_no_failure) {
    begin(mpi_runtime);
    EXPECT_TRUE(w.objects.contains("PodGroup.scheduling.x-k8s.io ns/job"));
    w.refusals["delete PodGroup.scheduling.x-k8s.io ns/job"] = no_right("podgroups");
    finish("Completed");
    EXPECT_EQ(w.last.kind, outcome::what::again_after) << "somebody may give it the right";
    EXPECT_EQ(w.last.after, missing_rights::pause);
    w.taken();
    EXPECT_EQ(w.run_job().after, missing_rights::pause);
    EXPECT_THAT(w.taken(), IsEmpty());
    w.refusals.clear();
    w.now += missing_rights::pause;
    EXPECT_EQ(w.run_job().kind, outcome::what::done);
    EXPECT_FALSE(w.objects.contains("PodGroup.scheduling.x-k8s.io ns/job"));
}

TEST_F(trainjob_finished_test, a_policy_that_keeps_one_pod_group_keeps_no_other) {
    w.apply_yaml(mpi_runtime);
    for (const char* name : {"a", "b"}) add_job("ns", name);
    w.settle();
    w.refusals["delete PodGroup.scheduling.x-k8s.io ns/a"] = a_policys_no();
    w.taken();
    EXPECT_EQ(end("ns", "a"), outcome::what::failed) << "it is tried again";
    EXPECT_EQ(end("ns", "b"), outcome::what::done);
    EXPECT_THAT(w.taken(), IsSupersetOf({group_of("ns/a"), group_of("ns/b")}));
    w.refusals.clear();
    EXPECT_EQ(w.run_job("ns/a").kind, outcome::what::done);
    EXPECT_THAT(w.taken(), ElementsAre(group_of("ns/a")));
}

TEST_F(trainjob_finished_test, a_missing_right_is_missing_in_its_namespace_and_for_a_while) {
    for (const char* ns : {"ns", "ns-2"}) {
        std::string runtime(mpi_runtime);
        runtime.replace(runtime.find("namespace: ns"), 13, "namespace: " + std::string(ns));
        w.apply_yaml(runtime);
    }
    for (const char* name : {"a", "b", "c"}) add_job("ns", name);
    add_job("ns-2", "d");
    w.settle();
    w.refusals["delete PodGroup.scheduling.x-k8s.io ns/a"] = no_right("podgroups");
    for (const char* name : {"a", "b"}) EXPECT_EQ(end("ns", name), outcome::what::again_after);
    EXPECT_EQ(end("ns-2", "d"), outcome::what::done);
    const auto asked = w.taken();
    EXPECT_THAT(asked, Contains(group_of("ns/a")));
    EXPECT_THAT(asked, Not(Contains(group_of("ns/b"))));
    EXPECT_THAT(asked, Contains(group_of("ns-2/d")));
    w.now += missing_rights::pause;
    end("ns", "c");
    EXPECT_THAT(w.taken(), Contains(group_of("ns/c")));
}

TEST_F(trainjob_finished_test, a_pod_group_that_stays_does_not_keep_its_job) {
    w.tune = [](trainjob_options& s) { s.ttl = true; };
    w.restart();
    begin(mpi_runtime, "  ttlSecondsAfterFinished: 0\n");
    w.now += std::chrono::hours(2);
    w.refusals["delete PodGroup.scheduling.x-k8s.io ns/job"] = a_policys_no();
    finish("Completed");
    EXPECT_FALSE(w.objects.contains(job));
}

TEST(missing_rights, are_told_by_the_authorizer_alone_and_remembered_within_bounds) {
    EXPECT_TRUE(missing_rights::told_by(no_right("podgroups")));
    EXPECT_FALSE(missing_rights::told_by(a_policys_no()));
    missing_rights lacking;
    const moment start{};
    EXPECT_TRUE(lacking.note("first", start));
    for (std::size_t i = 0; i < 2 * missing_rights::namespaces_max; ++i)
        EXPECT_FALSE(lacking.note("ns-" + std::to_string(i), start + std::chrono::milliseconds(i)));
    EXPECT_EQ(lacking.size(), missing_rights::namespaces_max);
    EXPECT_FALSE(lacking.rest_of_pause("first", start));
    EXPECT_TRUE(lacking.rest_of_pause("ns-" + std::to_string(2 * missing_rights::namespaces_max - 1), start));
    EXPECT_FALSE(lacking.note("last", start + std::chrono::hours(1)));
    EXPECT_EQ(lacking.size(), 1U);
}

}  // namespace
}  // namespace cotrain::reconcile
