// A TCP relay before the server, for faults that a connection cannot do to itself: going silent while it stays open.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>

#include "base/asio.hpp"
#include "base/error.hpp"
#include "base/task_group.hpp"

namespace cotrain::sim {

inline constexpr std::size_t relay_buffer_bytes = 64UL * 1024;

class relay {
   public:
    explicit relay(asio::any_io_executor executor);

    [[nodiscard]] base::result<> start(const std::string& address, std::uint16_t port, std::uint16_t target);
    [[nodiscard]] std::uint16_t port() const { return port_; }
    // Connections of now stay open and move no byte any more. New ones work.
    void freeze();
    [[nodiscard]] awaitable<void> stop();

   private:
    struct link;
    [[nodiscard]] awaitable<void> accept();
    [[nodiscard]] awaitable<void> join(std::shared_ptr<link> of);
    [[nodiscard]] static awaitable<void> pump(std::shared_ptr<link> of, bool up);

    asio::any_io_executor executor_;
    asio::ip::tcp::acceptor acceptor_;
    std::uint16_t port_ = 0;
    std::uint16_t target_ = 0;
    std::list<std::weak_ptr<link>> links_;
    base::task_group tasks_;
};

}  // namespace cotrain::sim
