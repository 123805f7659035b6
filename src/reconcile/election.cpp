// When to read, take, renew and release the lease.
#include "reconcile/election.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace cotrain::reconcile {

std::string election_timing::mistake() const {
    if (retry_period.count() <= 0) return "retryPeriod must be greater than zero";
    // Two tries have to fit.
    if (renew_deadline <= 2 * retry_period) return "renewDeadline must be greater than twice retryPeriod";
    if (lease_duration <= renew_deadline) return "leaseDuration must be greater than renewDeadline";
    // A Lease counts whole seconds; less would tell the others to wait for less than we do.
    if (lease_duration.count() % 1000 != 0) return "leaseDuration must be whole seconds";
    return {};
}

// What others announce counts where it is longer than our own setting: never shorten somebody's lease.
moment election::expiry() const {
    return changed_at_ +
           std::max<std::chrono::milliseconds>(timing_.lease_duration, std::chrono::seconds(seen_.duration_seconds));
}

bool election::may_take(moment now) const { return absent_ || seen_.holder.empty() || ours() || now >= expiry(); }

moment election::give_up_at(moment now) const {
    const moment usual = now + timing_.try_timeout();
    return role_ == role::leader ? std::min(usual, leading_until()) : usual;
}

std::optional<std::chrono::milliseconds> election::write_time(moment now) const {
    if (!leading(now)) return std::nullopt;
    const auto left = std::chrono::floor<std::chrono::milliseconds>(leading_until() - now);
    return left.count() > 0 ? std::optional(left) : std::nullopt;
}

election::action election::read(moment now) {
    in_flight_ = true;
    sent_at_ = now;
    return {ask::read, give_up_at(now), {}};
}

election::action election::write(moment now, wall_micros wall) {
    in_flight_ = true;
    sent_at_ = now;
    lease_record lease;
    lease.holder = identity_;
    lease.duration_seconds = static_cast<std::int32_t>(timing_.lease_duration / std::chrono::seconds(1));
    lease.renew_time = wall;
    lease.acquire_time = wall;
    if (absent_) return {ask::create, give_up_at(now), std::move(lease)};
    lease.transitions = seen_.transitions;
    if (ours())
        lease.acquire_time = seen_.acquire_time;
    else
        ++lease.transitions;
    lease.resource_version = seen_.resource_version;
    return {ask::update, give_up_at(now), std::move(lease)};
}

election::action election::release(moment now, wall_micros wall) {
    in_flight_ = true;
    releasing_ = true;
    sent_at_ = now;
    lease_record lease = seen_;
    lease.holder.clear();
    lease.duration_seconds = 1;
    lease.renew_time = wall;
    return {ask::update, give_up_at(now), std::move(lease)};
}

election::action election::next(moment now, wall_micros wall, base::random_source& random) {
    if (role_ == role::leader && now >= leading_until()) role_ = role::lost;
    if (role_ == role::lost || role_ == role::released) return {ask::end, {}, {}};
    if (in_flight_) return {ask::answer, {}, {}};
    if (stopping_) {
        // Only what is certainly ours is given back.
        const bool give_back = role_ == role::leader && !leaving_;
        if (give_back && stale_) return read(now);
        if (give_back && ours() && !absent_) return release(now, wall);
        role_ = role::released;
        return {ask::end, {}, {}};
    }
    if (now < next_try_)
        return {ask::wait, role_ == role::leader ? std::min(next_try_, leading_until()) : next_try_, {}};
    if (stale_) return read(now);
    if (may_take(now)) return write(now, wall);
    // Somebody else leads. Chance keeps followers from asking all at once.
    stale_ = true;
    const double share = 1.0 + random.unit() * 0.2;
    const moment look = now + std::chrono::milliseconds(
                                  static_cast<std::int64_t>(static_cast<double>(timing_.retry_period.count()) * share));
    retry_at(std::min(look, expiry()));
    return {ask::wait, next_try_, {}};
}

void election::observe(lease_record seen, moment now) {
    if (!known_ || absent_ || seen != seen_) changed_at_ = now;
    seen_ = std::move(seen);
    known_ = true;
    absent_ = false;
    stale_ = false;
}

void election::watched(const std::optional<lease_record>& seen) {
    if (role_ != role::leader || stopping_) return;
    if (seen && seen->holder == identity_) return;
    role_ = role::lost;
    seen_ = seen.value_or(lease_record{});
}

void election::read_done(std::optional<lease_record> seen, moment now) {
    assert(in_flight_);
    in_flight_ = false;
    failures_ = 0;
    next_try_ = now;
    if (!seen) {
        known_ = absent_ = true;
        stale_ = false;
        seen_ = {};
        return;
    }
    observe(*std::move(seen), now);
    if (role_ == role::leader && !ours()) role_ = role::lost;
}

void election::read_failed(moment now) {
    assert(in_flight_);
    in_flight_ = false;
    stale_ = true;
    ++failures_;
    if (stopping_) role_ = role::released;
    retry_at(std::max(now, sent_at_ + timing_.retry_period));
}

void election::write_done(lease_record stored, moment now) {
    assert(in_flight_);
    in_flight_ = false;
    failures_ = 0;
    if (role_ == role::lost) return;  // a renewal from before that
    if (std::exchange(releasing_, false)) {
        observe(std::move(stored), now);
        role_ = role::released;
        return;
    }
    observe(std::move(stored), now);
    if (!ours()) {
        // A server does not do that; believe what it says.
        if (role_ == role::leader) role_ = role::lost;
        stale_ = true;
        return;
    }
    const bool in_time = now < sent_at_ + timing_.renew_deadline;
    if (role_ == role::leader && now >= leading_until()) {
        role_ = role::lost;
    } else if (in_time) {
        role_ = role::leader;
        renewed_at_ = sent_at_;
        retry_at(sent_at_ + timing_.retry_period);
    } else {
        retry_at(now);  // the lease is ours, but old already: renew before leading
    }
}

void election::write_conflict(moment now) {
    assert(in_flight_);
    in_flight_ = false;
    stale_ = true;
    if (std::exchange(releasing_, false)) return;
    // A follower that lost the race waits its turn; a leader has to know at once whether it was its own late write.
    retry_at(role_ == role::leader ? now : sent_at_ + timing_.retry_period);
}

void election::write_failed(moment now) {
    assert(in_flight_);
    in_flight_ = false;
    ++failures_;
    if (std::exchange(releasing_, false)) {
        role_ = role::released;  // others wait for the lease to run out
        return;
    }
    if (role_ != role::leader) stale_ = true;
    retry_at(std::max(now, sent_at_ + timing_.retry_period));
}

}  // namespace cotrain::reconcile
