// HTTP/2 as a state machine: bytes and calls in, bytes and events out; no socket, no clock. Client and server role.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/byte_queue.hpp"
#include "base/error.hpp"
#include "net/http.hpp"

namespace cotrain::net::h2 {

enum class role : std::uint8_t { client, server };

// Names one stream of one session; never used twice. Unlike a wire id it exists while the request still queues.
enum class stream_key : std::uint64_t {};

// Every bound of a session. What we advertise, and what we accept.
struct limits {
    std::uint32_t stream_window_bytes = 16U << 20U;
    std::uint32_t connection_window_bytes = 32U << 20U;  // above any stream's: a paused reader starves nobody else
    std::uint32_t frame_bytes_max = 64U << 10U;
    std::uint32_t header_table_bytes = 4096;
    std::uint32_t header_list_bytes_max = 64U << 10U;  // all headers of one message
    std::uint32_t headers_max = 200;
    std::uint32_t continuations_max = 16;  // CONTINUATION frames of one header block
    // Client: streams in use at once, whatever the peer allows; the last `urgent_reserve` only for lease and watch
    // (at most half of what the peer allows), the very last only for lease.
    std::uint32_t streams_max = 100;
    std::uint32_t urgent_reserve = 20;
    std::uint32_t streams_before_settings = 10;  // until the peer has said how many it takes
    std::uint32_t queued_requests_max = 100'000;
    std::uint32_t informational_max = 16;       // 1xx heads before a response
    std::uint32_t stream_id_max = 0x7fff'ffff;  // the wire's own end: then as if the peer had sent GOAWAY
    // Server: what a peer may do before it is sent away (GOAWAY ENHANCE_YOUR_CALM).
    std::uint32_t peer_streams_max = 128;
    std::uint32_t resets_burst = 200;  // rapid reset: this many at once …
    std::uint32_t resets_per_second = 33;
    std::uint32_t idle_frames_burst = 1000;  // frames that carry nothing: PING, SETTINGS, PRIORITY, empty DATA …
    std::uint32_t idle_frames_per_second = 100;
    // Both: frames that wait to be sent because the peer made us answer (PING, SETTINGS, resets) and does not read.
    std::uint32_t control_frames_queued_max = 1000;
    std::size_t response_buffer_bytes_max = 1U << 20U;  // bytes written to one stream and not yet sent: see write()
};

// How a stream ended.
enum class ending : std::uint8_t {
    complete,   // both sides finished
    refused,    // not processed by the peer: repeat freely
    reset,      // broken by the peer, or by protocol; may have been processed
    too_large,  // by us: the peer's headers exceed a bound; a repetition will not help
    cancelled,  // by us
    lost        // the connection went away; may have been processed
};

struct head {
    int status = 0;      // in a response
    std::string method;  // in a request, with path, scheme and authority
    std::string path;
    std::string scheme;
    std::string authority;
    header_list headers;
};

// What a session tells its owner, while it is fed or told to close. A handler may call submit, write, finish,
// consume, cancel; never feed, drain or the destructor. Views die with the call.
class events {
   public:
    // Client: the final response's; 1xx are swallowed. Server: a new request, which ends with on_close like any other.
    virtual void on_head(stream_key stream, head head) = 0;
    virtual void on_data(stream_key stream, std::string_view bytes) = 0;
    // The peer has sent everything; trailers are empty if there were none.
    virtual void on_end(stream_key stream, header_list trailers) = 0;
    // The last event of a stream, exactly once for each. `detail` is for humans.
    virtual void on_close(stream_key stream, ending how, std::uint32_t code, std::string_view detail) = 0;
    // Server: after write() gave false, the bytes waiting fell to half of the bound or below.
    virtual void on_writable(stream_key stream) { static_cast<void>(stream); }
    virtual void on_ping_answer(std::uint64_t payload) { static_cast<void>(payload); }
    // The peer will take no new streams; those it did not process are closed as refused right after this.
    virtual void on_goaway(std::uint32_t code, std::string_view debug) {
        static_cast<void>(code), static_cast<void>(debug);
    }

   protected:
    ~events() = default;
};

class session_core;  // core.hpp

class session {
   public:
    session(role as, limits bounds, events& owner);
    ~session();
    session(const session&) = delete;
    session& operator=(const session&) = delete;

    // Bytes from the peer, cut anywhere. An error means the connection is over and every stream has been closed;
    // drain() still gives the GOAWAY to send. Some breaches show only in the following drain(): see failure().
    [[nodiscard]] base::result<> feed(std::string_view bytes);
    // Appends what is to be sent, until `out` holds about `bytes_max`; returns whether anything was appended.
    bool drain(base::byte_queue& out, std::size_t bytes_max);
    [[nodiscard]] bool wants_write() const;
    // Nothing will be read or written any more (after GOAWAY and the last stream, or a failure): close the socket.
    [[nodiscard]] bool finished() const;
    // Why the connection is over, if it broke: what feed() returned or drain() found. Null while all is well.
    [[nodiscard]] const base::error* failure() const;

    // Client. Headers come without pseudo-headers. The request waits in rank order until a stream is free.
    // Nothing is copied: `what`, `scheme` and `authority` must stay as they are until on_close(stream).
    // Fails with too_large (queue full, headers beyond header_list_bytes_max), invalid (a header that must not be
    // sent), refused (after GOAWAY, shutdown or failure). Never calls a handler.
    [[nodiscard]] base::result<stream_key> submit(const request& what, std::string_view scheme,
                                                  std::string_view authority);
    // Server. With `end` there is no body and no write() follows.
    void respond(stream_key stream, int status, const header_list& headers, bool end);
    // Queues body bytes; false when the stream's buffer is full now: wait for on_writable. The bytes are taken anyway.
    bool write(stream_key stream, std::string_view bytes);
    void finish(stream_key stream, const header_list& trailers = {});

    // Gives the peer room again after `bytes` of a stream's on_data were used up. Unconsumed bytes hold back this
    // stream only: the connection's window is given back as data arrives.
    void consume(stream_key stream, std::size_t bytes);
    // Ends a stream, queued or running; on_close(cancelled) follows before this returns. A key that is closed already
    // is ignored, here and above.
    void cancel(stream_key stream, std::uint32_t code = 8 /* CANCEL */);

    void ping(std::uint64_t payload);
    // Takes no new streams, lets running ones end, closes queued ones as refused. The server tells its last stream
    // at once, the client says goodbye when the last stream has ended; then finished().
    void shutdown();
    // The connection is gone: closes every stream (queued: refused, running: lost) with `why`. Not from a handler.
    // The destructor calls no handler: abandon first.
    void abandon(std::string_view why);

    // Whole seconds of any steady clock: refills the flood buckets. Without it only the bursts count.
    void tick(std::uint64_t now_s);

    [[nodiscard]] std::size_t streams_open() const;
    [[nodiscard]] std::size_t requests_queued() const;
    // Client: a request of this rank submitted now would get a stream without waiting for another one to end.
    [[nodiscard]] bool has_room(priority rank) const;
    [[nodiscard]] std::uint32_t peer_streams_max() const;  // 0 until the peer's SETTINGS came
    [[nodiscard]] bool going_away() const;

   private:
    std::unique_ptr<session_core> core_;
};

}  // namespace cotrain::net::h2
