// Keys, gates and annotations of the operator's configuration at a real API server: each shows its effect.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <string>

#include "integration/serve_scene.hpp"

namespace cotrain::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr kube::resource leases{"coordination.k8s.io", "v1", "leases", "Lease"};

// The status of a request of HTTP/1.1 without TLS; 0: nobody answers so.
awaitable<int> plain(operator_scene* s, std::string host, std::uint16_t port, std::string path) {
    asio::ip::tcp::socket socket(s->loop);
    const auto [refused] = co_await socket.async_connect({asio::ip::make_address(host), port}, use_tuple);
    if (refused) co_return 0;
    const std::string request = "GET " + path + " HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n";
    co_await asio::async_write(socket, asio::buffer(request), use_tuple);
    std::string answer(12, '\0');  // "HTTP/1.1 200"
    const auto [error, bytes] = co_await asio::async_read(socket, asio::buffer(answer), use_tuple);
    co_return error || !answer.starts_with("HTTP/1.1 ") ? 0 : std::stoi(answer.substr(9));
}

struct ports {
    std::uint16_t health = free_port();
    std::uint16_t metrics = free_port();
    std::uint16_t status = free_port();
};

std::string every_section(const operator_scene& s, const serve_scene& web, const ports& at) {
    return "apiVersion: config.trainer.kubeflow.org/v1alpha1\nkind: Configuration\n"
           "webhook: {host: 127.0.0.1, port: " +
           std::to_string(web.webhook_port) +
           "}\n"
           "health: {healthProbeBindAddress: '127.0.0.1:" +
           std::to_string(at.health) +
           "', readinessEndpointName: set, livenessEndpointName: alive}\n"
           "metrics: {bindAddress: '127.0.0.1:" +
           std::to_string(at.metrics) +
           "', secureServing: false}\n"
           "leaderElection: {leaderElect: true, resourceName: of-its-own, resourceNamespace: " +
           s.ns +
           "}\n"
           "certManagement: {webhookServiceName: other-service, webhookSecretName: other-secret}\n"
           "statusServer: {port: " +
           std::to_string(at.status) + "}\nevents: {normal: true}\nfeatureGates: {AllAlpha: true}\n";
}

awaitable<void> see_addresses(operator_scene* s, const ports* at) {
    EXPECT_EQ(co_await plain(s, "127.0.0.1", at->health, "/alive"), 200);
    EXPECT_EQ(co_await plain(s, "127.0.0.1", at->health, "/set"), 200);
    EXPECT_EQ(co_await plain(s, "127.0.0.1", at->health, "/readyz"), 200) << "the ecosystem's path stays";
    EXPECT_EQ(co_await plain(s, "127.0.0.1", at->health, "/other"), 404);
    EXPECT_EQ(co_await plain(s, "127.0.0.1", at->metrics, "/metrics"), 200);
    EXPECT_EQ(co_await plain(s, "127.0.0.2", at->metrics, "/metrics"), 0) << "bound to one address";
    EXPECT_EQ(co_await plain(s, "127.0.0.2", at->health, "/alive"), 0);
    const auto lease = co_await s->api->get(leases, {s->ns, "of-its-own"});
    EXPECT_TRUE(lease && lease->body.contains("holderIdentity"));
    const auto secret = co_await s->api->get(kinds::secret, {std::string(operator_ns), "other-secret"});
    EXPECT_TRUE(secret && secret->body.contains("tls.crt"));
}

awaitable<void> see_gates(operator_scene* s, serve_scene* web) {
    EXPECT_TRUE(co_await web->create_job("short", R"({"runtimeRef":{"name":"torch","kind":"TrainingRuntime"},)"
                                                  R"("trainer":{"numProcPerNode":"gpu"},)"
                                                  R"("ttlSecondsAfterFinished":0})"))
        << web->said;
    EXPECT_THAT(web->said, HasSubstr(R"("trainer.kubeflow.org/num-proc-per-node":"gpu")"));
    EXPECT_TRUE(co_await s->until(kinds::job_set, [](const std::string& all) {
        return all.contains(R"("name":"PET_NPROC_PER_NODE","value":"gpu")") &&
               all.contains("other-service.kubeflow-system.svc:");
    }));
    EXPECT_TRUE(co_await s->until(kinds::train_job,
                                  [](const std::string& all) { return all.contains(R"("type":"Pending")"); }));
    EXPECT_TRUE(co_await s->until(kinds::event, [](const std::string& all) { return all.contains("\"Created\""); }));
    const auto done = co_await s->api->merge_patch(
        kinds::job_set, {.ns = s->ns, .name = "short"},
        R"({"status":{"conditions":[{"type":"Completed","status":"True","reason":"Test","message":"done",)"
        R"("lastTransitionTime":"2026-01-02T03:04:05Z"}]}})",
        {.sub_resource = "status"});
    EXPECT_TRUE(done) << (done ? "" : done.error().message);
    EXPECT_TRUE(
        co_await s->until(kinds::train_job, [](const std::string& all) { return !all.contains(R"("name":"short")"); }));
}

awaitable<void> every_key(operator_scene& s) {
    serve_scene web(s);
    co_await web.prepare();
    co_await web.install_webhooks();
    const ports at;
    EXPECT_TRUE(co_await s.start_operator(every_section(s, web, at)));
    EXPECT_TRUE(co_await web.created_within("first", 30s)) << web.said;
    co_await see_addresses(&s, &at);
    co_await see_gates(&s, &web);
    co_await web.remove_webhooks();
    static_cast<void>(co_await s.api->remove(kinds::secret, {std::string(operator_ns), "other-secret"}));
}

TEST(serve, keys_gates_and_annotations_show_their_effect) { operator_scene("serve-keys").play(every_key); }

}  // namespace
}  // namespace cotrain::test
