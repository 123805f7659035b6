// When a request may go, and when it goes again: sleeping coroutines, the rate limit, delays of retries.
#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <optional>

#include "base/asio.hpp"
#include "base/error.hpp"
#include "net/http.hpp"

namespace cotrain::kube {

// Coroutines that wait for a moment and can all be woken before it: backoff, throttling, a shared result.

// Single-threaded. Must outlive everyone who waits in it.
class sleepers {
   public:
    enum class outcome { slept, woken, cancelled };

    sleepers() = default;
    ~sleepers();
    sleepers(const sleepers&) = delete;
    sleepers& operator=(const sleepers&) = delete;

    [[nodiscard]] awaitable<outcome> until(std::chrono::steady_clock::time_point when);
    // They resume from the event loop, not on this stack.
    void wake_all();
    [[nodiscard]] std::size_t size() const { return waiting_.size(); }

   private:
    struct entry {
        asio::steady_timer* timer;
        bool woken = false;
    };
    struct membership;
    std::list<entry> waiting_;
};

// Client-side throttle: a token bucket whose waits are measured; lease renewals pass it by.

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

// What to do after one attempt of a request: a pure decision over its outcome, what was tried, and the time left.

// The budget of one request. Its deadline bounds everything.
struct retry_policy {
    unsigned throttled_max = 10;  // repeats after "not processed, come again": 429, 503 with Retry-After
    unsigned failing_max = 4;     // repeats after 500, 502, 503, 504 and lost connections
    std::chrono::milliseconds wait_first{100};
    std::chrono::milliseconds wait_max{2'000};          // a server that is back is noticed within this
    std::chrono::milliseconds retry_after_max{30'000};  // a peer that wishes for more gets this
};

// What happened so far to one request.
struct retry_state {
    unsigned throttled = 0;
    unsigned failing = 0;
    bool renewed = false;  // credentials or trust, after a 401 or a failed handshake
};

enum class verdict : std::uint8_t {
    give_up,  // the error is the caller's
    wait,     // for next_step::wait, then again
    renew     // credentials and trust; if that changes them, again at once
};

struct next_step {
    verdict what = verdict::give_up;
    std::chrono::milliseconds wait{0};
};

// Counts the attempt in `state`. `left` is the time to the deadline, `chance` uniform in [0, 1): it spreads waits so
// that many clients do not come back together. A wait that would not end before the deadline is not begun.
[[nodiscard]] next_step after_failure(const retry_policy& policy, retry_state& state, const base::error& failure,
                                      bool idempotent, std::chrono::milliseconds left, double chance);

}  // namespace cotrain::kube
