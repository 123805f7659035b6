// Requests that must not go out after a moment, in a process that is frozen when it may least be.
#include <gtest/gtest.h>

#include <boost/asio/ip/tcp.hpp>

#include "net/transport.hpp"
#include "net/world.hpp"

namespace cotrain::net {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

// As a stopped process does: nothing, and afterwards it goes on where it was.
void freeze_until(clock::time_point end) {
    while (clock::now() <= end) {
    }
}

awaitable<void> ask(client* c, request what, base::result<response>* answer) { *answer = co_await c->send(what); }

awaitable<void> freeze_before_the_write(world& w) {
    client& c = w.use(w.options());
    EXPECT_TRUE((co_await c.send(get("/before"))).has_value());
    request late = get("/late");
    late.latest = clock::now() + 5ms;
    base::result<response> answers[] = {base::fail(base::errc::internal, "not yet"),
                                        base::fail(base::errc::internal, "not yet")};
    w.tasks.spawn("late", ask(&c, late, &answers[0]));
    w.tasks.spawn("beside", ask(&c, get("/beside"), &answers[1]));
    freeze_until(late.latest);
    co_await w.tasks.join();
    EXPECT_EQ(answers[0] ? base::errc::internal : answers[0].error().code, base::errc::deadline);
    EXPECT_TRUE(answers[1].has_value()) << "what leaves with it is not concerned";
    EXPECT_TRUE((co_await c.send(get("/after"))).has_value());
    EXPECT_FALSE(w.seen.contains("/late"));
    EXPECT_EQ(c.counters().connects, 1U);
}

TEST(client_latest, a_request_that_was_held_up_does_not_go_out) { world().run(freeze_before_the_write); }

awaitable<void> freeze_and_repeat(world& w) {
    client& c = w.use(w.options());
    request late = get("/late");
    late.latest = clock::now() - 1ms;
    const auto answer = co_await c.send(late);
    EXPECT_EQ(answer ? base::errc::internal : answer.error().code, base::errc::deadline);
    late.latest = clock::now() + 1h;
    EXPECT_TRUE((co_await c.send(late)).has_value());
    EXPECT_EQ(w.seen["/late"], 1);
}

TEST(client_latest, one_that_is_late_from_the_beginning_does_not_go_out) { world().run(freeze_and_repeat); }

// Between the frames and the socket: bytes that are made cannot be taken back, the connection has to end.
TEST(client_latest, nothing_is_sent_by_a_transport_after_its_moment) {
    asio::io_context loop(1);
    asio::ip::tcp::acceptor acceptor(loop, {asio::ip::address_v4::loopback(), 0});
    asio::ip::tcp::socket ours(loop);
    ours.connect(acceptor.local_endpoint());
    asio::ip::tcp::socket theirs = acceptor.accept();
    ours.non_blocking(true);
    theirs.non_blocking(true);
    transport wire(std::move(ours), std::nullopt);
    base::byte_queue bytes;
    bytes.append("early");
    wire.send_by(clock::now() + 1h);
    EXPECT_TRUE(wire.write_now(&bytes).has_value());
    bytes.append("late");
    wire.send_by(clock::now() - 1ns);
    EXPECT_FALSE(wire.write_now(&bytes).has_value());
    char got[16];
    EXPECT_EQ(theirs.read_some(asio::buffer(got)), 5U);
    boost::system::error_code error;
    EXPECT_EQ(theirs.read_some(asio::buffer(got), error), 0U);
    EXPECT_EQ(error, asio::error::would_block);
}

}  // namespace
}  // namespace cotrain::net
