// Token buckets that tell a busy peer from one that floods. Pure: seconds are passed in.
#pragma once

#include <cstdint>

namespace cotrain::net::h2 {

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
    // Seconds since the last refill; time that stands still or runs backwards gives nothing.
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

}  // namespace cotrain::net::h2
