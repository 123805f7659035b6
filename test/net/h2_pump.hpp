// A client and a server session back to back in memory, with everything they tell written down.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/h2/session.hpp"

namespace cotrain::net::h2 {

// One end. Handlers are called after the event is written down.
class end_point final : public events {
   public:
    struct seen_stream {
        head message;
        std::string body;
        header_list trailers;
        bool headed = false;
        bool ended = false;
        int closes = 0;
        std::optional<ending> how;  // once closed
        std::uint32_t code = 0;
        std::string detail;
    };

    explicit end_point(role as, limits bounds = {}) : wire(as, bounds, *this) {}

    session wire;
    std::map<stream_key, seen_stream> streams;
    std::vector<stream_key> heads;  // in the order they came
    std::vector<std::string> log;   // one line an event, data of a stream merged: equal for any cutting of the bytes
    std::vector<std::uint64_t> pongs;
    std::vector<std::uint32_t> goaways;
    bool consumes = true;

    std::function<void(stream_key)> then_head = [](stream_key) {};
    std::function<void(stream_key)> then_data = [](stream_key) {};
    std::function<void(stream_key)> then_end = [](stream_key) {};
    std::function<void(stream_key)> then_close = [](stream_key) {};
    std::function<void(stream_key)> then_writable = [](stream_key) {};

    // Submits a request that lives as long as this.
    base::result<stream_key> try_ask(request what);
    stream_key ask(std::string path, std::string body = {}, priority rank = priority::write);
    // Whether every stream ever seen was closed exactly once.
    [[nodiscard]] bool settled() const;
    [[nodiscard]] std::size_t count(ending how) const;
    // What is to be sent now, at most about `bytes_max`.
    [[nodiscard]] std::string take(std::size_t bytes_max = 1U << 20U);

   private:
    void on_head(stream_key stream, head head) override;
    void on_data(stream_key stream, std::string_view bytes) override;
    void on_end(stream_key stream, header_list trailers) override;
    void on_close(stream_key stream, ending how, std::uint32_t code, std::string_view detail) override;
    void on_writable(stream_key stream) override { then_writable(stream); }
    void on_ping_answer(std::uint64_t payload) override { pongs.push_back(payload); }
    void on_goaway(std::uint32_t code, std::string_view) override { goaways.push_back(code); }
    void write_down(std::string line);

    std::deque<request> requests_;
};

// What a pump saw on the wire.
struct traffic {
    std::string up;    // client to server
    std::string down;  // server to client
};

inline std::string name(stream_key key) { return std::to_string(static_cast<std::uint64_t>(key)); }

inline base::result<stream_key> end_point::try_ask(request what) {
    requests_.push_back(std::move(what));
    auto key = wire.submit(requests_.back(), "https", "server.test");
    if (key) streams.try_emplace(*key);
    return key;
}

inline stream_key end_point::ask(std::string path, std::string body, priority rank) {
    request what;
    what.method = body.empty() ? "GET" : "PATCH";
    what.path = std::move(path);
    what.body = std::move(body);
    what.rank = rank;
    what.headers = {{"accept", "application/json"}, {"user-agent", "test"}};
    auto key = try_ask(std::move(what));
    if (!key) ADD_FAILURE() << key.error().message;
    return key.value_or(stream_key{});
}

inline bool end_point::settled() const {
    for (const auto& [key, s] : streams)
        if (s.closes != 1) return false;
    return true;
}

inline std::size_t end_point::count(ending how) const {
    std::size_t n = 0;
    for (const auto& [key, s] : streams) n += static_cast<std::size_t>(s.how == how);
    return n;
}

inline std::string end_point::take(std::size_t bytes_max) {
    base::byte_queue out;
    wire.drain(out, bytes_max);
    return std::string(out.view());
}

inline void end_point::write_down(std::string line) { log.push_back(std::move(line)); }

inline void end_point::on_head(stream_key stream, head head) {
    auto& s = streams[stream];
    EXPECT_FALSE(s.headed || s.closes != 0) << "a head after the head or the end";
    s.headed = true;
    std::string line = "head " + name(stream) + ' ' + std::to_string(head.status) + head.method + head.path;
    for (const auto& h : head.headers) line += ' ' + h.name + '=' + h.value;
    write_down(std::move(line));
    s.message = std::move(head);
    heads.push_back(stream);
    then_head(stream);
}

inline void end_point::on_data(stream_key stream, std::string_view bytes) {
    auto& s = streams[stream];
    EXPECT_TRUE(s.headed && !s.ended && s.closes == 0) << "data out of place";
    s.body.append(bytes);
    if (consumes) wire.consume(stream, bytes.size());
    then_data(stream);
}

inline void end_point::on_end(stream_key stream, header_list trailers) {
    auto& s = streams[stream];
    EXPECT_TRUE(s.headed && !s.ended && s.closes == 0) << "an end out of place";
    s.ended = true;
    s.trailers = std::move(trailers);
    write_down("end " + name(stream) + ' ' + std::to_string(s.body.size()) + ' ' + std::to_string(s.trailers.size()));
    then_end(stream);
}

inline void end_point::on_close(stream_key stream, ending how, std::uint32_t code, std::string_view detail) {
    auto& s = streams[stream];
    EXPECT_EQ(s.closes, 0) << "closed twice";
    ++s.closes;
    s.how = how;
    s.code = code;
    s.detail = detail;
    write_down("close " + name(stream) + ' ' + std::to_string(static_cast<int>(how)) + ' ' + std::to_string(code));
    then_close(stream);
}

// Feeds in chunks; false when the session has failed.
inline bool feed_in_chunks(session& to, std::string_view bytes, std::size_t chunk) {
    for (; !bytes.empty(); bytes.remove_prefix(std::min(chunk, bytes.size())))
        if (!to.feed(bytes.substr(0, chunk))) return false;
    return true;
}

// Moves bytes until both are quiet or one fails; chunks of at most `chunk` bytes.
inline traffic pump(end_point& client, end_point& server, std::size_t chunk = 1U << 20U) {
    traffic seen;
    for (bool moved = true; moved;) {
        const std::string up = client.take();
        const bool taken = feed_in_chunks(server.wire, up, chunk);
        const std::string down = server.take();
        const bool given = feed_in_chunks(client.wire, down, chunk);
        seen.up += up;
        seen.down += down;
        moved = taken && given && (!up.empty() || !down.empty());
    }
    return seen;
}

// A server that answers every request when its body has come: 200, "<method> <path> <body size>".
inline void answer_all(end_point& server) {
    server.then_end = [&server](stream_key key) {
        const auto& s = server.streams[key];
        server.wire.respond(key, 200, {{"content-type", "text/plain"}}, false);
        server.wire.write(key, s.message.method + ' ' + s.message.path + ' ' + std::to_string(s.body.size()));
        server.wire.finish(key);
    };
}

}  // namespace cotrain::net::h2
