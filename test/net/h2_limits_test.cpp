// Headers beyond the bounds: a server answers 431, a client drops the stream; nothing else is touched.
#include <gtest/gtest.h>

#include "net/h2_frames.hpp"
#include "net/h2_pump.hpp"

namespace cotrain::net::h2 {
namespace {

limits narrow() {
    limits l;
    l.header_list_bytes_max = 2000;
    l.headers_max = 20;
    return l;
}

request with_headers(int count, std::size_t value_bytes, std::string body = {}) {
    request what;
    what.path = "/x";
    what.method = body.empty() ? "GET" : "POST";
    what.body = std::move(body);
    for (int i = 0; i < count; ++i) what.headers.push_back({"x-" + std::to_string(i), std::string(value_bytes, 'v')});
    return what;
}

TEST(h2_limits, a_server_answers_431_and_goes_on) {
    limits generous;
    generous.headers_max = 2000;
    end_point client(role::client, generous);
    end_point server(role::server, narrow());
    answer_all(server);
    const stream_key too_many = *client.try_ask(with_headers(20, 1));
    const stream_key too_large = *client.try_ask(with_headers(3, 1000));
    const stream_key with_body = *client.try_ask(with_headers(30, 1, std::string(200'000, 'b')));
    const stream_key fine = *client.try_ask(with_headers(16, 10));
    pump(client, server);
    for (const stream_key k : {too_many, too_large, with_body}) {
        EXPECT_EQ(client.streams[k].message.status, 431);
        EXPECT_EQ(client.streams[k].how, ending::complete);
    }
    EXPECT_EQ(client.streams[fine].message.status, 200);
    EXPECT_EQ(server.streams.size(), 1U) << "the owner hears of the good request only";
    EXPECT_TRUE(server.settled());
    EXPECT_EQ(server.wire.streams_open(), 0U);
    EXPECT_EQ(server.wire.failure(), nullptr);
    EXPECT_EQ(client.wire.failure(), nullptr);
}

// HPACK: a literal that enters the table, and then one byte for each time it is meant.
std::string table_bomb(std::size_t value_bytes, std::size_t times) {
    std::string block(1, '\x40');
    block += raw::hpack_length(1) + "x" + raw::hpack_length(value_bytes) + std::string(value_bytes, 'v');
    return block.append(times, '\xbe');
}

TEST(h2_limits, headers_are_counted_as_they_are_decoded) {
    limits bounds;
    bounds.header_list_bytes_max = 16U << 10U;
    for (const std::size_t times : {2U, 10U, 40U, 12'000U}) {
        end_point server(role::server, bounds);
        answer_all(server);
        const std::string block = raw::get() + table_bomb(3000, times);
        const bool taken =
            server.wire
                .feed(raw::client_hello() + raw::frame(raw::headers, raw::end_headers | raw::end_stream, 1, block))
                .has_value();
        const bool within = 3032 * (times + 1) < 4U * bounds.header_list_bytes_max;
        EXPECT_EQ(taken, within) << times;
        EXPECT_EQ(server.streams.size(), times == 2 ? 1U : 0U) << times;
        EXPECT_EQ(raw::goaway_code(server.take()), within ? -1 : 11) << times;
    }
}

TEST(h2_limits, headers_of_refused_streams_are_counted_too) {
    end_point server(role::server, {.header_list_bytes_max = 16U << 10U});
    ASSERT_TRUE(server.wire.feed(raw::client_hello()));
    server.wire.shutdown();  // the peer does not know yet
    const auto bomb = [](std::uint32_t stream, std::size_t times) {
        return raw::frame(raw::headers, raw::end_headers | raw::end_stream, stream,
                          raw::get() + table_bomb(3000, times));
    };
    EXPECT_TRUE(server.wire.feed(bomb(1, 10)));
    EXPECT_FALSE(server.wire.feed(bomb(3, 12'000)));
    EXPECT_TRUE(server.streams.empty());
}

TEST(h2_limits, a_client_drops_an_answer_with_too_many_headers) {
    end_point client(role::client, narrow());
    end_point server(role::server);
    bool large = true;
    server.then_end = [&](stream_key k) {
        server.wire.respond(k, 200, large ? with_headers(30, 1).headers : header_list{}, false);
        server.wire.write(k, "body");
        server.wire.finish(k);
    };
    const stream_key bad = client.ask("/x");
    pump(client, server);
    EXPECT_EQ(client.streams[bad].how, ending::too_large);
    EXPECT_FALSE(client.streams[bad].headed);
    EXPECT_NE(client.streams[bad].detail.find("headers_max"), std::string::npos);
    large = false;
    const stream_key good = client.ask("/x");
    pump(client, server);
    EXPECT_EQ(client.streams[good].how, ending::complete);
    EXPECT_EQ(client.wire.failure(), nullptr);
}

TEST(h2_limits, trailers_are_bounded_too) {
    end_point client(role::client, narrow());
    end_point server(role::server);
    server.then_end = [&](stream_key k) {
        server.wire.respond(k, 200, {}, false);
        server.wire.write(k, "body");
        server.wire.finish(k, with_headers(30, 1).headers);
    };
    const stream_key key = client.ask("/x");
    pump(client, server);
    EXPECT_TRUE(client.streams[key].headed);
    EXPECT_FALSE(client.streams[key].ended);
    EXPECT_EQ(client.streams[key].how, ending::too_large);
    EXPECT_TRUE(client.settled() && server.settled());
}

TEST(h2_limits, a_status_that_is_none_ends_its_stream_before_its_data) {
    end_point client(role::client);
    const stream_key key = client.ask("/1");
    const stream_key other = client.ask("/2");
    static_cast<void>(client.take());
    ASSERT_TRUE(client.wire.feed(raw::server_hello()));
    ASSERT_TRUE(client.wire.feed(raw::frame(raw::headers, raw::end_headers, 1, raw::field(":status", "088"))));
    ASSERT_TRUE(client.wire.feed(raw::frame(raw::data, 0, 1, "data")));
    EXPECT_EQ(client.streams[key].how, ending::reset);
    EXPECT_FALSE(client.streams[key].headed);
    ASSERT_TRUE(client.wire.feed(
        raw::frame(raw::headers, raw::end_headers | raw::end_stream, 3, raw::field(":status", "200"))));
    EXPECT_EQ(client.streams[other].how, ending::complete);
}

TEST(h2_limits, informational_heads_are_swallowed_up_to_a_bound) {
    end_point client(role::client);
    const stream_key patient = client.ask("/1");
    const stream_key endless = client.ask("/2");
    static_cast<void>(client.take());
    ASSERT_TRUE(client.wire.feed(raw::server_hello()));
    const auto informational = [](std::uint32_t stream) {
        return raw::frame(raw::headers, raw::end_headers, stream, raw::fields({{":status", "103"}, {"link", "x"}}));
    };
    for (int i = 0; i < 16; ++i) ASSERT_TRUE(client.wire.feed(informational(1)));
    ASSERT_TRUE(client.wire.feed(
        raw::frame(raw::headers, raw::end_headers | raw::end_stream, 1, raw::field(":status", "200"))));
    EXPECT_EQ(client.streams[patient].how, ending::complete);
    EXPECT_EQ(client.streams[patient].message.status, 200);
    EXPECT_TRUE(client.streams[patient].message.headers.empty());
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(client.wire.feed(informational(3)));
    EXPECT_EQ(client.streams[endless].how, ending::too_large);
    EXPECT_FALSE(client.streams[endless].headed);
}

TEST(h2_limits, a_broken_answer_resets_its_stream_only) {
    end_point client(role::client);
    const stream_key bad = client.ask("/1");
    const stream_key short_body = client.ask("/2");
    const stream_key good = client.ask("/3");
    static_cast<void>(client.take());
    ASSERT_TRUE(client.wire.feed(raw::server_hello()));
    ASSERT_TRUE(client.wire.feed(raw::frame(raw::headers, raw::end_headers | raw::end_stream, 1,
                                            raw::fields({{":status", "200"}, {"Upper", "case"}}))));
    ASSERT_TRUE(client.wire.feed(
        raw::frame(raw::headers, raw::end_headers, 3, raw::fields({{":status", "200"}, {"content-length", "5"}}))));
    ASSERT_TRUE(client.wire.feed(raw::frame(raw::data, raw::end_stream, 3, "four")));
    ASSERT_TRUE(client.wire.feed(
        raw::frame(raw::headers, raw::end_headers | raw::end_stream, 5, raw::field(":status", "200"))));
    EXPECT_EQ(raw::types_of(client.take()), "433");  // SETTINGS answered, two resets
    EXPECT_EQ(client.streams[bad].how, ending::reset);
    EXPECT_NE(client.streams[bad].detail.find("PROTOCOL_ERROR"), std::string::npos);
    EXPECT_EQ(client.streams[short_body].how, ending::reset);
    EXPECT_FALSE(client.streams[short_body].ended) << "half an answer must not look whole";
    EXPECT_EQ(client.streams[good].how, ending::complete);
    EXPECT_EQ(client.wire.failure(), nullptr);
}

TEST(h2_limits, answers_that_must_not_be_sent_end_the_stream_with_a_reason) {
    end_point client(role::client);
    end_point server(role::server);
    server.then_end = [&](stream_key k) { server.wire.respond(k, 200, {{"x", "a\r\nset-cookie: b"}}, true); };
    const stream_key key = client.ask("/x");
    pump(client, server);
    EXPECT_EQ(client.streams[key].how, ending::reset);
    EXPECT_EQ(server.count(ending::cancelled), 1U);
    EXPECT_NE(server.streams.begin()->second.detail.find("control character"), std::string::npos);
}

TEST(h2_limits, bounds_that_the_protocol_cannot_say_are_cut_to_it) {
    limits wild;
    wild.stream_window_bytes = 0xffff'ffffU;
    wild.connection_window_bytes = 0xffff'ffffU;
    wild.frame_bytes_max = 0xffff'ffffU;
    end_point client(role::client, wild);
    end_point server(role::server);
    answer_all(server);
    client.ask("/x");
    pump(client, server);
    EXPECT_EQ(client.count(ending::complete), 1U);
}

}  // namespace
}  // namespace cotrain::net::h2
