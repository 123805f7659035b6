// Names into addresses.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <string>
#include <vector>

#include "base/asio.hpp"
#include "base/error.hpp"
#include "net/tcp/race.hpp"

namespace cotrain::net::tcp {

// The addresses of a name, or the one that `host` spells, in the system's order; at least one. The C library's look-up
// cannot be interrupted: one that is given up ends on its own, on Asio's thread for such, and is then forgotten.
[[nodiscard]] awaitable<base::result<std::vector<asio::ip::tcp::endpoint>>> look_up(std::string host,
                                                                                    std::uint16_t port,
                                                                                    time_point deadline);

}  // namespace cotrain::net::tcp
