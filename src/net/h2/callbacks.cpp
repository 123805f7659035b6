// The library's C callbacks, each a line to the session's own functions. Nothing may throw through the library.
#include <cstring>
#include <new>

#include "net/h2/core.hpp"

namespace cotrain::net::h2 {

namespace {

session_core& self_of(void* self) { return *static_cast<session_core*>(self); }

std::string_view text(const std::uint8_t* bytes, std::size_t size) {
    return {reinterpret_cast<const char*>(bytes), size};
}

ssize_t on_send(nghttp2_session*, const std::uint8_t* bytes, std::size_t size, int, void* self) noexcept {
    return self_of(self).on_bytes(text(bytes, size));
}

int on_send_data(nghttp2_session*, nghttp2_frame* frame, const std::uint8_t* frame_head, std::size_t size,
                 nghttp2_data_source*, void* self) noexcept {
    constexpr std::size_t frame_head_bytes = 9;
    return self_of(self).on_body_frame(frame->hd.stream_id, text(frame_head, frame_head_bytes), size);
}

int on_frame_send(nghttp2_session*, const nghttp2_frame* frame, void* self) noexcept {
    self_of(self).on_frame_sent(*frame);
    return 0;
}

int on_frame_not_send(nghttp2_session*, const nghttp2_frame* frame, int library_error, void* self) noexcept {
    self_of(self).on_frame_not_sent(*frame, library_error);
    return 0;
}

int on_begin_frame(nghttp2_session*, const nghttp2_frame_hd* frame, void* self) noexcept {
    return self_of(self).on_frame_begin(*frame);
}

int on_begin_headers(nghttp2_session*, const nghttp2_frame* frame, void* self) noexcept {
    return self_of(self).on_begin_headers(*frame);
}

int on_header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name, std::size_t name_size,
              const std::uint8_t* value, std::size_t value_size, std::uint8_t flags, void* self) noexcept {
    return self_of(self).on_header(frame->hd.stream_id, text(name, name_size), text(value, value_size),
                                   (flags & NGHTTP2_NV_FLAG_NO_INDEX) != 0);
}

int on_data_chunk(nghttp2_session*, std::uint8_t, std::int32_t wire_id, const std::uint8_t* bytes, std::size_t size,
                  void* self) noexcept {
    return self_of(self).on_data(wire_id, text(bytes, size));
}

int on_data_frame(session_core& self, const nghttp2_frame& frame) {
    if ((frame.hd.flags & NGHTTP2_FLAG_END_STREAM) == 0)
        return frame.hd.length == frame.data.padlen ? self.on_empty_data() : 0;
    if (slot* s = self.running(frame.hd.stream_id)) self.on_remote_end(*s, {});
    return 0;
}

int on_frame_recv(nghttp2_session*, const nghttp2_frame* frame, void* user) noexcept {
    session_core& self = self_of(user);
    switch (frame->hd.type) {
        case NGHTTP2_DATA: return on_data_frame(self, *frame);
        case NGHTTP2_HEADERS: return self.on_headers_end(*frame);
        case NGHTTP2_RST_STREAM: return self.on_reset_received(frame->hd.stream_id);
        case NGHTTP2_GOAWAY: self.on_peer_goaway(frame->goaway); return 0;
        case NGHTTP2_SETTINGS:
            if ((frame->hd.flags & NGHTTP2_FLAG_ACK) == 0)
                self.peer_streams =
                    nghttp2_session_get_remote_settings(self.library.get(), NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
            return 0;
        case NGHTTP2_PING:
            if ((frame->hd.flags & NGHTTP2_FLAG_ACK) != 0) {
                std::uint64_t payload;
                std::memcpy(&payload, frame->ping.opaque_data, sizeof payload);
                self.owner.on_ping_answer(payload);
            }
            return 0;
        default: return 0;
    }
}

int on_extension(nghttp2_session*, void**, const nghttp2_frame_hd*, void* self) noexcept {
    return self_of(self).on_unknown_frame();
}

int on_invalid_frame_recv(nghttp2_session*, const nghttp2_frame* frame, int library_error, void* self) noexcept {
    return self_of(self).on_invalid_frame(frame->hd.stream_id, library_error);
}

int on_stream_close(nghttp2_session*, std::int32_t wire_id, std::uint32_t code, void* user) noexcept {
    session_core& self = self_of(user);
    slot* s = self.running(wire_id);
    if (s == nullptr) return 0;
    const int verdict = self.on_broken_stream(*s, code);
    const ending how = ending_of(self.as, *s, code);
    self.close(*s, how, code, detail_of(*s, how, code));
    return verdict;
}

std::unique_ptr<nghttp2_session_callbacks, library_deleter> make_callbacks() {
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

}  // namespace

const nghttp2_session_callbacks& callbacks() {
    static const auto shared = make_callbacks();
    return *shared;
}

ssize_t read_body_callback(nghttp2_session*, std::int32_t wire_id, std::uint8_t*, std::size_t room,
                           std::uint32_t* flags, nghttp2_data_source*, void* self) {
    return self_of(self).read_body(wire_id, room, *flags);
}

}  // namespace cotrain::net::h2
