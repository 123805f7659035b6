// Peers that ask for work without end: a server says ENHANCE_YOUR_CALM, and memory stays where it was.
#include "net/h2/bounds.hpp"

#include <gtest/gtest.h>
#include <malloc.h>

#include "net/h2_frames.hpp"
#include "net/h2_pump.hpp"
#if defined(__SANITIZE_ADDRESS__)
extern "C" std::size_t __sanitizer_get_current_allocated_bytes();  // its header is not everywhere
#endif

namespace cotrain::net::h2 {
namespace {

constexpr std::int64_t calm_down = 11;

std::size_t heap_bytes() {
#if defined(__SANITIZE_ADDRESS__)
    return __sanitizer_get_current_allocated_bytes();
#else
    return mallinfo2().uordblks;
#endif
}

TEST(h2_token_bucket, gives_its_burst_and_refills_by_time) {
    token_bucket bucket(3, 2);
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(bucket.take());
    EXPECT_FALSE(bucket.take());
    bucket.refill(1);
    EXPECT_EQ(bucket.tokens(), 2U);
    bucket.refill(1);
    EXPECT_EQ(bucket.tokens(), 3U);
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(bucket.take());
    bucket.refill(0);
    EXPECT_FALSE(bucket.take());
    bucket.refill(~std::uint64_t{0});
    EXPECT_EQ(bucket.tokens(), 3U);
    token_bucket dry(1, 0);
    EXPECT_TRUE(dry.take());
    dry.refill(~std::uint64_t{0});
    EXPECT_FALSE(dry.take());
}

TEST(h2_flood_guard, time_that_runs_backwards_gives_nothing) {
    flood_guard guard({.resets_burst = 1, .resets_per_second = 1, .idle_frames_burst = 1, .idle_frames_per_second = 1});
    guard.tick(100);
    EXPECT_TRUE(guard.on_reset());
    guard.tick(50);
    guard.tick(100);
    EXPECT_FALSE(guard.on_reset());
    guard.tick(101);
    EXPECT_TRUE(guard.on_reset());
}

// Feeds `bytes` again and again until the server has had enough; how often it took them.
int endure(end_point& server, const std::function<std::string(int)>& next, int most = 100'000) {
    std::string hello = raw::client_hello();
    if (!server.wire.feed(hello)) return -1;
    for (int i = 0; i < most; ++i) {
        if (!server.wire.feed(next(i))) return i;
        const std::string said = server.take();
        if (server.wire.failure() == nullptr) continue;
        // Found while draining: the verdict leaves with the same bytes.
        EXPECT_EQ(raw::goaway_code(said), calm_down);
        return i;
    }
    return most;
}

std::string open_stream(int i, std::uint8_t more_flags = 0) {
    return raw::frame(raw::headers, raw::end_headers | more_flags, static_cast<std::uint32_t>(2 * i + 1), raw::get());
}

void expect_sent_away(end_point& server) {
    ASSERT_NE(server.wire.failure(), nullptr);
    EXPECT_EQ(server.wire.failure()->code, base::errc::protocol);
    EXPECT_EQ(raw::goaway_code(server.take()), calm_down);
    EXPECT_TRUE(server.wire.finished());
    EXPECT_TRUE(server.settled());
    EXPECT_EQ(server.wire.streams_open(), 0U);
}

TEST(h2_flood, rapid_reset) {
    end_point server(role::server);
    const int taken =
        endure(server, [](int i) { return open_stream(i) + raw::reset(static_cast<std::uint32_t>(2 * i + 1), 8); });
    EXPECT_EQ(taken, 200);
    expect_sent_away(server);
    EXPECT_EQ(server.streams.size(), 201U);
}

TEST(h2_flood, rapid_reset_in_one_piece_is_cut_short) {
    end_point server(role::server);
    std::string all = raw::client_hello();
    for (int i = 0; i < 5000; ++i) all += open_stream(i) + raw::reset(static_cast<std::uint32_t>(2 * i + 1), 8);
    EXPECT_FALSE(server.wire.feed(all));
    EXPECT_EQ(server.streams.size(), 201U) << "what comes after the verdict is not looked at";
    expect_sent_away(server);
}

TEST(h2_flood, resets_at_a_sane_pace_are_fine) {
    end_point server(role::server);
    int second = 0;
    const int taken = endure(
        server,
        [&](int i) {
            if (i % 33 == 0) server.wire.tick(static_cast<std::uint64_t>(second++));
            return open_stream(i) + raw::reset(static_cast<std::uint32_t>(2 * i + 1), 8);
        },
        3000);
    EXPECT_EQ(taken, 3000);
    EXPECT_TRUE(server.settled());
}

TEST(h2_flood, resets_that_the_peer_makes_us_send) {
    // CVE-2025-8671: the window of each new stream is made to overflow, so that we reset it.
    end_point server(role::server);
    const int taken = endure(server, [](int i) {
        const auto stream = static_cast<std::uint32_t>(2 * i + 1);
        return open_stream(i) + raw::frame(raw::window_update, 0, stream, raw::number(0x7fffffff, 4));
    });
    EXPECT_EQ(taken, 200);
    expect_sent_away(server);
}

TEST(h2_flood, streams_that_break_their_content_length) {
    end_point server(role::server);
    const int taken = endure(server, [](int i) {
        const auto stream = static_cast<std::uint32_t>(2 * i + 1);
        return raw::frame(raw::headers, raw::end_headers, stream, raw::get() + raw::field("content-length", "9")) +
               raw::frame(raw::data, raw::end_stream, stream, "x");
    });
    EXPECT_EQ(taken, 200);
    ASSERT_NE(server.wire.failure(), nullptr);
    EXPECT_TRUE(server.settled());
}

TEST(h2_flood, streams_beyond_the_announced_number) {
    end_point server(role::server);
    const int taken = endure(server, [](int i) { return open_stream(i); });
    // Never acknowledged, our SETTINGS bind nobody yet: the streams are refused one by one until it is enough.
    EXPECT_EQ(taken, 128 + 200);
    expect_sent_away(server);
}

TEST(h2_flood, frames_that_carry_nothing) {
    const auto flood = [](const std::string& one) {
        end_point server(role::server);
        server.then_head = [&](stream_key k) { server.wire.respond(k, 200, {}, false); };
        EXPECT_TRUE(server.wire.feed(raw::client_hello() + open_stream(0)));
        int taken = 0;
        while (taken < 5000 && server.wire.feed(one)) {
            static_cast<void>(server.take());
            ++taken;
        }
        if (server.wire.failure() != nullptr) expect_sent_away(server);
        return taken;
    };
    EXPECT_EQ(flood(raw::frame(raw::ping, 0, 0, "01234567")), 999);
    EXPECT_EQ(flood(raw::frame(raw::settings, 0, 0)), 999);
    EXPECT_EQ(flood(raw::frame(raw::priority, 0, 1, raw::number(0, 5))), 999);
    EXPECT_EQ(flood(raw::frame(raw::data, 0, 1)), 999);
    for (const int unknown : {0x0a, 0x10, 0x20, 0xff}) {
        EXPECT_EQ(flood(raw::frame(static_cast<raw::type>(unknown), 0, 0)), 999) << unknown;
        EXPECT_EQ(flood(raw::frame(static_cast<raw::type>(unknown), 0, 1, "what")), 999) << unknown;
    }
    EXPECT_EQ(flood(raw::frame(raw::window_update, 0, 0, raw::number(1, 4))), 999 + 64);
    EXPECT_EQ(flood(raw::frame(raw::data, 0, 1, "x")), 5000) << "data is not a flood";
}

TEST(h2_flood, window_updates_are_free_while_data_flows) {
    end_point server(role::server);
    server.then_end = [&](stream_key k) { server.wire.respond(k, 200, {}, false); };
    ASSERT_TRUE(server.wire.feed(raw::client_hello() + open_stream(0, raw::end_stream)));
    for (int i = 0; i < 5000; ++i) {
        server.wire.write(server.heads.at(0), "event");
        static_cast<void>(server.take());
        ASSERT_TRUE(server.wire.feed(raw::frame(raw::window_update, 0, 1, raw::number(5, 4)) +
                                     raw::frame(raw::window_update, 0, 0, raw::number(5, 4))));
    }
}

TEST(h2_flood, endless_continuations) {
    for (const auto as : {role::server, role::client}) {
        end_point end(as);
        if (as == role::client) end.ask("/x");
        static_cast<void>(end.take());
        std::string bytes = as == role::server ? raw::client_hello() : raw::server_hello();
        bytes += raw::frame(raw::headers, 0, 1, as == role::server ? raw::get() : raw::field(":status", "200"));
        ASSERT_TRUE(end.wire.feed(bytes));
        int taken = 0;
        while (taken < 1000 && end.wire.feed(raw::frame(raw::continuation, 0, 1, raw::field("x", "y")))) ++taken;
        EXPECT_EQ(taken, 16);
        expect_sent_away(end);
    }
}

TEST(h2_flood, headers_byte_by_byte_with_continuations_are_no_flood) {
    end_point server(role::server);
    std::string bytes = raw::client_hello() + raw::frame(raw::headers, raw::end_stream, 1, raw::get());
    for (int i = 0; i < 15; ++i) bytes += raw::frame(raw::continuation, 0, 1, raw::field("x", "y"));
    bytes += raw::frame(raw::continuation, raw::end_headers, 1, raw::field("x", "z"));
    EXPECT_TRUE(feed_in_chunks(server.wire, bytes, 1));
    ASSERT_EQ(server.heads.size(), 1U);
    EXPECT_EQ(server.streams[server.heads[0]].message.headers.size(), 16U);
}

TEST(h2_flood, a_peer_that_never_reads_cannot_make_us_remember_answers) {
    // Neither is drained: answers pile up until the bound.
    end_point server(role::server);
    ASSERT_TRUE(server.wire.feed(raw::client_hello()));
    int taken = 0;
    while (taken < 5000 && server.wire.feed(raw::frame(raw::ping, 0, 0, "01234567"))) ++taken;
    EXPECT_LE(taken, 1000);
    expect_sent_away(server);

    end_point client(role::client);
    static_cast<void>(client.take());
    ASSERT_TRUE(client.wire.feed(raw::server_hello()));
    const std::size_t before = heap_bytes();
    taken = 0;
    while (taken < 50'000 && client.wire.feed(raw::frame(raw::ping, 0, 0, "01234567"))) ++taken;
    EXPECT_LE(taken, 1000);
    EXPECT_LE(heap_bytes() - before, 1U << 20U);
    expect_sent_away(client);
}

TEST(h2_flood, pushes_are_refused_and_bounded) {
    // Our SETTINGS are never acknowledged, so each push is answered with a reset.
    end_point client(role::client);
    client.ask("/x");
    static_cast<void>(client.take());
    ASSERT_TRUE(client.wire.feed(raw::server_hello()));
    int taken = 0;
    for (; taken < 50'000; ++taken) {
        const auto promised = static_cast<std::uint32_t>(2 * taken + 2);
        if (!client.wire.feed(
                raw::frame(raw::push_promise, raw::end_headers, 1, raw::number(promised, 4) + raw::get("/pushed"))))
            break;
    }
    EXPECT_LE(taken, 1500);
    expect_sent_away(client);

    end_point strict(role::client);
    strict.ask("/x");
    static_cast<void>(strict.take());
    ASSERT_TRUE(strict.wire.feed(raw::server_hello() + raw::frame(raw::settings, raw::ack, 0)));
    static_cast<void>(
        strict.wire.feed(raw::frame(raw::push_promise, raw::end_headers, 1, raw::number(2, 4) + raw::get("/pushed"))));
    EXPECT_EQ(raw::goaway_code(strict.take()), 1);
    ASSERT_NE(strict.wire.failure(), nullptr);
    EXPECT_TRUE(strict.settled());
}

TEST(h2_flood, memory_stays_bounded_whatever_the_server_sends) {
    // Endless 1xx, endless headers through a full HPACK table, unread data beyond the window, GOAWAYs with long words.
    const auto attack = [](const std::function<std::string(int)>& next, int rounds) {
        end_point client(role::client);
        client.consumes = false;
        client.ask("/x");
        static_cast<void>(client.take());
        EXPECT_TRUE(client.wire.feed(raw::server_hello()));
        std::size_t most = 0;
        const std::size_t before = heap_bytes();
        for (int i = 0; i < rounds; ++i) {
            const std::string bytes = next(i);
            const bool alive = client.wire.feed(bytes).has_value();
            static_cast<void>(client.take());
            for (auto& [key, s] : client.streams) s.body.clear(), s.body.shrink_to_fit();
            client.log.clear();
            client.goaways.clear();
            most = std::max(most, heap_bytes() - std::min(before, heap_bytes()));
            if (!alive) break;
        }
        return most;
    };
    constexpr std::size_t bound = 1U << 20U;
    const std::string filler(16'000, 'h');
    EXPECT_LE(attack(
                  [&](int) {
                      return raw::frame(raw::headers, raw::end_headers, 1,
                                        raw::field(":status", "100") + raw::field("x", filler));
                  },
                  2000),
              bound);
    // A 4000-byte header in the table, then 60,000 references of one byte each: a quarter of a gigabyte if kept.
    EXPECT_LE(attack(
                  [&](int i) {
                      std::string block = raw::field(":status", "200");
                      std::string indexed = raw::field("x", std::string(4000, 'h'));
                      indexed[0] = 0x40;
                      block += indexed + std::string(16'000 - block.size() - indexed.size(), '\xbe');
                      return i == 0 ? raw::frame(raw::headers, 0, 1, block)
                                    : raw::frame(raw::continuation, 0, 1, std::string(16'000, '\xbe'));
                  },
                  100),
              bound);
    EXPECT_LE(attack(
                  [&](int i) {
                      return i == 0 ? raw::frame(raw::headers, raw::end_headers, 1, raw::field(":status", "200"))
                                    : raw::frame(raw::data, 0, 1, filler);
                  },
                  5000),
              bound);
    EXPECT_LE(attack([&](int) { return raw::away(1, 0, filler); }, 2000), bound);
    EXPECT_LE(attack([&](int) { return raw::frame(static_cast<raw::type>(0xa), 0, 1, filler); }, 2000), bound);
}

TEST(h2_flood, a_window_that_overflows_ends_the_connection) {
    end_point client(role::client);
    const stream_key key = client.ask("/x", "body");
    static_cast<void>(client.take());
    ASSERT_TRUE(client.wire.feed(raw::server_hello()));
    static_cast<void>(client.wire.feed(raw::frame(raw::window_update, 0, 0, raw::number(0x7fffffff, 4))));
    EXPECT_EQ(raw::goaway_code(client.take()), 3);
    EXPECT_EQ(client.streams[key].how, ending::lost);
    ASSERT_NE(client.wire.failure(), nullptr);
    EXPECT_NE(client.wire.failure()->message.find("FLOW_CONTROL_ERROR"), std::string::npos);
    EXPECT_FALSE(client.wire.feed(raw::frame(raw::ping, 0, 0, "01234567")));
    EXPECT_TRUE(client.wire.finished());
}

TEST(h2_flood, data_beyond_the_window_resets_the_stream) {
    limits l;
    l.stream_window_bytes = 70'000;
    end_point client(role::client, l);
    client.consumes = false;
    const stream_key key = client.ask("/x");
    static_cast<void>(client.take());
    ASSERT_TRUE(client.wire.feed(raw::server_hello() + raw::frame(raw::settings, raw::ack, 0)));
    ASSERT_TRUE(client.wire.feed(raw::frame(raw::headers, raw::end_headers, 1, raw::field(":status", "200"))));
    const std::string part(16'384, 'd');
    for (int i = 0; i < 100; ++i) {
        if (!client.wire.feed(raw::frame(raw::data, 0, 1, part))) break;
        static_cast<void>(client.take());
    }
    EXPECT_LE(client.streams[key].body.size(), 70'000U + 16'384U);
    EXPECT_EQ(client.streams[key].how, ending::reset);
}

TEST(h2_flood, what_is_not_http2_is_told_so) {
    end_point server(role::server);
    const auto fed = server.wire.feed("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
    ASSERT_FALSE(fed);
    EXPECT_EQ(fed.error().code, base::errc::protocol);
    EXPECT_NE(fed.error().message.find("preface"), std::string::npos);

    end_point client(role::client);
    const stream_key key = client.ask("/x");
    static_cast<void>(client.take());
    static_cast<void>(client.wire.feed("HTTP/1.1 400 Bad Request\r\n\r\n"));
    static_cast<void>(client.take());
    ASSERT_NE(client.wire.failure(), nullptr);
    EXPECT_EQ(client.streams[key].closes, 1);
    EXPECT_TRUE(client.wire.finished());
}

}  // namespace
}  // namespace cotrain::net::h2
