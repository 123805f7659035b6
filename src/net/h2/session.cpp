// The public face of a session, and the life of its connection: fed, drained, shut down, broken off.
#include "net/h2/session.hpp"

#include <cassert>
#include <utility>

#include "net/h2/core.hpp"

namespace cotrain::net::h2 {

session::session(role as, limits bounds, events& owner) : core_(std::make_unique<session_core>(as, bounds, owner)) {}
session::~session() = default;

base::result<> session::feed(std::string_view bytes) { return core_->feed(bytes); }
bool session::drain(base::byte_queue& out, std::size_t bytes_max) { return core_->drain(out, bytes_max); }
bool session::wants_write() const { return core_->wants_write(); }
bool session::finished() const { return core_->finished(); }
const base::error* session::failure() const { return core_->failed ? &*core_->failed : nullptr; }

base::result<stream_key> session::submit(const request& what, std::string_view scheme, std::string_view authority) {
    return core_->submit(what, scheme, authority);
}
void session::respond(stream_key stream, int status, const header_list& headers, bool end) {
    core_->respond(stream, status, headers, end);
}
bool session::write(stream_key stream, std::string_view bytes) { return core_->write(stream, bytes); }
void session::finish(stream_key stream, const header_list& trailers) { core_->finish(stream, trailers); }
void session::consume(stream_key stream, std::size_t bytes) { core_->consume(stream, bytes); }
void session::cancel(stream_key stream, std::uint32_t code) { core_->cancel(stream, code); }
void session::ping(std::uint64_t payload) { core_->ping(payload); }
void session::shutdown() { core_->shutdown(); }
void session::abandon(std::string_view why) { core_->abandon(why); }
void session::tick(std::uint64_t now_s) { core_->flood.tick(now_s); }

std::size_t session::streams_open() const { return core_->open; }
std::size_t session::requests_queued() const { return core_->queue.size(); }
bool session::has_room(priority rank) const { return core_->has_room(rank); }
std::uint32_t session::peer_streams_max() const { return core_->peer_streams.value_or(0); }
bool session::going_away() const { return !core_->accepting(); }

base::result<> session_core::feed(std::string_view bytes) {
    assert(!busy && "a handler must not feed");
    if (failed) return base::fail(*failed);
    if (closed) return base::fail(base::errc::lost, "the connection is closed");
    busy = true;
    const auto used =
        nghttp2_session_mem_recv(library.get(), reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    busy = false;
    if (!failing && used < 0) failing = breach_of(static_cast<int>(used));
    if (!failing && nghttp2_session_get_outbound_queue_size(library.get()) > frames_queued_max())
        failing = flood_of("frames that must be answered, without reading the answers");
    if (!failing) return {};
    break_off(*std::exchange(failing, std::nullopt));
    return base::fail(*failed);
}

// What our own streams may have queued at once is not the peer's doing: a head, trailers, a reset and a window each.
std::size_t session_core::frames_queued_max() const {
    const std::size_t streams = is_client() ? bounds.streams_max : bounds.peer_streams_max;
    return bounds.control_frames_queued_max + 4 * streams;
}

bool session_core::drain(base::byte_queue& to, std::size_t bytes_max) {
    assert(!busy && "a handler must not drain");
    if (closed) return false;
    const std::size_t before = to.size();
    out = &to;
    out_bytes_max = bytes_max;
    bool again = true;
    while (again) {
        launch();
        if (goodbye_due()) say_goodbye();
        busy = true;
        const int result = nghttp2_session_send(library.get());
        busy = false;
        if (!failing && result < 0) failing = breach_of(result);
        again = can_launch() && to.size() < bytes_max;
        if (failing) {
            // Once more for our GOAWAY, but a library that cannot send will not learn it.
            again = !failed && result == 0;
            break_off(*std::exchange(failing, std::nullopt));
        }
    }
    out = nullptr;
    slots.shrink();
    return to.size() > before;
}

bool session_core::wants_write() {
    return !closed && (nghttp2_session_want_write(library.get()) != 0 || can_launch() || goodbye_due());
}

bool session_core::finished() {
    if (closed) return true;
    return queue.size() == 0 && nghttp2_session_want_read(library.get()) == 0 &&
           nghttp2_session_want_write(library.get()) == 0;
}

void session_core::ping(std::uint64_t payload) {
    if (!closed && !failed)
        nghttp2_submit_ping(library.get(), NGHTTP2_FLAG_NONE, reinterpret_cast<const std::uint8_t*>(&payload));
}

void session_core::shutdown() {
    if (closed || failed || std::exchange(shutting_down, true)) return;
    going_away = true;
    if (is_client()) {
        goodbye_owed = true;
        close_queued(0, "the connection takes no new requests");
    } else {
        nghttp2_submit_goaway(library.get(), NGHTTP2_FLAG_NONE, nghttp2_session_get_last_proc_stream_id(library.get()),
                              NGHTTP2_NO_ERROR, nullptr, 0);
    }
}

void session_core::abandon(std::string_view why) {
    assert(!busy && "a handler must not abandon its session");
    if (std::exchange(closed, true)) return;
    going_away = true;
    close_all(0, why);
}

void session_core::break_off(breach found) {
    if (failed) return;
    failed = std::move(found.why);
    going_away = true;
    nghttp2_session_terminate_session(library.get(), found.code);
    close_all(found.code, failed->message);
}

}  // namespace cotrain::net::h2
