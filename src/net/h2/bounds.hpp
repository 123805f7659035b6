// What a peer may send: how often, by token buckets, and how large a block of headers. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "net/h2/session.hpp"
#include "net/http.hpp"

namespace cotrain::net::h2 {

// Token buckets that tell a busy peer from one that floods. Pure: seconds are passed in.

class token_bucket {
   public:
    token_bucket(std::uint32_t burst, std::uint32_t per_second)
        : burst_(burst), per_second_(per_second), tokens_(burst) {}

    // False when the bucket is empty.
    [[nodiscard]] bool take() {
        if (tokens_ == 0) return false;
        --tokens_;
        return true;
    }
    // Seconds since the last refill; time that does not move or runs backwards gives nothing.
    void refill(std::uint64_t seconds);
    [[nodiscard]] std::uint32_t tokens() const { return tokens_; }

   private:
    std::uint32_t burst_;
    std::uint32_t per_second_;
    std::uint32_t tokens_;
};

// What a peer of a server may do beyond sending requests.
class flood_guard {
   public:
    struct bounds {
        std::uint32_t resets_burst, resets_per_second, idle_frames_burst, idle_frames_per_second;
    };
    explicit flood_guard(bounds b)
        : resets_(b.resets_burst, b.resets_per_second), idle_(b.idle_frames_burst, b.idle_frames_per_second) {}

    void tick(std::uint64_t now_s);

    // Each returns false when the peer has done it too often.
    // A stream ended before its time by the peer, or by us because of what the peer sent (CVE-2023-44487,
    // CVE-2025-8671).
    [[nodiscard]] bool on_reset() { return resets_.take(); }
    // A frame that moves nothing forward (CVE-2019-9512, 9515, 9518).
    [[nodiscard]] bool on_idle_frame() { return idle_.take(); }
    // Window updates are free as long as data flows; without it they count as idle frames.
    [[nodiscard]] bool on_window_update() { return ++updates_since_data_ <= free_updates || idle_.take(); }
    void on_data_sent() { updates_since_data_ = 0; }

   private:
    static constexpr std::uint32_t free_updates = 64;

    token_bucket resets_;
    token_bucket idle_;
    std::uint64_t now_s_ = 0;
    bool ticked_ = false;
    std::uint32_t updates_since_data_ = 0;
};

// Collects one incoming header block under the bounds of a session. Blocks never interleave on a connection, so a
// session needs one.

// The size of a header as SETTINGS_MAX_HEADER_LIST_SIZE counts it (RFC 9113, 6.5.2).
[[nodiscard]] constexpr std::size_t counted_bytes(std::string_view name, std::string_view value) {
    return name.size() + value.size() + 32;
}

class header_block {
   public:
    header_block(std::uint32_t bytes_max, std::uint32_t headers_max)
        : bytes_max_(bytes_max), headers_max_(headers_max) {}

    void begin();
    // A header of which nothing is kept.
    void pass_over(std::string_view name, std::string_view value) { bytes_ += counted_bytes(name, value); }
    // False once a bound is exceeded; from then on nothing more is kept.
    bool add(std::string_view name, std::string_view value, bool sensitive);
    [[nodiscard]] bool over() const { return over_; }
    // What was decoded, kept or not.
    [[nodiscard]] std::size_t decoded_bytes() const { return bytes_; }
    [[nodiscard]] int status() const { return message_.status; }

    [[nodiscard]] head take_head() { return std::move(message_); }
    [[nodiscard]] header_list take_trailers() { return std::move(message_.headers); }

   private:
    void add_pseudo(std::string_view name, std::string_view value);

    std::uint32_t bytes_max_;
    std::uint32_t headers_max_;
    std::size_t bytes_ = 0;
    std::uint32_t count_ = 0;
    bool over_ = false;
    head message_;
};

}  // namespace cotrain::net::h2
