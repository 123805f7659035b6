// A server, a relay in front of it and a client on one loop: where tests of net::client happen.
#pragma once

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/signal.hpp"
#include "base/task_group.hpp"
#include "net/client.hpp"
#include "net/server.hpp"
#include "support/run.hpp"
#include "support/tcp_proxy.hpp"

namespace cotrain::net {

// The server counts each request by path; /hang is never answered, /hang-once not the first time, /held when `held` is
// notified, /big answers with as many bytes as its query says.
class world {
   public:
    explicit world(server_options options = {}, bool relayed = false)
        : server_(
              loop.get_executor(), std::move(options), [this](incoming in) { return answer(std::move(in)); },
              base::null_logger()),
          tasks(loop.get_executor()),
          relayed_(relayed) {}

    // Runs `body` with everything started, and stops everything afterwards.
    void run(std::function<awaitable<void>(world&)> body) { test::run(loop, play(this, std::move(body))); }

    client_options options() const {
        client_options o;
        o.peer = {"127.0.0.1", relay ? relay->port() : server_.port()};
        o.scheme = "http";
        o.reconnect = {std::chrono::milliseconds(1), std::chrono::milliseconds(20), 2.0, 0.5};
        return o;
    }
    client& use(client_options o) {
        clients_.push_back(std::make_unique<client>(loop.get_executor(), std::move(o), base::null_logger()));
        return *clients_.back();
    }
    server& peer() { return server_; }

    asio::io_context loop{1};

   private:
    static awaitable<void> play(world* self, std::function<awaitable<void>(world&)> body) {
        const auto started = self->server_.start();
        EXPECT_TRUE(started.has_value());
        if (self->relayed_)
            self->relay = std::make_unique<test::tcp_proxy>(self->loop.get_executor(), self->server_.port());
        co_await body(*self);
        for (auto& each : self->clients_) co_await each->stop();
        self->tasks.cancel();
        co_await self->tasks.join();
        if (self->relay) co_await self->relay->stop();
        co_await self->server_.stop();
    }
    awaitable<void> answer(incoming in);

    server server_;
    std::vector<std::unique_ptr<client>> clients_;

   public:
    base::task_group tasks;
    std::unique_ptr<test::tcp_proxy> relay;
    std::map<std::string, int> seen;
    std::size_t written = 0;  // bytes of /big that the server could hand over
    int hanging = 0;          // requests to /hang that the peer has not given up
    base::signal held;        // one request to /held waits for it

   private:
    bool relayed_;
};

inline request get(std::string path) {
    request r;
    r.path = std::move(path);
    r.idempotent = true;
    return r;
}

}  // namespace cotrain::net
