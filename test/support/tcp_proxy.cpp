// Relaying bytes between two sockets, or not.
#include "support/tcp_proxy.hpp"

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <utility>

namespace cotrain::test {

using asio::ip::tcp;

tcp_proxy::tcp_proxy(asio::any_io_executor executor, std::uint16_t target)
    : acceptor_(executor, tcp::endpoint(asio::ip::address_v4::loopback(), 0)), target_(target), tasks_(executor) {
    tasks_.spawn("accept", accept());
}

awaitable<void> tcp_proxy::accept() {
    for (;;) {
        auto [error, socket] = co_await acceptor_.async_accept(use_tuple);
        if (error) co_return;
        ++accepted_;
        auto link = std::make_shared<pair>(std::move(socket));
        link->swallow = swallow_new_;
        links_.push_back(link);
        tasks_.spawn("relay", relay(std::move(link)));
    }
}

awaitable<void> tcp_proxy::relay(std::shared_ptr<pair> link) {
    const tcp::endpoint target(asio::ip::address_v4::loopback(), target_);
    auto [error] = co_await link->far.async_connect(target, use_tuple);
    if (error) co_return;
    tasks_.spawn("down", pump(link, false));
    co_await pump(link, true);
}

awaitable<void> tcp_proxy::pump(std::shared_ptr<pair> link, bool up) {
    std::array<char, 16384> buffer;
    tcp::socket& from = up ? link->near : link->far;
    tcp::socket& to = up ? link->far : link->near;
    for (;;) {
        auto [error, bytes] = co_await from.async_read_some(asio::buffer(buffer), use_tuple);
        if (error) break;
        if (link->swallow) continue;
        auto [failed, sent] = co_await asio::async_write(to, asio::buffer(buffer.data(), bytes), use_tuple);
        if (failed) break;
    }
    // A black hole keeps silent about the other side's end, too.
    if (link->swallow) co_return;
    boost::system::error_code ignored;
    to.shutdown(tcp::socket::shutdown_send, ignored);
}

void tcp_proxy::swallow() {
    for (auto& weak : links_)
        if (auto link = weak.lock()) link->swallow = true;
}

void tcp_proxy::cut() {
    for (auto& weak : links_) {
        auto link = weak.lock();
        if (!link) continue;
        boost::system::error_code ignored;
        link->near.set_option(asio::socket_base::linger(true, 0), ignored);
        link->near.close(ignored);
        link->far.close(ignored);
    }
    links_.clear();
}

awaitable<void> tcp_proxy::stop() {
    boost::system::error_code ignored;
    acceptor_.close(ignored);
    cut();
    tasks_.cancel();
    co_await tasks_.join();
}

}  // namespace cotrain::test
