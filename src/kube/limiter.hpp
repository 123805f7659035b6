// Client-side throttle: a token bucket whose waits are measured; lease renewals pass it by.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/asio.hpp"
#include "base/error.hpp"
#include "kube/sleepers.hpp"
#include "net/http.hpp"

namespace cotrain::kube {

struct rate_limit {
    double qps = -1;  // negative or zero: unlimited
    double burst = 1;
};

// Pure: time is passed in. Callers are served in the order they ask; a grant may lie in the future.
class token_bucket {
   public:
    using clock = std::chrono::steady_clock;

    explicit token_bucket(rate_limit limit) : limit_(limit), tokens_(limit.burst < 1 ? 1 : limit.burst) {}

    // How long the caller has to wait for its token, which is taken now; nothing, and nothing taken, if that is longer
    // than `wait_max`.
    [[nodiscard]] std::optional<clock::duration> take(clock::time_point now, clock::duration wait_max);
    // From now on; who waits already keeps its turn.
    void change(rate_limit limit) {
        const bool began = unlimited();
        limit_ = limit;
        const double full = limit.burst < 1 ? 1 : limit.burst;
        if (began || tokens_ > full) tokens_ = full;
    }
    // A token that was taken and not used.
    void give_back() { tokens_ += 1; }
    [[nodiscard]] bool unlimited() const { return !(limit_.qps > 0); }

   private:
    rate_limit limit_;
    double tokens_;  // negative: owed to those who wait
    std::optional<clock::time_point> filled_at_;
};

class limiter {
   public:
    struct statistics {
        std::uint64_t waits = 0;
        std::chrono::nanoseconds waited{0};  // by all of them together
    };

    explicit limiter(rate_limit limit) : bucket_(limit) {}

    // Returns when the request may go; errc::deadline at once when its turn would come after `due`.
    [[nodiscard]] awaitable<base::result<>> admit(net::priority rank, std::chrono::steady_clock::time_point due);
    // Nobody waits: the common case, without a coroutine.
    [[nodiscard]] bool open(net::priority rank) const { return rank == net::priority::lease || bucket_.unlimited(); }
    void change(rate_limit limit) { bucket_.change(limit); }
    // Ends all waits with errc::canceled.
    void stop() { waiting_.wake_all(); }
    [[nodiscard]] const statistics& stats() const { return stats_; }

   private:
    token_bucket bucket_;
    sleepers waiting_;
    statistics stats_;
};

}  // namespace cotrain::kube
