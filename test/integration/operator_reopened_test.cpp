// Complete jobs whose conditions somebody takes away.
#include <gtest/gtest.h>

#include "integration/control.hpp"
#include "integration/operator_scene.hpp"

namespace cotrain::test {
namespace {

constexpr auto torch_job = R"({"runtimeRef":{"name":"torch","kind":"TrainingRuntime"},"trainer":{"numNodes":1}})";

awaitable<bool> until_complete(operator_scene* s) {
    co_return co_await s->until(kinds::train_job,
                                [](const std::string& all) { return count_of(all, R"("type":"Complete")") == 1; });
}

// The status of the only job loses its conditions.
awaitable<void> reopen(operator_scene* s) {
    const kube::location job{.ns = s->ns, .name = "job-0", .sub_resource = "status"};
    EXPECT_TRUE(co_await s->api->merge_patch(kinds::train_job, job, R"({"status":{"conditions":[]}})"));
}

// When its runtime is gone too.
TEST(operator_reopened, a_complete_job_is_complete_again_and_nothing_is_made_for_it) {
    operator_scene scene("operator-reopened");
    scene.play(+[](operator_scene& s) -> awaitable<void> {
        EXPECT_TRUE(co_await s.start_operator());
        co_await s.create_many("job-", 1, torch_job);
        EXPECT_TRUE(co_await s.until_count(kinds::job_set, 1));
        co_await s.complete_many("job-", 1);
        EXPECT_TRUE(co_await until_complete(&s));
        EXPECT_TRUE(co_await s.api->remove(kinds::runtime, {.ns = s.ns, .name = "torch"}));
        audit_log audit(test_variable("COTRAIN_TEST_AUDIT"));
        co_await reopen(&s);
        EXPECT_TRUE(co_await until_complete(&s));
        int writes = 0;
        for (const audit_entry& e : audit.read())
            if (e.by_operator() && e.ns == s.ns && e.writes() && !e.is_lease() && e.resource != "events" &&
                e.sub_resource != "status")
                ++writes;
        EXPECT_EQ(writes, 0);
    });
}

TEST(operator_reopened, an_mpi_job_whose_job_set_is_gone_starts_again_with_its_key) {
    operator_scene scene("operator-reopened-mpi");
    scene.play(+[](operator_scene& s) -> awaitable<void> {
        EXPECT_TRUE(co_await s.start_operator());
        co_await s.create_many("job-", 1,
                               R"({"runtimeRef":{"name":"mpi","kind":"TrainingRuntime"},"trainer":{"numNodes":2}})");
        EXPECT_TRUE(co_await s.until_count(kinds::job_set, 1));
        const std::string key = co_await s.list(kinds::secret);
        EXPECT_EQ(count_of(key, R"("ssh-privatekey":)"), 1);
        co_await s.complete_many("job-", 1);
        EXPECT_TRUE(co_await until_complete(&s));
        EXPECT_TRUE(co_await s.until_count(kinds::pod_group, 0));
        EXPECT_TRUE(co_await s.api->remove(kinds::job_set, {.ns = s.ns, .name = "job-0"}));
        EXPECT_TRUE(co_await s.until_count(kinds::job_set, 0));
        co_await reopen(&s);
        EXPECT_TRUE(co_await s.until_count(kinds::job_set, 1));
        EXPECT_TRUE(co_await s.until_count(kinds::pod_group, 1));
        const auto items = [](const std::string& list) { return list.substr(list.find(R"("items")")); };
        EXPECT_EQ(items(co_await s.list(kinds::secret)), items(key));
    });
}

}  // namespace
}  // namespace cotrain::test
