#include "reconcile/fair_bucket.hpp"

#include <algorithm>
#include <utility>

namespace cotrain::reconcile {

double fair_bucket::owed_until(turn last) const {
    std::uint64_t owed = 0;
    for (std::size_t place = 0; place < places; ++place) {
        const turn end = std::min(last, last_[place]);
        if (const turn first = first_of(place); first <= end) owed += (end - first) / places + 1;
    }
    return static_cast<double>(owed);
}

std::optional<fair_bucket::turn> fair_bucket::next() const {
    std::optional<turn> soonest;
    for (std::size_t place = 0; place < places; ++place)
        if (const turn first = first_of(place); first <= last_[place] && first <= soonest.value_or(first))
            soonest = first;
    return soonest;
}

// What came since goes to those who wait, in turn; what is left is kept for a burst.
void fair_bucket::refill(moment now) {
    const double seconds = filled_at_ ? std::chrono::duration<double>(now - *filled_at_).count() : 0;
    if (!filled_at_ || seconds > 0) filled_at_ = now;
    tokens_ += std::max(0.0, seconds) * rate_;
    for (; tokens_ >= 1; tokens_ -= 1) {
        const auto first = next();
        if (!first) break;
        served_ = *first;
    }
    tokens_ = std::min(tokens_, burst_);
}

std::optional<fair_bucket::turn> fair_bucket::take(std::size_t group, moment now, nanoseconds longest) {
    refill(now);
    if (tokens_ >= 1) {
        tokens_ -= 1;
        return served_;
    }
    const std::size_t place = group % places;
    const turn before = std::exchange(last_[place], std::max(first_of(place), last_[place] + places));
    if (wait(last_[place], now) <= longest) return last_[place];
    last_[place] = before;
    return std::nullopt;
}

fair_bucket::nanoseconds fair_bucket::wait(turn mine, moment now) {
    refill(now);
    if (mine <= served_) return nanoseconds{0};
    const std::chrono::duration<double> seconds((owed_until(mine) - tokens_) / rate_);
    return std::chrono::ceil<std::chrono::microseconds>(seconds);
}

}  // namespace cotrain::reconcile
