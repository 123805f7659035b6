// Secrets, of which no watch tells: made once, asked for by name where Pods are to start, made again where one is gone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainjob_case.hpp"

namespace cotrain::reconcile {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char* secret = "Secret ns/job-mpi-ssh-auth";
constexpr const char* get_secret = "get Secret ns/job-mpi-ssh-auth";
constexpr const char* make_secret = "apply Secret ns/job-mpi-ssh-auth";

struct trainjob_secrets : trainjob_case {
    void count_ready(int ready) {
        w.patch(set, R"({"status":{"replicatedJobsStatus":[{"name":"launcher","ready":)" + std::to_string(ready) +
                         R"(,"active":1},{"name":"node","ready":)" + std::to_string(ready) + R"(,"active":1}]}})");
        w.settle();
    }
    void suspend(bool on) {
        w.patch(job, std::string(R"({"spec":{"suspend":)") + (on ? "true}}" : "false}}"));
        w.settle();
    }
    // What the world's server has under that name, controlled by somebody else.
    void put_foreign() {
        w.apply_yaml("apiVersion: v1\nkind: Secret\nmetadata: {name: job-mpi-ssh-auth, namespace: ns}\n");
    }
};

TEST_F(trainjob_secrets, a_new_job_asks_for_nothing) {
    begin(mpi_runtime);
    EXPECT_THAT(w.taken(), Not(Contains(get_secret)));
    count_ready(1);
    finish("Completed");
    EXPECT_THAT(w.taken(), Not(Contains(HasSubstr("Secret"))));
}

TEST_F(trainjob_secrets, a_restart_asks_for_none_of_a_running_job) {
    begin(mpi_runtime);
    count_ready(1);
    w.taken();
    w.restart();
    static_cast<void>(w.run_job());
    EXPECT_THAT(w.taken(), IsEmpty());
}

TEST_F(trainjob_secrets, a_restart_asks_once_for_that_of_a_suspended_job) {
    begin(mpi_runtime, "  suspend: true\n");
    const std::string key = w.objects[secret];
    w.taken();
    w.restart();
    static_cast<void>(w.run_job());
    static_cast<void>(w.run_job());
    EXPECT_THAT(w.taken(), ElementsAre("get ConfigMap ns/job-runtime-snapshot", get_secret));
    EXPECT_EQ(w.objects[secret], key);
}

TEST_F(trainjob_secrets, one_that_is_gone_is_made_again_before_a_job_is_resumed) {
    begin(mpi_runtime, "  suspend: true\n");
    w.erase(secret);
    w.settle();
    w.taken();
    suspend(false);
    const auto asked = w.taken();
    EXPECT_TRUE(w.objects.contains(secret));
    const auto at = [&](std::string_view what) { return std::ranges::find(asked, what) - asked.begin(); };
    EXPECT_LT(at(get_secret), at(make_secret));
    EXPECT_LT(at(make_secret), at("apply JobSet ns/job"));
}

TEST_F(trainjob_secrets, one_that_is_gone_is_made_again_when_pods_start_again) {
    begin(mpi_runtime);
    count_ready(1);
    w.erase(secret);
    w.settle();
    w.taken();
    count_ready(1);
    EXPECT_THAT(w.taken(), Not(Contains(HasSubstr("Secret")))) << "nothing has happened";
    count_ready(0);
    EXPECT_THAT(w.taken(), AllOf(Contains(get_secret), Contains(make_secret)));
    EXPECT_TRUE(w.objects.contains(secret));
    count_ready(1);
    EXPECT_THAT(w.taken(), Not(Contains(HasSubstr("Secret"))));
    // And by who comes after a restart, too.
    w.erase(secret);
    w.restart();
    count_ready(0);
    EXPECT_THAT(w.taken(), AllOf(Contains(get_secret), Contains(make_secret)));
}

TEST_F(trainjob_secrets, one_that_is_there_when_pods_start_again_is_left_alone) {
    begin(mpi_runtime);
    count_ready(1);
    const std::string key = w.objects[secret];
    w.taken();
    count_ready(0);
    EXPECT_THAT(w.taken(), ElementsAre(get_secret, HasSubstr("list pods"), HasSubstr("list pods"),
                                       "patch TrainJob ns/job/status"));
    EXPECT_EQ(w.objects[secret], key);
}

// The answer to our first write was lost.
TEST_F(trainjob_secrets, one_that_we_made_unheard_is_ours) {
    begin(mpi_runtime);
    const std::string key = w.objects[secret];
    w.erase(set);
    w.erase(snapshot);
    w.deliver();
    w.restart();
    w.queue.clear();
    w.taken();
    EXPECT_EQ(w.run_job().kind, outcome::what::again_after);
    w.settle();
    static_cast<void>(w.run_job());
    EXPECT_THAT(w.taken(), AllOf(Contains(make_secret), Contains(get_secret), Contains("apply JobSet ns/job")));
    EXPECT_EQ(w.objects[secret], key);
}

TEST_F(trainjob_secrets, a_foreign_one_is_left_alone_and_looked_at_until_it_is_gone) {
    put_foreign();
    const std::string theirs = w.objects[secret];
    begin(mpi_runtime);
    EXPECT_EQ(w.objects[secret], theirs);
    EXPECT_FALSE(w.objects.contains(set));
    EXPECT_EQ(w.condition("ResourcesReady"), "False");
    EXPECT_LE(w.last.after, std::chrono::seconds(30)) << "nobody tells when it goes";
    w.erase(secret);
    w.settle();
    static_cast<void>(w.run_job());
    w.settle();
    EXPECT_TRUE(w.objects.contains(set));
    EXPECT_NE(w.objects[secret], theirs);
    EXPECT_EQ(w.condition("ResourcesReady"), "-");
}

// What was known of a job's Secret is not taken for what a namesake finds.
TEST_F(trainjob_secrets, a_namesake_gets_a_secret_of_its_own) {
    begin(mpi_runtime);
    for (const char* each : {job, set, snapshot, hostfile, secret, "PodGroup.scheduling.x-k8s.io ns/job"})
        w.erase(each);
    w.deliver();
    w.apply_yaml(train_job("", "22222222-0000-4000-8000-000000000002"));
    w.taken();
    w.settle();
    EXPECT_THAT(w.taken(), AllOf(Contains(make_secret), Not(Contains(get_secret))));
    EXPECT_TRUE(w.objects.contains(set));
}

TEST_F(trainjob_secrets, nothing_is_kept_of_a_job_that_is_gone) {
    begin(mpi_runtime);
    auto& secrets = w.known->store(watch::kind::secret);
    EXPECT_EQ(secrets.size(), 1U);
    w.erase(job);
    w.settle();
    EXPECT_EQ(secrets.size(), 0U);
}

TEST_F(trainjob_secrets, a_missing_right_is_a_condition) {
    base::error no = base::make_error(base::errc::status, R"(secrets is forbidden: User "u" cannot create resource)");
    no.http_status = 403;
    w.refusals[make_secret] = no;
    begin(mpi_runtime);
    EXPECT_EQ(w.condition("ResourcesReady"), "False");
    EXPECT_THAT(w.condition("ResourcesReady", "message"), HasSubstr("secrets is forbidden"));
    EXPECT_FALSE(w.objects.contains(set));
}

TEST_F(trainjob_secrets, a_torch_job_has_nothing_to_do_with_them) {
    begin();
    w.patch(set, R"({"status":{"replicatedJobsStatus":[{"name":"node","ready":1}]}})");
    w.settle();
    w.patch(set, R"({"status":{"replicatedJobsStatus":[{"name":"node","ready":0}]}})");
    w.settle();
    suspend(true);
    suspend(false);
    EXPECT_THAT(w.taken(), Not(Contains(HasSubstr("Secret"))));
}

}  // namespace
}  // namespace cotrain::reconcile
