// One HTTP/2 connection of a client: its streams, and the two loops that feed and drain its session.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/asio.hpp"
#include "base/byte_queue.hpp"
#include "base/error.hpp"
#include "base/signal.hpp"
#include "net/h2/session.hpp"
#include "net/http.hpp"
#include "net/liveness.hpp"
#include "net/transport.hpp"

namespace cotrain::net {

// One request on its way and what has come back of it; shared by the caller, the client and a connection.

class connection;
struct exchange;
using deadline_map = std::multimap<time_point, exchange*>;

struct exchange {
    request what;
    bool whole = true;  // the body is collected; otherwise it is read piece by piece
    time_point deadline;
    deadline_map::iterator alarm;
    bool alarmed = false;  // `alarm` is in the map
    bool hedged = false;   // a lease request that was already moved to a fresh connection
    unsigned attempts = 0;

    connection* on = nullptr;  // set while a stream carries it
    h2::stream_key stream{};

    int status = 0;  // 0 until the response's head has come
    header_list headers;
    std::string text;                   // the body, when it is collected
    base::byte_queue body{16U << 10U};  // what the reader has not taken yet, when it is read piece by piece
    header_list trailers;
    bool ended = false;  // the whole response is here
    std::optional<base::error> failure;
    bool announced = false;  // already in the list of those to be woken
    base::signal changed;

    [[nodiscard]] bool settled() const { return ended || failure.has_value(); }
};

// One HTTP/2 connection of a client: drives a session over a transport and tells its owner how attempts end.

// How an attempt of an exchange ended without a complete response.
struct ended_attempt {
    std::shared_ptr<exchange> what;
    h2::ending how;
    std::uint32_t code;
    std::string detail;
};

class connection final : public h2::events {
   public:
    class owner {
       public:
        // The connection works for this peer, or stops taking new requests.
        virtual void on_answer() = 0;
        virtual void on_attempt_ended(ended_attempt attempt) = 0;
        virtual void on_draining(connection& which) = 0;
        // It was doubted, and lives.
        virtual void on_trusted_again() = 0;
        // The time is over in which it could be sent.
        virtual void on_late(exchange& what) = 0;

       protected:
        ~owner() = default;
    };

    struct bounds {
        h2::limits limits;
        std::size_t body_bytes_max;
        std::chrono::milliseconds ping_idle;
        std::chrono::milliseconds ping_answer;
        std::string scheme;
        std::string authority;
    };

    connection(transport wire, bounds limits, owner& who);

    // Both run until the connection is over; the first to notice closes it. read_loop() settles all streams.
    [[nodiscard]] awaitable<void> read_loop();
    [[nodiscard]] awaitable<void> write_loop();

    [[nodiscard]] base::result<> submit(std::shared_ptr<exchange> what);
    // Drops a running attempt; the owner is not told. Allowed in a session's handler, as is release().
    void cancel(exchange& what);
    // The same, for an exchange that goes on elsewhere.
    [[nodiscard]] std::shared_ptr<exchange> release(exchange& what);
    // The reader has used `bytes` of a streamed body.
    void consume(const exchange& what, std::size_t bytes);
    // No new requests; closes when the last stream ends.
    void drain();
    // Ends what is read piece by piece (watches would go on for ever) as lost with `why`. Requests for a whole answer
    // keep their chance to get it: they end at their deadlines at the latest.
    void end_streams(std::string_view why);
    // Ends it now; running requests are lost with `why`.
    void close(std::string why);
    // Pings when due, closes when the peer is dead; returns when to call again.
    time_point tick(time_point now);
    [[nodiscard]] liveness& pulse() { return pulse_; }

    // May take a request of that rank now, or soon.
    [[nodiscard]] bool usable() const { return !draining_ && !closed_ && !session_.going_away(); }
    // … and that without waiting for another one to end.
    [[nodiscard]] bool has_room(priority rank) const { return session_.has_room(rank); }
    [[nodiscard]] bool draining() const { return draining_; }
    [[nodiscard]] const h2::session& protocol() const { return session_; }
    [[nodiscard]] const transport& wire() const { return wire_; }
    // Wakes whom the last events concern; call after anything that may have produced events.
    void deliver();

    time_point drain_since{};

   private:
    void on_head(h2::stream_key stream, h2::head head) override;
    void on_data(h2::stream_key stream, std::string_view bytes) override;
    void on_end(h2::stream_key stream, header_list trailers) override;
    void on_close(h2::stream_key stream, h2::ending how, std::uint32_t code, std::string_view detail) override;
    void on_goaway(std::uint32_t code, std::string_view debug) override;

    void announce(const std::shared_ptr<exchange>& what);
    void kick();
    [[nodiscard]] bool over() const;
    // Right before a write: lets nothing out whose time is over.
    void keep_latest();

    transport wire_;
    bounds bounds_;
    owner& owner_;
    h2::session session_;
    liveness pulse_;
    base::byte_queue incoming_{transport::generous.read_retain_bytes};
    base::byte_queue outgoing_{transport::generous.write_retain_bytes};
    boost::unordered_flat_map<std::uint64_t, std::shared_ptr<exchange>> running_;
    std::vector<std::shared_ptr<exchange>> announced_;
    std::vector<std::shared_ptr<exchange>> waking_;  // of deliver()
    std::vector<ended_attempt> ended_;
    base::signal work_;
    std::string why_;
    // The earliest request::latest of those that run, or of some that did.
    time_point latest_ = time_point::max();
    bool draining_ = false;
    bool closed_ = false;
    bool delivering_ = false;
};

}  // namespace cotrain::net
