// Doubling delays, and the bucket over them.
#include "reconcile/retry_limit.hpp"

#include <algorithm>
#include <limits>

#include "reconcile/missing_rights.hpp"

namespace cotrain::reconcile {

using std::chrono::nanoseconds;

retry_limit::retry_limit(retry_policy policy) : policy_(policy), bucket_(policy.qps, policy.burst) {}

bool is_passing(const base::error& e) { return e.again != base::retry::never || missing_rights::are_told_by(e); }

nanoseconds retry_limit::own_delay(unsigned failures, bool passing) const {
    const nanoseconds ceiling = passing ? std::min(policy_.passing_ceiling, policy_.ceiling) : policy_.ceiling;
    nanoseconds delay = policy_.first;
    for (unsigned i = 0; i < failures && delay < ceiling; ++i) delay *= 2;
    return std::min(delay, ceiling);
}

nanoseconds retry_limit::failed(slot s, std::size_t group, moment now, bool passing) {
    make_room(s + 1);
    const nanoseconds own = own_delay(failures_[s], passing);
    if (failures_[s] < std::numeric_limits<std::uint8_t>::max()) ++failures_[s];
    if (policy_.qps <= 0) return own;
    return std::max(own, bucket_.wait(*bucket_.take(group, now), now));
}

void retry_limit::forget(slot s) {
    if (s < failures_.size()) failures_[s] = 0;
}

}  // namespace cotrain::reconcile
