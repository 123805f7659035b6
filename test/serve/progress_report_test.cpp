// Progress reports: paths, credentials and payloads.
#include "serve/progress.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace cotrain::serve {
namespace {

using testing::StartsWith;

const reported_job job{"team", "train-1"};

TEST(progress_report, the_path_names_the_job) {
    const auto at = job_at("/apis/trainer.kubeflow.org/v1alpha1/namespaces/team/trainjobs/train-1/status");
    ASSERT_TRUE(at);
    EXPECT_EQ(at->ns, "team");
    EXPECT_EQ(at->name, "train-1");
    EXPECT_EQ(audience_of(*at), "trainer.kubeflow.org/v1alpha1/namespaces/team/trainjobs/train-1/status");
    for (const char* other : {"", "/", "/apis/trainer.kubeflow.org/v1alpha1/namespaces/team/trainjobs/train-1",
                              "/apis/trainer.kubeflow.org/v1alpha1/namespaces/team/trainjobs/train-1/status/",
                              "/apis/trainer.kubeflow.org/v1alpha1/namespaces//trainjobs/train-1/status",
                              "/apis/trainer.kubeflow.org/v1alpha1/namespaces/team/trainjobs//status",
                              "/apis/trainer.kubeflow.org/v1alpha1/namespaces/a%2fb/trainjobs/train-1/status",
                              "/apis/trainer.kubeflow.org/v1alpha1/namespaces/team/trainjobs/a/b/status",
                              "/apis/trainer.kubeflow.org/v1/namespaces/team/trainjobs/train-1/status"})
        EXPECT_FALSE(job_at(other)) << other;
}

TEST(progress_report, one_bearer_token_and_nothing_else) {
    EXPECT_EQ(bearer_token("Bearer a.b.c"), "a.b.c");
    EXPECT_EQ(bearer_token("  bEaReR\t a.b.c "), "a.b.c");
    for (const char* other : {"", " ", "Bearer", "Bearer ", "Basic a", "Bearer a b", "Bearera", "a.b.c", "BearerX a"})
        EXPECT_EQ(bearer_token(other), "") << other;
}

TEST(progress_report, what_is_known_is_applied_and_echoed) {
    const auto report = read_report(
        R"({"trainerStatus":{"progressPercentage":45,"estimatedRemainingSeconds":90,"unknown":1,)"
        R"("metrics":[{"name":"loss","value":"0.1"}],"lastUpdatedTime":"2026-01-02T03:04:05Z"},"other":{}})",
        job);
    ASSERT_TRUE(report) << report.error().message;
    const std::string status =
        R"("trainerStatus":{"progressPercentage":45,"estimatedRemainingSeconds":90,)"
        R"("metrics":[{"name":"loss","value":"0.1"}],"lastUpdatedTime":"2026-01-02T03:04:05Z"}})";
    EXPECT_EQ(report->echo, "{" + status);
    EXPECT_EQ(report->apply, R"({"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob","metadata":)"
                             R"({"name":"train-1","namespace":"team"},"status":{)" +
                                 status + "}");
}

TEST(progress_report, an_empty_report_writes_nothing) {
    for (const char* empty : {"{}", R"({"trainerStatus":null})", R"({"other":1})"}) {
        const auto report = read_report(empty, job);
        ASSERT_TRUE(report) << empty;
        EXPECT_EQ(report->echo, "{}");
        EXPECT_EQ(report->apply, "");
    }
}

TEST(progress_report, a_time_that_is_missing_is_none) {
    EXPECT_EQ(read_report(R"({"trainerStatus":{}})", job)->echo, R"({"trainerStatus":{"lastUpdatedTime":null}})");
}

TEST(progress_report, wrong_payloads_are_refused) {
    for (const char* wrong :
         {"", "x", "[]", "1", R"({"trainerStatus":1})", R"({"trainerStatus":{"progressPercentage":"45"}})",
          R"({"trainerStatus":{"progressPercentage":4.5}})", R"({"trainerStatus":{"progressPercentage":99999999999}})",
          R"({"trainerStatus":{"metrics":{}}})", R"({"trainerStatus":{"metrics":[1]}})",
          R"({"trainerStatus":{"metrics":[{"name":1}]}})", R"({"trainerStatus":{"lastUpdatedTime":"yesterday"}})",
          R"({"trainerStatus":{}} x)"}) {
        const auto report = read_report(wrong, job);
        ASSERT_FALSE(report) << wrong;
        EXPECT_THAT(report.error().message, StartsWith("Invalid payload")) << wrong;
    }
}

}  // namespace
}  // namespace cotrain::serve
