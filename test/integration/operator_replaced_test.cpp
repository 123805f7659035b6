// With JobSet's own controller and webhooks: what changes of suspended jobs comes about, though JobSet refuses it.
#include <gtest/gtest.h>

#include "crd/crd.hpp"
#include "doc/edit.hpp"
#include "doc/json.hpp"
#include "integration/control.hpp"
#include "integration/operator_scene.hpp"
#include "integration/operator_side_plane.hpp"

namespace cotrain::test {
namespace {

constexpr kube::resource definitions{"apiextensions.k8s.io", "v1", "customresourcedefinitions",
                                     "CustomResourceDefinition", false};

// As the chart renders it with gate MutableWhileSuspended.
awaitable<void> free_trainer(operator_scene* s) {
    for (const crd::definition& each : crd::definitions()) {
        if (each.resource.kind != "TrainJob") continue;
        doc::arena memory;
        doc::editor crd = doc::editor::of(memory, doc::deep_copy(memory, crd::make_crd(memory, each)));
        doc::editor spec = crd.child({"spec", "versions"})
                               .child(0)
                               .child({"schema", "openAPIV3Schema", "properties", "spec", "properties", "trainer"});
        spec.remove("x-kubernetes-validations");
        const std::string name(crd.get({"metadata", "name"}).as_string());
        EXPECT_TRUE(
            co_await s->api->apply(definitions, {.name = name}, doc::to_json(crd), true, {.field_manager = "test"}));
    }
}

awaitable<bool> change(operator_scene* s, std::string spec) {
    asio::steady_timer timer(s->loop);
    for (int i = 0; i < 200; ++i) {  // until the definition is served
        const auto done = co_await s->api->merge_patch(kinds::train_job, {.ns = s->ns, .name = "job-0"},
                                                       R"({"spec":{)" + spec + "}}");
        if (done) co_return true;
        timer.expires_after(std::chrono::milliseconds(50));
        co_await timer.async_wait(asio::use_awaitable);
    }
    co_return false;
}

awaitable<bool> until_nodes(operator_scene* s, int nodes, bool suspended) {
    const std::string parallelism = R"("parallelism":)" + std::to_string(nodes);
    const std::string suspend = std::string(R"("suspend":)") + (suspended ? "true" : "false");
    co_return co_await s->until(
        kinds::job_set, [&](const std::string& all) { return all.contains(parallelism) && all.contains(suspend); },
        std::chrono::seconds(30));
}

class operator_replaced : public testing::Test {
   protected:
    side_plane plane_{plane::bare, {"--with", "kcm,jobset", "--crds", test_variable("COTRAIN_TEST_CRDS")}};
};

TEST_F(operator_replaced, other_numbers_of_nodes_come_about_while_a_job_is_suspended) {
    operator_scene scene("operator-replaced", plane_.kubeconfig());
    scene.play(+[](operator_scene& s) -> awaitable<void> {
        co_await free_trainer(&s);
        EXPECT_TRUE(co_await s.start_operator());
        co_await s.create_many(
            "job-", 1,
            R"({"runtimeRef":{"name":"mpi","kind":"TrainingRuntime"},"trainer":{"numNodes":2},"suspend":true})");
        EXPECT_TRUE(co_await until_nodes(&s, 2, true));
        EXPECT_TRUE(co_await change(&s, R"("trainer":{"numNodes":4})"));
        EXPECT_TRUE(co_await until_nodes(&s, 4, true)) << co_await s.list(kinds::train_job);
        EXPECT_TRUE(co_await change(&s, R"("suspend":false)"));
        EXPECT_TRUE(co_await until_nodes(&s, 4, false));
        EXPECT_TRUE(co_await s.until(kinds::config_map, [](const std::string& all) {
            return all.contains("job-0-node-0-3.job-0") && !all.contains("job-0-node-0-4.job-0");
        }));
        EXPECT_TRUE((co_await s.list(kinds::pod_group)).contains(R"("minMember":5)"));
        // Of a job that runs: it is suspended first, and its Pods go.
        EXPECT_TRUE(co_await change(&s, R"("suspend":true,"trainer":{"numNodes":3})"));
        EXPECT_TRUE(co_await until_nodes(&s, 3, true)) << co_await s.list(kinds::job_set);
        EXPECT_TRUE(
            co_await s.until(kinds::train_job, [](const std::string& all) { return !all.contains("ResourcesReady"); }));
    });
}

}  // namespace
}  // namespace cotrain::test
