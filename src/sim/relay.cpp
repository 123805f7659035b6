// Moves bytes both ways until told to stop moving them.
#include "sim/relay.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <utility>
#include <vector>

namespace cotrain::sim {

using asio::ip::tcp;

struct relay::link {
    explicit link(tcp::socket from) : near(std::move(from)), far(near.get_executor()) {}
    tcp::socket near;
    tcp::socket far;
    bool frozen = false;
};

relay::relay(asio::any_io_executor executor) : executor_(executor), acceptor_(executor), tasks_(executor) {}

base::result<> relay::start(const std::string& address, std::uint16_t port, std::uint16_t target) {
    boost::system::error_code error;
    const auto where = asio::ip::make_address(address.empty() ? "127.0.0.1" : address, error);
    const tcp::endpoint at{where, port};
    if (!error) acceptor_.open(at.protocol(), error);
    if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
    if (!error) acceptor_.bind(at, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (error) return base::fail(base::errc::connect, "listen on " + address + ": " + error.message());
    port_ = acceptor_.local_endpoint().port();
    target_ = target;
    tasks_.spawn("relay", accept());
    return {};
}

awaitable<void> relay::accept() {
    for (;;) {
        auto [error, socket] = co_await acceptor_.async_accept(use_tuple);
        if (error == asio::error::operation_aborted) co_return;
        if (error) continue;
        std::erase_if(links_, [](const std::weak_ptr<link>& each) { return each.expired(); });
        auto made = std::make_shared<link>(std::move(socket));
        links_.push_back(made);
        tasks_.spawn("relayed connection", join(std::move(made)));
    }
}

awaitable<void> relay::join(std::shared_ptr<link> of) {
    const tcp::endpoint target{asio::ip::address_v4::loopback(), target_};
    if (const auto [error] = co_await of->far.async_connect(target, use_tuple); error) co_return;
    boost::system::error_code ignored;
    of->near.set_option(tcp::no_delay(true), ignored);
    of->far.set_option(tcp::no_delay(true), ignored);
    tasks_.spawn("answers of a connection", pump(of, false));
    co_await pump(of, true);
}

awaitable<void> relay::pump(std::shared_ptr<link> of, bool up) {
    tcp::socket& from = up ? of->near : of->far;
    tcp::socket& to = up ? of->far : of->near;
    std::vector<char> buffer(relay_buffer_bytes);
    for (;;) {
        const auto [error, n] = co_await from.async_read_some(asio::buffer(buffer), use_tuple);
        if (error) break;
        // What is read from a frozen connection is lost: its peer must hear nothing, and not learn that either.
        if (of->frozen) continue;
        if (const auto [failed, m] = co_await asio::async_write(to, asio::buffer(buffer.data(), n), use_tuple); failed)
            break;
    }
    // The peer of a frozen connection keeps its end until it lets go by itself.
    if (of->frozen && !up) co_return;
    boost::system::error_code ignored;
    of->near.close(ignored);
    of->far.close(ignored);
}

void relay::freeze() {
    for (const auto& each : links_) {
        if (const auto held = each.lock()) held->frozen = true;
    }
}

awaitable<void> relay::stop() {
    boost::system::error_code ignored;
    acceptor_.close(ignored);
    tasks_.cancel();
    co_await tasks_.join();
}

}  // namespace cotrain::sim
