// One HTTP/2 connection of a server.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/asio.hpp"
#include "base/signal.hpp"
#include "base/task_group.hpp"
#include "net/h2/session.hpp"
#include "net/liveness.hpp"
#include "net/server.hpp"
#include "net/transport.hpp"

namespace cotrain::net {

// A connection of a server as the server and its requests see it, whatever protocol it speaks.

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
    // The connection forgets the request, and wakes those who wait for it.
    void leave();
    // What head, body and work take.
    [[nodiscard]] std::size_t bytes() const {
        return request_overhead_bytes + head_bytes + body.capacity() + work_bytes;
    }
    // Before `more` bytes are appended to the body; false when there is no room for them.
    [[nodiscard]] bool make_room(std::size_t more, std::size_t body_bytes_max);
    void forget_body();

    server_link* on = nullptr;             // null when the peer is gone
    const tls::engine* secured = nullptr;  // of that link
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

// One connection of a server: its session, the requests that are being read and those that are being answered.

class serving final : public server_link, public h2::events, public std::enable_shared_from_this<serving> {
   public:
    serving(transport wire, const source& from, const server_options& options, const request_handler& handler,
            server_counters& counters, base::task_group& tasks);

    [[nodiscard]] awaitable<void> read_loop() override;
    [[nodiscard]] awaitable<void> write_loop() override;
    void shutdown() override;
    void close() override;
    void tick(time_point now) override;
    [[nodiscard]] bool closed() const override { return closed_; }
    [[nodiscard]] std::optional<time_point> waiting_since() const override;
    void give_up(incoming::state& request) override;

    void respond(h2::stream_key stream, int status, const header_list& headers, std::string_view body) override;
    void begin(h2::stream_key stream, int status, const header_list& headers) override;
    bool write(h2::stream_key stream, std::string_view bytes) override;
    void finish(h2::stream_key stream, const header_list& trailers) override;

   private:
    void on_head(h2::stream_key stream, h2::head head) override;
    void on_data(h2::stream_key stream, std::string_view bytes) override;
    void on_end(h2::stream_key stream, header_list trailers) override;
    void on_close(h2::stream_key stream, h2::ending how, std::uint32_t code, std::string_view detail) override;
    void on_writable(h2::stream_key stream) override;
    // Hands over what is complete, some of it now and the rest when others had their turn.
    void start_handlers();
    void cancel_dawdlers(time_point now);
    void leave();
    void refuse(incoming::state& request, int status);
    void mark_answered(h2::stream_key stream);
    [[nodiscard]] bool dawdles(const incoming::state& request, time_point now) const;
    void kick() { work_.notify_later(); }
    [[nodiscard]] awaitable<void> answer(std::shared_ptr<incoming::state> request);

    transport wire_;
    source from_;
    const server_options& options_;
    const request_handler& handler_;
    server_counters& counters_;
    base::task_group& tasks_;
    h2::session session_;
    base::byte_queue received_{transport::lean.read_retain_bytes};
    base::byte_queue outgoing_{transport::lean.write_retain_bytes};
    boost::unordered_flat_map<std::uint64_t, std::shared_ptr<incoming::state>> streams_;
    std::deque<std::shared_ptr<incoming::state>> complete_;  // read, and not yet handed to the handler
    bool handing_on_ = false;                                // the rest of them is due
    base::signal work_;
    time_point busy_{};                          // when a stream was last open
    bool leaving_ = false;                       // closes when the last stream ends …
    time_point leaving_since_{};                 // … or when the grace is over
    std::optional<time_point> writing_since_;    // the peer takes its time
    std::optional<time_point> lingering_since_;  // our half is closed
    bool broken_ = false;                        // by the peer: what it sends now is thrown away
    bool closed_ = false;
};

}  // namespace cotrain::net
