// Sessions that servers gave a client, for its next connections to them.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "net/tls/context.hpp"
#include "net/tls/pem.hpp"

namespace cotrain::net::tls {

// One thread, like the connections that use it.
struct context::session_cache {
    static constexpr std::size_t servers_max = 32;
    static constexpr std::size_t sessions_per_server_max = 4;

    // Keeps the newest sessions of the servers used last.
    void put(std::string_view server, session_ptr session);
    // The newest session that may still be used, or none. One of TLS 1.3 is used once (RFC 8446, C.4).
    [[nodiscard]] session_ptr take(std::string_view server);

   private:
    struct entry {
        std::string server;
        std::vector<session_ptr> sessions;
    };
    std::vector<entry> servers_;  // used last at the end
};

}  // namespace cotrain::net::tls
