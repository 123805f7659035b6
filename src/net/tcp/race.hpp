// Happy eyeballs (RFC 8305) as decisions: which address is tried next, and when. No socket, no clock.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

namespace cotrain::net::tcp {

using time_point = std::chrono::steady_clock::time_point;

// Families take turns, beginning with that of the first address; within a family the order stays.
[[nodiscard]] std::vector<boost::asio::ip::tcp::endpoint> take_turns(
    const std::vector<boost::asio::ip::tcp::endpoint>& addresses);

// Runners start one after the other: the first at once, each next when the one before has failed or had its head
// start. The owner ends the race at the first success.
class race {
   public:
    static constexpr std::chrono::milliseconds head_start_min{10};  // RFC 8305, section 8

    race(std::size_t runners, std::chrono::milliseconds head_start);

    // The runner to start at `now`, if one is due; ask again until there is none.
    [[nodiscard]] std::optional<std::size_t> start(time_point now);
    void failed(std::size_t runner);
    // When the next runner is due, unless a failure makes it earlier; none if all have started.
    [[nodiscard]] std::optional<time_point> wake() const;
    // Whether all have failed.
    [[nodiscard]] bool lost() const { return started_ == runners_ && running_ == 0; }
    [[nodiscard]] std::size_t started() const { return started_; }

   private:
    std::size_t runners_;
    std::chrono::milliseconds head_start_;
    std::size_t started_ = 0;
    std::size_t running_ = 0;
    time_point due_ = time_point::min();
};

}  // namespace cotrain::net::tcp
