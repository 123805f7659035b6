#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <utility>

#include "net/h2/core.hpp"

namespace cotrain::net::h2 {

namespace {

nghttp2_nv field(std::string_view name, std::string_view value, bool sensitive, int flags) {
    nghttp2_nv nv;
    // The library's struct predates const; it does not write.
    nv.name = reinterpret_cast<std::uint8_t*>(const_cast<char*>(name.data()));
    nv.value = reinterpret_cast<std::uint8_t*>(const_cast<char*>(value.data()));
    nv.namelen = name.size();
    nv.valuelen = value.size();
    nv.flags = static_cast<std::uint8_t>(flags | (sensitive ? NGHTTP2_NV_FLAG_NO_INDEX : 0));
    return nv;
}

// Neither name nor value is copied.
nghttp2_nv borrowed_field(std::string_view name, std::string_view value, bool sensitive = false) {
    return field(name, value, sensitive, NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE);
}

nghttp2_nv copied_field(std::string_view name, std::string_view value, bool sensitive = false) {
    return field(name, value, sensitive, NGHTTP2_NV_FLAG_NONE);
}

// No control bytes: a line break in a value would split headers behind a proxy that speaks HTTP/1.1. A tab is refused
// too, which no header of ours needs. Without a way out in the middle, compilers look at many bytes at once.
bool sendable_value(std::string_view value) {
    bool bad = false;
    for (const char c : value) bad |= static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    return !bad;
}

bool sendable_name(std::string_view name) {
    return !name.empty() && name.front() != ':' &&
           nghttp2_check_header_name(reinterpret_cast<const std::uint8_t*>(name.data()), name.size()) != 0;
}

// Why these headers must not be sent, or nothing.
std::optional<base::error> unsendable(const header_list& headers, std::size_t bytes_already, std::size_t bytes_max) {
    std::size_t bytes = bytes_already;
    for (const header& h : headers) {
        bytes += counted_bytes(h.name, h.value);
        if (!sendable_name(h.name))
            return base::make_error(base::errc::invalid,
                                    "header name \"" + base::one_line(h.name, 64) +
                                        "\" cannot be sent: use lower-case letters, digits and dashes");
        if (!sendable_value(h.value))
            return base::make_error(
                base::errc::invalid,
                "header " + h.name + " has a control character (a line break?) in its value: remove it");
    }
    if (bytes <= bytes_max) return std::nullopt;
    return base::make_error(base::errc::too_large, "the headers take " + std::to_string(bytes) + " bytes, more than " +
                                                       std::to_string(bytes_max) + " (header_list_bytes_max)");
}

// Why this request must not be sent, or nothing.
std::optional<base::error> unsendable_request(const request& what, std::string_view scheme, std::string_view authority,
                                              std::size_t bytes_max) {
    if (what.method.empty() || !sendable_value(what.method) || what.path.empty() || !sendable_value(what.path))
        return base::make_error(base::errc::invalid, "request \"" + base::one_line(what.method + ' ' + what.path, 200) +
                                                         "\": method and path must be text without control characters");
    const std::size_t pseudo_bytes = counted_bytes(":method", what.method) + counted_bytes(":path", what.path) +
                                     counted_bytes(":scheme", scheme) + counted_bytes(":authority", authority);
    return unsendable(what.headers, pseudo_bytes, bytes_max);
}

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

base::result<stream_key> session_core::submit(const request& what, std::string_view scheme,
                                              std::string_view authority) {
    if (!accepting()) return base::fail(base::errc::refused, "the connection takes no new requests");
    if (queue_.size() >= bounds_.queued_requests_max)
        return base::fail(base::errc::too_large,
                          "the request queue is full: " + std::to_string(bounds_.queued_requests_max) +
                              " wait (queued_requests_max)");
    if (auto why = unsendable_request(what, scheme, authority, bounds_.header_list_bytes_max))
        return base::fail(std::move(*why));
    slot& s = slots_.take();
    s.state = slot::phase::queued;
    s.announced = true;
    s.rank = what.rank;
    s.what = &what;
    s.scheme = scheme;
    s.authority = authority;
    queue_.push(s);
    return s.key;
}

stream_budget session_core::budget() const {
    const std::uint32_t allowed = peer_streams_.value_or(bounds_.streams_before_settings);
    return {.streams = std::min(allowed, bounds_.streams_max), .urgent_reserve = bounds_.urgent_reserve};
}

bool session_core::has_room(priority rank) const {
    stream_budget all = budget();
    if (!peer_streams_) all.streams = bounds_.streams_max;  // nearly every peer allows as many
    return accepting() && open_ + queue_.ahead_of(rank) < all.usable_by(rank);
}

void session_core::launch() {
    while (accepting() && !failing_) {
        queue_place* next = queue_.next(open_, budget());
        if (next == nullptr) return;
        start(static_cast<slot&>(*next));
    }
}

void session_core::start(slot& s) {
    if (nghttp2_session_get_next_stream_id(library_.get()) > bounds_.stream_id_max) {
        going_away_ = goodbye_owed_ = true;
        owner_.on_goaway(0, "the connection has used up its stream ids");
        close_queued(0, "the connection has used up its stream ids");
        return;
    }
    const request& what = *s.what;
    fields_.clear();
    fields_.push_back(borrowed_field(":method", what.method));
    fields_.push_back(borrowed_field(":scheme", s.scheme));
    fields_.push_back(borrowed_field(":authority", s.authority));
    fields_.push_back(borrowed_field(":path", what.path));
    for (const header& h : what.headers) fields_.push_back(borrowed_field(h.name, h.value, h.sensitive));
    const nghttp2_data_provider body{.source = {.ptr = nullptr}, .read_callback = read_body_callback};
    const std::int32_t wire_id = nghttp2_submit_request(library_.get(), nullptr, fields_.data(), fields_.size(),
                                                        what.body.empty() ? nullptr : &body, &s);
    queue_.remove(s);
    if (wire_id < 0) {
        failing_ = breach_of(wire_id);
        close(s, ending::refused, 0, failing_->why.message);
        return;
    }
    s.wire_id = wire_id;
    s.state = slot::phase::running;
    s.local_ended = what.body.empty();
    ++open_;
}

// The client says GOAWAY only when nothing runs any more, so that no server takes it as a reason to drop a request.
bool session_core::goodbye_due() const {
    return goodbye_owed_ && open_ == 0 && queue_.size() == 0 && !closed_ && !failed_;
}

void session_core::say_goodbye() {
    goodbye_owed_ = false;
    nghttp2_submit_goaway(library_.get(), NGHTTP2_FLAG_NONE, 0, NGHTTP2_NO_ERROR, nullptr, 0);
}

void session_core::respond(stream_key stream, int status, const header_list& headers, bool end) {
    slot* s = slots_.find(stream);
    if (s == nullptr || s->answered || is_client()) return;
    if (const auto why = unsendable(headers, 0, bounds_.header_list_bytes_max))
        return reset(*s, wire_code::internal_error, ending::cancelled, why->message);
    submit_answer(*s, status, headers, end);
}

void session_core::submit_answer(slot& s, int status, const header_list& headers, bool end) {
    s.answered = true;
    const std::array<char, 3> digits = digits_of(status);
    fields_.clear();
    fields_.push_back(copied_field(":status", {digits.data(), digits.size()}));
    for (const header& h : headers) fields_.push_back(copied_field(h.name, h.value, h.sensitive));
    const nghttp2_data_provider body{.source = {.ptr = nullptr}, .read_callback = read_body_callback};
    if (!end) body_of(s, bounds_.response_buffer_bytes_max);
    const int result =
        nghttp2_submit_response(library_.get(), s.wire_id, fields_.data(), fields_.size(), end ? nullptr : &body);
    if (result != 0) reset(s, wire_code::internal_error, ending::cancelled, words_of(result));
}

void session_core::answer_oversized(slot& s) {
    // The owner never hears of it. A body that follows is stopped once the answer has left: see on_frame_sent().
    constexpr int request_header_fields_too_large = 431;
    submit_answer(s, request_header_fields_too_large, {}, true);
}

bool session_core::write(stream_key stream, std::string_view bytes) {
    slot* s = slots_.find(stream);
    if (s == nullptr || is_client()) return true;
    outbox& body = body_of(*s, bounds_.response_buffer_bytes_max);
    if (body.finished()) return true;
    const bool room = body.append(bytes);
    if (s->answered) nghttp2_session_resume_data(library_.get(), s->wire_id);
    return room;
}

void session_core::finish(stream_key stream, const header_list& trailers) {
    slot* s = slots_.find(stream);
    if (s == nullptr || is_client()) return;
    if (const auto why = unsendable(trailers, 0, bounds_.header_list_bytes_max))
        return reset(*s, wire_code::internal_error, ending::cancelled, why->message);
    outbox& body = body_of(*s, bounds_.response_buffer_bytes_max);
    if (body.finished()) return;
    body.finish(trailers);
    if (s->answered) nghttp2_session_resume_data(library_.get(), s->wire_id);
}

int session_core::submit_trailers(const slot& s) {
    fields_.clear();
    for (const header& h : s.out->trailers()) fields_.push_back(copied_field(h.name, h.value, h.sensitive));
    return nghttp2_submit_trailer(library_.get(), s.wire_id, fields_.data(), fields_.size());
}

ssize_t session_core::on_bytes(std::string_view bytes) {
    if (out_->size() >= out_bytes_max_) return NGHTTP2_ERR_WOULDBLOCK;
    out_->append(bytes);
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
    if (out_->size() >= out_bytes_max_) return NGHTTP2_ERR_WOULDBLOCK;
    slot* s = running(wire_id);
    // Cancelled between the head and the body of this frame: neither leaves.
    if (s == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    const char* body = is_client() ? s->what->body.data() + s->body_sent : s->out->bytes().data();
    char* to = out_->prepare(frame_head.size() + bytes).data();
    std::memcpy(to, frame_head.data(), frame_head.size());
    if (bytes != 0) std::memcpy(to + frame_head.size(), body, bytes);
    out_->commit(frame_head.size() + bytes);
    if (is_client()) {
        s->body_sent += bytes;
        return 0;
    }
    flood_.on_data_sent();
    const stream_key key = s->key;
    if (s->out->consume(bytes)) owner_.on_writable(key);
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
                nghttp2_submit_rst_stream(library_.get(), NGHTTP2_FLAG_NONE, s->wire_id, NGHTTP2_NO_ERROR);
            return;
        }
        case NGHTTP2_GOAWAY:
            // The library found the peer at fault, and says why only here.
            if (frame.goaway.error_code != NGHTTP2_NO_ERROR && !failed_ && !failing_)
                failing_ = breach_of_goaway(
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
