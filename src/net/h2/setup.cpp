// How a session begins: the library's options and the SETTINGS that we announce.
#include <malloc.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <new>

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
    // Off: it reads the clock; flood_guard does the same with the time it is told.
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
    : as(which),
      bounds(within_protocol(with)),
      owner(who),
      block(with.header_list_bytes_max, with.headers_max),
      flood({.resets_burst = with.resets_burst,
             .resets_per_second = with.resets_per_second,
             .idle_frames_burst = with.idle_frames_burst,
             .idle_frames_per_second = with.idle_frames_per_second}) {
    create();
    introduce();
}

void session_core::create() {
    const auto option = options(as, bounds);
    nghttp2_session* raw = nullptr;
    nghttp2_mem mem = memory();  // copied
    const int failed_with = is_client() ? nghttp2_session_client_new3(&raw, &callbacks(), this, option.get(), &mem)
                                        : nghttp2_session_server_new3(&raw, &callbacks(), this, option.get(), &mem);
    if (failed_with != 0) throw std::bad_alloc();
    library.reset(raw);
}

void session_core::introduce() {
    const std::array<nghttp2_settings_entry, 6> settings{{
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, bounds.stream_window_bytes},
        {NGHTTP2_SETTINGS_MAX_FRAME_SIZE, bounds.frame_bytes_max},
        {NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, bounds.header_table_bytes},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, bounds.header_list_bytes_max},
        // The old priority tree only costs time here, and was a way to attack servers (RFC 9113, 5.3.2).
        {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},
        is_client() ? nghttp2_settings_entry{NGHTTP2_SETTINGS_ENABLE_PUSH, 0}
                    : nghttp2_settings_entry{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, bounds.peer_streams_max},
    }};
    nghttp2_submit_settings(library.get(), NGHTTP2_FLAG_NONE, settings.data(), settings.size());
    nghttp2_session_set_local_window_size(library.get(), NGHTTP2_FLAG_NONE, 0,
                                          static_cast<std::int32_t>(bounds.connection_window_bytes));
}

}  // namespace cotrain::net::h2
