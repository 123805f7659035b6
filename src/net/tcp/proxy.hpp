// HTTP proxies: which one to use, what to ask it (CONNECT, RFC 9110 section 9.3.6), and what its answer means. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "net/tcp/connect.hpp"

namespace cotrain::net::tcp {

// "http://user:password@host:port"; scheme, user and port may be left out (the port is 80 then, as in Go). Errors say
// what is wrong and never quote user or password.
[[nodiscard]] base::result<proxy> parse_proxy(std::string_view url);

// The proxy for an https peer by HTTPS_PROXY and NO_PROXY, or none, as golang.org/x/net/http/httpproxy decides:
// localhost and loopback addresses go direct; NO_PROXY lists, separated by commas, `*`, addresses, CIDR ranges and
// names that also cover what is below them (".name" and "*.name": only what is below); addresses and names may have a
// port.
[[nodiscard]] base::result<std::optional<proxy>> proxy_for(std::string_view host, std::uint16_t port,
                                                           std::string_view https_proxy, std::string_view no_proxy);

// Whether NO_PROXY, or being local, keeps a peer off the proxy.
[[nodiscard]] bool goes_direct(std::string_view host, std::uint16_t port, std::string_view no_proxy);

// "host:port", with brackets around IPv6.
[[nodiscard]] std::string to_text(const address& where);

[[nodiscard]] std::string connect_request(const address& peer, const proxy& via);

// The proxy's answer to CONNECT.
class connect_answer {
   public:
    static constexpr std::size_t head_bytes_max = 8 * 1024;

    // Reads up to the end of the answer's head; returns how many of `bytes` belong to it.
    [[nodiscard]] base::result<std::size_t> feed(std::string_view bytes);
    // The tunnel is open.
    [[nodiscard]] bool complete() const { return complete_; }

   private:
    [[nodiscard]] base::result<> end_line();

    std::string line_;
    std::size_t head_bytes_ = 0;
    int status_ = 0;  // of the head that is being read; 0: its first line is
    bool complete_ = false;
};

}  // namespace cotrain::net::tcp
