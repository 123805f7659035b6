// Connecting over loopback: to those who answer, refuse or stay silent, directly and through proxies.
#include "net/tcp/connect.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <filesystem>

#include "base/task_group.hpp"
#include "net/tcp/proxy.hpp"
#include "support/run.hpp"

namespace cotrain::net::tcp {
namespace {

using namespace std::chrono_literals;
using asio::ip::make_address;
using socket_type = asio::ip::tcp::socket;
using endpoint = asio::ip::tcp::endpoint;
using acceptor = asio::ip::tcp::acceptor;
using testing::HasSubstr;
using testing::StartsWith;
using connected = std::optional<base::result<socket_type>>;

std::size_t open_files() {
    std::size_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
        files += entry.path().empty() ? 0U : 1U;
    return files;
}

awaitable<void> connect_into(address peer, connect_options options, connected* result) {
    result->emplace(co_await connect(std::move(peer), std::move(options)));
}

awaitable<void> dial_into(std::vector<endpoint> addresses, std::chrono::milliseconds timeout, connect_options options,
                          connected* result) {
    result->emplace(co_await dial(std::move(addresses), std::chrono::steady_clock::now() + timeout, options));
}

base::result<socket_type> connect_now(asio::io_context& loop, address peer, connect_options options = {}) {
    connected result;
    test::run(loop, connect_into(std::move(peer), std::move(options), &result));
    return std::move(*result);
}

base::result<socket_type> dial_now(asio::io_context& loop, std::vector<endpoint> addresses,
                                   std::chrono::milliseconds timeout = 10s, connect_options options = {}) {
    connected result;
    test::run(loop, dial_into(std::move(addresses), timeout, options, &result));
    return std::move(*result);
}

struct connect_test : testing::Test {
    asio::io_context loop{1};
    acceptor listening{loop, endpoint(make_address("127.0.0.1"), 0)};

    [[nodiscard]] std::uint16_t port() const { return listening.local_endpoint().port(); }
    // An address of our own machine that nobody listens at.
    [[nodiscard]] static endpoint at(const char* host, std::uint16_t port) { return {make_address(host), port}; }
};

// Listens and never accepts; what is beyond its full queue gets no answer at all, as in a black hole.
class black_hole {
   public:
    explicit black_hole(asio::io_context& loop, const char* host = "127.0.0.1") : listening_(loop) {
        const endpoint any(make_address(host), 0);
        listening_.open(any.protocol());
        listening_.bind(any);
        listening_.listen(0);
        for (int i = 0; i < 8; ++i) {
            socket_type& filler = fillers_.emplace_back(loop, any.protocol());
            filler.native_non_blocking(true);
            const endpoint to = listening_.local_endpoint();
            static_cast<void>(::connect(filler.native_handle(), to.data(), static_cast<socklen_t>(to.size())));
        }
    }
    [[nodiscard]] endpoint where() const { return listening_.local_endpoint(); }

   private:
    acceptor listening_;
    std::vector<socket_type> fillers_;
};

int option(socket_type& socket, int level, int name) {
    int value = -1;
    socklen_t size = sizeof value;
    EXPECT_EQ(::getsockopt(socket.native_handle(), level, name, &value, &size), 0);
    return value;
}

TEST_F(connect_test, a_connection_is_lively) {
    connect_options options;
    options.keepalive_idle = 20s;
    options.keepalive_interval = 5s;
    options.keepalive_probes = 4;
    auto socket = connect_now(loop, {"127.0.0.1", port()}, options);
    ASSERT_TRUE(socket) << socket.error().message;
    EXPECT_EQ(socket->remote_endpoint(), listening.local_endpoint());
    EXPECT_EQ(option(*socket, IPPROTO_TCP, TCP_NODELAY), 1);
    EXPECT_EQ(option(*socket, SOL_SOCKET, SO_KEEPALIVE), 1);
    EXPECT_EQ(option(*socket, IPPROTO_TCP, TCP_KEEPIDLE), 20);
    EXPECT_EQ(option(*socket, IPPROTO_TCP, TCP_KEEPINTVL), 5);
    EXPECT_EQ(option(*socket, IPPROTO_TCP, TCP_KEEPCNT), 4);
    EXPECT_EQ(option(*socket, IPPROTO_TCP, TCP_USER_TIMEOUT), 40'000);
}

TEST_F(connect_test, a_name_is_looked_up) {
    const auto socket = connect_now(loop, {"localhost", port()});
    ASSERT_TRUE(socket) << socket.error().message;
}

TEST_F(connect_test, a_name_that_does_not_exist_is_named) {
    // Longer than a label may be, so that no name server is asked.
    const std::string name = std::string(70, 'x') + ".test";
    const auto socket = connect_now(loop, {name, 443});
    ASSERT_FALSE(socket);
    EXPECT_EQ(socket.error().code, base::errc::connect);
    EXPECT_EQ(socket.error().again, base::retry::later);
    EXPECT_THAT(socket.error().message,
                StartsWith("cannot connect to " + name + ":443: cannot look up " + name + ": "));
}

TEST_F(connect_test, a_look_up_does_not_outlast_the_timeout) {
    connect_options options;
    options.timeout = 0ms;
    const auto socket = connect_now(loop, {"localhost", port()}, options);
    ASSERT_FALSE(socket);
    EXPECT_EQ(socket.error().code, base::errc::connect);
    EXPECT_THAT(socket.error().message, HasSubstr("no answer")) << "from name service or from the address";
}

TEST_F(connect_test, what_cannot_be_a_peer_is_refused) {
    using namespace std::string_literals;
    for (const address& peer : {address{"", 443}, address{"a b", 443}, address{"a\r\nb", 443}, address{"a\0b"s, 443},
                                address{"a.test", 0}, address{std::string(256, 'a'), 443}}) {
        const auto socket = connect_now(loop, peer);
        ASSERT_FALSE(socket);
        EXPECT_EQ(socket.error().code, base::errc::invalid);
        EXPECT_EQ(socket.error().message.find_first_of("\r\n"), std::string::npos);
    }
}

TEST_F(connect_test, a_refusal_is_said_once) {
    const std::uint16_t closed = port();
    listening.close();
    const auto socket = connect_now(loop, {"127.0.0.1", closed});
    ASSERT_FALSE(socket);
    EXPECT_EQ(socket.error().code, base::errc::connect);
    EXPECT_EQ(socket.error().again, base::retry::later);
    EXPECT_EQ(socket.error().message, "cannot connect to 127.0.0.1:" + std::to_string(closed) + ": connection refused");
}

TEST_F(connect_test, a_black_hole_ends_with_the_timeout) {
    const black_hole hole(loop);
    connect_options options;
    options.timeout = 50ms;
    const auto socket = connect_now(loop, {"127.0.0.1", hole.where().port()}, options);
    ASSERT_FALSE(socket);
    EXPECT_EQ(socket.error().code, base::errc::connect);
    EXPECT_EQ(socket.error().again, base::retry::later);
    EXPECT_EQ(socket.error().message,
              "cannot connect to 127.0.0.1:" + std::to_string(hole.where().port()) + ": no answer");
}

TEST_F(connect_test, refused_addresses_cost_no_time) {
    connect_options patient;
    patient.next_attempt_after = 1h;  // would be noticed
    const auto socket =
        dial_now(loop, {at("127.0.0.2", port()), at("127.0.0.3", port()), at("::1", port()), at("127.0.0.1", port())},
                 10s, patient);
    ASSERT_TRUE(socket) << socket.error().message;
    EXPECT_EQ(socket->remote_endpoint(), listening.local_endpoint());
}

TEST_F(connect_test, a_silent_address_is_overtaken) {
    const black_hole hole(loop, "127.0.0.2");
    connect_options eager;
    eager.next_attempt_after = 10ms;
    const std::size_t before = open_files();
    {
        const auto socket = dial_now(loop, {hole.where(), listening.local_endpoint()}, 10s, eager);
        ASSERT_TRUE(socket) << socket.error().message;
        EXPECT_EQ(socket->remote_endpoint(), listening.local_endpoint());
        EXPECT_EQ(open_files(), before + 1) << "the slow attempt is closed";
    }
    EXPECT_EQ(open_files(), before);
}

TEST_F(connect_test, the_first_address_wins_while_it_answers) {
    acceptor other(loop, endpoint(make_address("127.0.0.2"), 0));
    for (int i = 0; i < 20; ++i) {
        const auto socket = dial_now(loop, {other.local_endpoint(), listening.local_endpoint()});
        ASSERT_TRUE(socket);
        EXPECT_EQ(socket->remote_endpoint(), other.local_endpoint());
    }
}

TEST_F(connect_test, every_address_tried_is_named_with_its_reason) {
    const black_hole hole(loop, "127.0.0.2");
    const auto socket = dial_now(loop, {at("127.0.0.3", 1), hole.where(), at("127.0.0.4", 1)}, 60ms, {});
    ASSERT_FALSE(socket);
    EXPECT_EQ(socket.error().message, "127.0.0.3: connection refused; 127.0.0.2: no answer");
    const auto all = dial_now(loop, {at("127.0.0.3", 1), at("127.0.0.4", 1)});
    ASSERT_FALSE(all);
    EXPECT_EQ(all.error().message, "127.0.0.3: connection refused; 127.0.0.4: connection refused");
}

TEST_F(connect_test, the_number_of_addresses_is_bounded) {
    std::vector<endpoint> many(addresses_max + 4, at("127.0.0.3", 1));
    many.push_back(listening.local_endpoint());
    const auto socket = dial_now(loop, many);
    ASSERT_FALSE(socket);
    EXPECT_THAT(socket.error().message, testing::EndsWith("; 5 more addresses not tried"));
}

TEST_F(connect_test, a_cancelled_call_leaves_no_socket) {
    const black_hole hole(loop);
    const std::size_t before = open_files();
    connected result;
    base::task_group group(loop.get_executor());
    group.spawn("connect", connect_into({"127.0.0.1", hole.where().port()}, {}, &result));
    loop.poll();
    EXPECT_EQ(open_files(), before + 1);
    group.cancel();
    loop.restart();
    loop.run();
    EXPECT_EQ(group.size(), 0U);
    EXPECT_EQ(open_files(), before);
    ASSERT_TRUE(result);
    ASSERT_FALSE(*result);
    EXPECT_EQ(result->error().code, base::errc::canceled);
}

TEST_F(connect_test, a_cancelled_look_up_is_forgotten) {
    connected result;
    base::task_group group(loop.get_executor());
    group.spawn("connect", connect_into({"localhost", port()}, {}, &result));
    loop.poll_one();  // the look-up begins
    group.cancel();
    loop.restart();
    loop.run();
    EXPECT_EQ(group.size(), 0U);
    ASSERT_TRUE(result);
    ASSERT_FALSE(*result);
    EXPECT_EQ(result->error().code, base::errc::canceled);
}

// A proxy's side: reads one request head, answers with `answer`, and stays until the peer goes.
awaitable<void> serve_proxy(acceptor* listening, std::string answer, std::string* request, bool then_close) {
    auto [error, socket] = co_await listening->async_accept(use_tuple);
    EXPECT_FALSE(error);
    const auto [read_error, size] =
        co_await asio::async_read_until(socket, asio::dynamic_buffer(*request), "\r\n\r\n", use_tuple);
    EXPECT_FALSE(read_error);
    co_await asio::async_write(socket, asio::buffer(answer), use_tuple);
    if (then_close) co_return;
    char rest = 0;
    co_await socket.async_read_some(asio::buffer(&rest, 1), use_tuple);
}

struct proxied : connect_test {
    std::string request;

    // What comes of connecting to api.test:6443 through a proxy with that answer.
    base::result<socket_type> through(std::string answer, std::chrono::milliseconds timeout = 10s,
                                      std::string_view user = "", bool then_close = false) {
        connect_options options;
        options.timeout = timeout;
        options.via = parse_proxy("http://" + std::string(user) + "127.0.0.1:" + std::to_string(port())).value();
        request.clear();
        connected result;
        base::task_group proxy(loop.get_executor());
        proxy.spawn("proxy", serve_proxy(&listening, std::move(answer), &request, then_close));
        proxy.spawn("connect", connect_into({"api.test", 6443}, options, &result));
        while (!result) {
            loop.restart();
            loop.run_one();
        }
        proxy.cancel();
        loop.restart();
        loop.run();
        EXPECT_EQ(proxy.size(), 0U);
        return std::move(*result);
    }
    [[nodiscard]] std::string prefix() const {
        return "CONNECT api.test:6443 through proxy 127.0.0.1:" + std::to_string(port()) + ": ";
    }
};

TEST_F(proxied, a_tunnel_is_a_socket_with_the_peers_first_bytes_still_in_it) {
    auto socket = through("HTTP/1.1 200 Connection established\r\nVia: test\r\n\r\nfirst bytes");
    ASSERT_TRUE(socket) << socket.error().message;
    EXPECT_EQ(request, "CONNECT api.test:6443 HTTP/1.1\r\nHost: api.test:6443\r\n\r\n");
    std::string got(100, '\0');
    boost::system::error_code error;
    got.resize(socket->read_some(asio::buffer(got), error));
    EXPECT_EQ(got, "first bytes");
}

TEST_F(proxied, user_and_password_are_given) {
    const auto socket = through("HTTP/1.1 200 OK\r\n\r\n", 10s, "user:pass@");
    ASSERT_TRUE(socket) << socket.error().message;
    EXPECT_THAT(request, HasSubstr("\r\nProxy-Authorization: Basic dXNlcjpwYXNz\r\n"));
}

TEST_F(proxied, a_refusal_names_peer_and_proxy) {
    const auto wants = through("HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\n\r\n");
    ASSERT_FALSE(wants);
    EXPECT_EQ(wants.error().code, base::errc::auth);
    EXPECT_THAT(wants.error().message, StartsWith(prefix() + "it wants user and password"));
    const auto down = through("HTTP/1.1 502 Bad Gateway\r\n\r\n");
    ASSERT_FALSE(down);
    EXPECT_EQ(down.error().message, prefix() + "it refuses: 502 Bad Gateway");
    EXPECT_EQ(down.error().again, base::retry::later);
}

TEST_F(proxied, nonsense_and_endless_heads_are_refused) {
    EXPECT_EQ(through("220 smtp ready\r\n").error().message,
              prefix() + "it does not answer in HTTP/1 but with '220 smtp ready  '");
    const auto endless = through("HTTP/1.1 200 OK\r\n" + std::string(20'000, 'h'));
    ASSERT_FALSE(endless);
    EXPECT_EQ(endless.error().code, base::errc::too_large);
}

TEST_F(proxied, silence_ends_with_the_timeout) {
    for (const char* beginning : {"", "HTTP/1.1 200 OK\r\nVia: "}) {
        const auto socket = through(beginning, 50ms);
        ASSERT_FALSE(socket);
        EXPECT_EQ(socket.error().message, prefix() + "it does not answer in time");
        EXPECT_EQ(socket.error().code, base::errc::connect);
        EXPECT_EQ(socket.error().again, base::retry::later);
    }
}

TEST_F(proxied, a_proxy_that_hangs_up_is_named) {
    for (const char* beginning : {"", "HTTP/1.1 200 OK\r\nVia: "}) {
        const auto socket = through(beginning, 10s, "", true);
        ASSERT_FALSE(socket);
        EXPECT_EQ(socket.error().message, prefix() + "connection closed by peer");
    }
}

TEST_F(proxied, a_proxy_that_is_not_there_is_named) {
    connect_options options;
    options.via = proxy{.where = {"127.0.0.1", port()}};
    listening.close();
    const auto socket = connect_now(loop, {"api.test", 443}, options);
    ASSERT_FALSE(socket);
    EXPECT_EQ(socket.error().message,
              "cannot connect to proxy 127.0.0.1:" + std::to_string(options.via->where.port) + ": connection refused");
    options.via->over_tls = true;
    EXPECT_EQ(connect_now(loop, {"api.test", 443}, options).error().message, "https:// proxies are not supported");
}

TEST_F(proxied, a_cancelled_tunnel_leaves_no_socket) {
    const std::size_t before = open_files();
    connect_options options;
    options.via = proxy{.where = {"127.0.0.1", port()}};
    connected result;
    base::task_group group(loop.get_executor());
    group.spawn("connect", connect_into({"api.test", 443}, options, &result));
    socket_type accepted(loop);
    listening.async_accept(accepted, [](const boost::system::error_code& error) { EXPECT_FALSE(error); });
    while (!accepted.is_open() || accepted.available() == 0) loop.run_one();
    loop.poll();  // and now it waits for the answer
    EXPECT_EQ(open_files(), before + 2);
    group.cancel();
    loop.restart();
    loop.run();
    EXPECT_EQ(group.size(), 0U);
    EXPECT_EQ(open_files(), before + 1);
    ASSERT_TRUE(result);
    ASSERT_FALSE(*result);
    EXPECT_EQ(result->error().code, base::errc::canceled);
}

}  // namespace
}  // namespace cotrain::net::tcp
