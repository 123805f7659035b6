// Moves keys between waiting, delayed and running, and lets go of those that need nothing more.
#include "reconcile/controller_core.hpp"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <new>

namespace cotrain::reconcile {

namespace {

// Above this many slots, the memory of a storm is worth giving back.
constexpr std::uint32_t trim_slots_min = 1024;

}  // namespace

std::string reconcile_id(std::uint64_t number) {
    char digits[16];
    const auto end = std::to_chars(digits, digits + sizeof digits, number, 16).ptr;
    return std::string(16 - static_cast<std::size_t>(end - digits), '0').append(digits, end);
}

controller_core::controller_core(controller_limits limits, key_holder* holder)
    : limits_(limits), keys_(holder), retries_(limits.retry) {
    set_in_flight_max(limits_.in_flight_max);
}

void controller_core::set_in_flight_max(unsigned most) {
    running_.reserve(std::max(1U, most));
    limits_.in_flight_max = std::max(1U, most);
}

void controller_core::enqueue(slot s, work how, moment now) {
    delays_.cancel(s);
    if (!queue_.add(s, how)) return;
    added_at_[s] = now;
    ++metrics_.adds;
}

// With all the memory that the slot can ever need.
slot controller_core::slot_of(key k) {
    const std::uint32_t slots = keys_.slots() + 1;
    if (added_at_.size() < slots) {
        queue_.make_room(slots);
        delays_.make_room(slots);
        retries_.make_room(slots);
        added_at_.resize(slots);
    }
    return keys_.intern(k);
}

void controller_core::add(key k, work how, moment now) { enqueue(slot_of(k), how, now); }

void controller_core::add_after(key k, std::chrono::nanoseconds delay, moment now) {
    const slot s = slot_of(k);
    if (delay.count() <= 0) return enqueue(s, work::fresh, now);
    if (!queue_.waiting(s)) delays_.add(s, now + delay);
}

void controller_core::tick(moment now) {
    while (const auto s = delays_.take_due(now))
        enqueue(*s, retries_.failures(*s) == 0 ? work::fresh : work::backlog, now);
}

bool controller_core::ready() const {
    return !draining_ && running_.size() < limits_.in_flight_max && queue_.depth() != 0;
}

std::optional<controller_core::run> controller_core::start(moment now) {
    while (ready()) {
        const slot s = *queue_.take();
        if (parked(s, now)) {
            static_cast<void>(queue_.done(s));
            delays_.add(s, panics_.at(s).parked_until);
            continue;
        }
        metrics_.waited.observe(now - added_at_[s]);
        running_.push_back({s, now});
        return run{s, keys_.at(s), {.failures = retries_.failures(s), .number = limits_.first_run++}};
    }
    return std::nullopt;
}

// Until when it does not run. Without memory to count it, a panic is a failure like others.
moment controller_core::note_panic(slot s, moment now) noexcept {
    try {
        panics& all = panics_[s];
        if (++all.count >= panics_max) all.parked_until = now + parking;
        return all.parked_until;
    } catch (const std::bad_alloc&) {
        return now;
    }
}

bool controller_core::parked(slot s, moment now) const {
    const auto found = panics_.find(s);
    return found != panics_.end() && now < found->second.parked_until;
}

void controller_core::finish(slot id, outcome how, moment now) {
    const auto at = std::ranges::find(running_, id, &running::id);
    assert(at != running_.end());
    metrics_.worked.observe(now - at->since);
    *at = running_.back();
    running_.pop_back();

    std::chrono::nanoseconds delay{0};
    if (how.kind != outcome::what::panicked) panics_.erase(id);
    switch (how.kind) {
        case outcome::what::done:
            ++metrics_.done;
            retries_.forget(id);
            break;
        case outcome::what::again_after:
            ++metrics_.requeued;
            retries_.forget(id);
            delay = how.after;
            break;
        case outcome::what::failed:
            ++metrics_.errors;
            ++metrics_.retries;
            delay = retries_.failed(id, keys_.group(id), now, how.passing);
            // A moment that has come is no reason to hurry any more: this run was it.
            if (how.after.count() > 0) delay = std::min(delay, std::max(how.after, limits_.retry.first));
            break;
        case outcome::what::panicked:
            ++metrics_.errors;
            ++metrics_.retries;
            ++metrics_.panics;
            delay = std::max(retries_.failed(id, keys_.group(id), now), note_panic(id, now) - now);
            break;
    }
    if (queue_.done(id)) {
        added_at_[id] = std::min(added_at_[id], now);
        delays_.cancel(id);
    } else if (how.kind == outcome::what::again_after && delay.count() <= 0) {
        enqueue(id, work::fresh, now);
    } else if (how.kind != outcome::what::done) {
        delays_.add(id, now + delay);
    }
    drop_if_idle(id);
}

void controller_core::drop_if_idle(slot s) {
    if (!queue_.idle(s) || delays_.contains(s) || retries_.failures(s) != 0) return;
    keys_.release(s);
    if (keys_.size() != 0 || keys_.slots() < trim_slots_min) return;
    keys_.trim();
    queue_.trim();
    delays_.trim();
    retries_.trim();
    added_at_ = {};
}

std::chrono::nanoseconds controller_core::longest_running(moment now) const {
    std::chrono::nanoseconds longest{0};
    for (const running& r : running_) longest = std::max<std::chrono::nanoseconds>(longest, now - r.since);
    return longest;
}

std::chrono::nanoseconds controller_core::unfinished(moment now) const {
    std::chrono::nanoseconds sum{0};
    for (const running& r : running_) sum += now - r.since;
    return sum;
}

}  // namespace cotrain::reconcile
