// What a peer may not do too often. Memory is bounded for both roles; a server also counts what only costs time.
#include <utility>

#include "net/h2/core.hpp"

namespace cotrain::net::h2 {

namespace {

// Headers of one block that are decoded after they are too many, in units of what is allowed.
constexpr std::size_t headers_passed_over_factor = 4;

}  // namespace

int session_core::give_up(breach found) {
    if (!failing && !failed) failing = std::move(found);
    // In the middle of sending the library could not go on to send our GOAWAY; drain() looks at `failing` itself.
    return out != nullptr ? 0 : static_cast<int>(NGHTTP2_ERR_CALLBACK_FAILURE);
}

int session_core::on_frame_begin(const nghttp2_frame_hd& frame) {
    switch (frame.type) {
        case NGHTTP2_HEADERS: continuations = 0; return 0;
        case NGHTTP2_CONTINUATION:
            return ++continuations <= bounds.continuations_max ? 0 : give_up(flood_of("CONTINUATION frames"));
        case NGHTTP2_PING:
        case NGHTTP2_SETTINGS:
        case NGHTTP2_PRIORITY:
            return is_client() || flood.on_idle_frame() ? 0 : give_up(flood_of("PING, SETTINGS or PRIORITY frames"));
        case NGHTTP2_WINDOW_UPDATE:
            return is_client() || flood.on_window_update() ? 0 : give_up(flood_of("WINDOW_UPDATE frames"));
        default: return 0;
    }
}

int session_core::on_empty_data() {
    return is_client() || flood.on_idle_frame() ? 0 : give_up(flood_of("empty DATA frames"));
}

// One byte may stand for a whole entry of the table: a peer that goes on after it is refused costs more than its bytes.
int session_core::on_header_passed_over() {
    const std::size_t most = headers_passed_over_factor * bounds.header_list_bytes_max;
    return is_client() || block.decoded_bytes() <= most ? 0 : give_up(flood_of("headers beyond its bound"));
}

// To be ignored (RFC 9113, 4.1), but not without end.
int session_core::on_unknown_frame() {
    if (!is_client() && !flood.on_idle_frame()) return give_up(flood_of("frames of unknown types"));
    return static_cast<int>(NGHTTP2_ERR_CANCEL);
}

int session_core::on_reset_received(std::int32_t wire_id) {
    if (slot* s = running(wire_id)) s->peer_reset = true;
    return is_client() || flood.on_reset() ? 0 : give_up(flood_of("streams that it resets"));
}

int session_core::on_invalid_frame(std::int32_t wire_id, int library_error) {
    if (slot* s = running(wire_id)) s->breach = words_of(library_error);
    return is_client() || flood.on_reset() ? 0 : give_up(flood_of("streams that must be reset"));
}

int session_core::on_broken_stream(const slot& s, std::uint32_t code) {
    // Resets that were counted when the frame came are not counted again.
    if (is_client() || code == NGHTTP2_NO_ERROR || s.peer_reset || s.breach != nullptr) return 0;
    return flood.on_reset() ? 0 : give_up(flood_of("streams that must be reset"));
}

}  // namespace cotrain::net::h2
