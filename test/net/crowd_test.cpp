// Who gets a place when there are more connections than places.
#include "net/crowd.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cotrain::net {
namespace {

using namespace std::chrono_literals;

constexpr crowd_limits eight{.connections_max = 8, .connections_per_source_max = 4};

source at(const char* text) { return source_of(boost::asio::ip::make_address(text)); }
occupant waiting(const char* from, int since) { return {at(from), time_point(1s * since)}; }
occupant busy(const char* from) { return {at(from), std::nullopt}; }

TEST(crowd, sources_are_addresses_and_networks) {
    EXPECT_EQ(at("10.0.0.1"), at("::ffff:10.0.0.1"));
    EXPECT_NE(at("10.0.0.1"), at("10.0.0.2"));
    EXPECT_EQ(at("2001:db8:1:2::1"), at("2001:db8:1:2:ffff::9"));
    EXPECT_NE(at("2001:db8:1:2::1"), at("2001:db8:1:3::1"));
}

TEST(crowd, while_there_are_places_nobody_leaves) {
    const std::vector present{waiting("10.0.0.1", 1), busy("10.0.0.2")};
    const auto verdict = admit(present, at("10.0.0.1"), eight);
    EXPECT_TRUE(verdict.admitted);
    EXPECT_FALSE(verdict.leaves);
}

TEST(crowd, a_source_displaces_its_own_longest_waiting) {
    const std::vector present{waiting("10.0.0.2", 1), waiting("10.0.0.1", 5), busy("10.0.0.1"), waiting("10.0.0.1", 3),
                              waiting("10.0.0.1", 4)};
    const auto verdict = admit(present, at("10.0.0.1"), eight);
    EXPECT_TRUE(verdict.admitted);
    EXPECT_EQ(verdict.leaves, 3U);
}

TEST(crowd, a_source_that_is_busy_with_all_it_may_have_gets_no_more) {
    const std::vector present{busy("10.0.0.1"), busy("10.0.0.1"), busy("10.0.0.1"), busy("10.0.0.1"),
                              waiting("10.0.0.2", 1)};
    EXPECT_FALSE(admit(present, at("10.0.0.1"), eight).admitted);
    EXPECT_TRUE(admit(present, at("10.0.0.3"), eight).admitted);
}

TEST(crowd, when_full_the_source_with_most_makes_room) {
    std::vector present{waiting("10.0.0.9", 1)};  // it waits longest, and has only this one
    for (const char* from : {"10.0.0.1", "10.0.0.2"})
        for (int i = 0; i < 3; ++i) present.push_back(waiting(from, 10 + i));
    present.push_back(waiting("10.0.0.2", 9));
    const auto verdict = admit(present, at("10.0.0.3"), eight);
    EXPECT_TRUE(verdict.admitted);
    EXPECT_EQ(verdict.leaves, 7U);
}

TEST(crowd, among_sources_with_as_many_the_longest_waiting_makes_room) {
    std::vector present{waiting("10.0.0.1", 20)};
    for (int i = 2; i <= 8; ++i) present.push_back(waiting(("10.0.0." + std::to_string(i)).c_str(), i == 5 ? 1 : 10));
    EXPECT_EQ(admit(present, at("10.0.0.30"), eight).leaves, 4U);
}

TEST(crowd, when_all_are_busy_nobody_is_admitted) {
    const std::vector<occupant> present(8, busy("10.0.0.1"));
    EXPECT_FALSE(admit(present, at("10.0.0.3"), eight).admitted);
    EXPECT_FALSE(admit({}, at("10.0.0.3"), {.connections_max = 0, .connections_per_source_max = 0}).admitted);
}

}  // namespace
}  // namespace cotrain::net
