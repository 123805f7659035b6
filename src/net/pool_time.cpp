// The clock of net::client: one timer for all deadlines, pings and graces.
#include <algorithm>
#include <utility>

#include "net/pool.hpp"

namespace cotrain::net {

void client::impl::arm(exchange& what, time_point when) {
    disarm(what);
    what.alarm = deadlines_.emplace_hint(deadlines_.end(), when, &what);
    what.alarmed = true;
    wake_at(when);
}

void client::impl::disarm(exchange& what) {
    if (std::exchange(what.alarmed, false)) deadlines_.erase(what.alarm);
}

void client::impl::wake_at(time_point when) {
    if (when >= alarm_at_) return;
    alarm_at_ = when;
    alarm_.cancel();
}

awaitable<void> client::impl::keep_time() {
    for (;;) {
        alarm_at_ = sweep(std::chrono::steady_clock::now());
        alarm_.expires_at(alarm_at_);
        co_await alarm_.async_wait(use_tuple);
    }
}

// Does what is due and returns when something is due next.
time_point client::impl::sweep(time_point now) {
    alarm_at_ = time_point::min();  // nobody needs to wake us meanwhile
    while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
        exchange& what = *deadlines_.begin()->second;
        disarm(what);
        if (now < what.deadline) {
            hedge(what, now);
        } else {
            expire(what);
        }
    }
    time_point next = time_point::max();
    for (const auto& link : std::vector(connections_)) {
        next = std::min(next, link->tick(now));
        if (!link->draining()) continue;
        const time_point end = link->drain_since + options_.drain;
        if (end <= now) {
            link->end_streams("the connection was replaced, and the stream did not end in time");
        } else {
            next = std::min(next, end);
        }
    }
    if (shaking_ != nullptr) {
        if (shaking_until_ <= now) {
            shaking_->close();
        } else {
            next = std::min(next, shaking_until_);
        }
    }
    return deadlines_.empty() ? next : std::min(next, deadlines_.begin()->first);
}

void client::impl::expire(exchange& what) {
    const bool streams = !what.whole && what.status != 0;
    std::string text = streams ? peer_ + ": the answer did not end in time"
                               : peer_ + ": no answer within " + std::to_string(what.what.deadline.count()) + " ms";
    if (what.on == nullptr && !trouble_.empty()) text += "; not connected: " + trouble_;
    const bool sent = what.on != nullptr;
    if (sent) what.on->cancel(what);
    fail(what,
         base::make_error(base::errc::deadline, sent ? base::retry::idempotent : base::retry::later, std::move(text)));
}

void client::impl::on_late(exchange& what) { expire(what); }

// Asks a connection that may be dead for a sign of life, and moves a lease renewal away from it, if that may happen
// twice. Whatever else the connection carries stays: the peer may only be slow.
void client::impl::hedge(exchange& what, time_point now) {
    arm(what, what.deadline);
    if (what.on == nullptr || what.status != 0 || std::exchange(what.hedged, true)) return;
    connection& doubtful = *what.on;
    doubtful.pulse().doubt(now);
    if (what.what.idempotent) enqueue(doubtful.release(what));
}

}  // namespace cotrain::net
