// Who gets the next stream: rank, age, and the streams kept for urgent requests.
#include "net/h2/slot.hpp"

#include <gtest/gtest.h>

#include <array>

namespace cotrain::net::h2 {
namespace {

constexpr stream_budget plenty{.streams = 100, .urgent_reserve = 20};

TEST(h2_request_queue, rank_before_age) {
    std::array<queue_place, 6> p{};
    const std::array ranks{priority::write, priority::read,  priority::watch,
                           priority::write, priority::lease, priority::watch};
    request_queue queue;
    for (std::size_t i = 0; i < p.size(); ++i) {
        p[i].rank = ranks[i];
        queue.push(p[i]);
    }
    EXPECT_EQ(queue.size(), 6U);
    for (const std::size_t expected : {4U, 2U, 5U, 1U, 0U, 3U}) {
        queue_place* next = queue.next(0, plenty);
        ASSERT_EQ(next, &p[expected]);
        queue.remove(*next);
    }
    EXPECT_EQ(queue.next(0, plenty), nullptr);
    EXPECT_EQ(queue.first(), nullptr);
}

TEST(h2_request_queue, removal_from_anywhere_keeps_the_order) {
    std::array<queue_place, 5> p{};
    request_queue queue;
    for (auto& place : p) queue.push(place);
    for (const std::size_t gone : {2U, 0U, 4U}) queue.remove(p[gone]);
    EXPECT_EQ(queue.size(), 2U);
    EXPECT_EQ(queue.first(), &p[1]);
    queue.remove(p[1]);
    EXPECT_EQ(queue.first(), &p[3]);
    queue.push(p[0]);
    queue.remove(p[3]);
    EXPECT_EQ(queue.first(), &p[0]);
}

TEST(h2_request_queue, the_last_streams_are_for_urgent_requests) {
    EXPECT_EQ(plenty.usable_by(priority::lease), 100U);
    EXPECT_EQ(plenty.usable_by(priority::watch), 99U);
    EXPECT_EQ(plenty.usable_by(priority::read), 80U);
    EXPECT_EQ(plenty.usable_by(priority::write), 80U);

    queue_place place;
    place.rank = priority::write;
    request_queue queue;
    queue.push(place);
    EXPECT_EQ(queue.next(79, plenty), &place);
    EXPECT_EQ(queue.next(80, plenty), nullptr);
    EXPECT_EQ(queue.first(), &place);
}

TEST(h2_request_queue, a_small_budget_starves_nobody) {
    constexpr stream_budget ten{.streams = 10, .urgent_reserve = 20};
    EXPECT_EQ(ten.usable_by(priority::write), 5U);
    constexpr stream_budget one{.streams = 1, .urgent_reserve = 20};
    for (const priority rank : {priority::lease, priority::watch, priority::read, priority::write})
        EXPECT_EQ(one.usable_by(rank), 1U);
    constexpr stream_budget none{.streams = 0, .urgent_reserve = 20};
    EXPECT_EQ(none.usable_by(priority::lease), 0U);
    EXPECT_EQ(none.usable_by(priority::watch), 0U);
}

}  // namespace
}  // namespace cotrain::net::h2
