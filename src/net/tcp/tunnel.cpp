// CONNECT over a socket, under a deadline.
#include "net/tcp/tunnel.hpp"

#include <boost/asio/buffer.hpp>
#include <memory>
#include <span>

#include "net/tcp/errors.hpp"
#include "net/tcp/proxy.hpp"

namespace cotrain::net::tcp {
namespace {

using asio::ip::tcp;
using boost::system::error_code;

// Ends the socket's pending operation when time is up; outlives the coroutine while its timer's handler is due.
struct watchdog {
    explicit watchdog(tcp::socket& socket) : watched(&socket), timer(socket.get_executor()) {}

    tcp::socket* watched;
    asio::steady_timer timer;
    bool barked = false;
};

struct release_on_exit {
    std::shared_ptr<watchdog> dog;
    ~release_on_exit() {
        dog->watched = nullptr;
        dog->timer.cancel();
    }
};

void watch(const std::shared_ptr<watchdog>& dog, time_point deadline) {
    dog->timer.expires_at(deadline);
    dog->timer.async_wait([dog](const error_code& error) {
        if (error || dog->watched == nullptr) return;
        dog->barked = true;
        error_code ignored;
        static_cast<void>(dog->watched->cancel(ignored));
    });
}

std::unexpected<base::error> broken(const watchdog& dog, const error_code& error) {
    if (dog.barked) return base::fail(base::errc::connect, "it does not answer in time");
    if (error == asio::error::operation_aborted) return base::fail(base::errc::canceled, "given up");
    return base::fail(base::errc::connect, reason(error));
}

// Takes bytes off the socket that are surely there, because they were peeked at.
error_code take(tcp::socket& socket, std::span<char> bytes) {
    error_code error;
    while (!bytes.empty() && !error)
        bytes = bytes.subspan(socket.receive(asio::buffer(bytes.data(), bytes.size()), 0, error));
    return error;
}

awaitable<base::result<tcp::socket>> ask(tcp::socket socket, std::string request, time_point deadline) {
    const auto dog = std::make_shared<watchdog>(socket);
    const release_on_exit guard{dog};
    watch(dog, deadline);
    for (std::string_view rest = request; !rest.empty();) {
        const auto [error, sent] = co_await socket.async_write_some(asio::buffer(rest.data(), rest.size()), use_tuple);
        if (error || dog->barked) co_return broken(*dog, error);
        rest.remove_prefix(sent);
    }
    connect_answer answer;
    std::string bytes(1024, '\0');
    while (!answer.complete()) {
        const auto [error, seen] =
            co_await socket.async_receive(asio::buffer(bytes), tcp::socket::message_peek, use_tuple);
        if (error || dog->barked) co_return broken(*dog, error);
        const auto used = answer.feed(std::string_view(bytes).substr(0, seen));
        if (!used) co_return base::fail(used.error());
        if (const error_code failed = take(socket, {bytes.data(), *used})) co_return broken(*dog, failed);
    }
    co_return std::move(socket);
}

}  // namespace

awaitable<base::result<tcp::socket>> tunnel(tcp::socket socket, address peer, proxy via, time_point deadline) {
    auto asked = co_await ask(std::move(socket), connect_request(peer, via), deadline);
    if (!asked)
        co_return base::fail(
            std::move(asked).error().during("CONNECT " + to_text(peer) + " through proxy " + to_text(via.where)));
    co_return asked;
}

}  // namespace cotrain::net::tcp
