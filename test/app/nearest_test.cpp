// Words that are nearest to misspelt ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "app/nearest.hpp"

namespace cotrain::app {
namespace {

constexpr std::array fields{std::string_view("numNodes"), std::string_view("numProcPerNode"), std::string_view("image"),
                            std::string_view("env"), std::string_view("command")};

TEST(nearest, finds_what_was_meant) {
    EXPECT_EQ(nearest("numNode", fields), "numNodes");
    EXPECT_EQ(nearest("numnodes", fields), "numNodes");
    EXPECT_EQ(nearest("nmuNodes", fields), "numNodes");
    EXPECT_EQ(nearest("enb", fields), "env");
    EXPECT_EQ(nearest("replicas", fields), "");
    EXPECT_EQ(nearest("", fields), "");
    EXPECT_EQ(nearest("numNodes", {}), "");
    EXPECT_EQ(did_you_mean("imgae", fields), "; did you mean \"image\"?");
    EXPECT_EQ(did_you_mean("x", fields), "");
}

// By recursion over both words: what the table must give.
std::size_t plain_distance(std::string_view a, std::string_view b) {
    if (a.empty() || b.empty()) return a.size() + b.size();
    std::size_t best = std::min({plain_distance(a.substr(1), b) + 1, plain_distance(a, b.substr(1)) + 1,
                                 plain_distance(a.substr(1), b.substr(1)) + (a[0] == b[0] ? 0 : 1)});
    if (a.size() > 1 && b.size() > 1 && a[0] == b[1] && a[1] == b[0])
        best = std::min(best, plain_distance(a.substr(2), b.substr(2)) + 1);
    return best;
}

TEST(nearest, counts_as_the_definition_does) {
    std::mt19937 random(7);
    for (int round = 0; round < 2000; ++round) {
        const auto word = [&] {
            std::string out(random() % 6, ' ');
            for (char& c : out) c = static_cast<char>('a' + random() % 3);
            return out;
        };
        const std::string a = word();
        const std::string b = word();
        const std::size_t wanted = plain_distance(a, b);
        EXPECT_EQ(edit_distance(a, b, 10), wanted) << a << " " << b;
        EXPECT_EQ(edit_distance(a, b, 1), std::min<std::size_t>(wanted, 2)) << a << " " << b;
    }
}

TEST(nearest, compares_no_more_than_it_may) {
    const std::string giant(1'000'000, 'x');
    EXPECT_EQ(nearest(giant, fields), "");
    const std::vector<std::string_view> many(100'000, "numNodes");
    EXPECT_EQ(nearest("numNode", many), "numNodes");
}

}  // namespace
}  // namespace cotrain::app
