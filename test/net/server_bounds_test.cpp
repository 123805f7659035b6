// Peers that take more than their share of a server, on real sockets: others are answered all the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>

#include "net/h2_frames.hpp"
#include "net/transport.hpp"
#include "world.hpp"

namespace cotrain::net {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::StartsWith;
namespace raw = h2::raw;

constexpr std::string_view get_x = "GET /x HTTP/1.1\r\nHost: a\r\n\r\n";

awaitable<transport> connect_from(world* w, const char* address) {
    asio::ip::tcp::socket socket(w->loop);
    socket.open(asio::ip::tcp::v4());
    socket.bind({asio::ip::make_address_v4(address), 0});
    co_await socket.async_connect({asio::ip::address_v4::loopback(), w->peer().port()}, asio::use_awaitable);
    co_return transport(std::move(socket), std::nullopt);
}

awaitable<void> say(transport* to, std::string text) {
    base::byte_queue bytes;
    bytes.append(text);
    EXPECT_TRUE((co_await to->write(&bytes)).has_value());
}

// What comes until `enough` says so or the peer ends.
awaitable<std::string> hear(transport* from, std::function<bool(std::string_view)> enough) {
    base::byte_queue got;
    for (;;) {
        const auto open = co_await from->read(&got);
        if (!open || !*open || enough(got.view())) co_return std::string(got.view());
    }
}

awaitable<std::string> hear_end(transport* from) {
    co_return co_await hear(from, [](std::string_view) { return false; });
}

awaitable<std::string> hear_answer(transport* from) {
    co_return co_await hear(from, [](std::string_view got) { return got.find("\r\n\r\n") != got.npos; });
}

std::string post_head(std::uint32_t stream) {
    return raw::frame(raw::headers, raw::end_headers, stream,
                      raw::fields({{":method", "POST"}, {":scheme", "http"}, {":authority", "a"}, {":path", "/x"}}));
}

constexpr int slow_streams = 30;

awaitable<void> dawdle(world& w) {
    transport slow = co_await connect_from(&w, "127.0.0.1");
    std::string all = raw::client_hello();
    for (std::uint32_t i = 0; i < slow_streams; ++i)
        all += post_head(2 * i + 1) + raw::frame(raw::data, 0, 2 * i + 1, "x");
    co_await say(&slow, all);
    const std::string got = co_await hear(&slow, [](std::string_view so_far) {
        return raw::types_of(so_far).find(static_cast<char>('0' + raw::rst_stream)) != std::string::npos;
    });
    EXPECT_EQ(std::ranges::count(raw::types_of(got), static_cast<char>('0' + raw::rst_stream)), slow_streams);
}

TEST(server_bounds, all_who_dawdle_go_in_one_sweep) {
    server_options o;
    o.request = 1ms;
    world(o).run(dawdle);
}

awaitable<void> slow_bodies(world& w) {
    std::vector<transport> slow;
    const std::string piece(16U << 10U, 'x');
    for (int i = 0; i < 10; ++i) {
        slow.push_back(co_await connect_from(&w, "127.0.0.1"));
        std::string all = raw::client_hello() + post_head(1);
        for (int k = 0; k < 20; ++k) all += raw::frame(raw::data, 0, 1, piece);
        co_await say(&slow.back(), all);
    }
    client& c = w.use(w.options());
    for (const std::size_t bytes : {1000U, 100'000U, 300'000U}) {
        request what;
        what.method = "POST";
        what.path = "/quick";
        what.headers = {{"content-length", std::to_string(bytes)}};  // as an API server says it
        what.body = std::string(bytes, 'y');
        const auto got = co_await c.send(std::move(what));
        EXPECT_EQ(got ? got->status : 0, 200) << bytes;
    }
    EXPECT_LE(w.peer().counters().bytes_held, 1U << 20U);
}

TEST(server_bounds, bodies_that_are_not_finished_keep_nobody_out) {
    server_options o;
    o.account = std::make_shared<memory_account>(1U << 20U);
    world(o).run(slow_bodies);
}

awaitable<void> header_hoard(world& w) {
    // Eight bytes on the wire for each 12 KiB of headers that are kept until their request ends.
    std::vector<transport> all;
    for (int i = 0; i < 20; ++i) {
        all.push_back(co_await connect_from(&w, "127.0.0.1"));
        const std::string start =
            raw::fields({{":method", "POST"}, {":scheme", "http"}, {":authority", "a"}, {":path", "/x"}});
        std::string block =
            start + '\x40' + raw::hpack_length(1) + 'x' + raw::hpack_length(4000) + std::string(4000, 'v');
        std::string bytes = raw::client_hello();
        for (std::uint32_t s = 0; s < 32; ++s) {
            bytes += raw::frame(raw::headers, raw::end_headers, 2 * s + 1, block);
            block = start + "\xbe\xbe\xbe";
        }
        co_await say(&all.back(), bytes);
    }
    client& c = w.use(w.options());
    EXPECT_TRUE((co_await c.send(get("/quick"))).has_value());
    EXPECT_LE(w.peer().counters().bytes_held, 1U << 20U);
}

TEST(server_bounds, heads_count_as_bodies_do) {
    server_options o;
    o.account = std::make_shared<memory_account>(1U << 20U);
    world(o).run(header_hoard);
}

awaitable<void> crowd_of_one(world& w) {
    transport neighbour = co_await connect_from(&w, "127.0.0.2");
    co_await say(&neighbour, std::string(get_x));
    EXPECT_THAT(co_await hear_answer(&neighbour), StartsWith("HTTP/1.1 200 "));
    std::vector<transport> crowd;
    for (int i = 0; i < 20; ++i) crowd.push_back(co_await connect_from(&w, "127.0.0.1"));
    for (int i = 0; i < 18; ++i) EXPECT_EQ(co_await hear_end(&crowd[static_cast<std::size_t>(i)]), "") << i;
    co_await say(&crowd[19], std::string(get_x));
    EXPECT_THAT(co_await hear_answer(&crowd[19]), StartsWith("HTTP/1.1 200 "));
    co_await say(&neighbour, std::string(get_x));
    EXPECT_THAT(co_await hear_answer(&neighbour), StartsWith("HTTP/1.1 200 ")) << "it was there first, and stays";
    EXPECT_EQ(w.peer().counters().connections_open, 3U);
}

TEST(server_bounds, one_source_has_a_quarter_of_the_places) {
    server_options o;
    o.plain_http1 = true;
    o.connections_max = 8;
    world(o).run(crowd_of_one);
}

awaitable<void> not_reading(world& w) {
    transport lazy = co_await connect_from(&w, "127.0.0.1");
    constexpr int count = 1000;
    std::string all;
    for (int i = 0; i < count; ++i) all += "GET /big?100000 HTTP/1.1\r\nHost: a\r\n\r\n";
    co_await say(&lazy, all);
    asio::steady_timer timer(w.loop);
    for (std::uint64_t before = 1, now = 0; before != now;) {
        before = std::exchange(now, w.peer().counters().requests);
        timer.expires_after(50ms);
        co_await timer.async_wait(asio::use_awaitable);
        now = w.peer().counters().requests;
        if (now == 0) before = 1;
    }
    EXPECT_LT(w.peer().counters().requests, 500U) << "the kernel holds some, we hold no more";
    std::size_t heard = 0;
    base::byte_queue got;
    while (heard < count * std::size_t{100'000}) {
        const auto open = co_await lazy.read(&got);
        if (!open || !*open) break;
        heard += got.size();
        got.clear();
    }
    EXPECT_EQ(w.peer().counters().requests, static_cast<std::uint64_t>(count)) << "who reads is answered";
}

TEST(server_bounds, who_does_not_read_is_not_answered_on_and_on) {
    server_options o;
    o.plain_http1 = true;
    world(o).run(not_reading);
}

// A server whose handler counts how many requests were handed over before others had a turn.
struct turn_counter {
    asio::io_context loop{1};
    unsigned in_turn = 0;
    unsigned most = 0;
    unsigned all = 0;
    server of;

    explicit turn_counter(server_options o)
        : of(
              loop.get_executor(), std::move(o), [this](incoming in) { return answer(this, std::move(in)); },
              base::null_logger()) {}

    static awaitable<void> answer(turn_counter* self, incoming in) {
        if (self->in_turn++ == 0) asio::post(self->loop, [self] { self->in_turn = 0; });
        self->most = std::max(self->most, self->in_turn);
        ++self->all;
        in.respond(200, {}, {});
        co_return;
    }
};

awaitable<void> burst(turn_counter* c, std::string bytes, unsigned requests) {
    const auto begun = c->of.start();
    EXPECT_TRUE(begun.has_value());
    asio::ip::tcp::socket socket(c->loop);
    co_await socket.async_connect({asio::ip::address_v4::loopback(), c->of.port()}, asio::use_awaitable);
    transport wire(std::move(socket), std::nullopt);
    co_await say(&wire, std::move(bytes));
    base::byte_queue got;
    while (c->all < requests) {
        const auto open = co_await wire.read(&got);
        if (!open || !*open) break;
    }
    EXPECT_EQ(c->all, requests);
    EXPECT_LE(c->most, 32U);
    EXPECT_GT(c->most, 1U);
    wire.close();
    co_await c->of.stop();
}

TEST(server_bounds, a_burst_of_requests_lets_others_have_their_turn) {
    std::string two = raw::client_hello();
    for (std::uint32_t i = 0; i < 100; ++i)
        two += raw::frame(raw::headers, raw::end_headers | raw::end_stream, 2 * i + 1, raw::get());
    server_options many;
    many.limits.peer_streams_max = 100;
    turn_counter newer{std::move(many)};
    test::run(newer.loop, burst(&newer, std::move(two), 100));

    std::string one;
    for (int i = 0; i < 100; ++i) one += get_x;
    server_options o;
    o.plain_http1 = true;
    turn_counter older{std::move(o)};
    test::run(older.loop, burst(&older, std::move(one), 100));
}

// Puts the limit of descriptors back.
struct few_descriptors {
    explicit few_descriptors(rlim_t more) {
        ::getrlimit(RLIMIT_NOFILE, &before);
        const int next = ::dup(0);
        ::close(next);
        rlimit few = before;
        few.rlim_cur = static_cast<rlim_t>(next) + more;
        EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
    }
    ~few_descriptors() { ::setrlimit(RLIMIT_NOFILE, &before); }
    rlimit before{};
};

awaitable<void> no_descriptors(world& w) {
    std::vector<transport> idle;
    for (int i = 0; i < 4; ++i) idle.push_back(co_await connect_from(&w, "127.0.0.1"));
    while (w.peer().counters().connections < 4) co_await asio::post(w.loop, asio::use_awaitable);
    const few_descriptors limit(1);  // for the client's own end
    transport late = co_await connect_from(&w, "127.0.0.1");
    co_await say(&late, std::string(get_x));
    EXPECT_THAT(co_await hear_answer(&late), StartsWith("HTTP/1.1 200 "));
}

TEST(server_bounds, without_descriptors_who_waits_longest_makes_room) {
    server_options o;
    o.plain_http1 = true;
    world(o).run(no_descriptors);
}

}  // namespace
}  // namespace cotrain::net
