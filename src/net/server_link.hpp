// A connection of a server as the server and its requests see it, whatever protocol it speaks.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/asio.hpp"
#include "base/signal.hpp"
#include "net/h2/session.hpp"
#include "net/liveness.hpp"
#include "net/server.hpp"

namespace cotrain::net {

class server_link {
   public:
    virtual ~server_link() = default;

    // Both run until the connection is over.
    [[nodiscard]] virtual awaitable<void> read_loop() = 0;
    [[nodiscard]] virtual awaitable<void> write_loop() = 0;
    // Answers what has come, takes nothing new, closes then.
    virtual void shutdown() = 0;
    virtual void close() = 0;
    // Closes what idles or dawdles.
    virtual void tick(time_point now) = 0;
    [[nodiscard]] virtual bool closed() const = 0;
    // Since when only the peer can go on: it asks for nothing, or sends a request bit by bit. Nothing while we work.
    [[nodiscard]] virtual std::optional<time_point> waiting_since() const = 0;
    // Ends a request to make room for others: with 503 where nothing was answered yet.
    virtual void give_up(incoming::state& request) = 0;

    // Answers, see incoming.
    virtual void respond(h2::stream_key stream, int status, const header_list& headers, std::string_view body) = 0;
    virtual void begin(h2::stream_key stream, int status, const header_list& headers) = 0;
    // False: wait until the request's `writable` is notified.
    virtual bool write(h2::stream_key stream, std::string_view bytes) = 0;
    virtual void finish(h2::stream_key stream, const header_list& trailers) = 0;
};

// What a request takes beside its head, body and the work on it: records of the stream, a coroutine.
inline constexpr std::size_t request_overhead_bytes = 4096;

// Requests of one connection that are handed over before everybody else gets a turn.
inline constexpr unsigned requests_a_turn_max = 32;

struct incoming::state final : memory_account::holder {
    state(memory_account& account, const source& from) : claim(account, from, *this) {}

    void end_for_memory() override;
    // The connection forgets the request, and says so to whoever waits for it.
    void leave();
    // What head, body and work take.
    [[nodiscard]] std::size_t bytes() const {
        return request_overhead_bytes + head_bytes + body.capacity() + work_bytes;
    }
    // Before `more` bytes are appended to the body; false when there is no room for them.
    [[nodiscard]] bool make_room(std::size_t more, std::size_t body_bytes_max);
    void forget_body();

    server_link* on = nullptr;  // null when the peer is gone
    h2::stream_key stream{};
    h2::head head;
    std::string body;
    std::size_t body_bytes_said = 0;  // by content-length; 0 where it is not there
    std::size_t head_bytes = 0;
    std::size_t work_bytes = 0;
    memory_account::claim claim;
    time_point since{};
    std::optional<time_point> answered;  // in full; the peer may not have taken it yet
    bool refused = false;                // answered already: the rest of its body is thrown away
    bool handed = false;                 // the handler has it
    base::signal writable;
    base::signal left;
};

}  // namespace cotrain::net
