// The client's half: requests queue here until a stream is free.
#include <algorithm>
#include <utility>

#include "net/h2/core.hpp"

namespace cotrain::net::h2 {

namespace {

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

}  // namespace

base::result<stream_key> session_core::submit(const request& what, std::string_view scheme,
                                              std::string_view authority) {
    if (!accepting()) return base::fail(base::errc::refused, "the connection takes no new requests");
    if (queue.size() >= bounds.queued_requests_max)
        return base::fail(
            base::errc::too_large,
            "the request queue is full: " + std::to_string(bounds.queued_requests_max) + " wait (queued_requests_max)");
    if (auto why = unsendable_request(what, scheme, authority, bounds.header_list_bytes_max))
        return base::fail(std::move(*why));
    slot& s = slots.take();
    s.state = slot::phase::queued;
    s.announced = true;
    s.rank = what.rank;
    s.what = &what;
    s.scheme = scheme;
    s.authority = authority;
    queue.push(s);
    return s.key;
}

stream_budget session_core::budget() const {
    const std::uint32_t allowed = peer_streams.value_or(bounds.streams_before_settings);
    return {.streams = std::min(allowed, bounds.streams_max), .urgent_reserve = bounds.urgent_reserve};
}

bool session_core::has_room(priority rank) const {
    stream_budget all = budget();
    if (!peer_streams) all.streams = bounds.streams_max;  // nearly every peer allows as many
    return accepting() && open + queue.ahead_of(rank) < all.usable_by(rank);
}

void session_core::launch() {
    while (accepting() && !failing) {
        queue_place* next = queue.next(open, budget());
        if (next == nullptr) return;
        start(static_cast<slot&>(*next));
    }
}

void session_core::start(slot& s) {
    if (nghttp2_session_get_next_stream_id(library.get()) > bounds.stream_id_max) {
        going_away = goodbye_owed = true;
        owner.on_goaway(0, "the connection has used up its stream ids");
        close_queued(0, "the connection has used up its stream ids");
        return;
    }
    const request& what = *s.what;
    fields.clear();
    fields.push_back(borrowed_field(":method", what.method));
    fields.push_back(borrowed_field(":scheme", s.scheme));
    fields.push_back(borrowed_field(":authority", s.authority));
    fields.push_back(borrowed_field(":path", what.path));
    for (const header& h : what.headers) fields.push_back(borrowed_field(h.name, h.value, h.sensitive));
    const nghttp2_data_provider body{.source = {.ptr = nullptr}, .read_callback = read_body_callback};
    const std::int32_t wire_id = nghttp2_submit_request(library.get(), nullptr, fields.data(), fields.size(),
                                                        what.body.empty() ? nullptr : &body, &s);
    queue.remove(s);
    if (wire_id < 0) {
        failing = breach_of(wire_id);
        close(s, ending::refused, 0, failing->why.message);
        return;
    }
    s.wire_id = wire_id;
    s.state = slot::phase::running;
    s.local_ended = what.body.empty();
    ++open;
}

// The client says GOAWAY only when nothing runs any more, so that no server takes it as a reason to drop a request.
bool session_core::goodbye_due() const { return goodbye_owed && open == 0 && queue.size() == 0 && !closed && !failed; }

void session_core::say_goodbye() {
    goodbye_owed = false;
    nghttp2_submit_goaway(library.get(), NGHTTP2_FLAG_NONE, 0, NGHTTP2_NO_ERROR, nullptr, 0);
}

}  // namespace cotrain::net::h2
