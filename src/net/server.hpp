// A server of HTTP/2 and HTTP/1.1: accepts connections, bounds what peers may do, hands whole requests to a coroutine
// each.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/asio.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "net/crowd.hpp"
#include "net/h2/session.hpp"
#include "net/http.hpp"
#include "net/tls/context.hpp"

namespace cotrain::net {

struct server_options {
    std::string address = "127.0.0.1";  // empty: all interfaces
    std::uint16_t port = 0;             // 0: any free one, see server::port()
    // Asked for each new connection, so that a reload needs no restart; none with plain text.
    std::function<std::shared_ptr<const tls::context>()> tls;
    // With TLS the peer chooses among what the context offers, HTTP/1.1 if it names nothing. With plain text it is
    // HTTP/2 (prior knowledge), or this:
    bool plain_http1 = false;
    h2::limits limits{.stream_window_bytes = 1U << 20U,
                      .connection_window_bytes = 4U << 20U,
                      .header_list_bytes_max = 16U << 10U,
                      .peer_streams_max = 32};
    std::size_t connections_max = 512;
    std::size_t connections_per_source_max = 0;  // of one address (IPv6: /64); 0: a quarter of connections_max
    std::size_t body_bytes_max = 4U << 20U;      // of one request; more is answered with 413
    // What requests to all servers that share it may hold; more is answered with 503. None: one of this server's own.
    std::shared_ptr<memory_account> account;
    std::chrono::milliseconds handshake{10'000};
    std::chrono::milliseconds request{60'000};  // for a peer to send one, and to take what was answered
    std::chrono::milliseconds idle{180'000};    // without any stream
    std::chrono::milliseconds drain{4'000};     // grace for requests under way in stop()
};

// One request and the way to answer it. Answers to a peer that is gone are dropped.
class incoming {
   public:
    struct state;
    explicit incoming(std::shared_ptr<state> shared) : state_(std::move(shared)) {}

    [[nodiscard]] const h2::head& head() const;
    [[nodiscard]] std::string_view body() const;
    // Of the certificate that the peer has shown: "O=system:masters,CN=admin". Empty: none, or the peer is gone.
    [[nodiscard]] std::string peer_subject() const;
    // The body as the caller's own; body() is empty then.
    [[nodiscard]] std::string take_body();

    // Before work that takes so much memory beside the body. False: there is no room, answer with 503.
    [[nodiscard]] bool begin_work(std::size_t bytes);
    // The work took only so much, or is done with it.
    void work_holds(std::size_t bytes);
    // While a request only waits it may be ended to make room for others, see over(); views of its body are no longer
    // good then.
    void may_be_ended(bool on);
    // There is nobody to answer: the peer is gone, or the request was ended to make room.
    [[nodiscard]] bool over() const;

    // The whole answer at once.
    void respond(int status, header_list headers, std::string_view body);
    // Or piece by piece: begin, then write as often as needed, then finish.
    void begin(int status, header_list headers);
    // Waits while the peer reads slower than we write; an error when the peer is gone.
    [[nodiscard]] awaitable<base::result<>> write(std::string_view bytes);
    void finish(header_list trailers = {});
    // The peer is gone or has cancelled.
    [[nodiscard]] bool gone() const;
    // Returns when the peer is gone, or notify() of the server's stop.
    [[nodiscard]] awaitable<void> until_gone();

   private:
    std::shared_ptr<state> state_;
};

using request_handler = std::function<awaitable<void>(incoming)>;

struct server_counters {
    std::uint64_t connections = 0, refused_connections = 0, displaced_connections = 0, requests = 0, flood_endings = 0;
    std::size_t connections_open = 0;
    std::size_t bytes_held = 0;  // by requests, of all servers that share the account
};

class server {
   public:
    server(asio::any_io_executor executor, server_options options, request_handler handler, base::logger& log);
    ~server();

    // Binds and starts accepting.
    [[nodiscard]] base::result<> start();
    [[nodiscard]] std::uint16_t port() const;
    [[nodiscard]] server_counters counters() const;
    // Sends GOAWAY on every connection; streams under way go on, connections close when they are done.
    void shutdown_connections();
    // Cuts every connection without a word.
    void drop_connections();
    // Stops accepting, and shuts connections down.
    void close();
    // close(), then waits for what is under way within the grace, until `latest` at most, then cuts.
    [[nodiscard]] awaitable<void> stop(
        std::chrono::steady_clock::time_point latest = std::chrono::steady_clock::time_point::max());

    struct impl;

   private:
    std::unique_ptr<impl> impl_;
};

}  // namespace cotrain::net
