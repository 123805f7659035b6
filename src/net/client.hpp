// One HTTP/2 peer that stays reachable: keeps a connection, finds dead ones, reconnects, repeats what may be repeated.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/asio.hpp"
#include "base/backoff.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/signal.hpp"
#include "net/h2/session.hpp"
#include "net/http.hpp"
#include "net/tcp/connect.hpp"
#include "net/tls/context.hpp"

namespace cotrain::net {

struct client_options {
    tcp::address peer;
    std::string scheme = "https";
    std::string authority;                    // :authority; empty: host:port of the peer
    std::string server_name;                  // for TLS verification and SNI; empty: the peer's host
    std::shared_ptr<const tls::context> tls;  // none with scheme http (prior-knowledge h2c, for tests and side-cars)
    tcp::connect_options connect;
    h2::limits limits;
    std::chrono::milliseconds ping_idle{5'000};    // silence after which the peer is asked …
    std::chrono::milliseconds ping_answer{4'000};  // … and how long it may take: dead after their sum
    std::chrono::milliseconds drain{5'000};        // grace for streamed answers when a connection is replaced
    base::backoff_policy reconnect{std::chrono::milliseconds(50), std::chrono::milliseconds(2'000), 2.0, 0.5};
    unsigned connections_max = 2;             // a second one only when streams run out
    unsigned repeats_max = 5;                 // of one request after lost connections
    std::size_t body_bytes_max = 64U << 20U;  // of one response that is read whole
};

// A response whose body is read piece by piece. Destroying it before its end cancels the stream.
class body_stream {
   public:
    struct state;
    explicit body_stream(std::unique_ptr<state> held);
    body_stream(body_stream&&) noexcept;
    body_stream& operator=(body_stream&&) noexcept;
    ~body_stream();

    [[nodiscard]] int status() const;
    [[nodiscard]] const header_list& headers() const;
    // The next bytes, valid until the next call; empty at the end. Not reading holds back this stream only.
    [[nodiscard]] awaitable<base::result<std::string_view>> read();
    // What read() would give without waiting, or nothing: then arrival() is to be awaited, which false ends. For who
    // awaits in a coroutine of its own anyway.
    [[nodiscard]] std::optional<base::result<std::string_view>> take();
    [[nodiscard]] auto arrival() { return changed().wait(); }
    // A body that has not ended by then does not go on: what has come can be read, then errc::deadline.
    void end_by(std::chrono::steady_clock::time_point when);
    // The rest of the body, at most `bytes_max`.
    [[nodiscard]] awaitable<base::result<std::string>> read_all(std::size_t bytes_max);

   private:
    [[nodiscard]] base::signal& changed();
    std::unique_ptr<state> state_;
};

struct client_counters {
    std::uint64_t connects = 0, requests = 0, repeats = 0, bytes_in = 0, bytes_out = 0, socket_reads = 0,
                  socket_writes = 0;
    std::size_t streams_open = 0, requests_queued = 0;
};

class client {
   public:
    client(asio::any_io_executor executor, client_options options, base::logger& log);
    // stop() must have completed.
    ~client();

    // Sends and reads the whole answer. Requests that the peer surely did not process are repeated on a new
    // connection within the deadline; others only if idempotent. Whatever comes of it, `back` gets the request again.
    [[nodiscard]] awaitable<base::result<response>> send(request what, request* back = nullptr);
    // Sends and returns at the response's head; `what.deadline` covers up to there.
    [[nodiscard]] awaitable<base::result<body_stream>> open(request what);

    // New credentials or trust: new connections use them, the present one finishes its streams and goes.
    void use_tls(std::shared_ptr<const tls::context> tls);
    // Tighter or looser dead-peer detection, e.g. while leading; takes effect at once.
    void set_ping(std::chrono::milliseconds idle, std::chrono::milliseconds answer);
    [[nodiscard]] client_counters counters() const;

    // Cancels everything and waits until nothing runs.
    [[nodiscard]] awaitable<void> stop();

    struct impl;

   private:
    std::unique_ptr<impl> impl_;
};

}  // namespace cotrain::net
