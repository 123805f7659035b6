// A Complete job whose conditions somebody takes away, when its runtime is gone too.
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
        const std::string jobs = co_await s.list(kinds::train_job);
        const std::size_t at = jobs.find(R"("name":"job-)") + 8;
        const std::string name = jobs.substr(at, jobs.find('"', at) - at);
        const kube::location job{.ns = s.ns, .name = name, .sub_resource = "status"};
        EXPECT_TRUE(co_await s.api->merge_patch(kinds::train_job, job, R"({"status":{"conditions":[]}})"));
        EXPECT_TRUE(co_await until_complete(&s));
        int writes = 0;
        for (const audit_entry& e : audit.read())
            if (e.by_operator() && e.ns == s.ns && e.writes() && !e.is_lease() && e.sub_resource != "status") ++writes;
        EXPECT_EQ(writes, 0);
    });
}

}  // namespace
}  // namespace cotrain::test
