// Who has to go when strangers' requests would take too much memory.
#include "net/crowd.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <random>
#include <vector>

namespace cotrain::net {
namespace {

constexpr std::size_t mib = 1U << 20U;
constexpr std::size_t limit = 16 * mib;

source from(unsigned char host) {
    source out;
    out.bytes[15] = host;
    return out;
}

struct request final : memory_account::holder {
    request(memory_account& of, const source& where) : claim(std::in_place, of, where, *this) {}
    void end_for_memory() override {
        ended = true;
        if (claim) claim->lower(0);
        if (takes_along != nullptr) takes_along->claim.reset();
    }
    bool ended = false;
    request* takes_along = nullptr;
    std::optional<memory_account::claim> claim;
};

TEST(memory_account, share_of_memory_is_a_quarter_within_bounds) {
    EXPECT_EQ(memory_account::share_of(256 * mib), 64 * mib);
    EXPECT_EQ(memory_account::share_of(1 * mib), 32 * mib);
    EXPECT_EQ(memory_account::share_of(std::uint64_t{1} << 40U), 512 * mib);
}

TEST(memory_account, claims_come_and_go) {
    memory_account account(limit);
    {
        request one(account, from(1));
        request two(account, from(2));
        EXPECT_TRUE(one.claim->raise(mib));
        EXPECT_TRUE(two.claim->raise(2 * mib));
        EXPECT_EQ(account.held(), 3 * mib);
        one.claim->lower(10);
        EXPECT_TRUE(one.claim->raise(5)) << "less than it has";
        EXPECT_EQ(account.held(), 2 * mib + 10);
    }
    EXPECT_EQ(account.held(), 0U);
    EXPECT_EQ(account.endings(), 0U);
}

TEST(memory_account, the_largest_goes_first) {
    memory_account account(limit);
    request small(account, from(1));
    request large(account, from(1));
    request middle(account, from(1));
    ASSERT_TRUE(small.claim->raise(2 * mib));
    ASSERT_TRUE(large.claim->raise(7 * mib));
    ASSERT_TRUE(middle.claim->raise(5 * mib));
    request late(account, from(1));
    EXPECT_TRUE(late.claim->raise(mib));
    EXPECT_TRUE(large.ended);
    EXPECT_FALSE(small.ended || middle.ended);
}

TEST(memory_account, of_equal_ones_the_oldest_goes_first) {
    memory_account account(limit);
    request old(account, from(1));
    request young(account, from(1));
    ASSERT_TRUE(old.claim->raise(7 * mib));
    ASSERT_TRUE(young.claim->raise(7 * mib));
    request late(account, from(1));
    EXPECT_TRUE(late.claim->raise(mib));
    EXPECT_TRUE(old.ended);
    EXPECT_FALSE(young.ended);
}

TEST(memory_account, who_asks_goes_when_it_would_be_the_largest) {
    memory_account account(limit);
    request other(account, from(1));
    ASSERT_TRUE(other.claim->raise(6 * mib));
    request greedy(account, from(1));
    ASSERT_TRUE(greedy.claim->raise(5 * mib));
    EXPECT_FALSE(greedy.claim->raise(9 * mib));
    EXPECT_EQ(greedy.claim->bytes(), 5 * mib);
    EXPECT_FALSE(other.ended || greedy.ended);
    EXPECT_FALSE(greedy.claim->raise(limit + 1)) << "never";
    EXPECT_FALSE(other.ended);
}

TEST(memory_account, the_source_that_holds_most_pays) {
    memory_account account(limit);
    std::vector<std::unique_ptr<request>> many;
    for (int i = 0; i < 27; ++i) {
        many.push_back(std::make_unique<request>(account, from(1)));
        ASSERT_TRUE(many.back()->claim->raise(mib / 2));
    }
    request legitimate(account, from(2));
    EXPECT_TRUE(legitimate.claim->raise(3 * mib)) << "larger than each of the others";
    EXPECT_FALSE(legitimate.ended);
    EXPECT_LE(account.held(), account.large_bytes_max());
}

TEST(memory_account, small_ones_have_a_part_of_their_own) {
    memory_account account(limit);
    request work(account, from(1));
    ASSERT_TRUE(work.claim->raise_for_work(account.large_bytes_max()));
    request large(account, from(2));
    EXPECT_FALSE(large.claim->raise(memory_account::small_bytes + 1)) << "and nobody can be ended";
    request small(account, from(2));
    EXPECT_TRUE(small.claim->raise(memory_account::small_bytes));
}

TEST(memory_account, small_ones_always_pass_where_anybody_can_be_ended) {
    memory_account account(limit);
    std::vector<std::unique_ptr<request>> crowd;
    while (account.held() + memory_account::small_bytes <= limit) {
        crowd.push_back(std::make_unique<request>(account, from(1)));
        ASSERT_TRUE(crowd.back()->claim->raise(memory_account::small_bytes));
    }
    for (int i = 0; i < 1000; ++i) {
        request one(account, from(1));
        ASSERT_TRUE(one.claim->raise(memory_account::small_bytes));
        crowd.push_back(std::make_unique<request>(account, from(1)));
        ASSERT_TRUE(crowd.back()->claim->raise(memory_account::small_bytes / 2));
        ASSERT_LE(account.held(), limit);
    }
}

TEST(memory_account, work_is_never_the_one_to_go) {
    memory_account account(limit);
    request other(account, from(1));
    ASSERT_TRUE(other.claim->raise(6 * mib));
    request work(account, from(1));
    EXPECT_TRUE(work.claim->raise_for_work(10 * mib));
    EXPECT_TRUE(other.ended);
    EXPECT_TRUE(work.claim->pinned());
    request second(account, from(2));
    EXPECT_FALSE(second.claim->raise_for_work(10 * mib));
    EXPECT_FALSE(second.claim->pinned());
    EXPECT_FALSE(work.ended);
}

TEST(memory_account, one_that_ends_may_take_others_along) {
    memory_account account(limit);
    request first(account, from(1));
    request second(account, from(1));
    ASSERT_TRUE(first.claim->raise(7 * mib));
    ASSERT_TRUE(second.claim->raise(6 * mib));
    first.takes_along = &second;
    request work(account, from(2));
    EXPECT_TRUE(work.claim->raise_for_work(14 * mib));
    EXPECT_TRUE(first.ended);
    EXPECT_FALSE(second.ended) << "it was gone already";
    EXPECT_EQ(account.held(), 14 * mib);
}

TEST(memory_account, in_any_order_it_holds_no_more_than_it_may) {
    std::mt19937 random(1);
    memory_account account(limit);
    std::vector<std::unique_ptr<request>> all;
    for (int i = 0; i < 20'000; ++i) {
        const auto pick = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
        if (all.size() < 100 && pick(3) == 0)
            all.push_back(std::make_unique<request>(account, from(static_cast<unsigned char>(pick(4)))));
        if (all.empty()) continue;
        const std::size_t at = pick(all.size());
        memory_account::claim& one = *all[at]->claim;
        switch (pick(5)) {
            case 0: one.lower(one.bytes() / 2); break;
            case 1: all.erase(all.begin() + static_cast<std::ptrdiff_t>(at)); break;
            case 2: one.pin(pick(2) == 0); break;
            case 3: static_cast<void>(one.raise_for_work(pick(4 * mib))); break;
            default: static_cast<void>(one.raise(pick(4 * mib))); break;
        }
        std::size_t sum = 0;
        for (const auto& each : all) sum += each->claim->bytes();
        ASSERT_EQ(sum, account.held());
        ASSERT_LE(sum, limit);
    }
    EXPECT_GT(account.endings(), 0U);
}

}  // namespace
}  // namespace cotrain::net
