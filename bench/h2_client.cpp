// Our HTTP/2 client as a load generator: the same PATCH over one TLS connection again and again, like h2load's -m.
#include <sys/resource.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "base/task_group.hpp"
#include "net/client.hpp"

namespace {

using namespace cotrain;

struct options {
    std::uint16_t port = 0;
    std::string ca_file;
    std::string path = "/";
    long requests = 100'000;
    int streams = 90;
    std::size_t body_bytes = 2048;
};

struct progress {
    long left = 0;
    long failed = 0;
};

awaitable<void> send_again_and_again(net::client* client, const options* o, progress* p) {
    while (p->left-- > 0) {
        net::request r;
        r.method = "PATCH";
        r.path = o->path;
        r.rank = net::priority::write;
        r.headers.reserve(2);
        r.headers.push_back({"content-type", "application/apply-patch+yaml"});
        r.headers.push_back({"user-agent", "h2_client"});
        r.body.assign(o->body_bytes, 'x');
        const auto answer = co_await client->send(std::move(r));
        if (!answer || answer->status >= 500) {
            if (p->failed++ == 0)
                std::fprintf(stderr, "%s\n", answer ? "status >= 500" : answer.error().message.c_str());
        }
    }
}

double cpu_seconds() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

awaitable<void> measure(net::client* client, const options* o, int* code) {
    const auto executor = co_await asio::this_coro::executor;
    progress warm_up{o->streams, 0};
    progress p{o->requests, 0};
    base::task_group group(executor);
    group.spawn("warm-up", send_again_and_again(client, o, &warm_up));
    co_await group.join();
    const auto before = client->counters();
    const double cpu = cpu_seconds();
    const auto begun = std::chrono::steady_clock::now();
    for (int i = 0; i < o->streams; ++i) group.spawn("stream", send_again_and_again(client, o, &p));
    co_await group.join();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
    const auto after = client->counters();
    const double n = static_cast<double>(o->requests);
    std::printf(
        "requests %ld failed %ld seconds %.3f rps %.0f cpu_us_per_request %.2f reads_per_request %.4f "
        "writes_per_request %.4f connects %llu\n",
        o->requests, p.failed, took.count(), n / took.count(), (cpu_seconds() - cpu) / n * 1e6,
        static_cast<double>(after.socket_reads - before.socket_reads) / n,
        static_cast<double>(after.socket_writes - before.socket_writes) / n,
        static_cast<unsigned long long>(after.connects));
    *code = p.failed == 0 ? 0 : 1;
    co_await client->stop();
}

int usage() {
    std::fputs("usage: h2_client --port N --ca FILE [--path /p] [--requests N] [--streams N] [--body BYTES]\n", stderr);
    return 2;
}

}  // namespace

int main(int argc, char** argv) {
    options o;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string_view name = argv[i];
        const char* value = argv[i + 1];
        if (name == "--port")
            o.port = static_cast<std::uint16_t>(std::atoi(value));
        else if (name == "--ca")
            o.ca_file = value;
        else if (name == "--path")
            o.path = value;
        else if (name == "--requests")
            o.requests = std::atol(value);
        else if (name == "--streams")
            o.streams = std::atoi(value);
        else if (name == "--body")
            o.body_bytes = static_cast<std::size_t>(std::atol(value));
        else
            return usage();
    }
    if (o.port == 0 || o.ca_file.empty()) return usage();
    std::ifstream file(o.ca_file);
    net::tls::client_options trust;
    trust.ca_pem.assign(std::istreambuf_iterator<char>(file), {});
    auto tls = net::tls::context::for_client(trust);
    if (!tls) {
        std::fprintf(stderr, "h2_client: %s\n", tls.error().message.c_str());
        return 2;
    }
    asio::io_context loop(1);
    net::client_options c;
    c.peer = {"127.0.0.1", o.port};
    c.tls = *tls;
    c.limits.urgent_reserve = 0;
    net::client client(loop.get_executor(), std::move(c), base::stderr_logger());
    int code = 1;
    asio::co_spawn(loop, measure(&client, &o, &code), asio::detached);
    loop.run();
    return code;
}
