// Requests and answers between two sessions: heads, bodies, trailers, pings, many at once, cut anywhere.
#include <gtest/gtest.h>

#include "net/h2_frames.hpp"
#include "net/h2_pump.hpp"

namespace cotrain::net::h2 {
namespace {

TEST(h2_exchange, a_request_and_its_answer) {
    end_point client(role::client);
    end_point server(role::server);
    answer_all(server);
    const stream_key key = client.ask("/apis/x", "hello");
    EXPECT_EQ(client.wire.requests_queued(), 1U);
    pump(client, server);

    ASSERT_EQ(server.heads.size(), 1U);
    const auto& asked = server.streams[server.heads[0]];
    EXPECT_EQ(asked.message.method, "PATCH");
    EXPECT_EQ(asked.message.path, "/apis/x");
    EXPECT_EQ(asked.message.scheme, "https");
    EXPECT_EQ(asked.message.authority, "server.test");
    EXPECT_EQ(find_header(asked.message.headers, "accept"), "application/json");
    EXPECT_EQ(asked.body, "hello");
    const auto& got = client.streams[key];
    EXPECT_EQ(got.message.status, 200);
    EXPECT_EQ(got.body, "PATCH /apis/x 5");
    EXPECT_TRUE(got.ended);
    EXPECT_EQ(got.how, ending::complete);
    EXPECT_TRUE(client.settled() && server.settled());
    EXPECT_EQ(client.wire.streams_open(), 0U);
    EXPECT_EQ(server.wire.streams_open(), 0U);
    EXPECT_FALSE(client.wire.wants_write());
    EXPECT_FALSE(client.wire.finished());
    EXPECT_EQ(client.wire.failure(), nullptr);
}

TEST(h2_exchange, an_answer_without_body_ends_with_its_head) {
    end_point client(role::client);
    end_point server(role::server);
    server.then_head = [&](stream_key k) { server.wire.respond(k, 204, {}, true); };
    const stream_key key = client.ask("/x");
    const traffic seen = pump(client, server);
    EXPECT_EQ(raw::types_of(seen.up), "4814");  // SETTINGS, window, HEADERS, SETTINGS answered: and no reset
    EXPECT_EQ(client.streams[key].message.status, 204);
    EXPECT_EQ(client.streams[key].how, ending::complete);
    EXPECT_TRUE(client.settled() && server.settled());
}

TEST(h2_exchange, trailers_arrive_with_the_end) {
    end_point client(role::client);
    end_point server(role::server);
    server.then_head = [&](stream_key k) {
        server.wire.respond(k, 200, {}, false);
        server.wire.write(k, "body");
        server.wire.finish(k, {{"grpc-status", "0"}});
    };
    const stream_key key = client.ask("/x");
    pump(client, server);
    EXPECT_EQ(client.streams[key].body, "body");
    EXPECT_EQ(find_header(client.streams[key].trailers, "grpc-status"), "0");
    EXPECT_EQ(client.streams[key].how, ending::complete);
}

TEST(h2_exchange, a_sensitive_header_stays_marked) {
    end_point client(role::client);
    end_point server(role::server);
    request what;
    what.path = "/x";
    what.headers = {{"authorization", "Bearer t", true}, {"x-plain", "p"}};
    ASSERT_TRUE(client.try_ask(std::move(what)));
    pump(client, server);
    ASSERT_EQ(server.heads.size(), 1U);
    const header_list& headers = server.streams[server.heads[0]].message.headers;
    ASSERT_EQ(headers.size(), 2U);
    EXPECT_TRUE(headers[0].sensitive);
    EXPECT_FALSE(headers[1].sensitive);
}

TEST(h2_exchange, a_body_written_bit_by_bit_arrives_whole) {
    end_point client(role::client);
    end_point server(role::server);
    stream_key asked{};
    server.then_head = [&](stream_key k) {
        asked = k;
        server.wire.write(k, "before the head, ");  // kept until respond()
        server.wire.respond(k, 200, {}, false);
    };
    const stream_key key = client.ask("/watch");
    pump(client, server);
    EXPECT_EQ(client.streams[key].body, "before the head, ");
    for (int i = 0; i < 3; ++i) {
        server.wire.write(asked, "event ");
        EXPECT_TRUE(server.wire.wants_write());
        pump(client, server);
    }
    EXPECT_EQ(client.streams[key].body, "before the head, event event event ");
    EXPECT_FALSE(client.streams[key].ended);
    server.wire.finish(asked);
    server.wire.write(asked, "too late");
    pump(client, server);
    EXPECT_EQ(client.streams[key].body, "before the head, event event event ");
    EXPECT_EQ(client.streams[key].how, ending::complete);
}

TEST(h2_exchange, an_answer_before_the_end_of_the_request_is_complete) {
    limits small;
    small.stream_window_bytes = 70'000;
    end_point client(role::client);
    end_point server(role::server, small);
    server.consumes = false;  // never reads the body, so the request cannot end
    server.then_head = [&](stream_key k) { server.wire.respond(k, 413, {}, true); };
    const stream_key key = client.ask("/x", std::string(500'000, 'b'));
    pump(client, server);
    EXPECT_EQ(client.streams[key].message.status, 413);
    EXPECT_EQ(client.streams[key].how, ending::complete);
    EXPECT_TRUE(client.settled() && server.settled());
    EXPECT_EQ(client.wire.failure(), nullptr);
    EXPECT_EQ(server.wire.failure(), nullptr);
}

TEST(h2_exchange, a_client_gives_up_a_body_that_nobody_wants) {
    end_point client(role::client);
    const stream_key key = client.ask("/x", std::string(100'000, 'b'));  // more than the first window
    static_cast<void>(client.take());
    ASSERT_TRUE(client.wire.feed(raw::server_hello()));
    ASSERT_TRUE(client.wire.feed(
        raw::frame(raw::headers, raw::end_headers | raw::end_stream, 1, raw::field(":status", "409"))));
    EXPECT_EQ(client.streams[key].how, ending::complete);
    EXPECT_EQ(raw::types_of(client.take()), "43");
}

TEST(h2_exchange, a_server_stops_a_body_that_it_does_not_want) {
    end_point server(role::server);
    server.then_head = [&](stream_key k) { server.wire.respond(k, 409, {}, true); };
    ASSERT_TRUE(server.wire.feed(raw::client_hello() + raw::frame(raw::headers, raw::end_headers, 1, raw::get("/x"))));
    EXPECT_EQ(raw::types_of(server.take()), "44813");
    EXPECT_EQ(server.count(ending::complete), 1U);
    EXPECT_EQ(server.wire.streams_open(), 0U);
}

TEST(h2_exchange, a_thousand_requests_share_one_connection) {
    end_point client(role::client);
    end_point server(role::server);
    answer_all(server);
    std::vector<stream_key> keys;
    for (int i = 0; i < 1000; ++i) keys.push_back(client.ask("/r/" + std::to_string(i), std::string(2048, 'x')));
    std::size_t most = 0;
    server.then_head = [&](stream_key) { most = std::max(most, server.wire.streams_open()); };
    pump(client, server);
    EXPECT_EQ(client.count(ending::complete), 1000U);
    EXPECT_TRUE(server.settled());
    EXPECT_LE(most, 80U);
    EXPECT_GE(most, 40U);
    for (int i = 0; i < 1000; ++i) EXPECT_EQ(client.streams[keys[i]].body, "PATCH /r/" + std::to_string(i) + " 2048");
    for (std::size_t i = 1; i < keys.size(); ++i) EXPECT_LT(client.heads[i - 1], client.heads[i]) << "out of order";
}

TEST(h2_exchange, keys_are_never_used_twice) {
    end_point client(role::client);
    end_point server(role::server);
    answer_all(server);
    // Rounds above and below what the table keeps, so that it also shrinks in between.
    for (const int round : {1, 400, 1, 400}) {
        for (int i = 0; i < round; ++i) client.ask("/x");
        pump(client, server);
    }
    EXPECT_EQ(client.streams.size(), 802U);
    EXPECT_EQ(server.streams.size(), 802U);
    EXPECT_TRUE(client.settled() && server.settled());
}

TEST(h2_exchange, a_ping_comes_back) {
    end_point client(role::client);
    end_point server(role::server);
    client.wire.ping(0x1122334455667788U);
    pump(client, server);
    EXPECT_EQ(client.pongs, std::vector<std::uint64_t>{0x1122334455667788U});
    EXPECT_TRUE(server.pongs.empty());
}

TEST(h2_exchange, handlers_may_start_requests) {
    end_point client(role::client);
    end_point server(role::server);
    answer_all(server);
    int left = 50;
    client.then_close = [&](stream_key) {
        if (left-- > 0) client.ask("/next");
    };
    client.ask("/first");
    pump(client, server);
    EXPECT_EQ(client.count(ending::complete), 51U);
}

// A mixed exchange whose every event is written down.
void run_mixed(end_point& client, end_point& server, std::size_t chunk, traffic* seen = nullptr) {
    server.then_end = [&](stream_key k) {
        server.wire.respond(k, 200, {{"x-a", std::string(300, 'a')}, {"date", "today"}}, false);
        server.wire.write(k, std::string(40'000, 'd'));
        server.wire.finish(k, {{"x-trailer", "t"}});
    };
    client.ask("/one", std::string(20'000, 'b'));
    client.ask("/two/" + std::string(20'000, 'p'));  // needs CONTINUATION
    client.wire.ping(7);
    client.ask("/three");
    traffic t = pump(client, server, chunk);
    server.wire.shutdown();
    traffic rest = pump(client, server, chunk);
    if (seen != nullptr) *seen = {t.up + rest.up, t.down + rest.down};
}

TEST(h2_exchange, the_same_bytes_cut_anywhere_give_the_same_events) {
    end_point client(role::client);
    end_point server(role::server);
    traffic seen;
    run_mixed(client, server, 1U << 20U, &seen);
    ASSERT_TRUE(client.settled() && server.settled());
    ASSERT_EQ(client.count(ending::complete), 3U);
    for (const std::size_t chunk : {1U, 2U, 7U, 1000U}) {
        end_point again(role::server);
        again.then_end = server.then_end;
        end_point* target = &again;
        again.then_end = [target](stream_key k) { target->wire.respond(k, 200, {}, true); };
        EXPECT_TRUE(feed_in_chunks(again.wire, seen.up, chunk)) << again.wire.failure()->message;
        std::vector<std::string> heads_and_ends;
        for (const auto& line : again.log)
            if (!line.starts_with("close")) heads_and_ends.push_back(line);
        std::vector<std::string> expected;
        for (const auto& line : server.log)
            if (!line.starts_with("close")) expected.push_back(line);
        EXPECT_EQ(heads_and_ends, expected) << "chunks of " << chunk;

        end_point client2(role::client);
        end_point server2(role::server);
        run_mixed(client2, server2, chunk);
        EXPECT_EQ(client2.log, client.log) << "chunks of " << chunk;
        EXPECT_EQ(server2.log, server.log) << "chunks of " << chunk;
    }
}

TEST(h2_exchange, draining_stops_near_the_given_size_and_goes_on) {
    end_point client(role::client);
    end_point server(role::server);
    answer_all(server);
    pump(client, server);
    for (int i = 0; i < 10; ++i) client.ask("/x", std::string(50'000, 'x'));
    std::size_t most = 0;
    int turns = 0;
    while (client.wire.wants_write()) {
        const std::string bytes = client.take(10'000);
        most = std::max(most, bytes.size());
        ++turns;
        ASSERT_TRUE(server.wire.feed(bytes));
        ASSERT_TRUE(client.wire.feed(server.take()));
    }
    EXPECT_LE(most, 10'000U + 16'384U + 9U);
    EXPECT_GE(turns, 20);
    pump(client, server);
    EXPECT_EQ(client.count(ending::complete), 10U);

    for (int i = 0; i < 50; ++i) client.ask("/" + std::to_string(i) + std::string(300, 'p'));
    const std::string heads = client.take(1000);
    EXPECT_LE(heads.size(), 1500U) << "heads are held to it too";
    ASSERT_TRUE(server.wire.feed(heads));
    pump(client, server);
    EXPECT_EQ(client.count(ending::complete), 60U);
}

}  // namespace
}  // namespace cotrain::net::h2
