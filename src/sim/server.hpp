// The embedded API server on a port: HTTP/2 or HTTP/1.1, watches as streams, the garbage collector in between.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>

#include "base/log.hpp"
#include "base/task_group.hpp"
#include "net/server.hpp"
#include "sim/cluster.hpp"
#include "sim/front.hpp"

namespace cotrain::sim {

// A watch writes so much at once, then waits until its peer has room.
inline constexpr std::size_t watch_write_bytes = 64UL * 1024;
inline constexpr std::chrono::seconds bookmark_interval{60};
inline constexpr std::size_t watches_max = 4096;
// Steps of the garbage collector between two turns of the loop.
inline constexpr int collect_steps_max = 256;

struct server_counters {
    std::uint64_t requests = 0;
    std::uint64_t watches = 0;
    std::size_t watches_open = 0;
};

// The cluster must outlive the server. Changes made to it from outside are told with changed().
class server {
   public:
    server(asio::any_io_executor executor, cluster& of, net::server_options options, base::logger& log);
    ~server();

    [[nodiscard]] base::result<> start() { return wire_.start(); }
    [[nodiscard]] std::uint16_t port() const { return wire_.port(); }
    [[nodiscard]] server_counters counters() const { return counters_; }
    // Wakes watches and the garbage collector.
    void changed();
    // Ends all watches, then the connections.
    [[nodiscard]] awaitable<void> stop();

   private:
    struct open_watch;
    [[nodiscard]] awaitable<void> handle(net::incoming in);
    [[nodiscard]] awaitable<void> stream(net::incoming in, opened_watch what);
    [[nodiscard]] awaitable<void> collect_loop();
    // Writes what there is; false when the stream is over.
    [[nodiscard]] awaitable<bool> drain(net::incoming in, watcher* events);

    cluster& cluster_;
    asio::any_io_executor executor_;
    server_counters counters_{};
    std::list<open_watch*> watches_;
    base::signal garbage_;
    bool stopping_ = false;
    base::task_group tasks_;
    net::server wire_;
};

}  // namespace cotrain::sim
