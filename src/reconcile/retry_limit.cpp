// Doubling delays and the token bucket over them.
#include "reconcile/retry_limit.hpp"

#include <algorithm>
#include <limits>

#include "reconcile/missing_rights.hpp"

namespace cotrain::reconcile {

using std::chrono::nanoseconds;

retry_limit::retry_limit(retry_policy policy) : policy_(policy), tokens_(policy.burst) {}

bool is_passing(const base::error& e) { return e.again != base::retry::never || missing_rights::are_told_by(e); }

nanoseconds retry_limit::own_delay(unsigned failures, bool passing) const {
    const nanoseconds ceiling = passing ? std::min(policy_.passing_ceiling, policy_.ceiling) : policy_.ceiling;
    nanoseconds delay = policy_.first;
    for (unsigned i = 0; i < failures && delay < ceiling; ++i) delay *= 2;
    return std::min(delay, ceiling);
}

// Tokens may be owed: each debtor waits until its own token has come.
nanoseconds retry_limit::take_token(moment now) {
    if (policy_.qps <= 0) return nanoseconds{0};
    if (started_ && now > filled_at_) {
        const double seconds = std::chrono::duration<double>(now - filled_at_).count();
        tokens_ = std::min(policy_.burst, tokens_ + seconds * policy_.qps);
    }
    if (!started_ || now > filled_at_) filled_at_ = now;
    started_ = true;
    tokens_ -= 1;
    if (tokens_ >= 0) return nanoseconds{0};
    return std::chrono::duration_cast<nanoseconds>(std::chrono::duration<double>(-tokens_ / policy_.qps));
}

nanoseconds retry_limit::failed(slot s, moment now, bool passing) {
    make_room(s + 1);
    const nanoseconds own = own_delay(failures_[s], passing);
    if (failures_[s] < std::numeric_limits<std::uint8_t>::max()) ++failures_[s];
    return std::max(own, take_token(now));
}

void retry_limit::forget(slot s) {
    if (s < failures_.size()) failures_[s] = 0;
}

}  // namespace cotrain::reconcile
