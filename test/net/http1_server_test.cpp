// HTTP/1.1 on real sockets: beside HTTP/2 on one port, its limits, slow peers, and an orderly end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <functional>
#include <new>
#include <string>

#include "base/signal.hpp"
#include "base/task_group.hpp"
#include "net/client.hpp"
#include "net/server.hpp"
#include "net/tls/context.hpp"
#include "net/transport.hpp"
#include "support/certificates.hpp"
#include "support/run.hpp"

namespace cotrain::net {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::string_view get_echo = "GET /echo HTTP/1.1\r\nHost: a\r\n\r\n";

// A server whose /echo answers with method and body, whose /wait answers when `release` says so, whose /stream writes
// three pieces.
class room {
   public:
    explicit room(server_options options)
        : server_(
              loop.get_executor(), std::move(options), [this](incoming in) { return answer(this, std::move(in)); },
              base::null_logger()) {}

    void run(std::function<awaitable<void>(room&)> body) { test::run(loop, play(this, std::move(body))); }
    server& peer() { return server_; }

    asio::io_context loop{1};
    base::signal release;
    base::signal waiting;  // a request came to /wait

   private:
    static awaitable<void> play(room* self, std::function<awaitable<void>(room&)> body) {
        const auto started = self->server_.start();
        EXPECT_TRUE(started) << (started ? "" : started.error().message);
        co_await body(*self);
        co_await self->server_.stop();
    }
    static awaitable<void> answer(room* self, incoming in) {
        if (in.head().path == "/wait") {
            self->waiting.notify_later();
            co_await self->release.wait();
        }
        if (in.head().path == "/stream") {
            in.begin(200, {});
            for (const char* piece : {"a", "bc", "def"})
                if (!co_await in.write(piece)) co_return;
            in.finish();
            co_return;
        }
        if (in.head().path == "/mistake") throw std::bad_alloc();
        in.respond(200, {}, in.head().method + " " + std::string(in.body()));
    }

    server server_;
};

server_options plain() {
    server_options o;
    o.plain_http1 = true;
    return o;
}

awaitable<transport> connect_to(std::uint16_t port, std::shared_ptr<const tls::context> keys = nullptr) {
    asio::ip::tcp::socket socket(co_await asio::this_coro::executor);
    co_await socket.async_connect({asio::ip::address_v4::loopback(), port}, asio::use_awaitable);
    std::optional<tls::engine> secured;
    if (keys) secured.emplace(std::move(keys), "localhost");
    transport wire(std::move(socket), std::move(secured));
    const auto shaken = co_await wire.handshake();
    EXPECT_TRUE(shaken) << (shaken ? "" : shaken.error().message);
    co_return wire;
}

awaitable<void> say(transport* to, std::string text) {
    base::byte_queue bytes;
    bytes.append(text);
    EXPECT_TRUE((co_await to->write(&bytes)).has_value());
}

// All that comes until `last` has come, or the peer ends.
awaitable<std::string> hear(transport* from, std::string last) {
    base::byte_queue got;
    for (;;) {
        const auto open = co_await from->read(&got);
        if (!open || !*open || got.view().ends_with(last)) co_return std::string(got.view());
    }
}

awaitable<std::string> hear_all(transport* from) {
    base::byte_queue got;
    for (;;) {
        const auto open = co_await from->read(&got);
        if (!open || !*open) co_return std::string(got.view());
    }
}

awaitable<void> pipeline(room& r) {
    transport wire = co_await connect_to(r.peer().port());
    co_await say(&wire, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\none" + std::string(get_echo) +
                            "GET /stream HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    const std::string got = co_await hear_all(&wire);
    EXPECT_THAT(got,
                HasSubstr("content-length: 8\r\n\r\nPOST oneHTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nGET HTTP"));
    EXPECT_THAT(got, EndsWith("\r\n\r\n1\r\na\r\n2\r\nbc\r\n3\r\ndef\r\n0\r\n\r\n"));
}

TEST(http1_server, a_pipeline_is_answered_in_order) { room(plain()).run(pipeline); }

awaitable<void> make_mistakes(room& r) {
    transport wire = co_await connect_to(r.peer().port());
    co_await say(&wire, "GET /mistake HTTP/1.1\r\nHost: a\r\n\r\n" + std::string(get_echo));
    const std::string got = co_await hear(&wire, "GET ");
    EXPECT_THAT(got, StartsWith("HTTP/1.1 500 "));
    EXPECT_THAT(got, HasSubstr("HTTP/1.1 200 OK")) << "the connection goes on";
}

TEST(http1_server, an_exception_of_a_handler_ends_its_request_alone) { room(plain()).run(make_mistakes); }

TEST(http1_server, an_exception_before_the_first_request_ends_its_connection_alone) {
    server_options o = plain();
    int connections = 0;
    o.tls = [&connections]() -> std::shared_ptr<const tls::context> {
        if (++connections == 1) throw std::bad_alloc();
        return nullptr;
    };
    room(o).run([](room& r) -> awaitable<void> {
        for (int i = 0; i < 2; ++i) {
            asio::ip::tcp::socket socket(co_await asio::this_coro::executor);
            co_await socket.async_connect({asio::ip::address_v4::loopback(), r.peer().port()}, asio::use_awaitable);
            char byte = 0;
            const auto [error, bytes] = co_await socket.async_read_some(asio::buffer(&byte, 1), use_tuple);
            EXPECT_EQ(error, asio::error::eof);
        }
    });
    EXPECT_EQ(connections, 2);
}

awaitable<void> make_mistakes_in_streams(room& r) {
    client_options o;
    o.peer = {"127.0.0.1", r.peer().port()};
    o.scheme = "http";
    client c(r.loop.get_executor(), o, base::null_logger());
    request wrong;
    wrong.path = "/mistake";
    const auto no = co_await c.send(std::move(wrong));
    EXPECT_TRUE(no && no->status == 500);
    request right;
    right.path = "/echo";
    const auto yes = co_await c.send(std::move(right));
    EXPECT_TRUE(yes && yes->status == 200);
    EXPECT_EQ(c.counters().connects, 1U);
    co_await c.stop();
}

TEST(http1_server, so_it_is_beside_other_streams) { room(server_options{}).run(make_mistakes_in_streams); }

awaitable<void> many_pipelined(room& r) {
    transport wire = co_await connect_to(r.peer().port());
    constexpr int count = 5000;  // more than is read ahead, and deeper than a stack would stand
    std::string all;
    for (int i = 0; i < count; ++i) all += get_echo;
    co_await say(&wire, all + "GET /echo HTTP/1.0\r\n\r\n");
    const std::string got = co_await hear_all(&wire);
    std::size_t answers = 0;
    for (auto at = got.find("HTTP/1.1 200"); at != std::string::npos; at = got.find("HTTP/1.1 200", at + 1)) ++answers;
    EXPECT_EQ(answers, count + 1U);
}

TEST(http1_server, long_pipelines_cost_no_stack) { room(plain()).run(many_pipelined); }

awaitable<void> half_closed(room& r) {
    transport wire = co_await connect_to(r.peer().port());
    co_await say(&wire, "GET /wait HTTP/1.1\r\nHost: a\r\n\r\n");
    co_await wire.finish_writing();
    co_await r.waiting.wait();
    r.release.notify_later();
    EXPECT_THAT(co_await hear_all(&wire), EndsWith("\r\n\r\nGET "));
}

TEST(http1_server, a_peer_that_closed_its_half_still_gets_the_answer) { room(plain()).run(half_closed); }

awaitable<void> stop_with_work(room& r) {
    const auto executor = co_await asio::this_coro::executor;
    transport wire = co_await connect_to(r.peer().port());
    transport idle = co_await connect_to(r.peer().port());
    co_await say(&wire, "GET /wait HTTP/1.1\r\nHost: a\r\n\r\n");
    co_await r.waiting.wait();
    base::task_group tasks(executor);
    tasks.spawn("stop", r.peer().stop());
    EXPECT_EQ(co_await hear_all(&idle), "");
    r.release.notify_later();
    EXPECT_THAT(co_await hear_all(&wire), EndsWith("\r\n\r\nGET "));
    co_await tasks.join();
}

TEST(http1_server, stop_answers_what_was_accepted) { room(plain()).run(stop_with_work); }

awaitable<void> slow(room& r) {
    transport head = co_await connect_to(r.peer().port());
    co_await say(&head, "GET / HTTP/1.1\r\nHost:");
    transport body = co_await connect_to(r.peer().port());
    co_await say(&body, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n12345");
    transport silent = co_await connect_to(r.peer().port());
    EXPECT_THAT(co_await hear_all(&head), StartsWith("HTTP/1.1 408 "));
    EXPECT_THAT(co_await hear_all(&body), StartsWith("HTTP/1.1 408 "));
    EXPECT_EQ(co_await hear_all(&silent), "");
}

TEST(http1_server, slow_peers_are_sent_away) {
    server_options o = plain();
    o.request = std::chrono::milliseconds(1);
    room(o).run(slow);
}

awaitable<void> too_large(room& r) {
    transport wire = co_await connect_to(r.peer().port());
    co_await say(&wire, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2000000\r\n\r\n" + std::string(2'000'000, 'x'));
    EXPECT_THAT(co_await hear_all(&wire), StartsWith("HTTP/1.1 413 "));
}

TEST(http1_server, a_body_that_is_too_large_is_answered_although_it_is_being_sent) {
    server_options o = plain();
    o.body_bytes_max = 1000;
    room(o).run(too_large);
}

awaitable<void> budget(room& r) {
    transport first = co_await connect_to(r.peer().port());
    const auto post = [](const char* path, std::size_t bytes, char of, std::size_t missing = 0) {
        return std::string("POST ") + path + " HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(bytes) +
               "\r\n\r\n" + std::string(bytes - missing - 1, of) + "!";
    };
    co_await say(&first, post("/wait", 300'000, 'x'));
    co_await r.waiting.wait();
    transport unfinished = co_await connect_to(r.peer().port());
    co_await say(&unfinished, post("/echo", 500'000, 'x', 1));
    EXPECT_THAT(co_await hear_all(&unfinished), StartsWith("HTTP/1.1 503 "));
    // What is there leaves room for small ones.
    transport small = co_await connect_to(r.peer().port());
    co_await say(&small, post("/echo", 20'000, 'z'));
    EXPECT_THAT(co_await hear(&small, "!"), StartsWith("HTTP/1.1 200 "));
    r.release.notify_later();
    EXPECT_THAT(co_await hear(&first, "!"), StartsWith("HTTP/1.1 200 "));
    co_await say(&first, post("/echo", 300'000, 'y'));
    EXPECT_THAT(co_await hear(&first, "!"), StartsWith("HTTP/1.1 200 "));
    EXPECT_EQ(r.peer().counters().bytes_held, 0U);
}

TEST(http1_server, all_bodies_together_are_bounded) {
    server_options o = plain();
    o.account = std::make_shared<memory_account>(1U << 20U);
    room(o).run(budget);
}

awaitable<void> crowd(room& r) {
    transport busy = co_await connect_to(r.peer().port());
    co_await say(&busy, "GET /wait HTTP/1.1\r\nHost: a\r\n\r\n");
    co_await r.waiting.wait();
    transport idle = co_await connect_to(r.peer().port());
    // There are two at most: who only sits there makes room, who waits for an answer does not.
    transport late = co_await connect_to(r.peer().port());
    co_await say(&late, std::string(get_echo));
    EXPECT_THAT(co_await hear(&late, "GET "), StartsWith("HTTP/1.1 200 "));
    EXPECT_EQ(co_await hear_all(&idle), "");
    r.release.notify_later();
    EXPECT_THAT(co_await hear(&busy, "GET "), StartsWith("HTTP/1.1 200 "));
}

TEST(http1_server, idle_peers_make_room_for_new_ones) {
    server_options o = plain();
    o.connections_max = 2;
    o.connections_per_source_max = 2;
    room(o).run(crowd);
}

class http1_tls : public testing::Test {
   protected:
    static std::shared_ptr<const tls::context> client_context(std::vector<std::string> alpn) {
        return *tls::context::for_client({.ca_pem = authority().pem(), .alpn = std::move(alpn)});
    }
    static const test::authority& authority() {
        static const test::authority one;
        return one;
    }
    static server_options options() {
        const auto own = authority().issue({.common_name = "localhost", .names = {"localhost"}});
        const auto keys = *tls::context::for_server({.certificate_pem = own.certificate_pem, .key_pem = own.key_pem});
        server_options o;
        o.tls = [keys] { return keys; };
        return o;
    }
};

TEST_F(http1_tls, one_port_speaks_both_by_alpn) {
    room(options()).run([](room& r) -> awaitable<void> {
        client_options with;
        with.peer = {"127.0.0.1", r.peer().port()};
        with.server_name = "localhost";
        with.tls = client_context({"h2"});
        client two(co_await asio::this_coro::executor, std::move(with), base::null_logger());
        request what;
        what.method = "POST";
        what.path = "/echo";
        what.body = "x";
        const auto got = co_await two.send(std::move(what));
        EXPECT_EQ(got ? got->body : got.error().message, "POST x");
        co_await two.stop();
        for (const auto& names : {std::vector<std::string>{"http/1.1"}, std::vector<std::string>{}}) {
            transport one = co_await connect_to(r.peer().port(), client_context(names));
            co_await say(&one, std::string(get_echo));
            EXPECT_THAT(co_await hear(&one, "GET "), StartsWith("HTTP/1.1 200 OK\r\n"));
        }
    });
}

}  // namespace
}  // namespace cotrain::net
