// Leader election on a Lease as a state machine: leases and time go in, requests to make come out.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/random.hpp"
#include "reconcile/delay_queue.hpp"

namespace cotrain::reconcile {

using wall_micros = std::chrono::sys_time<std::chrono::microseconds>;

struct election_timing {
    std::chrono::milliseconds lease_duration{15'000};  // others wait this long after the last change they saw
    std::chrono::milliseconds renew_deadline{10'000};  // we stop leading this long after our last renewal was sent
    std::chrono::milliseconds retry_period{2'000};     // between tries

    // Empty if usable, else what is wrong: "leaseDuration must be greater than renewDeadline".
    [[nodiscard]] std::string mistake() const;
    // One request may take this long, so that a hung one leaves time for a second within the deadline.
    [[nodiscard]] std::chrono::milliseconds try_timeout() const { return (renew_deadline - retry_period) / 2; }
};

// What the election reads and writes of a Lease.
struct lease_record {
    std::string holder{};  // empty: released
    std::int32_t duration_seconds = 0;
    wall_micros acquire_time{};
    wall_micros renew_time{};
    std::int32_t transitions = 0;
    std::string resource_version{};  // guards updates; empty in one that is created

    [[nodiscard]] bool operator==(const lease_record&) const = default;
};

// Rules that keep two leaders apart:
// - Time is measured here only, from the moment a *change* of the lease was seen: clocks of other machines, as
//   written into the lease, are never compared with ours.
// - A renewal counts from when its request was sent, and leading() ends at the deadline whatever is in flight.
// - No request is made for later than the deadline, and every update carries the resourceVersion that it is based on.
class election {
   public:
    enum class role : std::uint8_t {
        follower,
        leader,
        lost,     // led, and does no more: for good
        released  // gave the lease back, leaves it to run out, or never had it when it was told to stop
    };
    enum class ask : std::uint8_t {
        read,    // GET the lease, then read_done() or read_failed()
        create,  // POST `lease`, then write_done(), write_conflict() (it exists) or write_failed()
        update,  // PUT `lease`, then the same
        wait,    // call next() again at `until`, or after stop()
        answer,  // a request is under way: nothing to do before its answer
        end      // role() is lost or released
    };
    struct action {
        ask what = ask::answer;
        moment until{};  // of wait; of a request: when to give it up
        lease_record lease{};
    };

    election(std::string identity, election_timing timing) : identity_(std::move(identity)), timing_(timing) {}

    [[nodiscard]] action next(moment now, wall_micros wall, base::random_source& random);
    void read_done(std::optional<lease_record> seen, moment now);  // nothing: there is no lease
    void read_failed(moment now);
    void write_done(lease_record stored, moment now);
    void write_conflict(moment now);
    // No answer, or another refusal; the write may have happened.
    void write_failed(moment now);
    // What a watch told of the lease, in a state not older than the last one written; nothing: it was deleted. Another
    // replica may lead from then on, so who leads does so no more. It says nothing to others: they read it themselves.
    void watched(const std::optional<lease_record>& seen);
    // Gives the lease back if it is ours; then next() says end.
    void stop() { stopping_ = true; }
    // Leads no more, and leaves the lease to run out; next() says end.
    void leave() { stopping_ = leaving_ = true; }

    // The gate of every write to the cluster.
    [[nodiscard]] bool leading(moment now) const {
        return role_ == role::leader && !leaving_ && now < renewed_at_ + timing_.renew_deadline;
    }
    [[nodiscard]] moment leading_until() const { return renewed_at_ + timing_.renew_deadline; }
    // How long a write that starts now may take, so that it ends while nobody else can lead; nothing: none may start.
    [[nodiscard]] std::optional<std::chrono::milliseconds> write_time(moment now) const;
    [[nodiscard]] role state() const { return role_; }
    // A read or a write whose outcome was not reported.
    [[nodiscard]] bool under_way() const { return in_flight_; }
    // Who held the lease when it was seen last.
    [[nodiscard]] const std::string& holder() const { return seen_.holder; }
    // The lease as it was read or written last.
    [[nodiscard]] const std::string& version() const { return seen_.resource_version; }
    // How often the Lease changed hands, as it says itself.
    [[nodiscard]] std::int32_t transitions() const { return seen_.transitions; }
    // Failed tries in a row.
    [[nodiscard]] unsigned failures() const { return failures_; }

   private:
    void observe(lease_record seen, moment now);
    [[nodiscard]] bool ours() const { return known_ && seen_.holder == identity_; }
    [[nodiscard]] bool may_take(moment now) const;
    [[nodiscard]] moment expiry() const;
    [[nodiscard]] action write(moment now, wall_micros wall);
    [[nodiscard]] action read(moment now);
    [[nodiscard]] action release(moment now, wall_micros wall);
    [[nodiscard]] moment give_up_at(moment now) const;
    void retry_at(moment when) { next_try_ = when; }

    std::string identity_;
    election_timing timing_;
    role role_ = role::follower;
    lease_record seen_{};
    bool known_ = false;   // a read or write has shown the lease, present or absent
    bool absent_ = false;  // there is none
    bool stale_ = true;    // read before the next write
    bool in_flight_ = false;
    bool releasing_ = false;
    bool stopping_ = false;
    bool leaving_ = false;
    moment changed_at_{};  // when seen_ was seen to change
    moment sent_at_{};     // of the request in flight
    moment renewed_at_{};
    moment next_try_{};
    unsigned failures_ = 0;
};

}  // namespace cotrain::reconcile
