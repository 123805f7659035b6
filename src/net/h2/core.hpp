// What is behind a session: the library, its streams, and what they owe each other.
#pragma once

#include <nghttp2/nghttp2.h>

#include <memory>
#include <optional>
#include <vector>

#include "net/h2/bounds.hpp"
#include "net/h2/errors.hpp"
#include "net/h2/session.hpp"
#include "net/h2/slot.hpp"

namespace cotrain::net::h2 {

struct library_deleter {
    void operator()(nghttp2_session* p) const { nghttp2_session_del(p); }
    void operator()(nghttp2_session_callbacks* p) const { nghttp2_session_callbacks_del(p); }
    void operator()(nghttp2_option* p) const { nghttp2_option_del(p); }
};

// The library forbids feeding and draining from inside its callbacks, but not submitting: so handlers may do
// everything at once except start requests, which wait for the next drain().
class session_core {
   public:
    session_core(role as, const limits& with, events& who);

    // session.cpp: the life of the connection, and every way a stream ends
    base::result<> feed(std::string_view bytes);
    bool drain(base::byte_queue& out, std::size_t bytes_max);
    [[nodiscard]] bool wants_write();
    [[nodiscard]] bool finished();
    void shutdown();
    void abandon(std::string_view why);
    void ping(std::uint64_t payload);
    void tick(std::uint64_t now_s) { flood_.tick(now_s); }
    void cancel(stream_key stream, std::uint32_t code);
    void consume(stream_key stream, std::size_t bytes);
    [[nodiscard]] bool accepting() const { return !going_away_ && !closed_ && !failed_; }
    [[nodiscard]] const base::error* failure() const { return failed_ ? &*failed_ : nullptr; }
    [[nodiscard]] std::size_t streams_open() const { return open_; }
    [[nodiscard]] std::size_t requests_queued() const { return queue_.size(); }
    [[nodiscard]] std::uint32_t peer_streams_max() const { return peer_streams_.value_or(0); }

    // send.cpp: requests of a client, responses of a server
    [[nodiscard]] base::result<stream_key> submit(const request& what, std::string_view scheme,
                                                  std::string_view authority);
    [[nodiscard]] bool has_room(priority rank) const;
    void respond(stream_key stream, int status, const header_list& headers, bool end);
    bool write(stream_key stream, std::string_view bytes);
    void finish(stream_key stream, const header_list& trailers);

   private:
    struct callback_table;
    [[nodiscard]] static const nghttp2_session_callbacks& callbacks();
    static ssize_t read_body_callback(nghttp2_session* library, std::int32_t wire_id, std::uint8_t* buffer,
                                      std::size_t room, std::uint32_t* flags, nghttp2_data_source* source, void* self);

    // session.cpp
    void create();
    void introduce();
    [[nodiscard]] std::size_t frames_queued_max() const;
    // The connection is broken: tells the peer, closes every stream.
    void break_off(breach found);
    // The only place that calls on_close; it forgets the stream first.
    void close(slot& s, ending how, std::uint32_t code, std::string_view detail);
    // Tells the peer with RST_STREAM and closes.
    void reset(slot& s, wire_code code, ending how, std::string_view detail);
    void close_queued(std::uint32_t code, std::string_view why);
    void close_all(std::uint32_t code, std::string_view why);
    // After the peer's GOAWAY: streams it will not process.
    void refuse_after(std::int32_t last_wire_id, std::uint32_t code);
    // The record of a wire stream, or null if it is closed for us.
    [[nodiscard]] slot* running(std::int32_t wire_id);
    [[nodiscard]] bool is_client() const { return as_ == role::client; }

    // send.cpp
    [[nodiscard]] stream_budget budget() const;
    [[nodiscard]] bool can_launch() const { return accepting() && queue_.next(open_, budget()) != nullptr; }
    void launch();
    void start(slot& s);
    [[nodiscard]] bool goodbye_due() const;
    void say_goodbye();
    void answer_oversized(slot& s);
    void submit_answer(slot& s, int status, const header_list& headers, bool end);
    [[nodiscard]] int submit_trailers(const slot& s);
    ssize_t on_bytes(std::string_view bytes);
    ssize_t read_body(std::int32_t wire_id, std::size_t room, std::uint32_t& flags);
    int on_body_frame(std::int32_t wire_id, std::string_view frame_head, std::size_t bytes);
    void on_frame_sent(const nghttp2_frame& frame);
    void on_frame_not_sent(const nghttp2_frame& frame, int library_error);

    // receive.cpp: frames as events; results are for the library
    int on_frame(const nghttp2_frame& frame);
    int on_data_frame(const nghttp2_frame& frame);
    int on_begin_headers(const nghttp2_frame& frame);
    int on_header(std::int32_t wire_id, std::string_view name, std::string_view value, bool sensitive);
    int on_headers_end(const nghttp2_frame& frame);
    void on_response_head(slot& s, bool end);
    int on_data(std::int32_t wire_id, std::string_view bytes);
    void on_remote_end(slot& s, header_list trailers);
    void on_peer_goaway(const nghttp2_goaway& frame);
    int on_stream_close(std::int32_t wire_id, std::uint32_t code);
    // What a peer may not do too often. Memory is bounded for both roles; a server also counts what only costs time.
    int on_frame_begin(const nghttp2_frame_hd& frame);
    int on_reset_received(std::int32_t wire_id);
    int on_invalid_frame(std::int32_t wire_id, int library_error);
    int on_empty_data();
    int on_header_passed_over();
    int on_unknown_frame();
    int on_broken_stream(const slot& s, std::uint32_t code);
    int give_up(breach found);

    const role as_;
    const limits bounds_;
    events& owner_;
    std::unique_ptr<nghttp2_session, library_deleter> library_;

    slot_table slots_;
    request_queue queue_;
    std::size_t open_ = 0;
    std::optional<std::uint32_t> peer_streams_;  // known with the peer's SETTINGS
    std::vector<nghttp2_nv> fields_;             // scratch of start() and respond()

    header_block block_;
    slot* block_slot_ = nullptr;  // whose headers are being collected
    std::uint32_t continuations_ = 0;
    flood_guard flood_;

    base::byte_queue* out_ = nullptr;  // while draining
    std::size_t out_bytes_max_ = 0;

    std::optional<base::error> failed_;
    std::optional<breach> failing_;  // found inside a callback, acted upon after it
    bool going_away_ = false;
    bool shutting_down_ = false;
    bool goodbye_owed_ = false;
    bool closed_ = false;
    bool busy_ = false;  // inside the library
};

}  // namespace cotrain::net::h2
