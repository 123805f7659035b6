// How soon all is right again: after a stop of the API server, on a dead connection, and when the Lease is deleted.
#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <optional>

#include "integration/control.hpp"
#include "integration/operator_scene.hpp"
#include "support/tcp_proxy.hpp"
#include "support/temp_dir.hpp"

namespace cotrain::test {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr auto torch_job = R"({"runtimeRef":{"name":"torch","kind":"TrainingRuntime"}})";
constexpr auto config = "apiVersion: config.trainer.kubeflow.org/v1alpha1\nkind: Configuration\n";

std::string with_election(const std::string& ns) {
    return std::string(config) + "leaderElection: {leaderElect: true, resourceNamespace: " + ns + "}\n";
}

awaitable<void> pause(operator_scene* s, std::chrono::milliseconds time) {
    asio::steady_timer timer(s->loop, time);
    co_await timer.async_wait(asio::use_awaitable);
}

double seconds_since(clock::time_point begun) { return std::chrono::duration<double>(clock::now() - begun).count(); }

awaitable<void> stop_and_start(operator_scene& s) {
    EXPECT_TRUE(co_await s.start_operator());
    co_await s.create_jobs("before", 0, 1, torch_job);
    EXPECT_TRUE(co_await s.until_count(kinds::job_set, 1));
    // Long enough for every wait between two tries to have grown.
    static_cast<void>(co_await control("stop apiserver"));
    co_await pause(&s, 15s);
    static_cast<void>(co_await control("start apiserver"));
    const auto ready = clock::now();
    co_await s.create_jobs("after", 0, 1, torch_job);
    EXPECT_TRUE(co_await s.until_count(kinds::job_set, 2));
    std::printf("right again %.1f s after the API server was ready\n", seconds_since(ready));
    EXPECT_LT(seconds_since(ready), 5);
}

TEST(operator_recovery, all_is_right_again_soon_after_an_api_server_that_stopped_gracefully) {
    operator_scene scene("operator-recovery-stop");
    scene.play(stop_and_start);
}

// The kubeconfig of the run with another port.
std::string through(const tcp_proxy& relay, temp_dir& files) {
    std::ifstream in(test_variable("COTRAIN_TEST_KUBECONFIG"));
    std::string text{std::istreambuf_iterator<char>(in), {}};
    const std::string port = ":" + std::to_string(real_cluster().port);
    for (std::size_t at = text.find(port); at != std::string::npos; at = text.find(port, at + 1))
        text.replace(at, port.size(), ":" + std::to_string(relay.port()));
    files.write("kubeconfig", text);
    return files.path("kubeconfig");
}

awaitable<void> lose_connection(operator_scene& s) {
    for (const bool election : {false, true}) {
        tcp_proxy relay(s.loop.get_executor(), real_cluster().port);
        temp_dir files;
        operator_child child(s.loop, election ? with_election(s.ns) : config, through(relay, files));
        EXPECT_TRUE(co_await child.said("\"leading\""));
        const int there = co_await s.count(kinds::job_set);
        co_await s.create_jobs(election ? "led" : "alone", 0, 1, torch_job);
        EXPECT_TRUE(co_await s.until_count(kinds::job_set, there + 1));
        relay.swallow();
        const auto dead = clock::now();
        co_await s.create_jobs(election ? "led" : "alone", 1, 2, torch_job);
        EXPECT_TRUE(co_await s.until_count(kinds::job_set, there + 2));
        std::printf("a dead connection cost %.1f s %s election\n", seconds_since(dead), election ? "with" : "without");
        EXPECT_LT(seconds_since(dead), 11) << "9 s until it counts as dead, and the watches begin again";
        EXPECT_EQ(co_await child.stop(), 0);
        co_await relay.stop();
    }
}

TEST(operator_recovery, a_dead_connection_costs_ten_seconds_at_most) {
    operator_scene scene("operator-recovery-dead");
    scene.play(lose_connection);
}

awaitable<void> delete_lease(operator_scene& s) {
    constexpr kube::resource leases{"coordination.k8s.io", "v1", "leases", "Lease"};
    EXPECT_TRUE(co_await s.start_operator(with_election(s.ns)));
    co_await pause(&s, 500ms);  // for the watch to begin
    EXPECT_TRUE((co_await s.api->remove(leases, {s.ns, "trainer.kubeflow.org"})).has_value());
    const auto deleted = clock::now();
    EXPECT_TRUE(co_await s.child->said("another client deleted or took the Lease", 5s)) << s.child->log();
    EXPECT_LT(seconds_since(deleted), 0.5) << "a renewal would have told within two seconds";
    EXPECT_EQ(co_await s.child->ended(), 3);
    s.child.reset();
}

TEST(operator_recovery, a_leader_whose_lease_is_deleted_stops_at_once) {
    operator_scene scene("operator-recovery-lease");
    scene.play(delete_lease);
}

}  // namespace
}  // namespace cotrain::test
