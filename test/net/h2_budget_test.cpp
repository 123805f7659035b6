// How many requests run at once, which of them go first, and how many may wait.
#include <gtest/gtest.h>

#include "net/h2_frames.hpp"
#include "net/h2_pump.hpp"

namespace cotrain::net::h2 {
namespace {

limits server_with_streams(std::uint32_t streams) {
    limits l;
    l.peer_streams_max = streams;
    return l;
}

TEST(h2_budget, few_streams_until_the_peer_has_spoken) {
    end_point client(role::client);
    for (int i = 0; i < 30; ++i) client.ask("/x", {}, priority::lease);
    EXPECT_EQ(client.wire.peer_streams_max(), 0U);
    static_cast<void>(client.take());
    EXPECT_EQ(client.wire.streams_open(), 10U);
    ASSERT_TRUE(client.wire.feed(raw::server_hello(25)));
    EXPECT_EQ(client.wire.peer_streams_max(), 25U);
    EXPECT_TRUE(client.wire.wants_write());
    static_cast<void>(client.take());
    EXPECT_EQ(client.wire.streams_open(), 25U);
    EXPECT_EQ(client.wire.requests_queued(), 5U);
    EXPECT_FALSE(client.wire.wants_write());
}

TEST(h2_budget, a_peer_with_one_stream_refuses_nothing) {
    end_point client(role::client);
    end_point server(role::server, server_with_streams(1));
    answer_all(server);
    pump(client, server);
    for (int i = 0; i < 20; ++i) client.ask("/x", "b", i % 2 == 0 ? priority::write : priority::lease);
    std::size_t most = 0;
    server.then_head = [&](stream_key) { most = std::max(most, server.wire.streams_open()); };
    pump(client, server);
    EXPECT_EQ(client.count(ending::complete), 20U);
    EXPECT_EQ(most, 1U);
}

TEST(h2_budget, our_own_bound_holds_when_the_peer_allows_any_number) {
    end_point client(role::client);
    for (int i = 0; i < 300; ++i) client.ask("/x");
    ASSERT_TRUE(client.wire.feed(raw::frame(raw::settings, 0, 0)));  // names no bound: unlimited
    static_cast<void>(client.take());
    EXPECT_EQ(client.wire.streams_open(), 80U);
    for (int i = 0; i < 300; ++i) client.ask("/watch", {}, priority::watch);
    static_cast<void>(client.take());
    EXPECT_EQ(client.wire.streams_open(), 99U);
    client.ask("/lease", {}, priority::lease);
    client.ask("/lease", {}, priority::lease);
    static_cast<void>(client.take());
    EXPECT_EQ(client.wire.streams_open(), 100U);
    EXPECT_EQ(client.wire.requests_queued(), 220U + 281U + 1U);
}

TEST(h2_budget, lease_and_watch_overtake_what_waits) {
    end_point client(role::client);
    end_point server(role::server, server_with_streams(2));
    pump(client, server);
    for (int i = 0; i < 3; ++i) client.ask("/write", "b", priority::write);
    client.ask("/read", {}, priority::read);
    client.ask("/watch", {}, priority::watch);
    client.ask("/lease", "b", priority::lease);
    std::vector<std::string> order;
    server.then_end = [&](stream_key k) {
        order.push_back(server.streams[k].message.path);
        server.wire.respond(k, 200, {}, true);
    };
    pump(client, server);
    EXPECT_EQ(order, (std::vector<std::string>{"/lease", "/watch", "/read", "/write", "/write", "/write"}));
}

TEST(h2_budget, room_is_what_a_new_request_would_find) {
    end_point client(role::client);
    EXPECT_TRUE(client.wire.has_room(priority::write));
    ASSERT_TRUE(client.wire.feed(raw::server_hello(10)));
    for (int i = 0; i < 4; ++i) client.ask("/x");
    EXPECT_TRUE(client.wire.has_room(priority::write));
    client.ask("/x");
    EXPECT_FALSE(client.wire.has_room(priority::write)) << "five of ten are kept for urgent requests";
    EXPECT_TRUE(client.wire.has_room(priority::watch));
    static_cast<void>(client.take());
    EXPECT_FALSE(client.wire.has_room(priority::read)) << "running or queued makes no difference";
    for (int i = 0; i < 4; ++i) client.ask("/watch", {}, priority::watch);
    EXPECT_FALSE(client.wire.has_room(priority::watch));
    EXPECT_TRUE(client.wire.has_room(priority::lease));
    client.wire.shutdown();
    EXPECT_FALSE(client.wire.has_room(priority::lease));
}

TEST(h2_budget, a_full_queue_says_so) {
    limits few;
    few.queued_requests_max = 3;
    end_point client(role::client, few);
    for (int i = 0; i < 3; ++i) client.ask("/x");
    request more;
    more.path = "/x";
    const auto refused = client.try_ask(more);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, base::errc::too_large);
    EXPECT_NE(refused.error().message.find("queued_requests_max"), std::string::npos);
    static_cast<void>(client.take());  // they run now
    EXPECT_TRUE(client.try_ask(more));
}

TEST(h2_budget, requests_that_must_not_be_sent_are_named) {
    end_point client(role::client);
    const auto code_of = [&](header_list headers, std::string path = "/x") {
        request what;
        what.path = std::move(path);
        what.headers = std::move(headers);
        const auto result = client.try_ask(std::move(what));
        return result ? std::string("sent") : std::string(to_string(result.error().code));
    };
    const std::string invalid(to_string(base::errc::invalid));
    EXPECT_EQ(code_of({{"x", "a\nb"}}), invalid);
    EXPECT_EQ(code_of({{"x", "a long enough value with a line break at its end\r"}}), invalid);
    EXPECT_EQ(code_of({{"x", std::string("12345678\0", 9)}}), invalid);
    EXPECT_EQ(code_of({{"x", "1234567\x7f"}}), invalid);
    EXPECT_EQ(code_of({{"Upper", "v"}}), invalid);
    EXPECT_EQ(code_of({{":path", "/y"}}), invalid);
    EXPECT_EQ(code_of({{"", "v"}}), invalid);
    EXPECT_EQ(code_of({}, ""), invalid);
    EXPECT_EQ(code_of({}, "/a b\n"), invalid);
    EXPECT_EQ(code_of({{"x", std::string(70'000, 'v')}}), to_string(base::errc::too_large));
    EXPECT_EQ(code_of({{"x", "plain ~ text"}, {"y", "caf\xc3\xa9 \xff"}, {"z", ""}}), "sent");
    EXPECT_EQ(client.wire.requests_queued(), 1U);
}

TEST(h2_budget, headers_of_any_allowed_size_are_sent) {
    end_point client(role::client);
    end_point server(role::server);
    answer_all(server);
    request what;
    what.path = "/x";
    for (int i = 0; i < 100; ++i) what.headers.push_back({"x-" + std::to_string(i), std::string(600, 'v')});
    ASSERT_TRUE(client.try_ask(std::move(what)));
    pump(client, server);
    EXPECT_EQ(client.count(ending::complete), 1U);
    EXPECT_EQ(server.streams[server.heads.at(0)].message.headers.size(), 100U);
}

}  // namespace
}  // namespace cotrain::net::h2
