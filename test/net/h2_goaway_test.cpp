// Connections that end: politely, in the middle, by loss; what was not processed must be known as such.
#include <gtest/gtest.h>

#include "net/h2_frames.hpp"
#include "net/h2_pump.hpp"

namespace cotrain::net::h2 {
namespace {

TEST(h2_goaway, what_the_peer_did_not_process_is_refused_and_the_rest_goes_on) {
    end_point client(role::client);
    const stream_key first = client.ask("/1");
    const stream_key second = client.ask("/2");
    static_cast<void>(client.take());
    ASSERT_TRUE(client.wire.feed(raw::server_hello()));
    const stream_key submitted = client.ask("/3");  // not yet drained
    ASSERT_TRUE(client.wire.feed(raw::away(1, 0, "shutting down")));
    EXPECT_EQ(client.goaways, std::vector<std::uint32_t>{0});
    EXPECT_TRUE(client.wire.going_away());
    EXPECT_EQ(client.streams[first].closes, 0);
    for (const stream_key refused : {second, submitted}) {
        EXPECT_EQ(client.streams[refused].closes, 1);
        EXPECT_EQ(client.streams[refused].how, ending::refused);
    }
    request more;
    more.path = "/4";
    const auto result = client.try_ask(more);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, base::errc::refused);

    EXPECT_FALSE(client.wire.finished());
    ASSERT_TRUE(client.wire.feed(
        raw::frame(raw::headers, raw::end_headers | raw::end_stream, 1, raw::field(":status", "200"))));
    EXPECT_EQ(client.streams[first].how, ending::complete);
    static_cast<void>(client.take());
    EXPECT_TRUE(client.wire.finished());
    EXPECT_EQ(client.wire.failure(), nullptr);
    EXPECT_TRUE(client.settled());
}

TEST(h2_goaway, a_request_whose_head_has_not_left_is_refused) {
    end_point client(role::client);
    ASSERT_TRUE(client.wire.feed(raw::server_hello()));
    std::vector<stream_key> keys;
    for (int i = 0; i < 20; ++i) keys.push_back(client.ask("/x", std::string(3000, 'b')));
    base::byte_queue out;
    client.wire.drain(out, 100);  // preface and a head or two; the others are with the library already
    ASSERT_EQ(client.wire.streams_open(), 20U);
    ASSERT_TRUE(client.wire.feed(raw::away(0, 0)));
    EXPECT_EQ(client.count(ending::refused), 20U);
    client.wire.drain(out, 1U << 20U);
    EXPECT_TRUE(client.settled());
    EXPECT_TRUE(client.wire.finished());
}

TEST(h2_goaway, a_graceful_end_loses_nothing) {
    end_point client(role::client);
    end_point server(role::server);
    std::vector<stream_key> asked;
    server.then_end = [&](stream_key k) { asked.push_back(k); };
    for (int i = 0; i < 200; ++i) client.ask("/x", "b");
    pump(client, server);
    ASSERT_EQ(asked.size(), 80U);
    const std::string late = [&] {
        client.ask("/late", {}, priority::lease);
        return client.take();
    }();
    server.wire.shutdown();
    ASSERT_TRUE(server.wire.feed(late));
    pump(client, server);
    EXPECT_EQ(client.count(ending::refused), 121U);  // 120 queued and the late one
    for (const stream_key k : asked) server.wire.respond(k, 200, {}, true);
    pump(client, server);
    EXPECT_EQ(client.count(ending::complete), 80U);
    EXPECT_EQ(server.count(ending::complete), 80U);
    EXPECT_EQ(server.streams.size(), 80U) << "the late request must not have been processed";
    EXPECT_TRUE(client.settled());
    EXPECT_TRUE(client.wire.finished());
    EXPECT_TRUE(server.wire.finished());
    EXPECT_EQ(server.wire.failure(), nullptr);
}

TEST(h2_goaway, a_client_that_leaves_finishes_what_runs) {
    end_point client(role::client);
    end_point server(role::server);
    std::vector<stream_key> asked;
    server.then_end = [&](stream_key k) { asked.push_back(k); };
    for (int i = 0; i < 90; ++i) client.ask("/x");
    pump(client, server);
    client.wire.shutdown();
    client.wire.shutdown();
    EXPECT_EQ(client.count(ending::refused), 10U);
    pump(client, server);
    EXPECT_TRUE(server.goaways.empty()) << "no GOAWAY while requests run";
    EXPECT_FALSE(client.wire.finished());
    for (const stream_key k : asked) server.wire.respond(k, 200, {}, true);
    pump(client, server);
    EXPECT_EQ(client.count(ending::complete), 80U);
    EXPECT_EQ(server.goaways.size(), 1U);
    EXPECT_TRUE(client.wire.finished());
    EXPECT_TRUE(server.wire.finished());
}

TEST(h2_goaway, an_idle_client_says_goodbye_at_once) {
    end_point client(role::client);
    end_point server(role::server);
    pump(client, server);
    client.wire.shutdown();
    EXPECT_TRUE(client.wire.wants_write());
    pump(client, server);
    EXPECT_EQ(server.goaways.size(), 1U);
    EXPECT_TRUE(client.wire.finished());
}

TEST(h2_goaway, a_lost_connection_closes_everything_once) {
    end_point client(role::client);
    end_point server(role::server);
    pump(client, server);
    for (int i = 0; i < 150; ++i) client.ask("/x", "b");
    pump(client, server);
    client.wire.abandon("connection reset by peer");
    EXPECT_EQ(client.count(ending::lost), 80U);
    EXPECT_EQ(client.count(ending::refused), 70U);
    for (const auto& [key, s] : client.streams) EXPECT_EQ(s.detail, "connection reset by peer");
    EXPECT_TRUE(client.settled());
    EXPECT_TRUE(client.wire.finished());
    EXPECT_EQ(client.wire.streams_open(), 0U);
    EXPECT_EQ(client.wire.requests_queued(), 0U);
    EXPECT_FALSE(client.wire.wants_write());
    EXPECT_EQ(client.take(), "");
    EXPECT_FALSE(client.wire.feed("x"));
    client.wire.abandon("again");
    server.wire.abandon("gone");
    EXPECT_TRUE(server.settled());
}

TEST(h2_goaway, a_refused_stream_may_be_repeated_and_a_reset_one_not) {
    end_point client(role::client);
    const stream_key refused = client.ask("/1");
    const stream_key broken = client.ask("/2");
    const stream_key answered = client.ask("/3");
    static_cast<void>(client.take());
    ASSERT_TRUE(client.wire.feed(raw::server_hello()));
    ASSERT_TRUE(client.wire.feed(raw::reset(1, 7)));
    ASSERT_TRUE(client.wire.feed(raw::reset(3, 2)));
    EXPECT_EQ(client.streams[refused].how, ending::refused);
    EXPECT_EQ(client.streams[broken].how, ending::reset);
    EXPECT_EQ(client.streams[broken].code, 2U);
    EXPECT_EQ(client.streams[broken].detail, "reset by the peer: INTERNAL_ERROR");
    // Refused after it has begun to answer: it was processed.
    ASSERT_TRUE(client.wire.feed(raw::frame(raw::headers, raw::end_headers, 5, raw::field(":status", "200"))));
    ASSERT_TRUE(client.wire.feed(raw::reset(5, 7)));
    EXPECT_EQ(client.streams[answered].how, ending::reset);
    EXPECT_TRUE(client.settled());
}

TEST(h2_goaway, an_answer_cut_short_without_error_code_is_no_answer) {
    end_point client(role::client);
    const stream_key key = client.ask("/1");
    static_cast<void>(client.take());
    ASSERT_TRUE(client.wire.feed(raw::server_hello()));
    ASSERT_TRUE(client.wire.feed(raw::frame(raw::headers, raw::end_headers, 1, raw::field(":status", "200"))));
    ASSERT_TRUE(client.wire.feed(raw::reset(1, 0)));
    EXPECT_EQ(client.streams[key].how, ending::reset);
}

TEST(h2_goaway, stream_ids_that_run_out_are_like_a_goaway) {
    limits l;
    l.stream_id_max = 9;
    end_point client(role::client, l);
    end_point server(role::server);
    answer_all(server);
    for (int i = 0; i < 8; ++i) client.ask("/x");
    pump(client, server);
    EXPECT_EQ(client.count(ending::complete), 5U);
    EXPECT_EQ(client.count(ending::refused), 3U);
    EXPECT_EQ(client.goaways.size(), 1U);
    EXPECT_TRUE(client.wire.going_away());
    EXPECT_TRUE(client.settled());
    EXPECT_TRUE(client.wire.finished());
    EXPECT_TRUE(server.wire.finished());
}

TEST(h2_goaway, a_handler_may_cancel_others_while_all_are_closed) {
    end_point client(role::client);
    end_point server(role::server);
    std::vector<stream_key> keys;
    for (int i = 0; i < 100; ++i) keys.push_back(client.ask("/x"));
    pump(client, server);
    client.then_close = [&](stream_key) {
        for (const stream_key k : keys) client.wire.cancel(k);
        request more;
        more.path = "/more";
        EXPECT_FALSE(client.try_ask(more));
    };
    client.wire.abandon("gone");
    EXPECT_TRUE(client.settled());
}

}  // namespace
}  // namespace cotrain::net::h2
