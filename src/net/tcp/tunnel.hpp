// A tunnel through an HTTP proxy.
#pragma once

#include <boost/asio/ip/tcp.hpp>

#include "base/asio.hpp"
#include "base/error.hpp"
#include "net/tcp/connect.hpp"
#include "net/tcp/race.hpp"

namespace cotrain::net::tcp {

// Asks the proxy at the other end of `socket` for `peer`; what comes after its answer is left in the socket.
[[nodiscard]] awaitable<base::result<asio::ip::tcp::socket>> tunnel(asio::ip::tcp::socket socket, address peer,
                                                                    proxy via, time_point deadline);

}  // namespace cotrain::net::tcp
