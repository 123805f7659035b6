// Where a connection comes from, as far as fairness goes.
#pragma once

#include <array>
#include <boost/asio/ip/address.hpp>
#include <compare>

namespace cotrain::net {

// An IPv4 address, or an IPv6 network of 64 bits: a machine has as many addresses of its network as it likes.
struct source {
    std::array<unsigned char, 16> bytes{};

    friend auto operator<=>(const source&, const source&) = default;
};

[[nodiscard]] source source_of(const boost::asio::ip::address& address);

}  // namespace cotrain::net
