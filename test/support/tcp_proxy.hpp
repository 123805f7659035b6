// A TCP relay on loopback that a test can make stall, cut or go deaf: the network's failures without the network.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <list>
#include <memory>

#include "base/asio.hpp"
#include "base/task_group.hpp"

namespace cotrain::test {

class tcp_proxy {
   public:
    tcp_proxy(asio::any_io_executor executor, std::uint16_t target);

    [[nodiscard]] std::uint16_t port() const { return acceptor_.local_endpoint().port(); }
    // From now on bytes are swallowed in both directions, connections stay open: a black hole. New ones work.
    void swallow();
    // New connections are accepted and never served, either.
    void swallow_new(bool on) { swallow_new_ = on; }
    // New connections go there: what a Service does when its endpoints change.
    void redirect(std::uint16_t target) { target_ = target; }
    // Resets every connection.
    void cut();
    [[nodiscard]] std::size_t accepted() const { return accepted_; }
    [[nodiscard]] awaitable<void> stop();

   private:
    struct pair {
        explicit pair(asio::ip::tcp::socket s) : near(std::move(s)), far(near.get_executor()) {}
        asio::ip::tcp::socket near, far;
        bool swallow = false;
    };
    [[nodiscard]] awaitable<void> accept();
    [[nodiscard]] awaitable<void> relay(std::shared_ptr<pair> link);
    [[nodiscard]] awaitable<void> pump(std::shared_ptr<pair> link, bool up);

    asio::ip::tcp::acceptor acceptor_;
    std::uint16_t target_;
    base::task_group tasks_;
    std::list<std::weak_ptr<pair>> links_;
    std::size_t accepted_ = 0;
    bool swallow_new_ = false;
};

}  // namespace cotrain::test
