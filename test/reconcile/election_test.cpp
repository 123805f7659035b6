// Leader election: the rules one by one, then several candidates with skewed clocks on a faulty server.
#include "reconcile/election.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

namespace cotrain::reconcile {
namespace {

using namespace std::chrono_literals;
using ask = election::ask;
using role = election::role;

const wall_micros wall{std::chrono::microseconds(1'800'000'000'000'000)};

lease_record held_by(std::string holder, std::string version, std::int32_t transitions = 3) {
    lease_record l;
    l.holder = std::move(holder);
    l.duration_seconds = 15;
    l.transitions = transitions;
    l.resource_version = std::move(version);
    l.acquire_time = wall - 1h;
    l.renew_time = wall - 1h;
    return l;
}

struct world {
    election e{"me", {}};
    moment now{1000s};
    base::random_source random{1};

    election::action next() { return e.next(now, wall, random); }
    void lead() {
        EXPECT_EQ(next().what, ask::read);
        e.read_done(std::nullopt, now);
        election::action a = next();
        EXPECT_EQ(a.what, ask::create);
        a.lease.resource_version = "1";
        e.write_done(a.lease, now);
        EXPECT_TRUE(e.leading(now));
    }
};

TEST(election, creates_a_lease_that_is_not_there) {
    world w;
    EXPECT_EQ(w.next().what, ask::read);
    EXPECT_EQ(w.next().what, ask::answer);
    w.e.read_done(std::nullopt, w.now);
    const auto a = w.next();
    ASSERT_EQ(a.what, ask::create);
    EXPECT_EQ(a.lease.holder, "me");
    EXPECT_EQ(a.lease.duration_seconds, 15);
    EXPECT_EQ(a.lease.transitions, 0);
    EXPECT_EQ(a.lease.renew_time, wall);
    EXPECT_EQ(a.lease.acquire_time, wall);
    EXPECT_FALSE(w.e.leading(w.now));
    EXPECT_EQ(a.until, w.now + 4s);
}

TEST(election, renews_every_two_seconds_from_when_the_request_was_sent) {
    world w;
    w.lead();
    const moment led = w.now;
    auto a = w.next();
    EXPECT_EQ(a.what, ask::wait);
    EXPECT_EQ(a.until, led + 2s);
    w.now = led + 2s;
    a = w.next();
    ASSERT_EQ(a.what, ask::update);
    EXPECT_EQ(a.lease.resource_version, "1");
    EXPECT_EQ(a.lease.transitions, 0);
    w.now += 1s;
    a.lease.resource_version = "2";
    w.e.write_done(a.lease, w.now);
    EXPECT_EQ(w.e.leading_until(), led + 12s);
    EXPECT_EQ(w.next().until, led + 4s);
}

TEST(election, waits_for_as_long_as_the_lease_was_seen_unchanged_whatever_the_times_in_it) {
    world w;
    EXPECT_EQ(w.next().what, ask::read);
    w.e.read_done(held_by("other", "7"), w.now);  // renewed an hour ago by the other's clock
    const moment seen = w.now;
    while (w.now < seen + 15s) {
        const auto a = w.next();
        if (a.what == ask::wait) {
            ASSERT_GT(a.until, w.now);
            w.now = a.until;
            continue;
        }
        ASSERT_EQ(a.what, ask::read) << "wrote " << (w.now - seen).count() << " ns after the last change";
        w.e.read_done(held_by("other", "7"), w.now);
    }
    auto a = w.next();
    if (a.what == ask::read) {
        w.e.read_done(held_by("other", "7"), w.now);
        a = w.next();
    }
    ASSERT_EQ(a.what, ask::update);
    EXPECT_EQ(w.now, seen + 15s);
    EXPECT_EQ(a.lease.transitions, 4);
    EXPECT_EQ(a.lease.resource_version, "7");
    EXPECT_EQ(a.lease.acquire_time, wall);
}

TEST(election, each_change_starts_the_wait_anew) {
    world w;
    int version = 0;
    for (int i = 0; i < 200; ++i) {
        const auto a = w.next();
        if (a.what == ask::wait) {
            w.now = a.until;
            continue;
        }
        ASSERT_EQ(a.what, ask::read);
        w.e.read_done(held_by("other", std::to_string(++version)), w.now);
    }
    EXPECT_EQ(w.e.holder(), "other");
}

TEST(election, takes_a_released_lease_at_once) {
    world w;
    EXPECT_EQ(w.next().what, ask::read);
    w.e.read_done(held_by("", "9"), w.now);
    const auto a = w.next();
    ASSERT_EQ(a.what, ask::update);
    EXPECT_EQ(a.lease.transitions, 4);
}

TEST(election, survives_one_slow_renewal) {
    world w;
    w.lead();
    const moment led = w.now;
    w.now = led + 2s;
    auto a = w.next();
    ASSERT_EQ(a.what, ask::update);
    EXPECT_EQ(a.until, led + 6s);
    w.now = a.until;  // hangs until it is given up
    w.e.write_failed(w.now);
    a = w.next();
    ASSERT_EQ(a.what, ask::update);
    EXPECT_LE(a.until, led + 10s);
    // The first one had arrived: ours is refused, and the lease says why.
    w.now += 100ms;
    w.e.write_conflict(w.now);
    ASSERT_EQ(w.next().what, ask::read);
    auto mine = held_by("me", "2", 0);
    w.e.read_done(mine, w.now);
    a = w.next();
    ASSERT_EQ(a.what, ask::update);
    EXPECT_EQ(a.lease.resource_version, "2");
    w.now += 100ms;
    a.lease.resource_version = "3";
    w.e.write_done(a.lease, w.now);
    EXPECT_TRUE(w.e.leading(w.now));
    EXPECT_EQ(w.e.state(), role::leader);
}

TEST(election, asks_for_nothing_beyond_the_deadline) {
    world w;
    w.lead();
    const moment led = w.now;
    for (;;) {
        const auto a = w.next();
        if (a.what == ask::end) break;
        ASSERT_LE(a.until, led + 10s);
        if (a.what == ask::wait) {
            w.now = a.until;
            continue;
        }
        ASSERT_LT(w.now, led + 10s);
        w.now = std::min(a.until, w.now + 100ms);
        w.e.write_failed(w.now);
    }
    EXPECT_EQ(w.now, led + 10s);
    EXPECT_FALSE(w.e.leading(led + 10s));
    EXPECT_EQ(w.e.state(), role::lost);
}

TEST(election, a_write_gets_the_rest_of_the_lease_and_none_begins_without) {
    world w;
    EXPECT_EQ(w.e.write_time(w.now), std::nullopt);
    w.lead();
    const moment led = w.now;
    EXPECT_EQ(w.e.write_time(led), 10s);
    EXPECT_EQ(w.e.write_time(led + 4s), 6s);
    EXPECT_EQ(w.e.write_time(led + 4s + 1us), 5999ms) << "never beyond the end";
    EXPECT_EQ(w.e.write_time(led + 10s - 1ms), 1ms);
    EXPECT_EQ(w.e.write_time(led + 10s - 1us), std::nullopt) << "no time at all would mean as much as one likes";
    EXPECT_EQ(w.e.write_time(led + 10s), std::nullopt);
    w.now = led + 2s;
    auto a = w.next();
    w.now = led + 5s;
    EXPECT_EQ(w.e.write_time(w.now), 5s) << "a renewal under way is none";
    a.lease.resource_version = "2";
    w.e.write_done(a.lease, w.now);
    EXPECT_EQ(w.e.write_time(w.now), 7s) << "it counts from when it was sent";
}

TEST(election, a_process_that_was_stopped_does_not_lead_when_it_wakes) {
    world w;
    w.lead();
    w.now += 2s;
    auto a = w.next();
    ASSERT_EQ(a.what, ask::update);
    w.now += 60s;
    EXPECT_FALSE(w.e.leading(w.now));
    a.lease.resource_version = "2";
    w.e.write_done(a.lease, w.now);
    EXPECT_FALSE(w.e.leading(w.now));
    EXPECT_EQ(w.next().what, ask::end);
}

TEST(election, an_answer_that_comes_too_late_is_renewed_before_leading) {
    world w;
    EXPECT_EQ(w.next().what, ask::read);
    w.e.read_done(std::nullopt, w.now);
    auto a = w.next();
    w.now += 11s;
    a.lease.resource_version = "1";
    w.e.write_done(a.lease, w.now);
    EXPECT_FALSE(w.e.leading(w.now));
    a = w.next();
    ASSERT_EQ(a.what, ask::update);
    EXPECT_EQ(a.lease.transitions, 0);
}

TEST(election, loses_at_once_when_another_holds_the_lease) {
    world w;
    w.lead();
    w.now += 2s;
    EXPECT_EQ(w.next().what, ask::update);
    w.e.write_conflict(w.now);
    EXPECT_EQ(w.next().what, ask::read);
    w.e.read_done(held_by("other", "5"), w.now);
    EXPECT_FALSE(w.e.leading(w.now));
    EXPECT_EQ(w.next().what, ask::end);
    EXPECT_EQ(w.e.state(), role::lost);
}

TEST(election, makes_a_deleted_lease_anew) {
    world w;
    w.lead();
    w.now += 2s;
    EXPECT_EQ(w.next().what, ask::update);
    w.e.write_conflict(w.now);
    EXPECT_EQ(w.next().what, ask::read);
    w.e.read_done(std::nullopt, w.now);
    EXPECT_EQ(w.next().what, ask::create);
}

TEST(election, gives_the_lease_back) {
    world w;
    w.lead();
    w.e.stop();
    auto a = w.next();
    ASSERT_EQ(a.what, ask::update);
    EXPECT_EQ(a.lease.holder, "");
    EXPECT_EQ(a.lease.resource_version, "1");
    // Refused because a renewal that seemed lost came through: look, and release that one.
    w.e.write_conflict(w.now);
    ASSERT_EQ(w.next().what, ask::read);
    w.e.read_done(held_by("me", "2"), w.now);
    a = w.next();
    ASSERT_EQ(a.what, ask::update);
    EXPECT_EQ(a.lease.resource_version, "2");
    w.e.write_done(a.lease, w.now);
    EXPECT_EQ(w.next().what, ask::end);
    EXPECT_EQ(w.e.state(), role::released);
    EXPECT_FALSE(w.e.leading(w.now));
}

TEST(election, leaves_the_lease_to_run_out) {
    world w;
    w.lead();
    w.e.leave();
    EXPECT_FALSE(w.e.leading(w.now));
    EXPECT_EQ(w.e.write_time(w.now), std::nullopt);
    EXPECT_EQ(w.next().what, ask::end);
    EXPECT_EQ(w.e.state(), role::released);
}

TEST(election, leads_no_more_when_a_renewal_is_answered_after_it_left) {
    world w;
    w.lead();
    w.now += 2s;
    auto a = w.next();
    ASSERT_EQ(a.what, ask::update);
    w.e.leave();
    EXPECT_EQ(w.next().what, ask::answer);
    a.lease.resource_version = "2";
    w.e.write_done(a.lease, w.now);
    EXPECT_FALSE(w.e.leading(w.now));
    EXPECT_EQ(w.next().what, ask::end);
}

TEST(election, a_follower_stops_without_a_request) {
    world w;
    EXPECT_EQ(w.next().what, ask::read);
    w.e.stop();
    EXPECT_EQ(w.next().what, ask::answer);
    w.e.read_done(held_by("other", "1"), w.now);
    EXPECT_EQ(w.next().what, ask::end);
    EXPECT_EQ(w.e.state(), role::released);
}

TEST(election, refuses_timings_that_cannot_work) {
    EXPECT_EQ(election_timing{}.mistake(), "");
    EXPECT_NE((election_timing{10s, 10s, 2s}).mistake(), "");
    EXPECT_NE((election_timing{15s, 4s, 2s}).mistake(), "");
    EXPECT_NE((election_timing{15s, 10s, 0s}).mistake(), "");
    EXPECT_NE((election_timing{15500ms, 10s, 2s}).mistake(), "");
}

// One lease on a server that loses requests and answers, and is slow.
struct simulated_lease {
    std::optional<lease_record> stored;
    int version = 0;

    bool create(lease_record l) {
        if (stored) return false;
        l.resource_version = std::to_string(++version);
        stored = std::move(l);
        return true;
    }
    bool update(lease_record l) {
        if (!stored || stored->resource_version != l.resource_version) return false;
        l.resource_version = std::to_string(++version);
        stored = std::move(l);
        return true;
    }
};

struct candidate {
    explicit candidate(int n) : name("candidate-" + std::to_string(n)), machine(name, {}) {}

    std::string name;
    election machine;
    moment skew{};     // of its own steady clock
    moment wakes{};    // in true time
    moment applies{};  // when its request reaches the server, in true time; never: lost
    bool in_flight = false;
    election::action request;
    enum class fate : std::uint8_t { none, stored, refused, seen } result = fate::none;
    std::optional<lease_record> answer;
};

void reach_server(candidate& c, simulated_lease& server) {
    using fate = candidate::fate;
    if (c.request.what == ask::read) {
        c.result = fate::seen;
        c.answer = server.stored;
        return;
    }
    const bool good = c.request.what == ask::create ? server.create(c.request.lease) : server.update(c.request.lease);
    c.result = good ? fate::stored : fate::refused;
    if (good) c.answer = server.stored;
}

void take_answer(candidate& c, moment own, bool answered) {
    using fate = candidate::fate;
    c.in_flight = false;
    const bool reading = c.request.what == ask::read;
    if (!answered || c.result == fate::none)
        reading ? c.machine.read_failed(own) : c.machine.write_failed(own);
    else if (reading)
        c.machine.read_done(c.answer, own);
    else if (c.result == fate::stored)
        c.machine.write_done(*c.answer, own);
    else
        c.machine.write_conflict(own);
}

// Never two leaders at any moment, and always one again soon after the faults end.
TEST(election, never_has_two_leaders_under_faults) {
    int changes = 0;
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        base::random_source random(seed);
        simulated_lease server;
        std::vector<candidate> all;
        for (int n = 0; n < 3; ++n) {
            all.emplace_back(n);
            all.back().skew = moment{std::chrono::seconds(random.next() % 1'000'000)};
        }
        std::string last;
        const auto run_until = [&](moment from, moment end, bool faulty) {
            for (moment t = from; t < end; t += 50ms) {
                int leaders = 0;
                for (candidate& c : all) {
                    const moment own = c.skew + t.time_since_epoch();
                    if (c.machine.leading(own)) {
                        ++leaders;
                        if (c.name != last) ++changes;
                        last = c.name;
                    }
                }
                ASSERT_LE(leaders, 1) << "seed " << seed;
                for (candidate& c : all) {
                    const moment own = c.skew + t.time_since_epoch();
                    if (c.in_flight && c.result == candidate::fate::none && t >= c.applies) reach_server(c, server);
                    if (t < c.wakes) continue;  // also a stopped process
                    if (c.in_flight) take_answer(c, own, own < c.request.until);
                    if (faulty && random.next() % 400 == 0) {
                        c.wakes = t + std::chrono::milliseconds(random.next() % 30'000);  // SIGSTOP
                        continue;
                    }
                    const wall_micros skewed = wall + std::chrono::seconds(random.next() % 100'000);
                    const auto a = c.machine.next(own, skewed, random);
                    if (a.what == ask::end) {
                        c.machine = election(c.name, {});  // restarts
                        continue;
                    }
                    if (a.what == ask::wait) {
                        c.wakes = t + (a.until - own);
                        continue;
                    }
                    c.in_flight = true;
                    c.request = a;
                    c.result = candidate::fate::none;
                    c.answer.reset();
                    const auto dice = random.next() % 10;
                    const auto slow = std::chrono::milliseconds(random.next() % (faulty && dice < 3 ? 6000 : 150));
                    c.applies = faulty && dice == 9 ? moment::max() : t + slow;
                    c.wakes = t + std::min<moment::duration>(a.until - own, slow + (faulty && dice < 5 ? slow : 50ms));
                }
            }
        };
        run_until(moment{0s}, moment{300s}, true);
        run_until(moment{300s}, moment{360s}, false);
        int leaders = 0;
        for (const candidate& c : all) leaders += c.machine.leading(c.skew + 360s) ? 1 : 0;
        EXPECT_EQ(leaders, 1) << "seed " << seed;
    }
    EXPECT_GT(changes, 250);  // 200 first leaders, and the faults did change some
}

TEST(election, who_sees_its_lease_deleted_or_taken_leads_no_more) {
    for (const bool deleted : {true, false}) {
        world w;
        w.lead();
        w.e.watched(held_by("me", "5"));
        EXPECT_TRUE(w.e.leading(w.now));
        w.e.watched(deleted ? std::nullopt : std::optional(held_by("other", "6")));
        EXPECT_FALSE(w.e.leading(w.now));
        EXPECT_FALSE(w.e.write_time(w.now));
        EXPECT_EQ(w.e.state(), role::lost);
        EXPECT_EQ(w.e.holder(), deleted ? "" : "other");
        EXPECT_EQ(w.next().what, ask::end);
    }
}

TEST(election, a_renewal_that_was_under_way_brings_nothing_back) {
    world w;
    w.lead();
    w.now += 2s;
    auto renewal = w.next();
    ASSERT_EQ(renewal.what, ask::update);
    w.e.watched(std::nullopt);
    renewal.lease.resource_version = "2";
    w.e.write_done(renewal.lease, w.now);
    EXPECT_FALSE(w.e.leading(w.now));
    EXPECT_EQ(w.next().what, ask::end);
}

TEST(election, what_is_watched_concerns_leaders_only) {
    world w;
    w.e.watched(std::nullopt);
    w.e.watched(held_by("other", "6"));
    EXPECT_EQ(w.next().what, ask::read);
    w.e.read_done(std::nullopt, w.now);
    world stopping;
    stopping.lead();
    stopping.e.stop();
    const auto release = stopping.next();
    ASSERT_EQ(release.what, ask::update);
    stopping.e.watched(release.lease);  // heard before the answer
    auto stored = release.lease;
    stopping.e.write_done(stored, stopping.now);
    EXPECT_EQ(stopping.e.state(), role::released);
}

}  // namespace
}  // namespace cotrain::reconcile
