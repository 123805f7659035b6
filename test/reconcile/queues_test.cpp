// Work queue, delaying queue and retry limits against simple models under seeded chance.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <map>
#include <set>
#include <vector>

#include "base/random.hpp"
#include "reconcile/delay_queue.hpp"
#include "reconcile/fair_bucket.hpp"
#include "reconcile/key.hpp"
#include "reconcile/retry_limit.hpp"
#include "reconcile/work_queue.hpp"

namespace cotrain::reconcile {
namespace {

using namespace std::chrono_literals;

// Two plain lists of waiting keys, a set of running ones, and who is to wait again.
struct model {
    std::deque<slot> lists[2];
    std::set<slot> running;
    std::map<slot, work> again;
    unsigned turn = 0;

    bool waits(slot s, unsigned in) const { return std::ranges::find(lists[in], s) != lists[in].end(); }
    bool add(slot s, work how) {
        if (running.contains(s)) {
            const bool first = !again.contains(s);
            if (first || how == work::fresh) again[s] = how;
            return first;
        }
        if (waits(s, 0)) return false;
        if (waits(s, 1)) {
            if (how == work::fresh) {
                std::erase(lists[1], s);
                lists[0].push_back(s);
            }
            return false;
        }
        lists[static_cast<unsigned>(how)].push_back(s);
        return true;
    }
    std::optional<slot> take() {
        if (lists[0].empty() && lists[1].empty()) return std::nullopt;
        const unsigned from = lists[0].empty() || (!lists[1].empty() && turn >= fresh_turns) ? 1 : 0;
        turn = from == 1 ? 0 : turn + 1;
        const slot s = lists[from].front();
        lists[from].pop_front();
        running.insert(s);
        return s;
    }
    bool done(slot s) {
        running.erase(s);
        const auto it = again.find(s);
        if (it == again.end()) return false;
        lists[static_cast<unsigned>(it->second)].push_back(s);
        again.erase(it);
        return true;
    }
};

TEST(work_queue, behaves_as_its_model) {
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        base::random_source random(seed);
        work_queue queue;
        model expected;
        for (int step = 0; step < 2000; ++step) {
            const auto s = static_cast<slot>(random.next() % 12);
            const auto dice = random.next() % 10;
            if (dice < 5) {
                const auto how = random.next() % 3 == 0 ? work::fresh : work::backlog;
                ASSERT_EQ(queue.add(s, how), expected.add(s, how)) << "seed " << seed << " step " << step;
            } else if (dice < 8) {
                ASSERT_EQ(queue.take(), expected.take()) << "seed " << seed << " step " << step;
            } else if (expected.running.contains(s)) {
                ASSERT_EQ(queue.done(s), expected.done(s));
            }
            ASSERT_EQ(queue.depth(work::fresh), expected.lists[0].size());
            ASSERT_EQ(queue.depth(work::backlog), expected.lists[1].size());
            ASSERT_EQ(queue.running(s), expected.running.contains(s));
        }
    }
}

TEST(work_queue, never_gives_a_running_key) {
    work_queue queue;
    queue.add(3, work::fresh);
    EXPECT_EQ(queue.take(), 3U);
    EXPECT_TRUE(queue.add(3, work::fresh));
    EXPECT_FALSE(queue.add(3, work::fresh));
    EXPECT_EQ(queue.take(), std::nullopt);
    EXPECT_TRUE(queue.done(3));
    EXPECT_EQ(queue.take(), 3U);
    EXPECT_FALSE(queue.done(3));
    EXPECT_TRUE(queue.idle(3));
}

TEST(work_queue, new_work_passes_a_storm_and_the_storm_still_moves) {
    work_queue queue;
    constexpr slot storm = 10'000;
    for (slot s = 0; s < storm; ++s) queue.add(s, work::backlog);
    queue.add(storm, work::fresh);
    EXPECT_EQ(queue.take(), storm);
    queue.done(storm);

    // Somebody who keeps adding new keys does not stop the storm: it gets each fifth turn.
    unsigned old = 0;
    for (slot s = 0; s < 1000; ++s) {
        queue.add(storm + 1 + s, work::fresh);
        queue.add(storm + 2001 + s, work::fresh);
        const slot taken = *queue.take();
        if (taken < storm) ++old;
        queue.done(taken);
    }
    EXPECT_EQ(old, 200U);
}

TEST(work_queue, a_key_of_the_backlog_becomes_fresh) {
    work_queue queue;
    for (slot s = 0; s < 100; ++s) queue.add(s, work::backlog);
    EXPECT_FALSE(queue.add(99, work::fresh));
    EXPECT_EQ(queue.take(), 99U);
    EXPECT_EQ(queue.depth(), 99U);
}

TEST(delay_queue, behaves_as_its_model) {
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        base::random_source random(seed);
        delay_queue queue;
        std::map<slot, moment> expected;
        moment now{};
        for (int step = 0; step < 3000; ++step) {
            const auto s = static_cast<slot>(random.next() % 40);
            switch (random.next() % 4) {
                case 0:
                case 1: {
                    const moment due = now + std::chrono::milliseconds(random.next() % 50);
                    const auto it = expected.find(s);
                    const bool changes = it == expected.end() || due < it->second;
                    ASSERT_EQ(queue.add(s, due), changes);
                    if (changes) expected[s] = due;
                    break;
                }
                case 2:
                    queue.cancel(s);
                    expected.erase(s);
                    break;
                default:
                    now += std::chrono::milliseconds(random.next() % 5);
                    while (const auto due = queue.take_due(now)) {
                        ASSERT_TRUE(expected.contains(*due));
                        for (const auto& [other, when] : expected) ASSERT_LE(expected[*due], when) << other;
                        expected.erase(*due);
                    }
                    for (const auto& [other, when] : expected) ASSERT_GT(when, now) << other;
            }
            ASSERT_EQ(queue.size(), expected.size());
            ASSERT_EQ(queue.contains(s), expected.contains(s));
        }
    }
}

TEST(delay_queue, equal_moments_leave_in_order) {
    delay_queue queue;
    for (const slot s : {5U, 1U, 3U}) queue.add(s, moment{1s});
    EXPECT_EQ(queue.take_due(moment{1s}), 5U);
    EXPECT_EQ(queue.take_due(moment{1s}), 1U);
    EXPECT_EQ(queue.take_due(moment{1s}), 3U);
}

TEST(retry_limit, doubles_from_5_ms_to_1000_s) {
    retry_policy policy;
    policy.qps = 0;
    retry_limit limit(policy);
    auto expected = 5ms;
    for (int i = 0; i < 18; ++i, expected *= 2) {
        EXPECT_EQ(limit.failures(7), static_cast<unsigned>(i));
        EXPECT_EQ(limit.failed(7, 0, moment{}), std::min<std::chrono::nanoseconds>(expected, 1000s));
    }
    for (int i = 0; i < 1000; ++i) EXPECT_EQ(limit.failed(7, 0, moment{}), 1000s);
    limit.forget(7);
    EXPECT_EQ(limit.failed(7, 0, moment{}), 5ms);
    EXPECT_EQ(limit.failed(8, 0, moment{}), 5ms);
}

TEST(retry_limit, failures_that_pass_come_back_within_seconds_and_share_the_bucket) {
    retry_limit limit;
    moment now{1h};
    for (int i = 0; i < 60; ++i) {
        const auto delay = limit.failed(7, 0, now, true);
        EXPECT_LE(delay, 4s);
        now += delay;
    }
    EXPECT_EQ(limit.failed(7, 0, now), 1000s) << "one of the key's own";
    std::chrono::nanoseconds last{0};
    for (slot s = 100; s < 1100; ++s) last = limit.failed(s, 0, now, true);
    EXPECT_GT(last, 85s) << "ten a second, whatever failed";
}

TEST(retry_limit, the_bucket_spreads_a_storm_of_failures) {
    retry_limit limit;
    const moment start{1h};
    for (slot s = 0; s < 100; ++s) EXPECT_EQ(limit.failed(s, 0, start), 5ms);
    EXPECT_NEAR(std::chrono::duration<double>(limit.failed(100, 0, start)).count(), 0.1, 1e-6);
    EXPECT_NEAR(std::chrono::duration<double>(limit.failed(101, 0, start)).count(), 0.2, 1e-6);
    // Tokens come back at ten a second, and no more than the burst.
    EXPECT_NEAR(std::chrono::duration<double>(limit.failed(102, 0, start + 200ms)).count(), 0.1, 1e-6);
    for (slot s = 200; s < 300; ++s) EXPECT_EQ(limit.failed(s, 0, start + 1h), 5ms);
    EXPECT_GT(limit.failed(300, 0, start + 1h), 50ms);
}

// Whatever others do, a group waits no longer than its part of the bucket takes.
TEST(retry_limit, a_group_with_many_failing_keys_does_not_hold_up_others) {
    retry_limit limit;
    moment now{1h};
    for (slot s = 0; s < 5000; ++s) static_cast<void>(limit.failed(s, 1, now));
    EXPECT_NEAR(std::chrono::duration<double>(limit.failed(5000, 2, now)).count(), 0.2, 1e-6) << "one of two";
    EXPECT_NEAR(std::chrono::duration<double>(limit.failed(5001, 3, now)).count(), 0.3, 1e-6) << "one of three";
    EXPECT_GT(limit.failed(5002, 1, now), 490s);
    now += 300ms;
    EXPECT_LE(limit.failed(5003, 2, now + 100ms), 200ms) << "its debt was paid before";
}

// Whatever the groups, the retries of a minute are as many as the bucket gives. Those that come first are told times
// at which others then have turns: one retry of each group may be early.
TEST(retry_limit, all_groups_together_keep_to_the_rate) {
    for (const std::size_t groups : {1U, 2U, 7U, 200U, 1000U}) {
        retry_policy policy;
        policy.passing_ceiling = 4s;
        retry_limit limit(policy);
        const moment start{1h};
        std::multimap<moment, slot> due;
        for (slot s = 0; s < 3000; ++s) due.emplace(start + limit.failed(s, s % groups, start, true), s);
        int retries = 0;
        for (; due.begin()->first < start + 60s; ++retries) {
            const auto [at, s] = *due.begin();
            due.erase(due.begin());
            due.emplace(at + limit.failed(s, s % groups, at, true), s);
        }
        EXPECT_LE(retries, 100 + 60 * 10 + std::min<std::size_t>(groups, 256)) << groups << " groups";
        EXPECT_GE(retries, 60 * 10 * 3 / 4) << groups << " groups";
    }
}

// Callers that come back when they were told to, at random: the rate holds to the token, and each group that always
// wants more gets the same.
TEST(fair_bucket, keeps_its_rate_and_is_fair_in_all_orders) {
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        base::random_source random(seed);
        const double burst = 1 + static_cast<double>(random.next() % 20);
        const double rate = 1 + static_cast<double>(random.next() % 30);
        const std::size_t groups = 1 + random.next() % 12;
        fair_bucket bucket(rate, burst);
        struct caller {
            std::size_t group;
            fair_bucket::turn turn;
        };
        std::multimap<moment, caller> waiting;
        std::vector<int> went(groups);
        const moment start{1h};
        const auto ask = [&](caller who, moment now) { waiting.emplace(now + bucket.wait(who.turn, now), who); };
        const auto join = [&](std::size_t group, moment now) { ask({group, *bucket.take(group, now)}, now); };
        for (std::size_t group = 0; group < groups; ++group)
            for (std::uint64_t n = 1 + random.next() % 50; n > 0; --n) join(group, start);
        double total = 0;
        while (waiting.begin()->first < start + 120s) {
            const auto [now, who] = *waiting.begin();
            waiting.erase(waiting.begin());
            if (bucket.wait(who.turn, now) > 0ns) {
                ask(who, now);
                continue;
            }
            ++went[who.group];
            ASSERT_LE(++total, burst + rate * std::chrono::duration<double>(now - start).count() + 1e-3) << seed;
            join(who.group, now);
        }
        EXPECT_GE(total, rate * 120 - 1) << seed;
        const auto [least, most] = std::ranges::minmax(went);
        EXPECT_LE(most - least, burst + 1) << seed;
    }
}

TEST(fair_bucket, gives_nothing_that_would_come_too_late) {
    fair_bucket bucket(2, 3);
    const moment start{1h};
    for (int i = 0; i < 3; ++i) EXPECT_EQ(bucket.wait(*bucket.take(7, start, 0s), start), 0s);
    EXPECT_FALSE(bucket.take(7, start, 0s));
    EXPECT_EQ(bucket.wait(*bucket.take(7, start, 1s), start), 500ms);
    EXPECT_EQ(bucket.wait(*bucket.take(7, start, 1s), start), 1s);
    EXPECT_FALSE(bucket.take(7, start, 1s));
    EXPECT_EQ(bucket.wait(*bucket.take(8, start, 1s), start), 1s) << "what was refused took nothing; one of two";
}

struct counting_holder final : key_holder {
    std::map<std::uint32_t, int> held;
    void retain(key k) override { ++held[k.name]; }
    void release(key k) override { --held[k.name]; }
    [[nodiscard]] std::size_t group(key k) const override { return k.name % 10; }
};

TEST(key_table, keeps_names_while_it_knows_them) {
    counting_holder holder;
    {
        key_table table(&holder);
        base::random_source random(3);
        std::map<std::pair<std::uint32_t, std::uint32_t>, slot> expected;
        for (int i = 0; i < 5000; ++i) {
            const key k{static_cast<std::uint32_t>(random.next() % 300), static_cast<std::uint32_t>(random.next() % 2)};
            const auto it = expected.find({k.name, k.kind});
            if (it == expected.end()) {
                EXPECT_EQ(table.find(k), no_slot);
                const slot s = table.intern(k);
                expected[{k.name, k.kind}] = s;
                EXPECT_EQ(table.at(s), k);
            } else {
                ASSERT_EQ(table.find(k), it->second);
                ASSERT_EQ(table.intern(k), it->second);
                if (random.next() % 2 == 0) {
                    table.release(it->second);
                    expected.erase(it);
                }
            }
            ASSERT_EQ(table.size(), expected.size());
        }
        int held = 0;
        for (const auto& [name, count] : holder.held) held += count;
        EXPECT_EQ(static_cast<std::size_t>(held), expected.size());
    }
    for (const auto& [name, count] : holder.held) EXPECT_EQ(count, 0) << name;
}

}  // namespace
}  // namespace cotrain::reconcile
