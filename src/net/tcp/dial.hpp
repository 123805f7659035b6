// Racing several addresses for one connection.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <vector>

#include "base/asio.hpp"
#include "base/error.hpp"
#include "net/tcp/connect.hpp"
#include "net/tcp/race.hpp"

namespace cotrain::net::tcp {

// More addresses of one name than these are not tried.
inline constexpr std::size_t addresses_max = 16;

// The first connection that succeeds, with TCP_NODELAY and keepalive set; all other attempts are closed. The error
// lists every address that was tried and why it failed.
[[nodiscard]] awaitable<base::result<asio::ip::tcp::socket>> dial(std::vector<asio::ip::tcp::endpoint> addresses,
                                                                  time_point deadline, connect_options options);

}  // namespace cotrain::net::tcp
