// Jobs whose specs are too large to be kept: they are read where a plan needs them, and a few at a time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainjob_case.hpp"

namespace cotrain::reconcile {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string large_job(const std::string& name, std::size_t bytes) {
    return "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: " + name +
           ", namespace: ns}\nspec:\n  runtimeRef: {apiGroup: trainer.kubeflow.org, kind: TrainingRuntime, name: rt}\n"
           "  suspend: true\n  trainer: {numNodes: 2, env: [{name: LARGE, value: \"" +
           std::string(bytes, 'x') + "\"}]}\n";
}

struct trainjob_large : trainjob_case {
    void make(std::size_t bytes) {
        w.apply_yaml(torch_runtime);
        w.apply_yaml(large_job("job", bytes));
    }
    [[nodiscard]] std::size_t kept(watch::kind k) const { return w.known->store(k).memory_bytes(); }
};

TEST_F(trainjob_large, is_read_when_it_is_planned_and_not_kept) {
    make(1U << 20U);
    w.settle();
    EXPECT_THAT(w.taken(), ElementsAre("get TrainJob ns/job", "apply ConfigMap ns/job-runtime-snapshot",
                                       "apply JobSet ns/job", "patch TrainJob ns/job/status"));
    EXPECT_THAT(w.objects[set], HasSubstr(std::string(1U << 20U, 'x')));
    EXPECT_LT(kept(watch::kind::train_job), 64U << 10U);
    EXPECT_LT(kept(watch::kind::job_set), 64U << 10U);
    const auto quiet = w.reconciler->counts().quiet;
    EXPECT_EQ(w.run_job().kind, outcome::what::done);
    EXPECT_EQ(w.reconciler->counts().quiet, quiet + 1);
    EXPECT_THAT(w.taken(), IsEmpty());
    w.patch(set, R"({"status":{"replicatedJobsStatus":[{"name":"node","suspended":1}]}})");
    w.settle();
    EXPECT_THAT(w.taken(), ElementsAre("patch TrainJob ns/job/status")) << "counts need no spec";
    w.patch(job, R"({"spec":{"suspend":false}})");
    w.settle();
    EXPECT_THAT(w.taken(), ElementsAre("get TrainJob ns/job", "apply JobSet ns/job", "patch TrainJob ns/job/status"));
    EXPECT_THAT(w.objects[set], HasSubstr("\"suspend\":false"));
}

TEST_F(trainjob_large, an_ordinary_one_costs_no_request) {
    make(watch::spec_kept_bytes_max - 512);
    w.settle();
    EXPECT_THAT(w.taken(), ElementsAre("apply ConfigMap ns/job-runtime-snapshot", "apply JobSet ns/job",
                                       "patch TrainJob ns/job/status"));
}

TEST_F(trainjob_large, a_few_are_worked_on_at_a_time) {
    make(1U << 16U);
    w.apply_yaml(large_job("job-2", 1U << 16U));
    w.apply_yaml(large_job("job-3", 1U << 16U));
    w.deliver();
    outcome third;
    w.on_get = [&] {
        w.on_get = [&] { third = w.run_job("ns/job-3"); };
        static_cast<void>(w.run_job("ns/job-2"));
    };
    static_cast<void>(w.run_job());
    EXPECT_EQ(third.kind, outcome::what::again_after);
    EXPECT_GT(third.after.count(), 0);
    EXPECT_FALSE(w.objects.contains("JobSet ns/job-3"));
    EXPECT_TRUE(w.objects.contains("JobSet ns/job-2"));
    static_cast<void>(w.run_job("ns/job-3"));
    EXPECT_TRUE(w.objects.contains("JobSet ns/job-3"));
}

// The job is small, but its plan is not.
TEST_F(trainjob_large, nor_many_whose_runtime_is_large) {
    std::string runtime(torch_runtime);
    runtime.replace(runtime.find("name: rt"), 8,
                    "name: rt, annotations: {large: \"" + std::string(200'000, 'x') + "\"}");
    w.apply_yaml(runtime);
    for (const char* name : {"job", "job-2", "job-3"}) w.apply_yaml(large_job(name, 1));
    w.deliver();
    outcome third;
    w.on_get = [&] {
        w.on_get = [&] { third = w.run_job("ns/job-3"); };
        static_cast<void>(w.run_job("ns/job-2"));
    };
    static_cast<void>(w.run_job());
    EXPECT_EQ(third.kind, outcome::what::again_after);
    EXPECT_TRUE(w.objects.contains("JobSet ns/job-2"));
    EXPECT_FALSE(w.objects.contains("JobSet ns/job-3"));
}

}  // namespace
}  // namespace cotrain::reconcile
