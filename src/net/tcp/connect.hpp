// Reaching a peer over TCP: name resolution, happy eyeballs, keepalive, an HTTP CONNECT proxy on the way.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/asio.hpp"
#include "base/error.hpp"

namespace cotrain::net::tcp {

struct address {
    std::string host{};  // a name or a literal address, without brackets
    std::uint16_t port = 443;
};

struct proxy {
    address where{};
    std::string authorization{};  // value of Proxy-Authorization; empty: none
    bool over_tls = false;        // https:// proxies are refused with a clear error by parse_proxy
};

struct connect_options {
    std::chrono::milliseconds timeout{10'000};          // for everything: names, all attempts, the proxy's answer
    std::chrono::milliseconds next_attempt_after{250};  // happy eyeballs: RFC 8305's delay between addresses
    std::chrono::seconds keepalive_idle{30};
    std::chrono::seconds keepalive_interval{10};
    int keepalive_probes = 3;
    std::optional<proxy> via{};
};

// A connected socket with TCP_NODELAY, keepalive and, to the same sum of times, TCP_USER_TIMEOUT set. Errors name host,
// port and every address tried. A cancelled call leaves no socket behind.
[[nodiscard]] awaitable<base::result<asio::ip::tcp::socket>> connect(address peer, connect_options options);

// Happy eyeballs (RFC 8305) as decisions: which address is tried next, and when. No socket, no clock.

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

// Names into addresses.

// The addresses of a name, or the one that `host` spells, in the system's order; at least one. The C library's look-up
// cannot be interrupted: one that is given up ends on its own, on Asio's thread for such, and is then forgotten.
[[nodiscard]] awaitable<base::result<std::vector<asio::ip::tcp::endpoint>>> look_up(std::string host,
                                                                                    std::uint16_t port,
                                                                                    time_point deadline);

// Racing several addresses for one connection.

// More addresses of one name than these are not tried.
inline constexpr std::size_t addresses_max = 16;

// The first connection that succeeds, with TCP_NODELAY and keepalive set; all other attempts are closed. The error
// lists every address that was tried and why it failed.
[[nodiscard]] awaitable<base::result<asio::ip::tcp::socket>> dial(std::vector<asio::ip::tcp::endpoint> addresses,
                                                                  time_point deadline, connect_options options);

}  // namespace cotrain::net::tcp
