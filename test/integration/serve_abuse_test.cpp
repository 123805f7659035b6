// The running operator against peers that mean harm, on every port: it answers the others meanwhile, and does not grow.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <vector>

#include "integration/serve_scene.hpp"
#include "support/hostile_client.hpp"

namespace cotrain::test {
namespace {

using namespace std::chrono_literals;
using testing::AnyOf;
using testing::HasSubstr;
using testing::StartsWith;
using over = hostile_client::over;

constexpr std::string_view h1 = "\x08http/1.1";
constexpr std::string_view h2 = "\x02h2";
constexpr std::size_t connections = 700;
constexpr std::size_t growth_max = connections * (64U << 10U);  // TLS needs most of it

struct ports {
    std::uint16_t webhook, metrics, status, health;
    [[nodiscard]] std::vector<std::uint16_t> with_tls() const { return {webhook, metrics, status}; }
    [[nodiscard]] std::vector<std::uint16_t> all() const { return {webhook, metrics, status, health}; }
};

std::string frame(std::size_t bytes, char type, char flags, std::uint32_t stream) {
    std::string out;
    for (const int shift : {16, 8, 0}) out += static_cast<char>(bytes >> shift & 0xFFU);
    out += type;
    out += flags;
    for (const int shift : {24, 16, 8, 0}) out += static_cast<char>(stream >> shift & 0xFFU);
    return out;
}

std::string preface() { return "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(0, 4, 0, 0); }

// GET https://a/ in HPACK: three fields of the static table, one literal.
std::string get(std::uint32_t stream) {
    const std::string fields =
        "\x82\x87\x84\x41\x01"
        "a";
    return frame(fields.size(), 1, 5, stream) + fields;
}

// Others are served while many say nothing, or only half of something.
awaitable<void> silence(serve_scene& web, const ports& at) {
    std::vector<hostile_client> all;
    for (const std::uint16_t port : at.all())
        for (int i = 0; i < 100; ++i) all.emplace_back(port, over::tcp);
    for (const std::uint16_t port : at.with_tls()) {
        for (int i = 0; i < 50; ++i) {
            all.emplace_back(port, over::tls, h1).send("POST / HTTP/1.1\r\nHost: a\r\nX-Slow: ");
            all.emplace_back(port, over::tls, h2).send(preface().substr(0, 30));
        }
    }
    for (const hostile_client& each : all) EXPECT_TRUE(each.connected());
    net::request plain;
    plain.path = "/nothing";
    plain.deadline = 5s;
    for (const std::uint16_t port : at.with_tls()) EXPECT_GE((co_await web.ask(port, plain)).status, 400) << web.said;
    EXPECT_TRUE(co_await web.create_job("meanwhile", R"({"runtimeRef":{"name":"torch","kind":"TrainingRuntime"}})"))
        << web.said;
    // Who does not even shake hands has ten seconds.
    for (std::size_t i = 0; i < 300; i += 50) {
        static_cast<void>(all[i].read_all(20s));
        EXPECT_TRUE(all[i].closed()) << i;
    }
}

void resets(const ports& at) {
    for (const std::uint16_t port : at.with_tls()) {
        hostile_client peer(port, over::tls, h2);
        EXPECT_TRUE(peer.send(preface()));
        std::string all;
        for (std::uint32_t stream = 1; stream < 4000; stream += 2)
            all += get(stream) + frame(4, 3, 0, stream) + std::string("\0\0\0\x08", 4);
        peer.send(all);
        const std::string answer = peer.read_all(20s);
        EXPECT_TRUE(peer.closed()) << port;
        // GOAWAY with ENHANCE_YOUR_CALM.
        EXPECT_THAT(answer, HasSubstr(std::string("\0\0\0\x0b", 4))) << port;
    }
}

void nonsense(const ports& at) {
    for (const std::uint16_t port : at.with_tls()) {
        for (const std::string& bytes :
             {std::string("GET / HTTP/1.1\r\n\r\n"), std::string(4096, '\0'),
              std::string("\x16\x03\x01\xff\xff\x01\x00\x00", 8) + std::string(70000, 'x')}) {
            hostile_client peer(port, over::tcp);
            peer.send(bytes);
            static_cast<void>(peer.read_all(20s));
            EXPECT_TRUE(peer.closed()) << port;
        }
        EXPECT_FALSE(hostile_client(port, over::tls, h1, TLS1_1_VERSION).connected()) << port;
        EXPECT_TRUE(hostile_client(port, over::tls, h1, TLS1_2_VERSION).connected()) << port;
        hostile_client large(port, over::tls, h1);
        large.send("GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(100'000, 'x') + "\r\n\r\n");
        EXPECT_THAT(large.read_all(20s), StartsWith("HTTP/1.1 431 ")) << port;
        hostile_client endless(port, over::tls, h1);
        endless.send("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999\r\n\r\n");
        EXPECT_THAT(endless.read_all(20s), StartsWith("HTTP/1.1 413 ")) << port;
    }
    hostile_client health(at.health, over::tcp);
    health.send("\x16\x03\x01nonsense\r\n\r\n");
    EXPECT_THAT(health.read_all(20s), StartsWith("HTTP/1.1 400 "));
}

awaitable<void> reviews(serve_scene& web, const ports& at) {
    for (const char* body :
         {"", "{", "null", "[]", R"({"kind":"AdmissionReview"})", R"({"request":{"object":{"spec":1}}})"}) {
        net::request r;
        r.method = "POST";
        r.path = "/validate-trainer-kubeflow-org-v1alpha1-trainjob";
        r.headers = {{"content-type", "application/json"}};
        r.body = body;
        static_cast<void>(co_await web.ask(at.webhook, std::move(r)));
        EXPECT_THAT(web.said, AnyOf(HasSubstr(R"("allowed":false)"), StartsWith("AdmissionReview"))) << body;
    }
}

awaitable<void> abuse(operator_scene& s) {
    serve_scene web(s);
    co_await web.prepare();
    co_await web.install_webhooks();
    const ports at{web.webhook_port, free_port(), free_port(), free_port()};
    const auto port = [](std::uint16_t p) { return std::to_string(p); };
    EXPECT_TRUE(co_await s.start_operator(web.config(
        "metrics: {bindAddress: '127.0.0.1:" + port(at.metrics) + "'}\nstatusServer: {port: " + port(at.status) +
        "}\nfeatureGates: {TrainJobStatus: true}\nhealth: {healthProbeBindAddress: '127.0.0.1:" + port(at.health) +
        "'}\n")));
    EXPECT_TRUE(co_await web.created_within("before", 30s)) << web.said;
    const auto before = s.child->used();
    co_await silence(web, at);
    resets(at);
    nonsense(at);
    co_await reviews(web, at);
    EXPECT_TRUE(co_await web.create_job("after", R"({"runtimeRef":{"name":"torch","kind":"TrainingRuntime"}})"))
        << web.said;
    const auto after = s.child->used();
    std::printf("resident before %zu KiB, at most %zu KiB, after %zu KiB\n", before.resident >> 10U, after.peak >> 10U,
                after.resident >> 10U);
    EXPECT_LT(after.peak, before.peak + growth_max);
    co_await web.remove_webhooks();
}

TEST(serve, peers_that_mean_harm_are_bounded_and_others_served) { operator_scene("serve-abuse").play(abuse); }

}  // namespace
}  // namespace cotrain::test
