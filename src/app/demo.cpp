// `cotrain demo`: one connection carries thousands of applies beside open watches, against a server in this process.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdio>
#include <string>
#include <vector>

#include "app/command.hpp"
#include "base/signal.hpp"
#include "base/task_group.hpp"
#include "net/client.hpp"
#include "net/server.hpp"

namespace cotrain::app {

namespace {

constexpr int writers = 80;
constexpr int applies = 20'000;
constexpr int watches = 8;

struct stage {
    asio::io_context loop{1};
    int sent = 0;
    int answered = 0;
    std::size_t events = 0;
    std::string trouble;
    std::vector<base::signal*> watchers;
};

// Answers a PATCH with what it was given, and tells every watcher.
awaitable<void> answer(stage* s, net::incoming in) {
    if (in.head().method == "GET") {
        in.begin(200, {{"content-type", "application/json"}});
        base::signal changed;
        s->watchers.push_back(&changed);
        int told = 0;
        while (!in.gone()) {
            if (told == s->answered && !co_await changed.wait()) break;
            std::string lines;
            for (; told < s->answered; ++told)
                lines += R"({"type":"MODIFIED","object":{"kind":"JobSet"}})"
                         "\n";
            if (!lines.empty() && !co_await in.write(lines)) break;
        }
        std::erase(s->watchers, &changed);
        co_return;
    }
    in.respond(200, {{"content-type", "application/json"}}, in.body());
    ++s->answered;
    for (base::signal* each : s->watchers)
        if (each->waiting()) each->notify_later();
}

awaitable<void> write_some(stage* s, net::client* client) {
    while (s->sent < applies) {
        const std::string name =
            "/apis/jobset.x-k8s.io/v1alpha2/namespaces/demo/jobsets/job-" + std::to_string(s->sent++);
        net::request r;
        r.method = "PATCH";
        r.path = name + "?fieldManager=trainer&force=true";
        r.rank = net::priority::write;
        r.idempotent = true;
        r.headers = {{"content-type", "application/apply-patch+yaml"}};
        r.body.assign(2048, ' ');
        const auto reply = co_await client->send(std::move(r));
        if (!reply) s->trouble = reply.error().message;
    }
}

awaitable<void> watch(stage* s, net::client* client, std::size_t* seen) {
    net::request r;
    r.path = "/apis/jobset.x-k8s.io/v1alpha2/jobsets?watch=true";
    r.rank = net::priority::watch;
    auto stream = co_await client->open(std::move(r));
    while (stream) {
        const auto bytes = co_await stream->read();
        if (!bytes || bytes->empty()) break;
        for (const char c : *bytes) *seen += c == '\n' ? 1U : 0U;
    }
    static_cast<void>(s);
}

awaitable<void> play(stage* s, int* code) {
    const auto executor = co_await asio::this_coro::executor;
    net::server server(executor, {}, [s](net::incoming in) { return answer(s, std::move(in)); }, base::stderr_logger());
    if (auto started = server.start(); !started) {
        std::fprintf(stderr, "cotrain demo: %s\n", started.error().message.c_str());
        co_return;
    }
    net::client_options options;
    options.peer = {"127.0.0.1", server.port()};
    options.scheme = "http";
    net::client client(executor, std::move(options), base::stderr_logger());
    std::printf("A server on 127.0.0.1:%u, %d watches and %d applies of 2 KiB, %d at a time, over HTTP/2.\n",
                server.port(), watches, applies, writers);
    base::task_group group(executor);
    base::task_group open_watches(executor);
    std::vector<std::size_t> seen(watches);
    for (std::size_t& each : seen) open_watches.spawn("watch", watch(s, &client, &each));
    const auto begun = std::chrono::steady_clock::now();
    for (int i = 0; i < writers; ++i) group.spawn("writer", write_some(s, &client));
    co_await group.join();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
    const auto n = client.counters();
    for (const std::size_t each : seen) s->events += each;
    std::printf("%d answered in %.2f s (%.0f a second), %zu watch events meanwhile.\n", s->answered, took.count(),
                s->answered / took.count(), s->events);
    std::printf("Connections: %llu. Socket calls an apply: %.3f. Bytes out %.1f MiB, in %.1f MiB.\n",
                static_cast<unsigned long long>(n.connects),
                static_cast<double>(n.socket_reads + n.socket_writes) / applies,
                static_cast<double>(n.bytes_out) / (1 << 20), static_cast<double>(n.bytes_in) / (1 << 20));
    if (!s->trouble.empty()) std::fprintf(stderr, "cotrain demo: %s\n", s->trouble.c_str());
    *code = s->answered == applies && n.connects == 1 ? 0 : 1;
    co_await client.stop();
    co_await open_watches.join();
    co_await server.stop();
}

}  // namespace

int run_demo(arguments words) {
    if (!words.empty()) return used_wrongly("demo: takes no options, got '" + std::string(words[0]) + "'");
    stage s;
    int code = 1;
    asio::co_spawn(s.loop, play(&s, &code), asio::detached);
    s.loop.run();
    return code;
}

}  // namespace cotrain::app
