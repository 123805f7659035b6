// From a name to a connected socket: look-up, race, tunnel.
#include "net/tcp/connect.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "net/tcp/dial.hpp"
#include "net/tcp/lookup.hpp"
#include "net/tcp/proxy.hpp"
#include "net/tcp/race.hpp"
#include "net/tcp/tunnel.hpp"

namespace cotrain::net::tcp {
namespace {

using asio::ip::tcp;

constexpr std::chrono::milliseconds timeout_max = std::chrono::hours(24);
constexpr std::size_t host_bytes_max = 255;

// Neither the resolver nor a CONNECT line may see bytes that end or break them.
bool usable(const address& where) {
    return !where.host.empty() && where.host.size() <= host_bytes_max && where.port != 0 &&
           std::ranges::all_of(where.host, [](char c) { return c > 0x20 && c != 0x7f; });
}

base::error refuse(const address& where) {
    return base::make_error(base::errc::invalid,
                            fmt::format("cannot connect to '{}:{}': no host name or address with a port",
                                        base::one_line(where.host, host_bytes_max), where.port));
}

// A literal address needs no repetition of itself before the reason.
std::string without_repetition(const address& where, std::string reasons) {
    const std::string prefix = where.host + ": ";
    if (reasons.starts_with(prefix) && reasons.find("; ") == std::string::npos) reasons.erase(0, prefix.size());
    return reasons;
}

awaitable<base::result<tcp::socket>> reach(address where, std::string role, time_point deadline,
                                           connect_options options) {
    const std::string attempt = fmt::format("cannot connect to {}{}", role, to_text(where));
    auto found = co_await look_up(where.host, where.port, deadline);
    if (!found) co_return base::fail(std::move(found).error().during(attempt));
    auto socket = co_await dial(take_turns(*found), deadline, std::move(options));
    if (!socket) {
        base::error e = std::move(socket).error();
        e.message = without_repetition(where, std::move(e.message));
        co_return base::fail(std::move(e).during(attempt));
    }
    co_return socket;
}

}  // namespace

awaitable<base::result<tcp::socket>> connect(address peer, connect_options options) {
    if (!usable(peer)) co_return base::fail(refuse(peer));
    if (options.via && !usable(options.via->where)) co_return base::fail(refuse(options.via->where));
    if (options.via && options.via->over_tls)
        co_return base::fail(base::errc::invalid, "https:// proxies are not supported");
    const time_point deadline = std::chrono::steady_clock::now() + std::min(options.timeout, timeout_max);
    if (!options.via) co_return co_await reach(std::move(peer), "", deadline, std::move(options));
    const proxy via = *options.via;
    auto socket = co_await reach(via.where, "proxy ", deadline, std::move(options));
    if (!socket) co_return socket;
    co_return co_await tunnel(std::move(*socket), std::move(peer), via, deadline);
}

}  // namespace cotrain::net::tcp
