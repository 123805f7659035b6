// Cancelling at any moment and from any handler: closed once, before cancel() returns, and late frames hurt nobody.
#include <gtest/gtest.h>

#include "net/h2_frames.hpp"
#include "net/h2_pump.hpp"

namespace cotrain::net::h2 {
namespace {

TEST(h2_cancel, a_queued_request_never_leaves) {
    end_point client(role::client);
    end_point server(role::server);
    const stream_key key = client.ask("/x");
    client.wire.cancel(key);
    EXPECT_EQ(client.streams[key].how, ending::cancelled);
    client.wire.cancel(key);
    EXPECT_EQ(client.streams[key].closes, 1);
    pump(client, server);
    EXPECT_TRUE(server.streams.empty());
}

TEST(h2_cancel, a_running_request_is_reset_at_the_peer) {
    end_point client(role::client);
    end_point server(role::server);
    const stream_key key = client.ask("/watch");
    pump(client, server);
    server.wire.respond(server.heads.at(0), 200, {}, false);
    pump(client, server);
    client.wire.cancel(key);
    EXPECT_EQ(client.streams[key].how, ending::cancelled);
    EXPECT_EQ(client.wire.streams_open(), 0U);
    server.wire.write(server.heads[0], "late");
    pump(client, server);
    EXPECT_EQ(server.streams[server.heads[0]].how, ending::reset);
    EXPECT_EQ(server.streams[server.heads[0]].code, 8U);
    EXPECT_TRUE(client.streams[key].body.empty());
    EXPECT_TRUE(client.settled() && server.settled());
}

TEST(h2_cancel, a_server_may_cancel_too) {
    end_point client(role::client);
    end_point server(role::server);
    server.then_head = [&](stream_key k) { server.wire.cancel(k, 2); };
    const stream_key key = client.ask("/x", "body");
    pump(client, server);
    EXPECT_EQ(client.streams[key].how, ending::reset);
    EXPECT_EQ(client.streams[key].code, 2U);
    EXPECT_EQ(server.count(ending::cancelled), 1U);
}

TEST(h2_cancel, late_answers_are_ignored_without_another_reset) {
    end_point client(role::client);
    end_point server(role::server);
    answer_all(server);
    std::string late;
    for (int i = 0; i < 50; ++i) {
        const stream_key key = client.ask("/x");
        ASSERT_TRUE(server.wire.feed(client.take()));
        late = server.take();
        client.wire.cancel(key);
        EXPECT_EQ(raw::types_of(client.take()).find("33"), std::string::npos);
        ASSERT_TRUE(client.wire.feed(late));
        EXPECT_EQ(raw::types_of(client.take()).find('3'), std::string::npos);
    }
    EXPECT_EQ(client.count(ending::cancelled), 50U);
}

TEST(h2_cancel, a_record_used_again_does_not_hear_of_its_past) {
    end_point client(role::client);
    end_point server(role::server);
    answer_all(server);
    pump(client, server);
    for (int i = 0; i < 100; ++i) {
        const stream_key old = client.ask("/old", std::string(30'000, 'o'));
        base::byte_queue out;
        client.wire.drain(out, static_cast<std::size_t>(i) * 500);  // cut inside the head or the body
        client.wire.cancel(old);
        const stream_key fresh = client.ask("/fresh", std::string(20'000, 'f'));
        ASSERT_TRUE(server.wire.feed(out.view()));
        pump(client, server);
        EXPECT_EQ(client.streams[old].how, ending::cancelled);
        EXPECT_EQ(client.streams[fresh].body, "PATCH /fresh 20000");
        EXPECT_EQ(client.streams[fresh].how, ending::complete);
    }
    EXPECT_EQ(client.wire.failure(), nullptr);
    EXPECT_EQ(server.wire.failure(), nullptr);
}

TEST(h2_cancel, between_two_halves_of_an_answers_head) {
    end_point client(role::client);
    const stream_key old = client.ask("/old");
    static_cast<void>(client.take());
    ASSERT_TRUE(client.wire.feed(raw::server_hello()));
    const std::string answer = raw::frame(raw::headers, raw::end_headers | raw::end_stream, 1,
                                          raw::fields({{":status", "200"}, {"x", "y"}, {"z", "z"}}));
    ASSERT_TRUE(client.wire.feed(answer.substr(0, answer.size() / 2)));
    client.wire.cancel(old);
    const stream_key fresh = client.ask("/fresh");  // takes over the record
    static_cast<void>(client.take());
    ASSERT_TRUE(client.wire.feed(answer.substr(answer.size() / 2)));
    EXPECT_FALSE(client.streams[fresh].headed);
    ASSERT_TRUE(client.wire.feed(
        raw::frame(raw::headers, raw::end_headers | raw::end_stream, 3, raw::field(":status", "204"))));
    EXPECT_EQ(client.streams[fresh].message.status, 204);
    EXPECT_TRUE(client.streams[fresh].message.headers.empty());
    EXPECT_EQ(client.streams[fresh].how, ending::complete);
}

TEST(h2_cancel, inside_every_handler) {
    enum class where { head, data, end, close_of_another };
    for (const where w : {where::head, where::data, where::end, where::close_of_another}) {
        end_point client(role::client);
        end_point server(role::server);
        answer_all(server);
        std::vector<stream_key> keys;
        const auto cancel_both = [&](stream_key k) {
            client.wire.cancel(k);
            client.wire.cancel(keys.back());
            if (client.streams.size() < 40) keys.push_back(client.ask("/more", "b"));
        };
        if (w == where::head) client.then_head = cancel_both;
        if (w == where::data) client.then_data = cancel_both;
        if (w == where::end) client.then_end = cancel_both;
        if (w == where::close_of_another) client.then_close = cancel_both;
        for (int i = 0; i < 10; ++i) keys.push_back(client.ask("/x", "b"));
        pump(client, server);
        EXPECT_TRUE(client.settled()) << static_cast<int>(w);
        EXPECT_TRUE(server.settled()) << static_cast<int>(w);
        EXPECT_EQ(client.wire.streams_open(), 0U);
        EXPECT_EQ(client.wire.requests_queued(), 0U);
        EXPECT_EQ(client.wire.failure(), nullptr);
    }
}

TEST(h2_cancel, inside_every_handler_of_a_server) {
    enum class where { head, data, end, writable };
    for (const where w : {where::head, where::data, where::end, where::writable}) {
        limits l;
        l.response_buffer_bytes_max = 1000;
        end_point client(role::client);
        end_point server(role::server, l);
        const auto cancel = [&](stream_key k) { server.wire.cancel(k); };
        server.then_end = [&](stream_key k) {
            server.wire.respond(k, 200, {}, false);
            server.wire.write(k, std::string(5000, 'd'));
        };
        if (w == where::head) server.then_head = cancel;
        if (w == where::data) server.then_data = cancel;
        if (w == where::end) server.then_end = cancel;
        if (w == where::writable) server.then_writable = cancel;
        for (int i = 0; i < 10; ++i) client.ask("/x", std::string(40'000, 'b'));
        pump(client, server);
        EXPECT_EQ(server.count(ending::cancelled), 10U) << static_cast<int>(w);
        EXPECT_EQ(client.count(ending::reset), 10U) << static_cast<int>(w);
        EXPECT_EQ(server.wire.streams_open(), 0U);
    }
}

TEST(h2_cancel, calls_for_closed_streams_do_nothing) {
    end_point client(role::client);
    end_point server(role::server);
    answer_all(server);
    const stream_key key = client.ask("/x");
    pump(client, server);
    client.wire.cancel(key);
    client.wire.consume(key, 5);
    client.wire.cancel(stream_key{12345});
    client.wire.cancel(stream_key{});
    const stream_key asked = server.heads.at(0);
    server.wire.respond(asked, 200, {}, true);
    EXPECT_TRUE(server.wire.write(asked, "x"));
    server.wire.finish(asked);
    EXPECT_FALSE(client.wire.wants_write());
    EXPECT_FALSE(server.wire.wants_write());
    EXPECT_TRUE(client.settled() && server.settled());
}

}  // namespace
}  // namespace cotrain::net::h2
