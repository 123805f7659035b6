// Doubling delays, and the token bucket over them with the debts of each group.
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

// What came since pays the debts first, each the same; the rest is for all.
void retry_limit::refill(moment now) {
    const double seconds = started_ ? std::chrono::duration<double>(now - filled_at_).count() : 0;
    if (!started_ || now > filled_at_) filled_at_ = now;
    started_ = true;
    if (seconds <= 0) return;
    const auto debtors = static_cast<double>(std::ranges::count_if(owed_, [](double owed) { return owed > 0; }));
    double rest = seconds * policy_.qps;
    const double part = rest / std::max(1.0, debtors);
    for (double& owed : owed_) {
        const double paid = std::min(owed, part);
        owed -= paid;
        rest -= paid;
    }
    tokens_ = std::min(policy_.burst, tokens_ + rest);
}

// Who owes waits until its own tokens have come.
nanoseconds retry_limit::take_token(std::size_t group) {
    double& owed = owed_[group % owed_.size()];
    if (tokens_ >= 1 && owed <= 0) {
        tokens_ -= 1;
        return nanoseconds{0};
    }
    owed += 1;
    const auto debtors = static_cast<double>(std::ranges::count_if(owed_, [](double each) { return each > 0; }));
    return std::chrono::duration_cast<nanoseconds>(std::chrono::duration<double>(owed * debtors / policy_.qps));
}

nanoseconds retry_limit::failed(slot s, std::size_t group, moment now, bool passing) {
    make_room(s + 1);
    const nanoseconds own = own_delay(failures_[s], passing);
    if (failures_[s] < std::numeric_limits<std::uint8_t>::max()) ++failures_[s];
    if (policy_.qps <= 0) return own;
    refill(now);
    return std::max(own, take_token(group));
}

void retry_limit::forget(slot s) {
    if (s < failures_.size()) failures_[s] = 0;
}

}  // namespace cotrain::reconcile
