// Addresses cut to what one machine has.
#include "net/source.hpp"

#include <algorithm>

namespace cotrain::net {

source source_of(const boost::asio::ip::address& address) {
    namespace ip = boost::asio::ip;
    if (address.is_v4()) return {ip::make_address_v6(ip::v4_mapped, address.to_v4()).to_bytes()};
    source out{address.to_v6().to_bytes()};
    if (!address.to_v6().is_v4_mapped())
        std::fill(out.bytes.begin() + 8, out.bytes.end(), static_cast<unsigned char>(0));
    return out;
}

}  // namespace cotrain::net
