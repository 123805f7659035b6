// Reaching a peer over TCP: name resolution, happy eyeballs, keepalive, an HTTP CONNECT proxy on the way.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

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

}  // namespace cotrain::net::tcp
