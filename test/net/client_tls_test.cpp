// The client over TLS when certificates and trust change under it.
#include "net/client.hpp"
#include "net/world.hpp"
#include "support/certificates.hpp"

namespace cotrain::net {
namespace {

using namespace std::chrono_literals;

struct secured {
    test::authority ca{"first CA"};
    std::shared_ptr<const tls::context> serving = context_of(ca);

    std::function<void()> accepted;  // for each connection, before its handshake

    static std::shared_ptr<const tls::context> context_of(const test::authority& from) {
        const auto leaf = from.issue({.common_name = "server", .addresses = {"127.0.0.1"}});
        return *tls::context::for_server({.certificate_pem = leaf.certificate_pem, .key_pem = leaf.key_pem});
    }
    static std::shared_ptr<const tls::context> trusting(const test::authority& who) {
        return *tls::context::for_client({.ca_pem = who.pem()});
    }
    server_options options() {
        server_options o;
        o.tls = [this] {
            if (accepted) accepted();
            return serving;
        };
        return o;
    }
    client_options client(const world& w) const {
        client_options o = w.options();
        o.scheme = "https";
        o.tls = trusting(ca);
        return o;
    }
};

secured* keys = nullptr;  // a test body is a plain function: it finds its keys here

class client_tls : public testing::Test {
   protected:
    client_tls() { keys = &mine; }
    ~client_tls() override { keys = nullptr; }
    secured mine;
    world here{mine.options()};
};

TEST_F(client_tls, a_server_may_change_its_certificate_while_streams_run) {
    here.run([](world& w) -> awaitable<void> {
        client& c = w.use(keys->client(w));
        auto stream = co_await c.open(get("/big?3000000"));
        EXPECT_TRUE(stream.has_value());
        if (!stream) co_return;
        keys->serving = secured::context_of(keys->ca);
        client& late = w.use(keys->client(w));
        EXPECT_TRUE((co_await late.send(get("/late"))).has_value());
        auto all = co_await stream->read_all(3'000'000);
        EXPECT_TRUE(all && all->size() == 3'000'000);
        EXPECT_EQ(c.counters().connects, 1U);
    });
}

awaitable<void> send_many(client* c, int count, int* answered) {
    for (int i = 0; i < count; ++i) {
        auto answer = co_await c->send(get("/n"));
        if (answer) ++*answered;
        if (!answer) ADD_FAILURE() << answer.error().message;
    }
}

TEST_F(client_tls, new_credentials_replace_the_connection_and_no_caller_notices) {
    here.run([](world& w) -> awaitable<void> {
        client& c = w.use(keys->client(w));
        int answered = 0;
        base::task_group flood(w.loop.get_executor());
        for (int i = 0; i < 20; ++i) flood.spawn("many", send_many(&c, 200, &answered));
        for (int i = 0; i < 5; ++i) {
            EXPECT_TRUE((co_await c.send(get("/between"))).has_value());
            c.use_tls(secured::trusting(keys->ca));
        }
        co_await flood.join();
        EXPECT_EQ(answered, 4000);
        EXPECT_GE(c.counters().connects, 5U);
    });
}

TEST_F(client_tls, a_new_authority_is_an_error_that_names_it_until_it_is_trusted) {
    here.run([](world& w) -> awaitable<void> {
        client_options o = keys->client(w);
        o.repeats_max = 1;
        client& c = w.use(o);
        EXPECT_TRUE((co_await c.send(get("/a"))).has_value());
        const test::authority second("second CA");
        keys->serving = secured::context_of(second);
        w.peer().drop_connections();
        auto refused = co_await c.send(get("/b"));
        EXPECT_FALSE(refused.has_value());
        if (refused) co_return;
        EXPECT_EQ(refused.error().code, base::errc::tls);
        EXPECT_NE(refused.error().message.find("second CA"), std::string::npos) << refused.error().message;
        c.use_tls(secured::trusting(second));
        EXPECT_TRUE((co_await c.send(get("/c"))).has_value());
    });
}

TEST_F(client_tls, a_peer_without_http2_is_named) {
    here.run([](world& w) -> awaitable<void> {
        const auto leaf = keys->ca.issue({.common_name = "server", .addresses = {"127.0.0.1"}});
        keys->serving = *tls::context::for_server(
            {.certificate_pem = leaf.certificate_pem, .key_pem = leaf.key_pem, .alpn = {"http/1.1"}});
        client_options o = keys->client(w);
        o.repeats_max = 0;
        client& c = w.use(o);
        auto answer = co_await c.send(get("/a"));
        EXPECT_FALSE(answer.has_value());
        EXPECT_TRUE(answer || answer.error().again == base::retry::never);
    });
}

TEST_F(client_tls, credentials_that_change_during_a_handshake_replace_what_comes_of_it) {
    here.run([](world& w) -> awaitable<void> {
        client& c = w.use(keys->client(w));
        int connections = 0;
        keys->accepted = [&] {
            if (++connections == 1) c.use_tls(secured::trusting(keys->ca));
        };
        EXPECT_TRUE((co_await c.send(get("/a"))).has_value());
        EXPECT_EQ(c.counters().connects, 2U);
        keys->accepted = nullptr;
    });
}

awaitable<void> hang_up(asio::ip::tcp::acceptor* acceptor, bool with_reset) {
    for (;;) {
        auto [error, socket] = co_await acceptor->async_accept(use_tuple);
        if (error) co_return;
        char hello[4096];  // left unread, it would make a reset of every end
        static_cast<void>(co_await socket.async_read_some(asio::buffer(hello), use_tuple));
        boost::system::error_code ignored;
        if (with_reset) socket.set_option(asio::socket_base::linger(true, 0), ignored);
        socket.close(ignored);
    }
}

TEST_F(client_tls, a_peer_that_hangs_up_in_the_handshake_was_asked_for_nothing) {
    here.run([](world& w) -> awaitable<void> {
        for (const bool with_reset : {false, true}) {
            asio::ip::tcp::acceptor balancer(w.loop, {asio::ip::address_v4::loopback(), 0});
            w.tasks.spawn("balancer", hang_up(&balancer, with_reset));
            client_options o = keys->client(w);
            o.peer.port = balancer.local_endpoint().port();
            o.repeats_max = 1;
            client& c = w.use(o);
            request create = get("/a");
            create.idempotent = false;
            auto answer = co_await c.send(std::move(create));
            EXPECT_FALSE(answer.has_value());
            EXPECT_EQ(answer ? base::errc::internal : answer.error().code, base::errc::connect);
            EXPECT_EQ(answer ? base::retry::never : answer.error().again, base::retry::later);
            balancer.close();
        }
        w.tasks.cancel();
        co_await w.tasks.join();
    });
}

TEST_F(client_tls, a_lease_renewal_returns_to_a_connection_that_turns_out_to_live) {
    world relayed(mine.options(), true);
    relayed.run([](world& w) -> awaitable<void> {
        client& c = w.use(keys->client(w));
        EXPECT_TRUE((co_await c.send(get("/a"))).has_value());
        w.relay->swallow_new(true);
        request renewal = get("/hang-once");
        renewal.rank = priority::lease;
        renewal.deadline = 2s;
        auto answer = co_await c.send(std::move(renewal));
        EXPECT_TRUE(answer.has_value()) << answer.error().message;
        EXPECT_EQ(c.counters().connects, 1U);
    });
}

TEST_F(client_tls, who_wants_dead_peers_found_soon_does_not_wait_long_for_a_handshake) {
    here.run([](world& w) -> awaitable<void> {
        asio::ip::tcp::acceptor silent(w.loop, {asio::ip::address_v4::loopback(), 0});
        client_options o = keys->client(w);
        o.peer.port = silent.local_endpoint().port();
        o.ping_answer = 20ms;
        o.repeats_max = 1;
        client& c = w.use(o);
        auto answer = co_await c.send(get("/a"));
        EXPECT_FALSE(answer.has_value());
        EXPECT_TRUE(answer || answer.error().message.contains("no TLS handshake within 40 ms")) << "twice as long";
    });
}

TEST_F(client_tls, a_peer_that_never_shakes_hands_is_left_after_the_connect_timeout) {
    here.run([](world& w) -> awaitable<void> {
        asio::ip::tcp::acceptor silent(w.loop, {asio::ip::address_v4::loopback(), 0});
        client_options o = keys->client(w);
        o.peer.port = silent.local_endpoint().port();
        o.connect.timeout = 50ms;
        o.repeats_max = 0;
        client& c = w.use(o);
        auto answer = co_await c.send(get("/a"));
        EXPECT_FALSE(answer.has_value());
        EXPECT_TRUE(answer || answer.error().message.contains("no TLS handshake within 50 ms"));
    });
}

}  // namespace
}  // namespace cotrain::net
