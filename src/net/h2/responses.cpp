// The server's half: answers, and their bodies as they are written.
#include <array>
#include <cassert>

#include "net/h2/core.hpp"

namespace cotrain::net::h2 {

namespace {

std::array<char, 3> digits_of(int status) {
    assert(status >= 200 && status <= 999);
    return {static_cast<char>('0' + status / 100), static_cast<char>('0' + status / 10 % 10),
            static_cast<char>('0' + status % 10)};
}

outbox& body_of(slot& s, std::size_t bytes_max) {
    if (s.out == nullptr) s.out = std::make_unique<outbox>(bytes_max);
    return *s.out;
}

}  // namespace

void session_core::respond(stream_key stream, int status, const header_list& headers, bool end) {
    slot* s = slots.find(stream);
    if (s == nullptr || s->answered || is_client()) return;
    if (const auto why = unsendable(headers, 0, bounds.header_list_bytes_max))
        return reset(*s, wire_code::internal_error, ending::cancelled, why->message);
    submit_answer(*s, status, headers, end);
}

void session_core::submit_answer(slot& s, int status, const header_list& headers, bool end) {
    s.answered = true;
    const std::array<char, 3> digits = digits_of(status);
    fields.clear();
    fields.push_back(copied_field(":status", {digits.data(), digits.size()}));
    for (const header& h : headers) fields.push_back(copied_field(h.name, h.value, h.sensitive));
    const nghttp2_data_provider body{.source = {.ptr = nullptr}, .read_callback = read_body_callback};
    if (!end) body_of(s, bounds.response_buffer_bytes_max);
    const int result =
        nghttp2_submit_response(library.get(), s.wire_id, fields.data(), fields.size(), end ? nullptr : &body);
    if (result != 0) reset(s, wire_code::internal_error, ending::cancelled, words_of(result));
}

void session_core::answer_oversized(slot& s) {
    // The owner never hears of it. A body that follows is stopped once the answer has left: see on_frame_sent().
    constexpr int request_header_fields_too_large = 431;
    submit_answer(s, request_header_fields_too_large, {}, true);
}

bool session_core::write(stream_key stream, std::string_view bytes) {
    slot* s = slots.find(stream);
    if (s == nullptr || is_client()) return true;
    outbox& body = body_of(*s, bounds.response_buffer_bytes_max);
    if (body.finished()) return true;
    const bool room = body.append(bytes);
    if (s->answered) nghttp2_session_resume_data(library.get(), s->wire_id);
    return room;
}

void session_core::finish(stream_key stream, const header_list& trailers) {
    slot* s = slots.find(stream);
    if (s == nullptr || is_client()) return;
    if (const auto why = unsendable(trailers, 0, bounds.header_list_bytes_max))
        return reset(*s, wire_code::internal_error, ending::cancelled, why->message);
    outbox& body = body_of(*s, bounds.response_buffer_bytes_max);
    if (body.finished()) return;
    body.finish(trailers);
    if (s->answered) nghttp2_session_resume_data(library.get(), s->wire_id);
}

int session_core::submit_trailers(const slot& s) {
    fields.clear();
    for (const header& h : s.out->trailers()) fields.push_back(copied_field(h.name, h.value, h.sensitive));
    return nghttp2_submit_trailer(library.get(), s.wire_id, fields.data(), fields.size());
}

}  // namespace cotrain::net::h2
