// Certificates and tokens of servers that live as long as one process.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "net/tls/context.hpp"

namespace cotrain::playground {

struct local_tls {
    std::shared_ptr<const net::tls::context> context;
    std::string ca_pem;
};
// For localhost and that address. With `client_ca_pem` certificates of clients are asked for.
[[nodiscard]] base::result<local_tls> make_local_tls(const std::string& address, std::string client_ca_pem);

[[nodiscard]] std::string random_token();

}  // namespace cotrain::playground
