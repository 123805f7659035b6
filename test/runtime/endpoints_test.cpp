// Endpoints against their definition, spelt out host by host.
#include "runtime/endpoints.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <ranges>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "support/counted_memory.hpp"

namespace cotrain::runtime {
namespace {

std::string spelt_out(const std::string& job, const std::string& domain, std::uint32_t replicas, std::uint32_t pods,
                      const std::string& suffix) {
    std::string all;
    for (std::uint32_t r = 0; r < replicas; ++r) {
        for (std::uint32_t p = 0; p < pods; ++p) {
            all += "t-" + job + "-" + std::to_string(r) + "-" + std::to_string(p) + "." + domain + suffix;
        }
    }
    return all;
}

TEST(endpoints, lines_match_their_definition_at_every_change_of_width) {
    struct shape {
        std::uint32_t replicas, pods;
    };
    for (const auto& [replicas, pods] : std::vector<shape>{{1, 1},
                                                           {1, 9},
                                                           {1, 10},
                                                           {1, 11},
                                                           {1, 99},
                                                           {1, 100},
                                                           {1, 101},
                                                           {1, 199},
                                                           {1, 200},
                                                           {1, 999},
                                                           {1, 1000},
                                                           {1, 1001},
                                                           {3, 12},
                                                           {11, 101},
                                                           {101, 1},
                                                           {2, 10001},
                                                           {1, 123456}}) {
        for (const std::string job : {"a", "node"}) {
            const endpoints hosts("t", job, "s", replicas, pods);
            const std::string expected = spelt_out(job, "s", replicas, pods, "\n");
            std::string lines;
            ASSERT_TRUE(hosts.append_lines(lines, "\n", SIZE_MAX));
            ASSERT_EQ(lines, expected) << replicas << " x " << pods;
            ASSERT_EQ(hosts.bytes(1), expected.size());
            std::string names;
            for (auto host : hosts) names += host.text() + "\n";
            ASSERT_EQ(names, expected) << replicas << " x " << pods;
            ASSERT_EQ(std::ranges::distance(hosts), static_cast<std::ptrdiff_t>(hosts.size()));
        }
    }
}

TEST(endpoints, a_million_hosts_are_one_exact_allocation) {
    const endpoints hosts("trainjob", "node", "trainjob", 1, 1'000'000);
    std::string lines;
    ASSERT_TRUE(hosts.append_lines(lines, " slots=8\n", SIZE_MAX));
    EXPECT_EQ(lines.size(), hosts.bytes(9));
    EXPECT_LT(lines.capacity(), lines.size() + 64);  // libraries round up
    EXPECT_TRUE(lines.ends_with("trainjob-node-0-999999.trainjob slots=8\n"));
    EXPECT_EQ(lines.find("trainjob-node-0-456789.trainjob"), lines.rfind("trainjob-node-0-456789.trainjob"));
}

static_assert(std::ranges::forward_range<endpoints> && std::ranges::view<endpoints>);
static_assert(std::ranges::sized_range<endpoints> && std::ranges::borrowed_range<endpoints>);

TEST(endpoints, a_range_for_algorithms_and_views) {
    const endpoints hosts("job", "node", "mesh", 2, 3);
    const auto texts = hosts | std::views::transform(&host_name::text) | std::ranges::to<std::vector>();
    EXPECT_EQ(texts, (std::vector<std::string>{"job-node-0-0.mesh", "job-node-0-1.mesh", "job-node-0-2.mesh",
                                               "job-node-1-0.mesh", "job-node-1-1.mesh", "job-node-1-2.mesh"}));
    EXPECT_EQ(std::ranges::count(hosts, 1U, &host_name::pod), 2);
}

TEST(endpoints, iterating_takes_no_memory) {
    const endpoints hosts("trainjob", "node", "trainjob", 1, 100'000);
    std::string room(64, '\0');
    const std::size_t before = test::allocations();
    for (auto host : hosts) host.write(room.data());
    EXPECT_EQ(test::allocations(), before);
    EXPECT_TRUE(room.starts_with("trainjob-node-0-99999.trainjob"));
}

TEST(endpoints, single_names_come_by_their_place) {
    const endpoints hosts("job", "node", "mesh", 2, 3);
    EXPECT_EQ(hosts.size(), 6U);
    EXPECT_EQ(hosts.front().text(), "job-node-0-0.mesh");
    EXPECT_EQ(hosts.front().short_text(), "job-node-0-0");
    EXPECT_EQ(hosts[4].text(), "job-node-1-1.mesh");
    EXPECT_EQ(hosts[hosts.size() - 1].short_text(), "job-node-1-2");
}

TEST(endpoints, without_pods_there_are_no_names) {
    for (const auto& hosts : {endpoints{}, endpoints("j", "n", "s", 0, 5), endpoints("j", "n", "s", 5, 0)}) {
        EXPECT_TRUE(hosts.empty());
        EXPECT_EQ(hosts.bytes(4), 0U);
        EXPECT_TRUE(hosts.begin() == hosts.end());
        EXPECT_EQ(hosts.fitting(1000, 1), 0U);
    }
}

TEST(endpoints, how_many_fit_is_exact) {
    const endpoints hosts("t", "node", "s", 3, 1200);
    const std::string all = spelt_out("node", "s", 3, 1200, " slots=1\n");
    for (const std::size_t room :
         {0UL, 10UL, 22UL, 23UL, 5'000UL, 31'337UL, all.size() - 1, all.size(), all.size() + 5}) {
        std::size_t count = 0;
        std::size_t end = 0;
        for (std::size_t at = all.find('\n'); at != std::string::npos && at < room; at = all.find('\n', end)) {
            ++count;
            end = at + 1;
        }
        EXPECT_EQ(hosts.fitting(room, 9), count) << room;
    }
}

__extension__ typedef unsigned __int128 wide;

wide digits_below(std::uint64_t count) {
    wide sum = 0;
    std::uint64_t first = 0;
    for (std::uint64_t digits = 1, power = 10; first < count; first = power, power *= 10, ++digits) {
        sum += wide{std::min(count, power) - first} * digits;
    }
    return sum;
}

// Sizes of any counts, against arithmetic that cannot overflow: products of three numbers of 32 bits.
TEST(endpoints, sizes_of_huge_jobs_are_exact_or_the_largest_number) {
    constexpr wide most = std::numeric_limits<std::uint64_t>::max();
    base::random_source random(3);
    const auto count = [&] { return static_cast<std::uint32_t>(random.next() >> (32 + random.next() % 32)); };
    for (int round = 0; round < 20'000; ++round) {
        const std::uint32_t replicas = round == 0 ? UINT32_MAX : count();
        const std::uint32_t pods = round == 0 ? UINT32_MAX : count();
        const std::size_t suffix = random.next() % 300;
        const std::string subdomain(random.next() % 253, 's');
        const endpoints hosts("t", "node", subdomain, replicas, pods);
        const wide fixed = std::string_view("t-node--.").size() + subdomain.size() + suffix;
        const wide exact =
            wide{replicas} * pods * fixed + pods * digits_below(replicas) + replicas * digits_below(pods);
        ASSERT_EQ(hosts.bytes(suffix), exact > most ? most : exact) << replicas << " x " << pods;
        const std::uint64_t room = random.next() >> (random.next() % 64);
        const std::uint64_t fitting = hosts.fitting(room, suffix);
        ASSERT_LE(wide{fitting} * fixed, room);
        ASSERT_EQ(fitting == hosts.size(), exact <= room) << replicas << " x " << pods << " in " << room;
    }
}

TEST(endpoints, what_does_not_fit_is_not_written) {
    const endpoints hosts("t", "node", "s", UINT32_MAX, UINT32_MAX);
    std::string out = "before";
    EXPECT_FALSE(hosts.append_lines(out, "\n", SIZE_MAX - 1));
    EXPECT_EQ(out, "before");
}

}  // namespace
}  // namespace cotrain::runtime
