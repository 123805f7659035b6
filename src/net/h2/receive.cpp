#include <cstring>
#include <new>
#include <utility>

#include "net/h2/core.hpp"

namespace cotrain::net::h2 {

namespace {

// Headers of one block that are decoded after they are too many, in units of what is allowed.
constexpr std::size_t headers_passed_over_factor = 4;

std::string_view text(const std::uint8_t* bytes, std::size_t size) {
    return {reinterpret_cast<const char*>(bytes), size};
}

}  // namespace

int session_core::on_begin_headers(const nghttp2_frame& frame) {
    block_.begin();
    block_slot_ = nullptr;
    if (frame.hd.type != NGHTTP2_HEADERS) return 0;
    if (is_client() || frame.headers.cat != NGHTTP2_HCAT_REQUEST) {
        block_slot_ = running(frame.hd.stream_id);
        return 0;
    }
    if (!accepting()) {
        // Our GOAWAY names an earlier stream as the last: the peer must be free to repeat this one.
        nghttp2_submit_rst_stream(library_.get(), NGHTTP2_FLAG_NONE, frame.hd.stream_id, NGHTTP2_REFUSED_STREAM);
        return 0;
    }
    slot& s = slots_.take();
    s.state = slot::phase::running;
    s.wire_id = frame.hd.stream_id;
    ++open_;
    nghttp2_session_set_stream_user_data(library_.get(), s.wire_id, &s);
    // Turn by turn, whatever the peer wishes: one large answer must not hold up the others.
    const nghttp2_extpri fair{.urgency = NGHTTP2_EXTPRI_DEFAULT_URGENCY, .inc = 1};
    nghttp2_session_change_extpri_stream_priority(library_.get(), s.wire_id, &fair, 1);
    block_slot_ = &s;
    return 0;
}

int session_core::on_header(std::int32_t wire_id, std::string_view name, std::string_view value, bool sensitive) {
    if (block_slot_ == nullptr || block_slot_->wire_id != wire_id) {
        block_.pass_over(name, value);
        return on_header_passed_over();
    }
    if (block_.add(name, value, sensitive)) return 0;
    // A request that is too large is read to its end and answered, see on_headers_end().
    if (!block_slot_->announced) return on_header_passed_over();
    reset(*block_slot_, wire_code::cancel, ending::too_large,
          "the peer's headers exceed " + std::to_string(bounds_.header_list_bytes_max) +
              " bytes (header_list_bytes_max) or " + std::to_string(bounds_.headers_max) + " headers (headers_max)");
    return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

int session_core::on_headers_end(const nghttp2_frame& frame) {
    slot* s = std::exchange(block_slot_, nullptr);
    if (s == nullptr || s->wire_id != frame.hd.stream_id) return 0;
    const bool end = (frame.hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    if (is_client()) {
        if (!s->answered) {
            on_response_head(*s, end);
        } else {
            on_remote_end(*s, block_.take_trailers());
        }
        return 0;
    }
    if (frame.headers.cat != NGHTTP2_HCAT_REQUEST) {
        on_remote_end(*s, block_.take_trailers());
        return 0;
    }
    const stream_key key = s->key;
    if (block_.over()) {
        answer_oversized(*s);
    } else {
        s->announced = true;
        owner_.on_head(key, block_.take_head());
    }
    if (end && (s = slots_.find(key)) != nullptr) on_remote_end(*s, {});
    return 0;
}

void session_core::on_response_head(slot& s, bool end) {
    constexpr int first_status = 100;  // the library lets any three digits pass
    constexpr int first_final_status = 200;
    if (block_.status() < first_status)
        return reset(s, wire_code::protocol_error, ending::reset,
                     "the peer answered with status " + std::to_string(block_.status()));
    if (block_.status() < first_final_status) {
        if (++s.informational > bounds_.informational_max)
            reset(s, wire_code::cancel, ending::too_large,
                  "the peer sent more than " + std::to_string(bounds_.informational_max) +
                      " heads without an answer (informational_max)");
        return;
    }
    const stream_key key = s.key;
    s.answered = true;
    owner_.on_head(key, block_.take_head());
    slot* still = end ? slots_.find(key) : nullptr;
    if (still != nullptr) on_remote_end(*still, {});
}

int session_core::on_data(std::int32_t wire_id, std::string_view bytes) {
    // At once, before it is read: what is unread holds back its own stream only.
    nghttp2_session_consume_connection(library_.get(), bytes.size());
    slot* s = running(wire_id);
    if (s == nullptr || !s->announced) return 0;
    s->unconsumed += bytes.size();
    owner_.on_data(s->key, bytes);
    return 0;
}

void session_core::on_remote_end(slot& s, header_list trailers) {
    const stream_key key = s.key;
    s.remote_ended = true;
    if (!s.announced) return;
    owner_.on_end(key, std::move(trailers));
    slot* still = slots_.find(key);
    // Answered before the request was read to its end: the rest is of no use to anyone.
    if (still != nullptr && is_client() && !still->local_ended)
        reset(*still, wire_code::no_error, ending::complete, {});
}

void session_core::on_peer_goaway(const nghttp2_goaway& frame) {
    // A client that says goodbye to a server takes no pushes, which it never got; nothing changes.
    if (is_client()) going_away_ = true;
    owner_.on_goaway(frame.error_code, {reinterpret_cast<const char*>(frame.opaque_data), frame.opaque_data_len});
    if (is_client()) refuse_after(frame.last_stream_id, frame.error_code);
}

int session_core::give_up(breach found) {
    if (!failing_ && !failed_) failing_ = std::move(found);
    // In the middle of sending the library could not go on to send our GOAWAY; drain() looks at `failing` itself.
    return out_ != nullptr ? 0 : static_cast<int>(NGHTTP2_ERR_CALLBACK_FAILURE);
}

int session_core::on_frame_begin(const nghttp2_frame_hd& frame) {
    switch (frame.type) {
        case NGHTTP2_HEADERS: continuations_ = 0; return 0;
        case NGHTTP2_CONTINUATION:
            return ++continuations_ <= bounds_.continuations_max ? 0 : give_up(flood_of("CONTINUATION frames"));
        case NGHTTP2_PING:
        case NGHTTP2_SETTINGS:
        case NGHTTP2_PRIORITY:
            return is_client() || flood_.on_idle_frame() ? 0 : give_up(flood_of("PING, SETTINGS or PRIORITY frames"));
        case NGHTTP2_WINDOW_UPDATE:
            return is_client() || flood_.on_window_update() ? 0 : give_up(flood_of("WINDOW_UPDATE frames"));
        default: return 0;
    }
}

int session_core::on_empty_data() {
    return is_client() || flood_.on_idle_frame() ? 0 : give_up(flood_of("empty DATA frames"));
}

// One byte may stand for a whole entry of the table: a peer that goes on after it is refused costs more than its bytes.
int session_core::on_header_passed_over() {
    const std::size_t most = headers_passed_over_factor * bounds_.header_list_bytes_max;
    return is_client() || block_.decoded_bytes() <= most ? 0 : give_up(flood_of("headers beyond its bound"));
}

// To be ignored (RFC 9113, 4.1), but not without end.
int session_core::on_unknown_frame() {
    if (!is_client() && !flood_.on_idle_frame()) return give_up(flood_of("frames of unknown types"));
    return static_cast<int>(NGHTTP2_ERR_CANCEL);
}

int session_core::on_reset_received(std::int32_t wire_id) {
    if (slot* s = running(wire_id)) s->peer_reset = true;
    return is_client() || flood_.on_reset() ? 0 : give_up(flood_of("streams that it resets"));
}

int session_core::on_invalid_frame(std::int32_t wire_id, int library_error) {
    if (slot* s = running(wire_id)) s->breach = words_of(library_error);
    return is_client() || flood_.on_reset() ? 0 : give_up(flood_of("streams that must be reset"));
}

int session_core::on_broken_stream(const slot& s, std::uint32_t code) {
    // Resets that were counted when the frame came are not counted again.
    if (is_client() || code == NGHTTP2_NO_ERROR || s.peer_reset || s.breach != nullptr) return 0;
    return flood_.on_reset() ? 0 : give_up(flood_of("streams that must be reset"));
}

int session_core::on_data_frame(const nghttp2_frame& frame) {
    if ((frame.hd.flags & NGHTTP2_FLAG_END_STREAM) == 0)
        return frame.hd.length == frame.data.padlen ? on_empty_data() : 0;
    if (slot* s = running(frame.hd.stream_id)) on_remote_end(*s, {});
    return 0;
}

int session_core::on_frame(const nghttp2_frame& frame) {
    const bool answer = (frame.hd.flags & NGHTTP2_FLAG_ACK) != 0;  // of SETTINGS and PING
    switch (frame.hd.type) {
        case NGHTTP2_DATA: return on_data_frame(frame);
        case NGHTTP2_HEADERS: return on_headers_end(frame);
        case NGHTTP2_RST_STREAM: return on_reset_received(frame.hd.stream_id);
        case NGHTTP2_GOAWAY: on_peer_goaway(frame.goaway); return 0;
        case NGHTTP2_SETTINGS:
            if (!answer)
                peer_streams_ =
                    nghttp2_session_get_remote_settings(library_.get(), NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
            return 0;
        case NGHTTP2_PING:
            if (answer) {
                std::uint64_t payload;
                std::memcpy(&payload, frame.ping.opaque_data, sizeof payload);
                owner_.on_ping_answer(payload);
            }
            return 0;
        default: return 0;
    }
}

int session_core::on_stream_close(std::int32_t wire_id, std::uint32_t code) {
    slot* s = running(wire_id);
    if (s == nullptr) return 0;
    const int verdict = on_broken_stream(*s, code);
    const ending how = ending_of(as_, *s, code);
    close(*s, how, code, detail_of(*s, how, code));
    return verdict;
}

// The library's C callbacks, each a line to the session's own functions. Nothing may throw through the library.
struct session_core::callback_table {
    static session_core& self_of(void* self) { return *static_cast<session_core*>(self); }

    static ssize_t on_send(nghttp2_session*, const std::uint8_t* bytes, std::size_t size, int, void* self) noexcept {
        return self_of(self).on_bytes(text(bytes, size));
    }

    static int on_send_data(nghttp2_session*, nghttp2_frame* frame, const std::uint8_t* frame_head, std::size_t size,
                            nghttp2_data_source*, void* self) noexcept {
        constexpr std::size_t frame_head_bytes = 9;
        return self_of(self).on_body_frame(frame->hd.stream_id, text(frame_head, frame_head_bytes), size);
    }

    static int on_frame_send(nghttp2_session*, const nghttp2_frame* frame, void* self) noexcept {
        self_of(self).on_frame_sent(*frame);
        return 0;
    }

    static int on_frame_not_send(nghttp2_session*, const nghttp2_frame* frame, int library_error, void* self) noexcept {
        self_of(self).on_frame_not_sent(*frame, library_error);
        return 0;
    }

    static int on_begin_frame(nghttp2_session*, const nghttp2_frame_hd* frame, void* self) noexcept {
        return self_of(self).on_frame_begin(*frame);
    }

    static int on_begin_headers(nghttp2_session*, const nghttp2_frame* frame, void* self) noexcept {
        return self_of(self).on_begin_headers(*frame);
    }

    static int on_header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name, std::size_t name_size,
                         const std::uint8_t* value, std::size_t value_size, std::uint8_t flags, void* self) noexcept {
        return self_of(self).on_header(frame->hd.stream_id, text(name, name_size), text(value, value_size),
                                       (flags & NGHTTP2_NV_FLAG_NO_INDEX) != 0);
    }

    static int on_data_chunk(nghttp2_session*, std::uint8_t, std::int32_t wire_id, const std::uint8_t* bytes,
                             std::size_t size, void* self) noexcept {
        return self_of(self).on_data(wire_id, text(bytes, size));
    }

    static int on_frame_recv(nghttp2_session*, const nghttp2_frame* frame, void* self) noexcept {
        return self_of(self).on_frame(*frame);
    }

    static int on_extension(nghttp2_session*, void**, const nghttp2_frame_hd*, void* self) noexcept {
        return self_of(self).on_unknown_frame();
    }

    static int on_invalid_frame_recv(nghttp2_session*, const nghttp2_frame* frame, int library_error,
                                     void* self) noexcept {
        return self_of(self).on_invalid_frame(frame->hd.stream_id, library_error);
    }

    static int on_stream_close(nghttp2_session*, std::int32_t wire_id, std::uint32_t code, void* self) noexcept {
        return self_of(self).on_stream_close(wire_id, code);
    }

    static std::unique_ptr<nghttp2_session_callbacks, library_deleter> make_callbacks() {
        nghttp2_session_callbacks* raw = nullptr;
        if (nghttp2_session_callbacks_new(&raw) != 0) throw std::bad_alloc();
        std::unique_ptr<nghttp2_session_callbacks, library_deleter> made(raw);
        nghttp2_session_callbacks_set_send_callback(raw, on_send);
        nghttp2_session_callbacks_set_send_data_callback(raw, on_send_data);
        nghttp2_session_callbacks_set_on_frame_send_callback(raw, on_frame_send);
        nghttp2_session_callbacks_set_on_frame_not_send_callback(raw, on_frame_not_send);
        nghttp2_session_callbacks_set_on_begin_frame_callback(raw, on_begin_frame);
        nghttp2_session_callbacks_set_on_begin_headers_callback(raw, on_begin_headers);
        nghttp2_session_callbacks_set_on_header_callback(raw, on_header);
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(raw, on_data_chunk);
        nghttp2_session_callbacks_set_on_frame_recv_callback(raw, on_frame_recv);
        nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(raw, on_invalid_frame_recv);
        nghttp2_session_callbacks_set_on_stream_close_callback(raw, on_stream_close);
        nghttp2_session_callbacks_set_unpack_extension_callback(raw, on_extension);
        return made;
    }
};

const nghttp2_session_callbacks& session_core::callbacks() {
    static const auto shared = callback_table::make_callbacks();
    return *shared;
}

ssize_t session_core::read_body_callback(nghttp2_session*, std::int32_t wire_id, std::uint8_t*, std::size_t room,
                                         std::uint32_t* flags, nghttp2_data_source*, void* self) {
    return callback_table::self_of(self).read_body(wire_id, room, *flags);
}

}  // namespace cotrain::net::h2
