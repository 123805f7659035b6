// How a server ends while requests are under way: who began is answered, nobody is waited for beyond the moment given.
#include <gtest/gtest.h>

#include <boost/asio/ip/tcp.hpp>

#include "world.hpp"

namespace cotrain::net {
namespace {

using namespace std::chrono_literals;

server_options patient() {
    server_options out;
    out.drain = 1h;
    return out;
}

awaitable<void> ask(client* c, std::string path, base::result<response>* answer) {
    *answer = co_await c->send(get(std::move(path)));
}

base::result<response> unanswered() { return base::fail(base::errc::internal, "not yet"); }

awaitable<void> wait_for(world* w, const std::string* path) {
    asio::steady_timer timer(w->loop);
    while (!w->seen.contains(*path)) {
        timer.expires_after(1ms);
        co_await timer.async_wait(asio::use_awaitable);
    }
}

awaitable<void> close_first(world& w) {
    client& c = w.use(w.options());
    const std::string held = "/held";
    auto answer = unanswered();
    w.tasks.spawn("ask", ask(&c, held, &answer));
    co_await wait_for(&w, &held);
    const std::uint16_t port = w.peer().port();
    w.peer().close();
    asio::ip::tcp::socket late(w.loop);
    const auto [error] = co_await late.async_connect({asio::ip::address_v4::loopback(), port}, use_tuple);
    EXPECT_EQ(error, asio::error::connection_refused);
    w.held.notify_later();
    co_await w.tasks.join();
    EXPECT_TRUE(answer.has_value()) << answer.error().message;
    co_await w.peer().stop();
}

TEST(server_stop, close_takes_nobody_new_and_answers_what_began) { world(patient()).run(close_first); }

awaitable<void> stop_soon(world& w) {
    client& c = w.use(w.options());
    const std::string never = "/hang";
    auto answer = unanswered();
    w.tasks.spawn("ask", ask(&c, never, &answer));
    co_await wait_for(&w, &never);
    co_await w.peer().stop(std::chrono::steady_clock::now() + 20ms);
    EXPECT_EQ(w.peer().counters().connections_open, 0U);
    w.tasks.cancel();
    co_await w.tasks.join();
}

TEST(server_stop, nobody_is_waited_for_beyond_the_moment_given) { world(patient()).run(stop_soon); }

awaitable<void> stop_within_grace(world& w) {
    client& c = w.use(w.options());
    const std::string never = "/hang";
    auto answer = unanswered();
    w.tasks.spawn("ask", ask(&c, never, &answer));
    co_await wait_for(&w, &never);
    co_await w.peer().stop(std::chrono::steady_clock::now() + 1h);
    EXPECT_EQ(w.peer().counters().connections_open, 0U);
    w.tasks.cancel();
    co_await w.tasks.join();
}

TEST(server_stop, its_own_grace_may_end_before) {
    server_options options;
    options.drain = 20ms;
    world(options).run(stop_within_grace);
}

}  // namespace
}  // namespace cotrain::net
