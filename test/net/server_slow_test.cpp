// HTTP/2 peers that ask and do not read: they lose their stream, not everybody else's time.
#include <gtest/gtest.h>

#include "world.hpp"

namespace cotrain::net {
namespace {

awaitable<void> not_reading(world& w) {
    client_options o = w.options();
    o.limits.stream_window_bytes = 16U << 10U;
    client& c = w.use(o);
    auto lazy = co_await c.open(get("/big?400000"));
    EXPECT_TRUE(lazy.has_value());
    if (!lazy) co_return;
    asio::steady_timer timer(co_await asio::this_coro::executor);
    while (c.counters().streams_open != 0) {
        timer.expires_after(std::chrono::milliseconds(5));
        co_await timer.async_wait(asio::use_awaitable);
    }
    const auto rest = co_await lazy->read_all(1'000'000);
    EXPECT_FALSE(rest.has_value()) << "it must not look complete";
    const auto other = co_await c.send(get("/quick"));
    EXPECT_TRUE(other.has_value());
    EXPECT_EQ(c.counters().connects, 1U);
}

TEST(server, a_peer_that_does_not_take_its_answer_loses_the_stream) {
    server_options options;
    options.request = std::chrono::milliseconds(1);
    world(options).run(not_reading);
}

}  // namespace
}  // namespace cotrain::net
