// Refilling of the flood buckets.
#include "net/h2/flood.hpp"

#include <algorithm>

namespace cotrain::net::h2 {

void token_bucket::refill(std::uint64_t seconds) {
    const std::uint64_t missing = burst_ - tokens_;
    // Compared before multiplying: a long silence must not overflow.
    const bool full = per_second_ != 0 && seconds >= (missing + per_second_ - 1) / per_second_;
    tokens_ += static_cast<std::uint32_t>(full ? missing : std::min(missing, seconds * per_second_));
}

void flood_guard::tick(std::uint64_t now_s) {
    if (ticked_ && now_s > now_s_) {
        resets_.refill(now_s - now_s_);
        idle_.refill(now_s - now_s_);
    }
    if (!ticked_ || now_s > now_s_) now_s_ = now_s;
    ticked_ = true;
}

}  // namespace cotrain::net::h2
