// The client against a server we did not write: nghttpd, from the nghttp2 project.
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>

#include "net/client.hpp"
#include "net/world.hpp"
#include "support/certificates.hpp"
#include "support/temp_dir.hpp"

extern char** environ;

namespace cotrain::net {
namespace {

using namespace std::chrono_literals;

// Free at this moment; nghttpd takes it at once.
std::uint16_t free_port() {
    asio::io_context loop;
    asio::ip::tcp::acceptor probe(loop, {asio::ip::address_v4::loopback(), 0});
    return probe.local_endpoint().port();
}

class nghttpd {
   public:
    nghttpd() : port_(free_port()) {
        const auto leaf = ca.issue({.common_name = "nghttpd", .addresses = {"127.0.0.1"}});
        dir_.write("crt", leaf.certificate_pem);
        dir_.write("key", leaf.key_pem);
        dir_.write("small", std::string(100, 's'));
        dir_.write("large", std::string(8U << 20U, 'l'));
        start();
    }
    ~nghttpd() { stop(SIGKILL); }

    void start() {
        const std::string port = std::to_string(port_);
        const std::string root = dir_.path();
        const std::string key = dir_.path("key");
        const std::string crt = dir_.path("crt");
        std::vector<const char*> words{"nghttpd",    "-d",        root.c_str(), "-m",   "100", "--address=127.0.0.1",
                                       port.c_str(), key.c_str(), crt.c_str(),  nullptr};
        posix_spawn_file_actions_t quiet;
        posix_spawn_file_actions_init(&quiet);
        posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
        posix_spawn_file_actions_addopen(&quiet, 2, "/dev/null", O_WRONLY, 0);
        const int failed =
            posix_spawnp(&process_, "nghttpd", &quiet, nullptr, const_cast<char**>(words.data()), environ);
        posix_spawn_file_actions_destroy(&quiet);
        if (failed != 0) throw std::runtime_error("nghttpd is missing: './dev setup' installs it");
    }
    void stop(int signal) {
        if (process_ <= 0) return;
        ::kill(process_, signal);
        ::waitpid(process_, nullptr, 0);
        process_ = -1;
    }
    client_options options() const {
        client_options o;
        o.peer = {"127.0.0.1", port_};
        o.tls = *tls::context::for_client({.ca_pem = ca.pem()});
        o.reconnect = {20ms, 200ms, 2.0, 0.5};
        o.repeats_max = 100;
        return o;
    }

    test::authority ca{"nghttpd CA"};

   private:
    test::temp_dir dir_;
    std::uint16_t port_;
    pid_t process_ = -1;
};

request patch() {
    request r = get("/small");
    r.method = "PATCH";
    r.rank = priority::write;
    r.body.assign(2048, 'p');
    return r;
}

awaitable<void> send_patches(client* c, int count, int* answered) {
    for (int i = 0; i < count; ++i) {
        auto answer = co_await c->send(patch());
        if (answer && answer->status == 200) ++*answered;
        if (!answer) ADD_FAILURE() << answer.error().message;
    }
}

awaitable<void> ten_thousand(nghttpd* peer, asio::io_context* loop) {
    client c(loop->get_executor(), peer->options(), base::null_logger());
    std::vector<body_stream> watches;
    for (int i = 0; i < 8; ++i) {
        request r = get("/large");
        r.rank = priority::watch;
        auto stream = co_await c.open(std::move(r));
        EXPECT_TRUE(stream.has_value());
        if (stream) watches.push_back(std::move(*stream));
    }
    int answered = 0;
    base::task_group flood(loop->get_executor());
    for (int i = 0; i < 100; ++i) flood.spawn("patches", send_patches(&c, 100, &answered));
    co_await flood.join();
    EXPECT_EQ(answered, 10'000);
    EXPECT_EQ(c.counters().connects, 1U);
    for (body_stream& each : watches) {
        auto all = co_await each.read_all(8U << 20U);
        EXPECT_TRUE(all && all->size() == 8U << 20U);
    }
    watches.clear();
    co_await c.stop();
}

TEST(nghttpd_peer, ten_thousand_patches_and_eight_open_streams_on_one_connection) {
    nghttpd peer;
    asio::io_context loop(1);
    test::run(loop, ten_thousand(&peer, &loop));
}

awaitable<void> through_restarts(nghttpd* peer, asio::io_context* loop) {
    client c(loop->get_executor(), peer->options(), base::null_logger());
    int answered = 0;
    base::task_group flood(loop->get_executor());
    for (int i = 0; i < 50; ++i) flood.spawn("patches", send_patches(&c, 100, &answered));
    for (const int signal : {SIGTERM, SIGKILL}) {
        const int goal = answered + 500;
        while (answered < goal) EXPECT_TRUE((co_await c.send(patch())).has_value());
        peer->stop(signal);
        peer->start();
    }
    co_await flood.join();
    EXPECT_EQ(answered, 5000);
    EXPECT_GE(c.counters().connects, 3U);
    co_await c.stop();
}

TEST(nghttpd_peer, restarts_lose_nothing_that_may_be_repeated) {
    nghttpd peer;
    asio::io_context loop(1);
    test::run(loop, through_restarts(&peer, &loop));
}

}  // namespace
}  // namespace cotrain::net
