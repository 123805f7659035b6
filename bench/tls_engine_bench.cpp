// Throughput of the TLS engine in memory: what the library's own cipher speed leaves over.
#include <benchmark/benchmark.h>

#include <stdexcept>
#include <string>

#include "../test/support/certificates.cpp"  // bench programs see the rooms, not the tests' library
#include "net/tls/engine.hpp"

namespace {

using namespace cotrain;

struct keys {
    std::shared_ptr<const net::tls::context> client;
    std::shared_ptr<const net::tls::context> server;

    static const keys& get() {
        static const keys made = [] {
            const test::authority ca;
            const test::certificate leaf = ca.issue({.common_name = "api", .names = {"api.test"}});
            auto client = net::tls::context::for_client({.ca_pem = ca.pem()});
            auto server =
                net::tls::context::for_server({.certificate_pem = leaf.certificate_pem, .key_pem = leaf.key_pem});
            if (!client || !server) throw std::runtime_error("no TLS context");
            return keys{std::move(*client), std::move(*server)};
        }();
        return made;
    }
};

void require(bool good) {
    if (!good) throw std::runtime_error("TLS failed in a benchmark");
}

struct pair {
    net::tls::engine client{keys::get().client, "api.test"};
    net::tls::engine server{keys::get().server};
    base::byte_queue plaintext{1U << 20U};

    pair() {
        bool client_done = false;
        bool server_done = false;
        while (!client_done || !server_done) {
            client_done = client.handshake().value_or(false);
            pass(client, server);
            server_done = server.handshake().value_or(false);
            pass(server, client);
            require(client.handshake().has_value());
        }
        require(client.read(plaintext).has_value());
    }
    static void pass(net::tls::engine& from, net::tls::engine& to) {
        require(to.feed(from.outgoing().view()).has_value());
        require(to.handshake().has_value());
        from.outgoing().clear();
    }
};

// Bytes a turn, as they leave in one socket write and arrive in one read.
void seal(benchmark::State& state) {
    pair ends;
    const std::string bytes(static_cast<std::size_t>(state.range(0)), 'x');
    for (auto _ : state) {
        require(ends.client.write(bytes).has_value());
        ends.client.outgoing().clear();
    }
    state.SetBytesProcessed(state.iterations() * state.range(0));
}

void seal_and_open(benchmark::State& state) {
    pair ends;
    const std::string bytes(static_cast<std::size_t>(state.range(0)), 'x');
    for (auto _ : state) {
        require(ends.client.write(bytes).has_value());
        require(ends.server.feed(ends.client.outgoing().view()).has_value());
        require(ends.server.read(ends.plaintext).has_value());
        ends.client.outgoing().clear();
        ends.plaintext.clear();
    }
    state.SetBytesProcessed(state.iterations() * state.range(0));
}

// A server that writes each of its messages as a record of its own; they arrive together.
void open_records(benchmark::State& state) {
    pair ends;
    const std::string bytes(static_cast<std::size_t>(state.range(0)), 'x');
    constexpr int records = 32;
    for (auto _ : state) {
        state.PauseTiming();
        for (int i = 0; i < records; ++i) require(ends.client.write(bytes).has_value());
        state.ResumeTiming();
        require(ends.server.feed(ends.client.outgoing().view()).has_value());
        require(ends.server.read(ends.plaintext).has_value());
        ends.client.outgoing().clear();
        ends.plaintext.clear();
    }
    state.SetItemsProcessed(state.iterations() * records);
    state.SetBytesProcessed(state.iterations() * state.range(0) * records);
}

void handshake(benchmark::State& state) {
    for (auto _ : state) {
        pair ends;
        benchmark::DoNotOptimize(ends.client.resumed());
    }
}

BENCHMARK(seal)->Arg(1024)->Arg(16384)->Arg(65536)->Arg(262144);
BENCHMARK(seal_and_open)->Arg(1024)->Arg(16384)->Arg(65536)->Arg(262144);
BENCHMARK(open_records)->Arg(128)->Arg(1024)->Arg(2500)->Arg(10240);
BENCHMARK(handshake)->Unit(benchmark::kMicrosecond);

}  // namespace
