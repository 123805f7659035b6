// Frames on their way out: into the queue that drain() was given, bodies straight from where they lie.
#include <algorithm>
#include <cstring>

#include "net/h2/core.hpp"

namespace cotrain::net::h2 {

ssize_t session_core::on_bytes(std::string_view bytes) {
    if (out->size() >= out_bytes_max) return NGHTTP2_ERR_WOULDBLOCK;
    out->append(bytes);
    return static_cast<ssize_t>(bytes.size());
}

ssize_t session_core::read_body(std::int32_t wire_id, std::size_t room, std::uint32_t& flags) {
    slot* s = running(wire_id);
    if (s == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    flags |= NGHTTP2_DATA_FLAG_NO_COPY;
    if (is_client()) {
        const std::size_t left = s->what->body.size() - s->body_sent;
        if (left <= room) flags |= NGHTTP2_DATA_FLAG_EOF;
        return static_cast<ssize_t>(std::min(left, room));
    }
    const std::size_t left = s->out->bytes().size();
    if (left == 0 && !s->out->finished()) return NGHTTP2_ERR_DEFERRED;
    if (left <= room && s->out->finished()) {
        flags |= NGHTTP2_DATA_FLAG_EOF;
        if (!s->out->trailers().empty()) {
            flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
            if (submit_trailers(*s) != 0) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
        }
    }
    return static_cast<ssize_t>(std::min(left, room));
}

int session_core::on_body_frame(std::int32_t wire_id, std::string_view frame_head, std::size_t bytes) {
    if (out->size() >= out_bytes_max) return NGHTTP2_ERR_WOULDBLOCK;
    slot* s = running(wire_id);
    // Cancelled between the head and the body of this frame: neither leaves.
    if (s == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    const char* body = is_client() ? s->what->body.data() + s->body_sent : s->out->bytes().data();
    char* to = out->prepare(frame_head.size() + bytes).data();
    std::memcpy(to, frame_head.data(), frame_head.size());
    if (bytes != 0) std::memcpy(to + frame_head.size(), body, bytes);
    out->commit(frame_head.size() + bytes);
    if (is_client()) {
        s->body_sent += bytes;
        return 0;
    }
    flood.on_data_sent();
    const stream_key key = s->key;
    if (s->out->consume(bytes)) owner.on_writable(key);
    return 0;
}

void session_core::on_frame_sent(const nghttp2_frame& frame) {
    switch (frame.hd.type) {
        case NGHTTP2_HEADERS:
        case NGHTTP2_DATA: {
            if ((frame.hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) return;
            // A request without body: start() knew.
            if (is_client() && frame.hd.type == NGHTTP2_HEADERS) return;
            slot* s = running(frame.hd.stream_id);
            if (s == nullptr) return;
            s->local_ended = true;
            // Answered early: the peer may stop sending its request (RFC 9113, 8.1).
            if (!is_client() && !s->remote_ended)
                nghttp2_submit_rst_stream(library.get(), NGHTTP2_FLAG_NONE, s->wire_id, NGHTTP2_NO_ERROR);
            return;
        }
        case NGHTTP2_GOAWAY:
            // The library found the peer at fault, and says why only here.
            if (frame.goaway.error_code != NGHTTP2_NO_ERROR && !failed && !failing)
                failing = breach_of_goaway(
                    frame.goaway.error_code,
                    {reinterpret_cast<const char*>(frame.goaway.opaque_data), frame.goaway.opaque_data_len});
            return;
        default: return;
    }
}

void session_core::on_frame_not_sent(const nghttp2_frame& frame, int library_error) {
    // A request that is not sent is closed by the library; an answer would wait for ever.
    if (frame.hd.type != NGHTTP2_HEADERS || is_client()) return;
    slot* s = running(frame.hd.stream_id);
    if (s != nullptr) reset(*s, wire_code::internal_error, ending::cancelled, words_of(library_error));
}

}  // namespace cotrain::net::h2
