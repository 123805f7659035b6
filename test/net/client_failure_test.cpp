// The client when the network or the peer fails: GOAWAY, cuts, black holes, silence, refusals.
#include <algorithm>
#include <optional>
#include <stdexcept>

#include "net/client.hpp"
#include "net/world.hpp"

namespace cotrain::net {
namespace {

using namespace std::chrono_literals;

struct tally {
    int answered = 0;
    int failed = 0;
    std::string trouble;
};

awaitable<void> send_counted(client* c, std::string path, bool idempotent, tally* t) {
    request r = get(std::move(path));
    r.idempotent = idempotent;
    auto answer = co_await c->send(std::move(r));
    if (answer && answer->status == 200) {
        ++t->answered;
    } else {
        ++t->failed;
        t->trouble = answer ? "status " + std::to_string(answer->status) : answer.error().message;
    }
}

request lease_request(std::string path, std::chrono::milliseconds deadline) {
    request r = get(std::move(path));
    r.rank = priority::lease;
    r.deadline = deadline;
    return r;
}

int seen_most(const world& w) {
    int most = 0;
    for (const auto& [path, times] : w.seen) most = std::max(most, times);
    return most;
}

TEST(client_failure, goaway_in_a_flood_loses_nothing_and_repeats_nothing_that_was_processed) {
    world here;
    here.run([](world& w) -> awaitable<void> {
        client& c = w.use(w.options());
        tally t;
        base::task_group flood(w.loop.get_executor());
        for (int i = 0; i < 3000; ++i) {
            flood.spawn("one", send_counted(&c, "/n/" + std::to_string(i), false, &t));
            if (i % 1000 == 500) {
                EXPECT_TRUE((co_await c.send(get("/between/" + std::to_string(i)))).has_value());
                w.peer().shutdown_connections();
            }
        }
        co_await flood.join();
        EXPECT_EQ(t.answered, 3000) << t.trouble;
        EXPECT_EQ(seen_most(w), 1) << "nothing may be applied twice";
        EXPECT_GE(c.counters().connects, 2U);
    });
}

TEST(client_failure, a_cut_repeats_what_may_be_repeated_and_tells_the_others) {
    world here({}, true);
    here.run([](world& w) -> awaitable<void> {
        client& c = w.use(w.options());
        tally repeatable;
        tally once;
        base::task_group flood(w.loop.get_executor());
        for (int i = 0; i < 400; ++i) {
            flood.spawn("r", send_counted(&c, "/r/" + std::to_string(i), true, &repeatable));
            flood.spawn("o", send_counted(&c, "/o/" + std::to_string(i), false, &once));
            if (i % 100 == 50) {
                EXPECT_TRUE((co_await c.send(get("/between"))).has_value());
                w.relay->cut();
            }
        }
        co_await flood.join();
        EXPECT_EQ(repeatable.answered, 400) << repeatable.trouble;
        EXPECT_EQ(once.answered + once.failed, 400);
        EXPECT_TRUE(once.failed == 0 || once.trouble.contains("may have been processed")) << once.trouble;
        for (const auto& [path, times] : w.seen) EXPECT_TRUE(times == 1 || !path.starts_with("/o/")) << path;
    });
}

TEST(client_failure, an_exception_while_connecting_ends_that_attempt_alone) {
    world here;
    here.run([](world& w) -> awaitable<void> {
        asio::ip::tcp::acceptor closed(w.loop, {asio::ip::address_v4::loopback(), 0});
        client_options o = w.options();
        o.peer.port = closed.local_endpoint().port();
        closed.close();
        int lines = 0;
        base::logger touchy(
            [](void* count, std::string_view) {
                if (++*static_cast<int*>(count) == 1) throw std::runtime_error("the log is full");
            },
            &lines, base::level::warn);
        client c(w.loop.get_executor(), o, touchy);
        request r = get("/");
        r.deadline = 100ms;
        EXPECT_FALSE((co_await c.send(std::move(r))).has_value());
        EXPECT_EQ(lines, 2) << "cannot connect, and what came of it";
        co_await c.stop();
    });
}

TEST(client_failure, a_black_hole_is_found_by_ping_and_left) {
    world here({}, true);
    here.run([](world& w) -> awaitable<void> {
        client_options o = w.options();
        o.ping_idle = 100ms;
        o.ping_answer = 500ms;
        client& c = w.use(o);
        EXPECT_TRUE((co_await c.send(get("/a"))).has_value());
        auto watch = co_await c.open(get("/big?100000000"));
        EXPECT_TRUE(watch.has_value());
        if (!watch) co_return;
        w.relay->swallow();
        const auto begun = std::chrono::steady_clock::now();
        EXPECT_TRUE((co_await c.send(get("/b"))).has_value());
        EXPECT_LT(std::chrono::steady_clock::now() - begun, 5s);
        EXPECT_EQ(c.counters().connects, 2U);
        base::result<std::string_view> piece;
        do piece = co_await watch->read();
        while (piece && !piece->empty());
        EXPECT_EQ(piece ? base::errc::internal : piece.error().code, base::errc::lost);
    });
}

TEST(client_failure, a_lease_renewal_moves_to_a_fresh_connection_long_before_the_ping_gives_up) {
    world here({}, true);
    here.run([](world& w) -> awaitable<void> {
        client& c = w.use(w.options());  // pings: 5 s + 4 s
        EXPECT_TRUE((co_await c.send(get("/a"))).has_value());
        w.relay->swallow();
        auto answer = co_await c.send(lease_request("/lease", 1500ms));
        EXPECT_TRUE(answer.has_value()) << answer.error().message;
        EXPECT_EQ(c.counters().connects, 2U);
    });
}

TEST(client_failure, a_slow_lease_renewal_costs_others_on_a_living_connection_nothing) {
    world here;
    here.run([](world& w) -> awaitable<void> {
        client_options o = w.options();
        o.drain = 1ms;
        o.limits.stream_window_bytes = 64U << 10U;
        client& c = w.use(o);
        auto watch = co_await c.open(get("/big?3000000"));
        EXPECT_TRUE(watch.has_value());
        if (!watch) co_return;
        auto renewed = co_await c.send(lease_request("/hang", 200ms));
        EXPECT_EQ(renewed ? base::errc::internal : renewed.error().code, base::errc::deadline);
        auto all = co_await watch->read_all(3'000'000);
        EXPECT_TRUE(all && all->size() == 3'000'000) << (all ? "" : all.error().message);
        EXPECT_TRUE((co_await c.send(get("/b"))).has_value());
    });
}

TEST(client_failure, a_lease_request_that_may_not_happen_twice_is_sent_once) {
    world here;
    here.run([](world& w) -> awaitable<void> {
        client& c = w.use(w.options());
        request create = lease_request("/hang", 100ms);
        create.idempotent = false;
        EXPECT_FALSE((co_await c.send(std::move(create))).has_value());
        EXPECT_TRUE((co_await c.send(get("/b"))).has_value());
        EXPECT_EQ(w.seen["/hang"], 1);
    });
}

awaitable<void> send_into(client* c, request what, std::optional<base::result<response>>* answer) {
    *answer = co_await c->send(std::move(what));
}

TEST(client_failure, a_slow_answer_outlives_the_grace_of_a_connection_that_was_told_to_go) {
    world here;
    here.run([](world& w) -> awaitable<void> {
        client_options o = w.options();
        o.drain = 20ms;
        o.limits.stream_window_bytes = 64U << 10U;
        client& c = w.use(o);
        auto watch = co_await c.open(get("/big?100000000"));
        EXPECT_TRUE(watch.has_value());
        if (!watch) co_return;
        request create = get("/held");
        create.method = "POST";
        create.idempotent = false;
        std::optional<base::result<response>> created;
        base::task_group callers(w.loop.get_executor());
        callers.spawn("create", send_into(&c, std::move(create), &created));
        while (w.seen["/held"] == 0) EXPECT_TRUE((co_await c.send(get("/between"))).has_value());
        w.peer().shutdown_connections();
        base::result<std::string_view> piece;
        do piece = co_await watch->read();
        while (piece && !piece->empty());
        EXPECT_EQ(piece ? base::errc::internal : piece.error().code, base::errc::lost)
            << "a watch has to go on elsewhere";
        w.held.notify_later();
        co_await callers.join();
        EXPECT_TRUE(created && created->has_value()) << (*created ? "" : created->error().message);
        EXPECT_EQ(w.seen["/held"], 1);
    });
}

TEST(client_failure, a_connection_without_stream_ids_is_left_though_its_peer_is_silent) {
    world here;
    here.run([](world& w) -> awaitable<void> {
        client_options o = w.options();
        o.limits.stream_id_max = 5;
        client& c = w.use(o);
        EXPECT_TRUE((co_await c.send(get("/a"))).has_value());
        base::task_group callers(w.loop.get_executor());
        std::optional<base::result<response>> first, second;
        callers.spawn("hangs", send_into(&c, get("/hang"), &first));
        callers.spawn("hangs", send_into(&c, get("/hang"), &second));
        request next = get("/b");
        next.deadline = 5s;
        EXPECT_TRUE((co_await c.send(std::move(next))).has_value());
        EXPECT_EQ(c.counters().connects, 2U);
        callers.cancel();
        co_await callers.join();
    });
}

TEST(client_failure, who_wants_dead_peers_found_soon_does_not_pause_for_long_between_connects) {
    world here;
    here.run([](world& w) -> awaitable<void> {
        client_options o = w.options();
        o.peer.port = 1;
        o.repeats_max = 3;
        o.reconnect = {60s, 60s, 2.0, 0.5};
        o.ping_answer = 10ms;
        client& c = w.use(o);
        request r = get("/a");
        r.deadline = 5s;
        auto answer = co_await c.send(std::move(r));
        EXPECT_EQ(answer ? base::errc::internal : answer.error().code, base::errc::connect);
    });
}

TEST(client_failure, a_refused_connection_gives_up_after_its_repeats_and_says_where) {
    world here;
    here.run([](world& w) -> awaitable<void> {
        client_options o = w.options();
        o.peer.port = 1;  // nobody listens on tcpmux here
        client& c = w.use(o);
        auto answer = co_await c.send(get("/a"));
        EXPECT_FALSE(answer.has_value());
        if (answer) co_return;
        EXPECT_EQ(answer.error().code, base::errc::connect);
        EXPECT_EQ(answer.error().again, base::retry::later);
        EXPECT_NE(answer.error().message.find("127.0.0.1:1"), std::string::npos) << answer.error().message;
        EXPECT_NE(answer.error().message.find("refused"), std::string::npos) << answer.error().message;
    });
}

TEST(client_failure, a_deadline_also_covers_the_wait_for_a_connection) {
    world here({}, true);
    here.run([](world& w) -> awaitable<void> {
        client_options o = w.options();
        o.peer.port = 1;
        o.repeats_max = 1'000'000;
        client& c = w.use(o);
        request r = get("/a");
        r.deadline = 50ms;
        auto answer = co_await c.send(std::move(r));
        EXPECT_EQ(answer ? base::errc::internal : answer.error().code, base::errc::deadline);
        EXPECT_TRUE(answer || answer.error().message.contains("not connected: "));
    });
}

awaitable<void> one_byte_then_silence(asio::ip::tcp::acceptor* acceptor, std::string bytes) {
    auto [error, socket] = co_await acceptor->async_accept(use_tuple);
    if (error) co_return;
    static_cast<void>(co_await socket.async_write_some(asio::buffer(bytes), use_tuple));
    char buffer[512];
    for (;;) {
        const auto got = co_await socket.async_read_some(asio::buffer(buffer), use_tuple);
        if (std::get<0>(got)) co_return;
    }
}

TEST(client_failure, a_peer_that_speaks_something_else_gives_an_error_not_a_hang) {
    world here;
    here.run([](world& w) -> awaitable<void> {
        asio::ip::tcp::acceptor acceptor(w.loop, {asio::ip::address_v4::loopback(), 0});
        w.tasks.spawn("odd peer", one_byte_then_silence(&acceptor, "HTTP/1.1 400 Bad Request\r\n\r\n"));
        client_options o = w.options();
        o.peer.port = acceptor.local_endpoint().port();
        o.repeats_max = 0;
        client& c = w.use(o);
        request r = get("/a");
        r.deadline = 5s;
        auto answer = co_await c.send(std::move(r));
        EXPECT_FALSE(answer.has_value());
        EXPECT_TRUE(answer || answer.error().code != base::errc::deadline);
        acceptor.close();
    });
}

// Reads once, and hangs up.
awaitable<void> note_writes(asio::ip::tcp::acceptor* acceptor, client** from, std::uint64_t* writes) {
    auto [error, socket] = co_await acceptor->async_accept(use_tuple);
    if (error) co_return;
    char buffer[4096];
    const auto [failed, bytes] = co_await socket.async_read_some(asio::buffer(buffer), use_tuple);
    if (!failed) *writes = (*from)->counters().socket_writes;
}

TEST(client_failure, the_first_request_leaves_with_the_preface) {
    world here;
    here.run([](world& w) -> awaitable<void> {
        asio::ip::tcp::acceptor acceptor(w.loop, {asio::ip::address_v4::loopback(), 0});
        client* c = nullptr;
        std::uint64_t writes = 0;
        w.tasks.spawn("short peer", note_writes(&acceptor, &c, &writes));
        client_options o = w.options();
        o.peer.port = acceptor.local_endpoint().port();
        o.repeats_max = 0;
        c = &w.use(o);
        auto answer = co_await c->send(get("/a"));
        EXPECT_FALSE(answer.has_value());
        EXPECT_EQ(writes, 1U);
        acceptor.close();
    });
}

}  // namespace
}  // namespace cotrain::net
