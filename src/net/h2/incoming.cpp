// Frames from the peer, told to the owner as events. After each event a stream may be gone: look it up again.
#include <utility>

#include "net/h2/core.hpp"

namespace cotrain::net::h2 {

int session_core::on_begin_headers(const nghttp2_frame& frame) {
    block.begin();
    block_slot = nullptr;
    if (frame.hd.type != NGHTTP2_HEADERS) return 0;
    if (is_client() || frame.headers.cat != NGHTTP2_HCAT_REQUEST) {
        block_slot = running(frame.hd.stream_id);
        return 0;
    }
    if (!accepting()) {
        // Our GOAWAY names an earlier stream as the last: the peer must be free to repeat this one.
        nghttp2_submit_rst_stream(library.get(), NGHTTP2_FLAG_NONE, frame.hd.stream_id, NGHTTP2_REFUSED_STREAM);
        return 0;
    }
    slot& s = slots.take();
    s.state = slot::phase::running;
    s.wire_id = frame.hd.stream_id;
    ++open;
    nghttp2_session_set_stream_user_data(library.get(), s.wire_id, &s);
    // Turn by turn, whatever the peer wishes: one large answer must not hold up the others.
    const nghttp2_extpri fair{.urgency = NGHTTP2_EXTPRI_DEFAULT_URGENCY, .inc = 1};
    nghttp2_session_change_extpri_stream_priority(library.get(), s.wire_id, &fair, 1);
    block_slot = &s;
    return 0;
}

int session_core::on_header(std::int32_t wire_id, std::string_view name, std::string_view value, bool sensitive) {
    if (block_slot == nullptr || block_slot->wire_id != wire_id) {
        block.pass_over(name, value);
        return on_header_passed_over();
    }
    if (block.add(name, value, sensitive)) return 0;
    // A request that is too large is read to its end and answered, see on_headers_end().
    if (!block_slot->announced) return on_header_passed_over();
    reset(*block_slot, wire_code::cancel, ending::too_large,
          "the peer's headers exceed " + std::to_string(bounds.header_list_bytes_max) +
              " bytes (header_list_bytes_max) or " + std::to_string(bounds.headers_max) + " headers (headers_max)");
    return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

int session_core::on_headers_end(const nghttp2_frame& frame) {
    slot* s = std::exchange(block_slot, nullptr);
    if (s == nullptr || s->wire_id != frame.hd.stream_id) return 0;
    const bool end = (frame.hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    if (is_client()) {
        if (!s->answered) {
            on_response_head(*s, end);
        } else {
            on_remote_end(*s, block.take_trailers());
        }
        return 0;
    }
    if (frame.headers.cat != NGHTTP2_HCAT_REQUEST) {
        on_remote_end(*s, block.take_trailers());
        return 0;
    }
    const stream_key key = s->key;
    if (block.over()) {
        answer_oversized(*s);
    } else {
        s->announced = true;
        owner.on_head(key, block.take_head());
    }
    if (end && (s = slots.find(key)) != nullptr) on_remote_end(*s, {});
    return 0;
}

void session_core::on_response_head(slot& s, bool end) {
    constexpr int first_status = 100;  // the library lets any three digits pass
    constexpr int first_final_status = 200;
    if (block.status() < first_status)
        return reset(s, wire_code::protocol_error, ending::reset,
                     "the peer answered with status " + std::to_string(block.status()));
    if (block.status() < first_final_status) {
        if (++s.informational > bounds.informational_max)
            reset(s, wire_code::cancel, ending::too_large,
                  "the peer sent more than " + std::to_string(bounds.informational_max) +
                      " heads without an answer (informational_max)");
        return;
    }
    const stream_key key = s.key;
    s.answered = true;
    owner.on_head(key, block.take_head());
    slot* still = end ? slots.find(key) : nullptr;
    if (still != nullptr) on_remote_end(*still, {});
}

int session_core::on_data(std::int32_t wire_id, std::string_view bytes) {
    // At once, whoever reads: what is unread holds back its own stream only.
    nghttp2_session_consume_connection(library.get(), bytes.size());
    slot* s = running(wire_id);
    if (s == nullptr || !s->announced) return 0;
    s->unconsumed += bytes.size();
    owner.on_data(s->key, bytes);
    return 0;
}

void session_core::on_remote_end(slot& s, header_list trailers) {
    const stream_key key = s.key;
    s.remote_ended = true;
    if (!s.announced) return;
    owner.on_end(key, std::move(trailers));
    slot* still = slots.find(key);
    // Answered before the request was read to its end: the rest is of no use to anyone.
    if (still != nullptr && is_client() && !still->local_ended)
        reset(*still, wire_code::no_error, ending::complete, {});
}

void session_core::on_peer_goaway(const nghttp2_goaway& frame) {
    // A client that says goodbye to a server takes no pushes, which it never got; nothing changes.
    if (is_client()) going_away = true;
    owner.on_goaway(frame.error_code, {reinterpret_cast<const char*>(frame.opaque_data), frame.opaque_data_len});
    if (is_client()) refuse_after(frame.last_stream_id, frame.error_code);
}

}  // namespace cotrain::net::h2
