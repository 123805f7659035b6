#include "net/h2/session.hpp"

#include <malloc.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdlib>
#include <limits>
#include <new>
#include <utility>

#include "base/wipe.hpp"
#include "net/h2/core.hpp"

namespace cotrain::net::h2 {

namespace {

// Room that the library wants beside the headers themselves for what HPACK may add.
constexpr std::size_t header_block_slack = 4096;
// Unused where the library lacks the option. A CONTINUATION's nine bytes of frame head may come one by one, and the
// library counts each arrival.
[[maybe_unused]] constexpr std::size_t frame_head_bytes = 9;

// Within what the protocol can say; SETTINGS that it cannot would not be sent at all.
limits within_protocol(limits bounds) {
    constexpr std::uint32_t window_max = 0x7fff'ffff;
    bounds.stream_window_bytes = std::min(bounds.stream_window_bytes, window_max);
    bounds.connection_window_bytes = std::clamp(bounds.connection_window_bytes, 0xffffU, window_max);
    bounds.frame_bytes_max = std::clamp(bounds.frame_bytes_max, 1U << 14U, (1U << 24U) - 1);
    return bounds;
}

// Types from here on are unknown, or of extensions that we do not speak.
constexpr unsigned first_unknown_type = NGHTTP2_CONTINUATION + 1;
constexpr unsigned last_type = 255;

std::unique_ptr<nghttp2_option, library_deleter> options(role as, const limits& bounds) {
    nghttp2_option* raw = nullptr;
    if (nghttp2_option_new(&raw) != 0) throw std::bad_alloc();
    std::unique_ptr<nghttp2_option, library_deleter> option(raw);
    nghttp2_option_set_no_auto_window_update(raw, 1);
    nghttp2_option_set_max_outbound_ack(raw, bounds.control_frames_queued_max);
    nghttp2_option_set_max_deflate_dynamic_table_size(raw, bounds.header_table_bytes);
    nghttp2_option_set_max_send_header_block_length(raw, bounds.header_list_bytes_max + header_block_slack);
    // Without this the library passes over them unseen.
    for (unsigned type = first_unknown_type; as == role::server && type <= last_type; ++type)
        nghttp2_option_set_user_recv_extension_type(raw, static_cast<std::uint8_t>(type));
#if COTRAIN_NGHTTP2_LIMITS_RESETS
    // Off: it reads the clock; flood_guard does the same with the time that is passed in.
    nghttp2_option_set_stream_reset_rate_limit(raw, std::numeric_limits<std::uint32_t>::max(),
                                               std::numeric_limits<std::uint32_t>::max());
#endif
#if COTRAIN_NGHTTP2_BOUNDS_CONTINUATIONS
    nghttp2_option_set_max_continuations(raw, (bounds.continuations_max + std::size_t{1}) * frame_head_bytes);
#endif
    return option;
}

// The library's frames and fields hold tokens and bodies: what it gives back is wiped.
void give_back(void* block, void*) {
    if (block == nullptr) return;
    base::wipe(block, ::malloc_usable_size(block));
    std::free(block);
}

nghttp2_mem memory() {
    return {.mem_user_data = nullptr,
            .malloc = [](std::size_t bytes, void*) { return std::malloc(bytes); },
            .free = give_back,
            .calloc = [](std::size_t count, std::size_t bytes, void*) { return std::calloc(count, bytes); },
            .realloc = [](void* block, std::size_t bytes, void*) { return std::realloc(block, bytes); }};
}

}  // namespace

session_core::session_core(role which, const limits& with, events& who)
    : as_(which),
      bounds_(within_protocol(with)),
      owner_(who),
      block_(with.header_list_bytes_max, with.headers_max),
      flood_({.resets_burst = with.resets_burst,
              .resets_per_second = with.resets_per_second,
              .idle_frames_burst = with.idle_frames_burst,
              .idle_frames_per_second = with.idle_frames_per_second}) {
    create();
    introduce();
}

void session_core::create() {
    const auto option = options(as_, bounds_);
    nghttp2_session* raw = nullptr;
    nghttp2_mem mem = memory();  // copied
    const int failed_with = is_client() ? nghttp2_session_client_new3(&raw, &callbacks(), this, option.get(), &mem)
                                        : nghttp2_session_server_new3(&raw, &callbacks(), this, option.get(), &mem);
    if (failed_with != 0) throw std::bad_alloc();
    library_.reset(raw);
}

void session_core::introduce() {
    const std::array<nghttp2_settings_entry, 6> settings{{
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, bounds_.stream_window_bytes},
        {NGHTTP2_SETTINGS_MAX_FRAME_SIZE, bounds_.frame_bytes_max},
        {NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, bounds_.header_table_bytes},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, bounds_.header_list_bytes_max},
        // The old priority tree only costs time here, and was a way to attack servers (RFC 9113, 5.3.2).
        {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},
        is_client() ? nghttp2_settings_entry{NGHTTP2_SETTINGS_ENABLE_PUSH, 0}
                    : nghttp2_settings_entry{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, bounds_.peer_streams_max},
    }};
    nghttp2_submit_settings(library_.get(), NGHTTP2_FLAG_NONE, settings.data(), settings.size());
    nghttp2_session_set_local_window_size(library_.get(), NGHTTP2_FLAG_NONE, 0,
                                          static_cast<std::int32_t>(bounds_.connection_window_bytes));
}

session::session(role as, limits bounds, events& owner) : core_(std::make_unique<session_core>(as, bounds, owner)) {}
session::~session() = default;

base::result<> session::feed(std::string_view bytes) { return core_->feed(bytes); }
bool session::drain(base::byte_queue& out, std::size_t bytes_max) { return core_->drain(out, bytes_max); }
bool session::wants_write() const { return core_->wants_write(); }
bool session::finished() const { return core_->finished(); }
const base::error* session::failure() const { return core_->failure(); }

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
void session::tick(std::uint64_t now_s) { core_->tick(now_s); }

std::size_t session::streams_open() const { return core_->streams_open(); }
std::size_t session::requests_queued() const { return core_->requests_queued(); }
bool session::has_room(priority rank) const { return core_->has_room(rank); }
std::uint32_t session::peer_streams_max() const { return core_->peer_streams_max(); }
bool session::going_away() const { return !core_->accepting(); }

base::result<> session_core::feed(std::string_view bytes) {
    assert(!busy_ && "a handler must not feed");
    if (failed_) return base::fail(*failed_);
    if (closed_) return base::fail(base::errc::lost, "the connection is closed");
    busy_ = true;
    const auto used =
        nghttp2_session_mem_recv(library_.get(), reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    busy_ = false;
    if (!failing_ && used < 0) failing_ = breach_of(static_cast<int>(used));
    if (!failing_ && nghttp2_session_get_outbound_queue_size(library_.get()) > frames_queued_max())
        failing_ = flood_of("frames that must be answered, without reading the answers");
    if (!failing_) return {};
    break_off(*std::exchange(failing_, std::nullopt));
    return base::fail(*failed_);
}

// What our own streams may have queued at once is not the peer's doing: a head, trailers, a reset and a window each.
std::size_t session_core::frames_queued_max() const {
    const std::size_t streams = is_client() ? bounds_.streams_max : bounds_.peer_streams_max;
    return bounds_.control_frames_queued_max + 4 * streams;
}

bool session_core::drain(base::byte_queue& to, std::size_t bytes_max) {
    assert(!busy_ && "a handler must not drain");
    if (closed_) return false;
    const std::size_t before = to.size();
    out_ = &to;
    out_bytes_max_ = bytes_max;
    bool again = true;
    while (again) {
        launch();
        if (goodbye_due()) say_goodbye();
        busy_ = true;
        const int result = nghttp2_session_send(library_.get());
        busy_ = false;
        if (!failing_ && result < 0) failing_ = breach_of(result);
        again = can_launch() && to.size() < bytes_max;
        if (failing_) {
            // Once more for our GOAWAY, but a library that cannot send will not learn it.
            again = !failed_ && result == 0;
            break_off(*std::exchange(failing_, std::nullopt));
        }
    }
    out_ = nullptr;
    slots_.shrink();
    return to.size() > before;
}

bool session_core::wants_write() {
    return !closed_ && (nghttp2_session_want_write(library_.get()) != 0 || can_launch() || goodbye_due());
}

bool session_core::finished() {
    if (closed_) return true;
    return queue_.size() == 0 && nghttp2_session_want_read(library_.get()) == 0 &&
           nghttp2_session_want_write(library_.get()) == 0;
}

void session_core::ping(std::uint64_t payload) {
    if (!closed_ && !failed_)
        nghttp2_submit_ping(library_.get(), NGHTTP2_FLAG_NONE, reinterpret_cast<const std::uint8_t*>(&payload));
}

void session_core::shutdown() {
    if (closed_ || failed_ || std::exchange(shutting_down_, true)) return;
    going_away_ = true;
    if (is_client()) {
        goodbye_owed_ = true;
        close_queued(0, "the connection takes no new requests");
    } else {
        nghttp2_submit_goaway(library_.get(), NGHTTP2_FLAG_NONE,
                              nghttp2_session_get_last_proc_stream_id(library_.get()), NGHTTP2_NO_ERROR, nullptr, 0);
    }
}

void session_core::abandon(std::string_view why) {
    assert(!busy_ && "a handler must not abandon its session");
    if (std::exchange(closed_, true)) return;
    going_away_ = true;
    close_all(0, why);
}

void session_core::break_off(breach found) {
    if (failed_) return;
    failed_ = std::move(found.why);
    going_away_ = true;
    nghttp2_session_terminate_session(library_.get(), found.code);
    close_all(found.code, failed_->message);
}

slot* session_core::running(std::int32_t wire_id) {
    auto* s = static_cast<slot*>(nghttp2_session_get_stream_user_data(library_.get(), wire_id));
    // The library may still know a stream that is closed for us; its record may serve another by now.
    return s != nullptr && s->wire_id == wire_id && s->state == slot::phase::running ? s : nullptr;
}

void session_core::close(slot& s, ending how, std::uint32_t code, std::string_view detail) {
    const stream_key key = s.key;
    const bool announced = s.announced;
    if (s.state == slot::phase::running) {
        --open_;
        nghttp2_session_set_stream_user_data(library_.get(), s.wire_id, nullptr);
    }
    if (block_slot_ == &s) block_slot_ = nullptr;
    slots_.release(s);
    if (announced) owner_.on_close(key, how, code, detail);
}

void session_core::reset(slot& s, wire_code code, ending how, std::string_view detail) {
    nghttp2_submit_rst_stream(library_.get(), NGHTTP2_FLAG_NONE, s.wire_id, static_cast<std::uint32_t>(code));
    close(s, how, static_cast<std::uint32_t>(code), detail);
}

void session_core::cancel(stream_key stream, std::uint32_t code) {
    slot* s = slots_.find(stream);
    if (s == nullptr) return;
    if (s->state == slot::phase::queued) {
        queue_.remove(*s);
    } else if (!s->local_ended || !s->remote_ended) {
        nghttp2_submit_rst_stream(library_.get(), NGHTTP2_FLAG_NONE, s->wire_id, code);
    }
    close(*s, ending::cancelled, code, "cancelled");
}

void session_core::consume(stream_key stream, std::size_t bytes) {
    slot* s = slots_.find(stream);
    if (s == nullptr || s->state != slot::phase::running) return;
    const std::size_t given_back = std::min(bytes, s->unconsumed);
    s->unconsumed -= given_back;
    // What has ended needs no window.
    if (!s->remote_ended) nghttp2_session_consume_stream(library_.get(), s->wire_id, given_back);
}

void session_core::close_queued(std::uint32_t code, std::string_view why) {
    while (queue_place* place = queue_.first()) {
        queue_.remove(*place);
        close(static_cast<slot&>(*place), ending::refused, code, why);
    }
}

void session_core::close_all(std::uint32_t code, std::string_view why) {
    close_queued(code, why);
    for (std::size_t place = 0; place < slots_.places(); ++place) {
        slot& s = slots_.at(place);
        if (s.state == slot::phase::running) close(s, ending::lost, code, why);
    }
}

void session_core::refuse_after(std::int32_t last_wire_id, std::uint32_t code) {
    std::string why = "not processed: the peer is going away";
    if (code != NGHTTP2_NO_ERROR) why.append(" (").append(code_name(code)).append(")");
    close_queued(code, why);
    for (std::size_t place = 0; place < slots_.places(); ++place) {
        slot& s = slots_.at(place);
        if (s.state == slot::phase::running && s.wire_id > last_wire_id) close(s, ending::refused, code, why);
    }
}

}  // namespace cotrain::net::h2
