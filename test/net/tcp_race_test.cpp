// Happy eyeballs' order and pace, without a socket.
#include "net/tcp/connect.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/ip/address.hpp>

namespace cotrain::net::tcp {
namespace {

using namespace std::chrono_literals;
using boost::asio::ip::make_address;
using boost::asio::ip::tcp;
using testing::ElementsAre;

constexpr time_point start_time{1000s};

std::vector<std::string> turns(const std::vector<std::string>& addresses) {
    std::vector<tcp::endpoint> in;
    for (const std::string& address : addresses) in.emplace_back(make_address(address), 443);
    std::vector<std::string> out;
    for (const tcp::endpoint& address : take_turns(in)) out.push_back(address.address().to_string());
    return out;
}

TEST(tcp_race, families_take_turns_beginning_with_the_first) {
    EXPECT_THAT(turns({"::1", "::2", "::3", "10.0.0.1", "10.0.0.2"}),
                ElementsAre("::1", "10.0.0.1", "::2", "10.0.0.2", "::3"));
    EXPECT_THAT(turns({"10.0.0.1", "::1", "::2"}), ElementsAre("10.0.0.1", "::1", "::2"));
    EXPECT_THAT(turns({"10.0.0.2", "10.0.0.1"}), ElementsAre("10.0.0.2", "10.0.0.1"));
    EXPECT_THAT(turns({}), ElementsAre());
}

TEST(tcp_race, the_next_starts_after_the_head_start) {
    race r(3, 250ms);
    EXPECT_EQ(r.start(start_time), 0U);
    EXPECT_EQ(r.start(start_time), std::nullopt);
    EXPECT_EQ(r.wake(), start_time + 250ms);
    EXPECT_EQ(r.start(start_time + 249ms), std::nullopt);
    EXPECT_EQ(r.start(start_time + 250ms), 1U);
    EXPECT_EQ(r.wake(), start_time + 500ms);
    EXPECT_EQ(r.start(start_time + 600ms), 2U);
    EXPECT_EQ(r.wake(), std::nullopt);
    EXPECT_EQ(r.start(start_time + 10s), std::nullopt);
    EXPECT_FALSE(r.lost());
}

TEST(tcp_race, the_next_starts_at_once_when_the_last_failed) {
    race r(3, 250ms);
    EXPECT_EQ(r.start(start_time), 0U);
    r.failed(0);
    EXPECT_FALSE(r.lost());
    EXPECT_EQ(r.start(start_time), 1U);
    EXPECT_EQ(r.start(start_time), std::nullopt);
}

TEST(tcp_race, the_failure_of_an_earlier_one_changes_nothing_while_the_last_still_runs) {
    race r(3, 250ms);
    EXPECT_EQ(r.start(start_time), 0U);
    EXPECT_EQ(r.start(start_time + 250ms), 1U);
    r.failed(0);
    EXPECT_EQ(r.start(start_time + 251ms), std::nullopt);
    r.failed(1);
    EXPECT_EQ(r.start(start_time + 251ms), 2U);
}

TEST(tcp_race, the_failure_of_the_last_hurries_the_next_while_an_earlier_one_runs) {
    race r(3, 250ms);
    EXPECT_EQ(r.start(start_time), 0U);
    EXPECT_EQ(r.start(start_time + 250ms), 1U);
    r.failed(1);
    EXPECT_EQ(r.start(start_time + 251ms), 2U);
}

TEST(tcp_race, it_is_lost_when_all_have_failed) {
    race r(2, 250ms);
    EXPECT_FALSE(r.lost());
    EXPECT_EQ(r.start(start_time), 0U);
    EXPECT_EQ(r.start(start_time + 250ms), 1U);
    r.failed(1);
    EXPECT_FALSE(r.lost());
    r.failed(0);
    EXPECT_TRUE(r.lost());
    EXPECT_TRUE(race(0, 250ms).lost());
}

TEST(tcp_race, the_head_start_has_a_minimum) {
    race r(2, 0ms);
    EXPECT_EQ(r.start(start_time), 0U);
    EXPECT_EQ(r.start(start_time), std::nullopt);
    EXPECT_EQ(r.wake(), start_time + race::head_start_min);
}

}  // namespace
}  // namespace cotrain::net::tcp
