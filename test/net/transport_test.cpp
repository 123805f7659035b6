// Reading over loopback while others take out what was read before.
#include "net/transport.hpp"

#include <gtest/gtest.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/write.hpp>

namespace cotrain::net {
namespace {

using asio::ip::tcp;
using answer = std::optional<base::result<bool>>;

awaitable<void> read_into(transport* wire, base::byte_queue* to, answer* done) {
    done->emplace(co_await wire->read(to));
}

// As long as what was there, and more than the queue keeps when it is empty.
TEST(transport, what_comes_in_is_whole_though_the_rest_was_taken_while_the_read_waited) {
    for (const std::size_t bytes : {6U, 100'000U}) {
        asio::io_context loop(1);
        tcp::acceptor door(loop, {asio::ip::address_v4::loopback(), 0});
        tcp::socket peer(loop);
        peer.connect(door.local_endpoint());
        transport wire(door.accept(), std::nullopt, transport::lean);
        base::byte_queue received(4096);
        received.append(std::string(bytes, 'a'));
        answer done;
        asio::co_spawn(loop, read_into(&wire, &received, &done), asio::detached);
        loop.poll();
        ASSERT_FALSE(done);
        received.clear();
        asio::write(peer, asio::buffer(std::string(6, 'b')));
        while (!done && loop.run_one_for(std::chrono::seconds(5)) != 0) {
        }
        ASSERT_TRUE(done) << "it waits for more";
        EXPECT_TRUE(*done && **done);
        EXPECT_EQ(received.view(), std::string(6, 'b'));
    }
}

}  // namespace
}  // namespace cotrain::net
