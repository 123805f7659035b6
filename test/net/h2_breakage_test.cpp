// A recorded exchange, cut off or garbled at every place: no crash, no hang, and every stream is closed exactly once.
#include <gtest/gtest.h>

#include "base/random.hpp"
#include "net/h2_frames.hpp"
#include "net/h2_pump.hpp"

namespace cotrain::net::h2 {
namespace {

limits small() {
    limits l;
    l.stream_window_bytes = 100'000;
    return l;
}

void set_up_server(end_point& server) {
    server.then_end = [&server](stream_key k) {
        if (server.streams[k].closes != 0) return;
        server.wire.respond(k, 200, {{"content-type", "application/json"}, {"content-length", "11"}}, false);
        server.wire.write(k, "hello ");
        server.wire.write(k, "world");
        server.wire.finish(k, {{"x-trailer", "t"}});
    };
}

void ask_things(end_point& client) {
    client.ask("/one", "body of one");
    client.ask("/two", {}, priority::watch);
    client.wire.ping(1);
    client.ask("/three/" + std::string(300, 'p'), std::string(500, 'b'));
    client.ask("/four", {}, priority::lease);
}

traffic record() {
    end_point client(role::client, small());
    end_point server(role::server, small());
    set_up_server(server);
    ask_things(client);
    traffic seen = pump(client, server);
    server.wire.shutdown();
    const traffic rest = pump(client, server);
    EXPECT_EQ(client.count(ending::complete), 4U);
    return {seen.up + rest.up, seen.down + rest.down};
}

// A client that has sent its requests gets `bytes` instead of what the server would say.
void feed_client(std::string_view bytes, std::size_t chunk) {
    end_point client(role::client, small());
    ask_things(client);
    static_cast<void>(client.take());
    static_cast<void>(feed_in_chunks(client.wire, bytes, chunk));
    static_cast<void>(client.take());
    client.wire.abandon("cut");
    ASSERT_TRUE(client.settled());
    ASSERT_EQ(client.wire.streams_open() + client.wire.requests_queued(), 0U);
    if (client.wire.failure() != nullptr) {
        ASSERT_EQ(client.wire.failure()->code, base::errc::protocol);
    }
}

void feed_server(std::string_view bytes, std::size_t chunk) {
    end_point server(role::server, small());
    set_up_server(server);
    for (; !bytes.empty(); bytes.remove_prefix(std::min(chunk, bytes.size()))) {
        if (!server.wire.feed(bytes.substr(0, chunk))) break;
        static_cast<void>(server.take());
    }
    static_cast<void>(server.take());
    server.wire.abandon("cut");
    ASSERT_TRUE(server.settled());
    ASSERT_EQ(server.wire.streams_open(), 0U);
}

TEST(h2_breakage, cut_off_at_every_byte) {
    const traffic seen = record();
    for (std::size_t i = 0; i <= seen.down.size(); ++i)
        feed_client(std::string_view(seen.down).substr(0, i), 1U << 20U);
    for (std::size_t i = 0; i <= seen.up.size(); ++i) feed_server(std::string_view(seen.up).substr(0, i), 1U << 20U);
}

TEST(h2_breakage, one_byte_wrong_at_every_place) {
    const traffic seen = record();
    for (const unsigned char flip : {0x01, 0x80, 0xff}) {
        for (std::size_t i = 0; i < seen.down.size(); ++i) {
            std::string bytes = seen.down;
            bytes[i] = static_cast<char>(bytes[i] ^ flip);
            feed_client(bytes, 700);
        }
        for (std::size_t i = 0; i < seen.up.size(); ++i) {
            std::string bytes = seen.up;
            bytes[i] = static_cast<char>(bytes[i] ^ flip);
            feed_server(bytes, 700);
        }
    }
}

TEST(h2_breakage, bytes_lost_or_doubled) {
    const traffic seen = record();
    base::random_source random(7);
    for (int round = 0; round < 3000; ++round) {
        std::string down = seen.down;
        std::string up = seen.up;
        for (std::string* bytes : {&down, &up}) {
            const std::size_t at = random.next() % bytes->size();
            const std::size_t length = random.next() % 40;
            if (random.next() % 2 == 0) {
                bytes->erase(at, length);
            } else {
                bytes->insert(at, bytes->substr(at, length));
            }
        }
        feed_client(down, 1 + random.next() % 300);
        feed_server(up, 1 + random.next() % 300);
    }
}

TEST(h2_breakage, noise) {
    base::random_source random(11);
    for (int round = 0; round < 2000; ++round) {
        std::string noise(random.next() % 400, '\0');
        for (char& c : noise) c = static_cast<char>(random.next());
        feed_client(noise, 64);
        feed_client(raw::server_hello() + noise, 64);
        feed_server(noise, 64);
        feed_server(raw::client_hello() + noise, 64);
    }
}

TEST(h2_breakage, frames_of_every_type_on_every_kind_of_stream) {
    // Idle, open, ended, reset and never-opened streams get every frame with odd sizes and flags.
    for (int type = 0; type < 12; ++type) {
        for (const std::uint32_t stream : {0U, 1U, 2U, 3U, 5U, 7U, 99U, 0x7fffffffU}) {
            for (const std::uint8_t flags : {0x00, 0x01, 0x04, 0x05, 0x08, 0x2d}) {
                for (const std::size_t size : {0U, 4U, 5U, 8U, 30U}) {
                    const std::string odd = raw::frame(static_cast<raw::type>(type), flags, stream,
                                                       std::string(size, static_cast<char>(size)));
                    feed_client(raw::server_hello() +
                                    raw::frame(raw::headers, raw::end_headers, 1, raw::field(":status", "200")) +
                                    raw::reset(3, 0) + odd + odd,
                                1U << 20U);
                    feed_server(raw::client_hello() + raw::frame(raw::headers, raw::end_headers, 1, raw::get()) +
                                    raw::frame(raw::headers, raw::end_headers, 3, raw::get()) + raw::reset(3, 8) + odd +
                                    odd,
                                1U << 20U);
                }
            }
        }
    }
}

}  // namespace
}  // namespace cotrain::net::h2
