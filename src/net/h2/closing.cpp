// Every way a stream ends. close() is the only place that calls on_close, and it forgets the stream first.
#include <algorithm>

#include "net/h2/core.hpp"

namespace cotrain::net::h2 {

slot* session_core::running(std::int32_t wire_id) {
    auto* s = static_cast<slot*>(nghttp2_session_get_stream_user_data(library.get(), wire_id));
    // The library may still know a stream that is closed for us; its record may serve another by now.
    return s != nullptr && s->wire_id == wire_id && s->state == slot::phase::running ? s : nullptr;
}

void session_core::close(slot& s, ending how, std::uint32_t code, std::string_view detail) {
    const stream_key key = s.key;
    const bool announced = s.announced;
    if (s.state == slot::phase::running) {
        --open;
        nghttp2_session_set_stream_user_data(library.get(), s.wire_id, nullptr);
    }
    if (block_slot == &s) block_slot = nullptr;
    slots.release(s);
    if (announced) owner.on_close(key, how, code, detail);
}

void session_core::reset(slot& s, wire_code code, ending how, std::string_view detail) {
    nghttp2_submit_rst_stream(library.get(), NGHTTP2_FLAG_NONE, s.wire_id, static_cast<std::uint32_t>(code));
    close(s, how, static_cast<std::uint32_t>(code), detail);
}

void session_core::cancel(stream_key stream, std::uint32_t code) {
    slot* s = slots.find(stream);
    if (s == nullptr) return;
    if (s->state == slot::phase::queued) {
        queue.remove(*s);
    } else if (!s->local_ended || !s->remote_ended) {
        nghttp2_submit_rst_stream(library.get(), NGHTTP2_FLAG_NONE, s->wire_id, code);
    }
    close(*s, ending::cancelled, code, "cancelled");
}

void session_core::consume(stream_key stream, std::size_t bytes) {
    slot* s = slots.find(stream);
    if (s == nullptr || s->state != slot::phase::running) return;
    const std::size_t given_back = std::min(bytes, s->unconsumed);
    s->unconsumed -= given_back;
    // What has ended needs no window.
    if (!s->remote_ended) nghttp2_session_consume_stream(library.get(), s->wire_id, given_back);
}

void session_core::close_queued(std::uint32_t code, std::string_view why) {
    while (queue_place* place = queue.first()) {
        queue.remove(*place);
        close(static_cast<slot&>(*place), ending::refused, code, why);
    }
}

void session_core::close_all(std::uint32_t code, std::string_view why) {
    close_queued(code, why);
    for (std::size_t place = 0; place < slots.places(); ++place) {
        slot& s = slots.at(place);
        if (s.state == slot::phase::running) close(s, ending::lost, code, why);
    }
}

void session_core::refuse_after(std::int32_t last_wire_id, std::uint32_t code) {
    std::string why = "not processed: the peer is going away";
    if (code != NGHTTP2_NO_ERROR) why.append(" (").append(code_name(code)).append(")");
    close_queued(code, why);
    for (std::size_t place = 0; place < slots.places(); ++place) {
        slot& s = slots.at(place);
        if (s.state == slot::phase::running && s.wire_id > last_wire_id) close(s, ending::refused, code, why);
    }
}

}  // namespace cotrain::net::h2
