// The playground's page on a port of its own: three files and a stream of states, read only, for browsers on this
// machine.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>

#include "base/error.hpp"
#include "base/log.hpp"
#include "net/server.hpp"

namespace cotrain::app {

// Between two states that a page is sent.
inline constexpr std::chrono::milliseconds state_pause{100};
inline constexpr std::size_t pages_max = 32;

class page_server {
   public:
    // `state` writes what the page shows, as JSON in one line.
    page_server(asio::io_context& loop, std::string address, std::uint16_t port, std::function<std::string()> state,
                base::logger& log);
    ~page_server();

    [[nodiscard]] base::result<> start() { return wire_.start(); }
    [[nodiscard]] std::uint16_t port() const { return wire_.port(); }
    void changed();
    [[nodiscard]] awaitable<void> stop();

   private:
    struct open_page;
    [[nodiscard]] awaitable<void> answer(net::incoming in);
    [[nodiscard]] awaitable<void> stream(net::incoming in);

    asio::io_context& loop_;
    std::function<std::string()> state_;
    std::list<open_page*> pages_;
    bool stopping_ = false;
    net::server wire_;
};

}  // namespace cotrain::app
