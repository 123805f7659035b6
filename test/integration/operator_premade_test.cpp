// Children that users have made before their TrainJob, and what becomes of such a job (difference 21).
#include <gtest/gtest.h>

#include "integration/control.hpp"
#include "integration/operator_scene.hpp"

namespace cotrain::test {
namespace {

constexpr auto job_spec =
    R"({"runtimeRef":{"name":"mpi","kind":"TrainingRuntime"},"trainer":{"numNodes":2},"suspend":false})";

awaitable<void> make_beforehand(operator_scene* s) {
    const auto secret = co_await s->api->create(kinds::secret, s->ns, R"({"apiVersion":"v1","kind":"Secret",
        "metadata":{"name":"job-0-mpi-ssh-auth"},"type":"kubernetes.io/ssh-auth",
        "stringData":{"ssh-privatekey":"theirs","ssh-publickey":"theirs, too"}})");
    EXPECT_TRUE(secret) << secret.error().message;
    const auto group = co_await s->api->create(kinds::pod_group, s->ns, R"({"apiVersion":"scheduling.x-k8s.io/v1alpha1",
        "kind":"PodGroup","metadata":{"name":"job-0"},"spec":{"minMember":1}})");
    EXPECT_TRUE(group) << group.error().message;
}

awaitable<void> suspend(operator_scene* s, bool on) {
    const std::string wanted = on ? "true" : "false";
    const auto done = co_await s->api->merge_patch(kinds::train_job, {.ns = s->ns, .name = "job-0"},
                                                   R"({"spec":{"suspend":)" + wanted + "}}");
    EXPECT_TRUE(done) << done.error().message;
    EXPECT_TRUE(co_await s->until(kinds::job_set, [&](const std::string& all) {
        return all.contains(R"("suspend":)" + wanted);
    })) << on;
    const std::string says = on ? R"("status":"True","type":"Suspended")" : R"("status":"False","type":"Suspended")";
    EXPECT_TRUE(co_await s->until(kinds::train_job, [&](const std::string& all) { return all.contains(says); })) << on;
}

std::string items(const std::string& list) {
    const std::size_t begin = list.find(R"("items")");
    return list.substr(begin, list.rfind(']') - begin);
}

TEST(operator_premade, a_secret_and_a_pod_group_of_the_user_are_used_as_they_are) {
    operator_scene scene("operator-premade");
    scene.play(+[](operator_scene& s) -> awaitable<void> {
        EXPECT_TRUE(co_await s.start_operator());
        co_await make_beforehand(&s);
        const std::string secret = items(co_await s.list(kinds::secret));
        const std::string group = items(co_await s.list(kinds::pod_group));
        co_await s.create_many("job-", 1, job_spec);
        EXPECT_TRUE(co_await s.until_count(kinds::job_set, 1));
        EXPECT_TRUE(co_await s.until(kinds::event, [](const std::string& all) {
            return all.contains("Secret job-0-mpi-ssh-auth was there before") &&
                   all.contains("PodGroup job-0 was there before");
        }));
        for (const bool on : {true, false, true}) co_await suspend(&s, on);
        EXPECT_EQ(items(co_await s.list(kinds::secret)), secret);
        EXPECT_EQ(items(co_await s.list(kinds::pod_group)), group);
        EXPECT_FALSE((co_await s.list(kinds::train_job)).contains("ResourcesReady"));
    });
}

// One of somebody else that takes the place of ours while the job runs.
TEST(operator_premade, a_config_map_of_somebody_else_does_not_keep_a_job_from_being_suspended) {
    operator_scene scene("operator-obstacle");
    scene.play(+[](operator_scene& s) -> awaitable<void> {
        EXPECT_TRUE(co_await s.start_operator());
        co_await s.create_many("job-", 1, job_spec);
        EXPECT_TRUE(co_await s.until_count(kinds::job_set, 1));
        co_await s.child->stop();
        EXPECT_TRUE(co_await s.api->remove(kinds::config_map, {.ns = s.ns, .name = "job-0-mpi-hostfile"}));
        const auto made = co_await s.api->create(
            kinds::config_map, s.ns,
            R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"job-0-mpi-hostfile"},"data":{"hostfile":"x"}})");
        EXPECT_TRUE(made) << made.error().message;
        EXPECT_TRUE(co_await s.start_operator());
        for (const bool on : {true, false, true}) co_await suspend(&s, on);
        EXPECT_TRUE((co_await s.list(kinds::train_job)).contains("ConfigMap job-0-mpi-hostfile exists"));
    });
}

}  // namespace
}  // namespace cotrain::test
