// How an operator starts and ends: definitions that are not there yet, mistakes in its configuration, signals.
#include <gtest/gtest.h>

#include <boost/asio/ip/tcp.hpp>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "integration/control.hpp"
#include "integration/operator_child.hpp"
#include "integration/operator_scene.hpp"
#include "integration/operator_side_plane.hpp"
#include "integration/operator_sim_child.hpp"
#include "support/run.hpp"
#include "support/temp_dir.hpp"

namespace cotrain::test {
namespace {

namespace fs = std::filesystem;

constexpr auto config = "apiVersion: config.trainer.kubeflow.org/v1alpha1\nkind: Configuration\n";

bool apply_manifests(const std::string& kubeconfig, const std::string& what) {
    const std::string command = test_variable("COTRAIN_TEST_KUBECTL") + " --kubeconfig " + kubeconfig +
                                " apply --server-side -f " + what + " > /dev/null";
    return std::system(command.c_str()) == 0;
}

awaitable<void> wait_for_definitions(asio::io_context* loop, const side_plane* plane) {
    operator_child child(*loop,
                         std::string(config) + "leaderElection: {leaderElect: true, resourceNamespace: default}\n",
                         plane->kubeconfig());
    EXPECT_TRUE(co_await child.said("waiting for a CRD that is not installed"));
    EXPECT_TRUE(co_await child.said("jobsets.jobset.x-k8s.io"));
    EXPECT_TRUE(co_await child.said("jobset.sigs.k8s.io/docs/installation"));
    EXPECT_TRUE(co_await child.said("trainjobs.trainer.kubeflow.org"));
    EXPECT_FALSE(child.log().contains("\"leading\""));
    EXPECT_FALSE(child.log().contains("Lease holder changed")) << "it leaves the Lease to who could work with it";
    EXPECT_TRUE(apply_manifests(plane->kubeconfig(), (fs::path(COTRAIN_SOURCE_DIR) / "deploy" / "crds").string()));
    EXPECT_TRUE(apply_manifests(plane->kubeconfig(), test_variable("COTRAIN_TEST_CRDS") + "/jobset.yaml"));
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

// The port is somebody else's, here the test's.
awaitable<void> end_for_want_of_a_port(asio::io_context* loop) {
    const asio::ip::tcp::acceptor taken(*loop, {asio::ip::address_v4::loopback(), 0});
    const std::string port = std::to_string(taken.local_endpoint().port());
    operator_child child(*loop, std::string(config) + "webhook: {host: 127.0.0.1, port: " + port + "}\n");
    EXPECT_EQ(co_await child.ended(), 1);
    EXPECT_TRUE(child.log().contains("cannot listen on a port")) << child.log();
    EXPECT_TRUE(child.log().contains(port)) << child.log();
    EXPECT_FALSE(child.log().contains("leading"));
}

TEST(operator_start, a_port_in_use_is_exit_code_1) {
    asio::io_context loop(1);
    test::run(loop, end_for_want_of_a_port(&loop));
}

std::string kubeconfig_of(const std::string& user) {
    return "apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]\n"
           "contexts: [{name: x, context: {cluster: c, user: u}}]\ncurrent-context: x\nusers: [{name: u, user: " +
           user + "}]\n";
}

// The base64 of a certificate's first and last line with nothing sensible between.
constexpr std::string_view no_certificate =
    "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCkFBQUEKLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo=";

awaitable<void> end_for_want_of_credentials(asio::io_context* loop) {
    const temp_dir files;
    const std::string broken(no_certificate);
    for (const std::string& user : {std::string("{tokenFile: /does/not/exist}"),
                                    "{client-certificate-data: " + broken + ", client-key-data: " + broken + "}"}) {
        operator_child child(*loop, config, files.write("kubeconfig", kubeconfig_of(user)));
        EXPECT_EQ(co_await child.ended(), 1);
        EXPECT_TRUE(child.log().starts_with("cotrain operator: ")) << child.log();
        EXPECT_EQ(count_of(child.log(), "\n"), 1) << child.log();
    }
}

TEST(operator_start, unusable_credentials_are_exit_code_1) {
    asio::io_context loop(1);
    test::run(loop, end_for_want_of_credentials(&loop));
}

// Soft and hard: it cannot be raised again.
bool leaves_no_core(pid_t of) {
    std::ifstream limits("/proc/" + std::to_string(of) + "/limits");
    for (std::string line; std::getline(limits, line);) {
        std::string soft;
        std::string hard;
        if (!line.starts_with("Max core file size")) continue;
        std::istringstream(line.substr(18)) >> soft >> hard;
        return soft == "0" && hard == "0";
    }
    return false;
}

awaitable<void> reload(asio::io_context* loop) {
    operator_child child(*loop, config);
    EXPECT_TRUE(co_await child.said("starting operator"));
    EXPECT_TRUE(leaves_no_core(child.pid()));
    child.rewrite(std::string(config) + "clientConnection: {qps: 7, burst: 9}\n" +
                  "controller: {groupKindConcurrency: {TrainJob.trainer.kubeflow.org: 3}}\n");
    child.signal(SIGHUP);
    EXPECT_TRUE(co_await child.said("configuration reloaded"));
    EXPECT_TRUE(child.log().contains(R"("clientConnection.qps":7,"concurrency":3,"needs a restart":false)"))
        << child.log();
    child.rewrite("nonsense: 1\n");
    child.signal(SIGHUP);
    EXPECT_TRUE(co_await child.said("cannot reload the configuration"));
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

std::string room_for(int jobs) {
    return std::string(config) +
           "controller: {groupKindConcurrency: {TrainJob.trainer.kubeflow.org: " + std::to_string(jobs) + "}}\n";
}

void must(const playground_child& in, const std::string& command) {
    const finished done = run_shell(in, command);
    EXPECT_EQ(done.code, 0) << command << "\n" << done.output;
}

// First room for one job, whose JobSet's apply hangs; then a request in a thousand seconds.
awaitable<void> reload_while_working(asio::io_context* loop, playground_child* cluster) {
    operator_child child(*loop, room_for(1), cluster->kubeconfig());
    EXPECT_TRUE(co_await child.said("\"leading\""));
    must(*cluster, "kubectl apply -f examples/torch.yaml");
    must(*cluster, "kubectl wait --for=create configmap/torch-two-runtime-snapshot --timeout=60s");
    must(*cluster, "sed s/torch-two/second/ examples/torch.yaml | kubectl apply -f -");
    EXPECT_NE(run_shell(*cluster, "kubectl get configmap second-runtime-snapshot").code, 0);
    child.rewrite(room_for(8));
    child.signal(SIGHUP);
    must(*cluster, "kubectl wait --for=create configmap/second-runtime-snapshot --timeout=60s");

    child.rewrite(room_for(8) + "clientConnection: {qps: 0.001, burst: 1}\n");
    child.signal(SIGHUP);
    EXPECT_TRUE(co_await child.said(R"("clientConnection.qps":0.001)"));
    must(*cluster, "sed s/torch-two/third/ examples/torch.yaml | kubectl apply -f -");
    EXPECT_TRUE(co_await child.said("rate limit (qps)")) << child.log();
    EXPECT_NE(run_shell(*cluster, "kubectl get jobset third").code, 0);
    child.rewrite(room_for(8) + "clientConnection: {qps: -1}\n");
    child.signal(SIGHUP);
    must(*cluster, "kubectl wait --for=create jobset/third --timeout=60s");
    EXPECT_EQ(co_await child.stop(), 0);
}

TEST(operator_start, what_sighup_takes_over_acts_at_once) {
    playground_child cluster({"--no-page", "--no-operator", "--script", "never", "--faults", "patch jobsets hang"});
    asio::io_context loop(1);
    test::run(loop, reload_while_working(&loop, &cluster));
    EXPECT_EQ(cluster.stop(), 0);
}

}  // namespace
}  // namespace cotrain::test
