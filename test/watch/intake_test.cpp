// What comes of decoded objects: records, and what the listener is told, kind by kind.
#include "watch/intake.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/watch_samples.hpp"
#include "watch/taking.hpp"

namespace cotrain::watch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(intake, tells_what_changed) {
    taking t(kind::train_job);
    test::sample_job job;
    t.take(test::running_train_job(job));
    EXPECT_THAT(t.said(), ElementsAre("TrainJob team-a/torch-000123 changed added"));
    job.resource_version = "81235";
    t.take(test::running_train_job(job));
    EXPECT_THAT(t.said(), IsEmpty()) << "nothing that matters changed";
    job.active = 3;
    job.resource_version = "81236";
    t.take(test::running_train_job(job));
    EXPECT_THAT(t.said(), ElementsAre("TrainJob team-a/torch-000123 changed status"));
    job.runtime = "other";
    job.resource_version = "81237";
    t.take(test::running_train_job(job));
    EXPECT_THAT(t.said(), ElementsAre("TrainJob team-a/torch-000123 changed spec from "
                                      "ClusterTrainingRuntime//torch-distributed"));
    t.take(test::running_train_job(job), true);
    t.take(test::running_train_job(job), true);
    EXPECT_THAT(t.said(), ElementsAre("TrainJob team-a/torch-000123 removed"));
    EXPECT_EQ(t.store.size(), 0U);
    EXPECT_EQ(t.texts.size(), 0U);
}

TEST(intake, looks_at_a_version_once_in_a_relist) {
    taking t(kind::train_job);
    test::sample_job job;
    t.take(test::running_train_job(job));
    static_cast<void>(t.said());
    job.active = 3;
    t.take(test::running_train_job(job));
    EXPECT_THAT(t.said(), IsEmpty()) << "a version says one thing only";
    t.in.begin_relist();
    t.take(test::running_train_job(job));
    EXPECT_THAT(t.said(), ElementsAre("TrainJob team-a/torch-000123 changed status")) << "but a relist is looked at";
    t.in.end_relist("1");
    EXPECT_EQ(t.store.size(), 1U) << "it was seen";
}

TEST(intake, tells_of_a_namesake_that_the_old_one_is_gone) {
    taking t(kind::coscheduling_pod_group);
    t.take(plain("a", "u-1", 5, "first"));
    static_cast<void>(t.said());
    t.take(plain("a", "u-2", 9, "second"));
    EXPECT_THAT(t.said(), ElementsAre("PodGroup.scheduling.x-k8s.io ns/a removed",
                                      "PodGroup.scheduling.x-k8s.io ns/a changed added replaced"));
    t.take(plain("a", "u-1", 5, "first"));
    t.take(plain("a", "u-1", 6, "first"), true);
    EXPECT_THAT(t.said(), IsEmpty()) << "what is older than the namesake counts no more";
    EXPECT_EQ(t.store.size(), 1U);
}

TEST(intake, tells_who_owned_an_object_before) {
    taking t(kind::volcano_pod_group);
    t.take(plain("a", "u-1", 5, "first"));
    t.take(plain("a", "u-1", 6));
    EXPECT_THAT(t.said(), ElementsAre("PodGroup.scheduling.volcano.sh ns/a changed added",
                                      "PodGroup.scheduling.volcano.sh ns/a changed spec from ns/first"));
}

TEST(intake, keeps_secrets_and_config_maps_that_are_or_may_be_children) {
    taking t(kind::secret);
    t.take(plain("token", "u-1", 1));
    EXPECT_EQ(t.store.size(), 0U);
    t.take(plain("mine", "u-2", 2, "job"));
    t.take(plain("job-mpi-ssh-auth", "u-3", 3));
    EXPECT_THAT(t.said(), ElementsAre("Secret ns/mine changed added", "Secret ns/job-mpi-ssh-auth changed added"));
    t.take(plain("mine", "u-2", 4));
    EXPECT_THAT(t.said(), ElementsAre("Secret ns/mine removed")) << "it belongs to nobody of ours now";
    t.take(plain("token", "u-1", 5), true);
    EXPECT_THAT(t.said(), IsEmpty());
    t.take(plain("job-extra", "u-4", 6));
    EXPECT_THAT(t.said(), ElementsAre("Secret ns/job-extra changed added"));
}

TEST(intake, finds_what_a_whole_relist_does_not_show) {
    taking t(kind::limit_range);
    t.take(plain("a", "u-1", 1));
    t.take(plain("b", "u-2", 2));
    static_cast<void>(t.said());
    t.in.begin_relist();
    t.take(plain("b", "u-2", 2));
    t.take(plain("c", "u-3", 3));
    t.in.end_relist("9");
    EXPECT_THAT(t.said(), ElementsAre("LimitRange ns/c changed added", "LimitRange ns/a removed", "LimitRange synced"));
    t.in.vanish();
    EXPECT_THAT(t.said(), testing::UnorderedElementsAre("LimitRange ns/b removed", "LimitRange ns/c removed",
                                                        "LimitRange missing"));
    EXPECT_EQ(t.store.size(), 0U);
}

// Answers to our own writes, which a relist overtakes or comes before.
TEST(intake, judges_what_a_relist_did_not_show_by_its_version) {
    taking t(kind::limit_range);
    t.take(plain("lost", "u-2", 30));  // by a server that was set back
    t.in.begin_relist();
    t.take(plain("shown", "u-1", 1));
    for (const auto& [name, version] : {std::pair{"gone", 7}, {"newer", 20}}) {
        object_view view;
        const std::string text = plain(name, name, version);
        ASSERT_TRUE(decode_object(text, view));
        t.in.upsert(view, false);
    }
    t.said();
    t.in.end_relist("10");
    EXPECT_THAT(t.said(), ElementsAre("LimitRange ns/lost removed", "LimitRange ns/gone removed", "LimitRange synced"));
    EXPECT_EQ(t.store.size(), 2U);
}

TEST(intake, keeps_no_body_of_job_sets_that_no_train_job_owns) {
    taking t(kind::job_set);
    t.take(test::job_set_of(test::sample_job{}, "0a1b2c3d-0000-4000-8000-000000000001", "90"));
    EXPECT_NE(t.store.body(*t.store.find("team-a", "torch-000123")), nullptr);
    t.take(plain("foreign", "u-9", 94, "", R"(,"spec":{"suspend":true,"replicatedJobs":[]})"));
    EXPECT_EQ(t.store.body(*t.store.find("ns", "foreign")), nullptr);
}

TEST(intake, keeps_what_it_could_read_of_an_object_that_is_not_as_it_should_be) {
    taking t(kind::train_job);
    t.take(plain("odd", "u-1", 1, "", R"(,"spec":{"suspend":"yes","runtimeRef":{"name":"r"}})"));
    EXPECT_THAT(t.said(), ElementsAre("TrainJob ns/odd changed added"));
    EXPECT_EQ(t.in.malformed(), 1U);
    ASSERT_EQ(t.log.size(), 1U);
    EXPECT_THAT(t.log[0],
                testing::AllOf(testing::HasSubstr("object does not match its schema"),
                               testing::HasSubstr(R"("name":"odd")"), testing::HasSubstr("spec: unexpected JSON")));
    t.take(plain("odd", "u-1", 2, "", R"(,"spec":{"suspend":"yes","runtimeRef":{"name":"r"}})"));
    EXPECT_EQ(t.log.size(), 1U) << "said once for each change";
    EXPECT_EQ(t.store.body(*t.store.find("ns", "odd"))->spec(), R"({"suspend":"yes","runtimeRef":{"name":"r"}})");
}

}  // namespace
}  // namespace cotrain::watch
