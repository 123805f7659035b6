// The whole client, coroutines, TLS and sockets included, against our own server on the same thread: work that can be
// counted to the instruction, since nobody else runs. One iteration is a wave of 90 PATCHes of 2 KiB.
#include <benchmark/benchmark.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <stdexcept>
#include <string>

#include "../test/support/certificates.cpp"  // bench programs see the rooms, not the tests' library
#include "base/task_group.hpp"
#include "net/client.hpp"
#include "net/server.hpp"

namespace {

using namespace cotrain;

constexpr int streams = 90;

awaitable<void> answer(net::incoming request) {
    request.respond(200, {{"content-type", "application/json"}}, R"({"kind":"JobSet","metadata":{"name":"job"}})");
    co_return;
}

awaitable<void> patch(net::client* client, bool* good) {
    net::request r;
    r.method = "PATCH";
    r.path = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets/job?fieldManager=trainer&force=true";
    r.rank = net::priority::write;
    r.headers.reserve(2);
    r.headers.push_back({"content-type", "application/apply-patch+yaml"});
    r.headers.push_back({"user-agent", "cotrain"});
    r.body.assign(2048, 'x');
    const auto answer = co_await client->send(std::move(r));
    *good = *good && answer && answer->status == 200;
}

awaitable<void> wave(net::client* client, base::task_group* group, asio::io_context* loop, bool* good) {
    for (int i = 0; i < streams; ++i) group->spawn("patch", patch(client, good));
    co_await group->join();
    loop->stop();
}

awaitable<void> stop_both(net::client* client, net::server* server) {
    co_await client->stop();
    co_await server->stop();
}

void loopback_patches(benchmark::State& state) {
    const test::authority ca;
    const test::certificate leaf = ca.issue({.common_name = "localhost", .addresses = {"127.0.0.1"}});
    const auto server_tls =
        net::tls::context::for_server({.certificate_pem = leaf.certificate_pem, .key_pem = leaf.key_pem});
    const auto client_tls = net::tls::context::for_client({.ca_pem = ca.pem()});
    if (!server_tls || !client_tls) throw std::runtime_error("no TLS context");

    asio::io_context loop(1);
    auto log = base::stderr_logger();
    net::server_options serve;
    serve.limits.peer_streams_max = 128;  // as many as the client asks for
    serve.tls = [&] { return *server_tls; };
    net::server server(loop.get_executor(), std::move(serve), answer, log);
    if (const auto started = server.start(); !started) throw std::runtime_error(started.error().message);
    net::client_options connect;
    connect.peer = {"127.0.0.1", server.port()};
    connect.tls = *client_tls;
    connect.limits.urgent_reserve = 0;
    net::client client(loop.get_executor(), std::move(connect), log);
    base::task_group group(loop.get_executor());

    bool good = true;
    const auto one_wave = [&] {
        asio::co_spawn(loop, wave(&client, &group, &loop, &good), asio::detached);
        loop.restart();
        loop.run();
    };
    one_wave();  // connects
    for (auto _ : state) one_wave();
    if (!good) state.SkipWithError("a request failed");
    state.SetItemsProcessed(state.iterations() * streams);
    asio::co_spawn(loop, stop_both(&client, &server), asio::detached);
    loop.restart();
    loop.run();
}
BENCHMARK(loopback_patches)->Unit(benchmark::kMicrosecond);

}  // namespace
