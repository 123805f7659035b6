// What to do after one attempt of a request: a pure decision over its outcome, what was tried, and the time left.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/error.hpp"

namespace cotrain::kube {

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
