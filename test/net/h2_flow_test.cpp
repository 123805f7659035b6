// Flow control: a slow reader holds back its own stream and no other; writers learn when to wait.
#include <gtest/gtest.h>

#include "net/h2_pump.hpp"

namespace cotrain::net::h2 {
namespace {

constexpr std::uint32_t window = 100'000;

limits small_windows() {
    limits l;
    l.stream_window_bytes = window;
    l.connection_window_bytes = window;  // even without room to spare
    return l;
}

TEST(h2_flow, a_paused_reader_stops_its_stream_only) {
    end_point client(role::client, small_windows());
    end_point server(role::server);
    server.then_end = [&](stream_key k) {
        server.wire.respond(k, 200, {}, false);
        server.wire.write(k, std::string(500'000, 'd'));
        server.wire.finish(k);
    };
    client.consumes = false;
    const stream_key paused = client.ask("/paused");
    pump(client, server);
    EXPECT_EQ(client.streams[paused].body.size(), window);

    std::vector<stream_key> others;
    for (int i = 0; i < 20; ++i) others.push_back(client.ask("/other"));
    client.then_data = [&](stream_key k) {
        if (k != paused) client.wire.consume(k, 500'000);  // more than there is: counts as all
    };
    pump(client, server);
    for (const stream_key k : others) EXPECT_EQ(client.streams[k].how, ending::complete);
    EXPECT_EQ(client.streams[paused].body.size(), window);

    // Half a window is worth an update; what was consumed comes again, no more.
    client.wire.consume(paused, window / 2);
    pump(client, server);
    EXPECT_EQ(client.streams[paused].body.size(), window * 3 / 2);
    client.then_data = [&](stream_key k) { client.wire.consume(k, window); };
    client.wire.consume(paused, window);
    pump(client, server);
    EXPECT_EQ(client.streams[paused].body.size(), 500'000U);
    EXPECT_EQ(client.streams[paused].how, ending::complete);
}

TEST(h2_flow, nothing_can_be_consumed_before_it_came) {
    end_point client(role::client, small_windows());
    end_point server(role::server);
    server.then_end = [&](stream_key k) {
        server.wire.respond(k, 200, {}, false);
        server.wire.write(k, std::string(1'000'000, 'd'));
    };
    client.consumes = false;
    const stream_key key = client.ask("/x");
    client.then_data = [&](stream_key k) {
        if (client.streams[k].body.size() <= window) client.wire.consume(k, 10 * window);
    };
    pump(client, server);
    const std::size_t stalled = client.streams[key].body.size();
    EXPECT_LE(stalled, 2 * window + 16'384);
    client.wire.consume(key, 1);
    pump(client, server);
    EXPECT_EQ(client.streams[key].body.size(), stalled);
}

TEST(h2_flow, a_paused_upload_stops_its_stream_only) {
    end_point client(role::client);
    end_point server(role::server, small_windows());
    server.consumes = false;
    const stream_key stuck = client.ask("/stuck", std::string(300'000, 'u'));
    pump(client, server);
    ASSERT_EQ(server.heads.size(), 1U);
    EXPECT_EQ(server.streams[server.heads[0]].body.size(), window);
    answer_all(server);
    server.then_data = [&](stream_key k) {
        if (k != server.heads[0]) server.wire.consume(k, window);
    };
    for (int i = 0; i < 10; ++i) client.ask("/fine", std::string(250'000, 'u'));
    pump(client, server);
    EXPECT_EQ(client.count(ending::complete), 10U);
    EXPECT_EQ(client.streams[stuck].closes, 0);
    server.then_data = [&](stream_key k) { server.wire.consume(k, window); };
    server.wire.consume(server.heads[0], window);
    pump(client, server);
    EXPECT_EQ(client.streams[stuck].body, "PATCH /stuck 300000");
}

TEST(h2_flow, unread_data_of_a_cancelled_stream_is_not_missing_from_the_connection) {
    end_point client(role::client, small_windows());
    end_point server(role::server);
    server.then_end = [&](stream_key k) {
        server.wire.respond(k, 200, {}, false);
        server.wire.write(k, std::string(90'000, 'd'));
        server.wire.finish(k);
    };
    client.consumes = false;
    for (int i = 0; i < 30; ++i) {
        const stream_key key = client.ask("/x");
        static_cast<void>(server.wire.feed(client.take()));
        const std::string late = server.take();
        client.wire.cancel(key);
        ASSERT_TRUE(client.wire.feed(late));  // data for a stream that is closed for us
        EXPECT_TRUE(client.streams[key].body.empty());
        pump(client, server);
    }
    const stream_key last = client.ask("/last");
    pump(client, server);
    EXPECT_EQ(client.streams[last].body.size(), 90'000U);
    EXPECT_EQ(client.wire.failure(), nullptr);
}

TEST(h2_flow, a_writer_is_told_to_wait_and_to_go_on) {
    limits l;
    l.response_buffer_bytes_max = 50'000;
    end_point client(role::client, small_windows());
    end_point server(role::server, l);
    client.consumes = false;
    const stream_key key = client.ask("/watch");
    pump(client, server);
    const stream_key stream = server.heads.at(0);
    int room_calls = 0;
    server.then_writable = [&](stream_key k) {
        EXPECT_EQ(k, stream);
        ++room_calls;
    };
    server.wire.respond(stream, 200, {}, false);
    EXPECT_TRUE(server.wire.write(stream, std::string(49'999, 'd')));
    EXPECT_FALSE(server.wire.write(stream, "d"));
    pump(client, server);
    EXPECT_EQ(room_calls, 1);
    // The peer's window is what stops now: 50,000 of it are left.
    EXPECT_FALSE(server.wire.write(stream, std::string(100'001, 'd')));
    pump(client, server);
    EXPECT_EQ(room_calls, 1) << "50,001 bytes still wait, more than half of the bound";
    client.wire.consume(key, 100'000);
    pump(client, server);
    EXPECT_EQ(room_calls, 2);
    EXPECT_EQ(client.streams[key].body.size(), 150'001U);
}

TEST(h2_flow, a_writer_may_refill_from_its_handler) {
    limits l;
    l.response_buffer_bytes_max = 20'000;
    end_point client(role::client);
    end_point server(role::server, l);
    int left = 200;
    const auto fill = [&](stream_key k) {
        while (left > 0) {
            --left;
            if (!server.wire.write(k, std::string(5000, 'd'))) return;
        }
        server.wire.finish(k);
    };
    server.then_writable = fill;
    server.then_end = [&](stream_key k) {
        server.wire.respond(k, 200, {}, false);
        fill(k);
    };
    const stream_key key = client.ask("/big");
    pump(client, server);
    EXPECT_EQ(client.streams[key].body.size(), 1'000'000U);
    EXPECT_EQ(client.streams[key].how, ending::complete);
    EXPECT_TRUE(server.settled());
}

TEST(h2_flow, answers_share_the_connection_turn_by_turn) {
    end_point client(role::client);
    end_point server(role::server);
    server.then_end = [&](stream_key k) {
        server.wire.respond(k, 200, {}, false);
        server.wire.write(k, std::string(server.streams[k].message.path == "/big" ? 4'000'000 : 1000, 'd'));
        server.wire.finish(k);
    };
    pump(client, server);
    const stream_key big = client.ask("/big");
    const stream_key small = client.ask("/small");
    ASSERT_TRUE(server.wire.feed(client.take()));
    ASSERT_TRUE(client.wire.feed(server.take(200'000)));
    EXPECT_EQ(client.streams[small].how, ending::complete);
    EXPECT_FALSE(client.streams[big].ended);
}

}  // namespace
}  // namespace cotrain::net::h2
