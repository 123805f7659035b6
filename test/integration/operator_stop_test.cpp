// The end of an operator: within five seconds whatever hangs, and for good, also where the Lease went to somebody else.
#include <gtest/gtest.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string>

#include "integration/operator_child.hpp"
#include "integration/operator_sim_child.hpp"
#include "support/run.hpp"

namespace cotrain::test {
namespace {

using namespace std::chrono_literals;
using asio::ip::tcp;

// With ports of its own, which the log names.
constexpr auto config = R"(apiVersion: config.trainer.kubeflow.org/v1alpha1
kind: Configuration
leaderElection: {leaderElect: true, resourceNamespace: default}
metrics: {bindAddress: '127.0.0.1:0', secureServing: false}
health: {healthProbeBindAddress: '127.0.0.1:0'}
)";

std::uint16_t port_of(const operator_child& child, const std::string& what) {
    const std::string log = child.log();
    const std::string before = R"("what":")" + what + R"(","port":)";
    const auto at = log.find(before);
    return at == std::string::npos ? std::uint16_t{0}
                                   : static_cast<std::uint16_t>(std::atoi(log.c_str() + at + before.size()));
}

// A peer that was answered once, and whose second request has come in half: it never ends.
awaitable<tcp::socket> half_asked(asio::io_context* loop, std::uint16_t port) {
    tcp::socket out(*loop);
    co_await out.async_connect({asio::ip::address_v4::loopback(), port}, asio::use_awaitable);
    const std::string words = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\nGET /healthz HTTP/1.1\r\nHost:";
    co_await asio::async_write(out, asio::buffer(words), asio::use_awaitable);
    std::string answer;
    co_await asio::async_read_until(out, asio::dynamic_buffer(answer), "\r\n\r\n", asio::use_awaitable);
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 ")) << answer;
    co_return out;
}

void expect_fine(const playground_child& in, const std::string& command) {
    const finished done = run_shell(in, command);
    EXPECT_EQ(done.code, 0) << command << "\n" << done.output;
}

std::string holder(const playground_child& in) {
    return run_shell(in, "kubectl get lease trainer.kubeflow.org -o jsonpath='<{.spec.holderIdentity}>'").output;
}

// A job whose JobSet's apply is under way, and will not be answered.
void hang_a_write(const playground_child& in) {
    expect_fine(in,
                "kubectl apply -f examples/torch.yaml && kubectl wait --for=create "
                "configmap/torch-two-runtime-snapshot --timeout=60s");
}

// As in a Pod: the Service has to forget us first.
struct in_a_pod {
    in_a_pod() { ::setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1", 1); }
    ~in_a_pod() { ::unsetenv("KUBERNETES_SERVICE_HOST"); }
};

awaitable<void> stop_with_all_hanging(asio::io_context* loop, playground_child* cluster) {
    const auto surroundings = std::make_unique<in_a_pod>();
    operator_child child(*loop, config, cluster->kubeconfig());
    EXPECT_TRUE(co_await child.said("\"leading\""));
    hang_a_write(*cluster);
    const tcp::socket first = co_await half_asked(loop, port_of(child, "health"));
    const tcp::socket second = co_await half_asked(loop, port_of(child, "metrics"));
    const auto begun = std::chrono::steady_clock::now();
    EXPECT_EQ(co_await child.stop(), 0) << child.log();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
    std::printf("stopped with everything hanging: %.2f s\n", took.count());
    EXPECT_LT(took.count(), 5);
    EXPECT_GT(took.count(), 3) << "the Service still sends us reviews";
}

TEST(operator_stop, ends_within_five_seconds_whatever_hangs) {
    playground_child cluster({"--no-page", "--no-operator", "--script", "never", "--faults", "patch jobsets hang"});
    asio::io_context loop(1);
    test::run(loop, stop_with_all_hanging(&loop, &cluster));
    EXPECT_EQ(cluster.stop(), 0);
}

awaitable<void> lose_the_lease_while_busy(asio::io_context* loop, playground_child* cluster) {
    operator_child child(*loop, config, cluster->kubeconfig());
    EXPECT_TRUE(co_await child.said("\"leading\""));
    hang_a_write(*cluster);
    const tcp::socket open = co_await half_asked(loop, port_of(child, "health"));
    expect_fine(*cluster,
                "kubectl patch lease trainer.kubeflow.org --type merge -p '{\"spec\":{\"holderIdentity\":\"thief\"}}'");
    EXPECT_TRUE(co_await child.said("leader election lost"));
    // It still watches, as long as the open request holds it up.
    expect_fine(*cluster, "sed s/torch-two/torch-late/ examples/torch.yaml | kubectl apply -f -");
    EXPECT_EQ(co_await child.ended(), 3) << child.log();
    EXPECT_EQ(holder(*cluster), "<thief>");
}

TEST(operator_stop, ends_after_a_lost_lease_though_events_go_on) {
    playground_child cluster({"--no-page", "--no-operator", "--script", "never", "--faults", "patch jobsets hang"});
    asio::io_context loop(1);
    test::run(loop, lose_the_lease_while_busy(&loop, &cluster));
    EXPECT_EQ(cluster.stop(), 0);
}

}  // namespace
}  // namespace cotrain::test
