// What the operator makes on the embedded API server is taken as it is by a real one.
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <string>

#include "api/edit.hpp"
#include "api/json.hpp"
#include "integration/control.hpp"
#include "integration/operator_scene.hpp"
#include "integration/operator_sim_child.hpp"
#include "support/run.hpp"

namespace cotrain {
namespace {

// Without what the server itself writes.
std::string as_sent(api::arena& memory, api::ref object) {
    api::editor out = api::editor::of(memory, object);
    out.remove("status");
    api::editor metadata = out.ensure_object("metadata");
    for (const char* own : {"managedFields", "uid", "resourceVersion", "creationTimestamp", "generation"})
        metadata.remove(own);
    return api::to_json(out);
}

awaitable<void> offer(asio::io_context* loop, std::string name, std::string json) {
    auto real = kube::client::make(loop->get_executor(), test::real_cluster(), {}, base::null_logger());
    EXPECT_TRUE(real) << real.error().message;
    api::arena memory;
    const auto sent = api::parse_json(memory, json);
    const auto taken = co_await (*real)->apply(test::kinds::job_set, {"default", name}, json, true,
                                               {.field_manager = "trainer", .dry_run = true});
    EXPECT_TRUE(taken) << taken.error().message;
    if (taken) {
        const auto read = api::parse_json(memory, taken->body);
        EXPECT_TRUE(equal(read->get("spec"), sent->get("spec")))
            << name << "\nsent:  " << api::to_json(sent->get("spec")) << "\ntaken: " << api::to_json(read->get("spec"));
        EXPECT_TRUE(equal(read->get({"metadata", "labels"}), sent->get({"metadata", "labels"})));
    }
    co_await (*real)->stop();
}

TEST(sim_jobsets, are_accepted_unchanged_by_the_real_api_server) {
    test::playground_child child({"--no-page", "--script", "never"});
    for (const std::string file : {"torch", "mpi"}) {
        const std::string job = file == "torch" ? "torch-two" : "mpi-pi";
        const test::finished made = run_shell(child, "kubectl apply --server-side -f examples/" + file +
                                                         ".yaml >/dev/null && kubectl wait --for=create jobset/" + job +
                                                         " --timeout=60s >/dev/null && kubectl get --raw "
                                                         "/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets/" +
                                                         job);
        ASSERT_EQ(made.code, 0) << made.output;
        api::arena memory;
        const auto read = api::parse_json(memory, made.output);
        ASSERT_TRUE(read) << made.output;
        asio::io_context loop(1);
        test::run(loop, offer(&loop, job, as_sent(memory, *read)));
    }
    EXPECT_EQ(child.stop(), 0);
}

}  // namespace
}  // namespace cotrain
