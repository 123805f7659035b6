// How an operator starts and ends: definitions that are not there yet, mistakes in its configuration, signals.
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "integration/control.hpp"
#include "integration/operator_child.hpp"
#include "integration/operator_side_plane.hpp"
#include "support/run.hpp"

namespace cotrain::test {
namespace {

namespace fs = std::filesystem;

constexpr auto config = "apiVersion: config.trainer.kubeflow.org/v1alpha1\nkind: Configuration\n";

bool apply(const std::string& kubeconfig, const std::string& what) {
    const std::string command = test_variable("COTRAIN_TEST_KUBECTL") + " --kubeconfig " + kubeconfig +
                                " apply --server-side -f " + what + " > /dev/null";
    return std::system(command.c_str()) == 0;
}

awaitable<void> wait_for_definitions(asio::io_context* loop, const side_plane* plane) {
    operator_child child(*loop, config, plane->kubeconfig());
    EXPECT_TRUE(co_await child.said("waiting for a definition"));
    EXPECT_TRUE(co_await child.said("jobsets.jobset.x-k8s.io"));
    EXPECT_TRUE(co_await child.said("jobset.sigs.k8s.io/docs/installation"));
    EXPECT_TRUE(co_await child.said("trainjobs.trainer.kubeflow.org"));
    EXPECT_FALSE(child.log().contains("\"leading\""));
    EXPECT_TRUE(apply(plane->kubeconfig(), (fs::path(COTRAIN_SOURCE_DIR) / "deploy" / "crds").string()));
    EXPECT_TRUE(apply(plane->kubeconfig(), test_variable("COTRAIN_TEST_CRDS") + "/jobset.yaml"));
    EXPECT_TRUE(co_await child.said("\"leading\""));
    EXPECT_EQ(co_await child.stop(), 0);
}

TEST(operator_start, waits_for_definitions_says_which_and_begins_when_they_come) {
    const side_plane plane(plane::bare);
    asio::io_context loop(1);
    test::run(loop, wait_for_definitions(&loop, &plane));
}

awaitable<void> end_by_mistake(asio::io_context* loop) {
    operator_child wrong(*loop, "apiVersion: config.trainer.kubeflow.org/v1alpha1\nkind: Configuration\nwebhok: {}\n");
    EXPECT_EQ(co_await wrong.ended(), 2);
    EXPECT_TRUE(wrong.log().contains("webhok")) << wrong.log();
    operator_child nowhere(*loop, config, "/does/not/exist");
    EXPECT_EQ(co_await nowhere.ended(), 2);
    EXPECT_TRUE(nowhere.log().contains("/does/not/exist")) << nowhere.log();
}

TEST(operator_start, a_mistake_is_one_line_and_an_exit_code) {
    asio::io_context loop(1);
    test::run(loop, end_by_mistake(&loop));
}

awaitable<void> reload(asio::io_context* loop) {
    operator_child child(*loop, config);
    EXPECT_TRUE(co_await child.said("the operator starts"));
    child.rewrite(std::string(config) + "clientConnection: {qps: 7, burst: 9}\n" +
                  "controller: {groupKindConcurrency: {TrainJob.trainer.kubeflow.org: 3}}\n");
    child.signal(SIGHUP);
    EXPECT_TRUE(co_await child.said("the configuration was reloaded"));
    EXPECT_TRUE(child.log().contains(R"("clientConnection.qps":7,"concurrency":3,"needs a restart":false)"))
        << child.log();
    child.rewrite("nonsense: 1\n");
    child.signal(SIGHUP);
    EXPECT_TRUE(co_await child.said("the configuration was not reloaded"));
    child.rewrite(std::string(config) + "leaderElection: {leaderElect: true}\n");
    child.signal(SIGHUP);
    EXPECT_TRUE(co_await child.said(R"("needs a restart":true)"));
    child.signal(SIGINT);
    EXPECT_EQ(co_await child.ended(), 0);
}

TEST(operator_start, sighup_reloads_and_sigint_ends) {
    asio::io_context loop(1);
    test::run(loop, reload(&loop));
}

}  // namespace
}  // namespace cotrain::test
