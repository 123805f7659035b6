// Performs what race decides: opens sockets, waits, keeps the winner.
#include "net/tcp/dial.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "base/signal.hpp"
#include "net/tcp/errors.hpp"

namespace cotrain::net::tcp {
namespace {

using asio::ip::tcp;
using boost::system::error_code;

// What Linux takes for keepalive: times in seconds, and probes.
constexpr std::int64_t keepalive_s_max = 32'767;
constexpr std::int64_t keepalive_probes_max = 127;

void set_option(tcp::socket& socket, int level, int name, std::int64_t value, std::int64_t value_max = 1) {
    // A kernel without one of these still connects: HTTP/2's PING finds dead peers too.
    const int number = static_cast<int>(std::clamp<std::int64_t>(value, 1, value_max));
    static_cast<void>(::setsockopt(socket.native_handle(), level, name, &number, sizeof number));
}

void set_liveness(tcp::socket& socket, const connect_options& options) {
    set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
    set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, options.keepalive_idle.count(), keepalive_s_max);
    set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, options.keepalive_interval.count(), keepalive_s_max);
    set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, options.keepalive_probes, keepalive_probes_max);
    // Unacknowledged data gives up as soon as keepalive would; the kernel's own limit is about 15 minutes.
    const auto silence = options.keepalive_idle + options.keepalive_interval * options.keepalive_probes;
    const unsigned silence_ms =
        static_cast<unsigned>(std::clamp<std::int64_t>(std::chrono::milliseconds(silence).count(), 1'000, 3'600'000));
    static_cast<void>(
        ::setsockopt(socket.native_handle(), IPPROTO_TCP, TCP_USER_TIMEOUT, &silence_ms, sizeof silence_ms));
}

// Outlives dial() by the turn of the loop in which closed sockets report that they are.
struct contest : std::enable_shared_from_this<contest> {
    contest(const asio::any_io_executor& executor, std::vector<tcp::endpoint> to, connect_options how)
        : untried(to.size() - std::min(to.size(), addresses_max)),
          addresses(std::move(to)),
          options(std::move(how)),
          order(addresses.size() - untried, options.next_attempt_after),
          reasons(addresses.size(), asio::error::timed_out),
          timer(executor) {
        sockets.reserve(addresses.size());
        for (std::size_t i = 0; i < addresses.size() - untried; ++i) sockets.emplace_back(executor);
    }

    void start(std::size_t runner) {
        tcp::socket& socket = sockets[runner];
        error_code error;
        static_cast<void>(socket.open(addresses[runner].protocol(), error));
        if (error) return fail(runner, error);
        set_liveness(socket, options);
        socket.async_connect(addresses[runner], [self = shared_from_this(), runner](const error_code& result) {
            if (self->over || self->winner) return;
            if (result) {
                self->fail(runner, result);
            } else {
                self->winner = runner;
            }
            self->news.notify();
        });
    }
    void fail(std::size_t runner, const error_code& why) {
        reasons[runner] = why;
        error_code ignored;
        static_cast<void>(sockets[runner].close(ignored));
        order.failed(runner);
    }
    void wake_at(time_point when) {
        timer.expires_at(when);
        timer.async_wait([self = shared_from_this()](const error_code& error) {
            if (!error && !self->over) self->news.notify();
        });
    }
    void stop() {
        over = true;
        timer.cancel();
        sockets.clear();
    }
    [[nodiscard]] std::string reasons_text() const {
        std::string text;
        for (std::size_t i = 0; i < order.started(); ++i) {
            if (i != 0) text += "; ";
            text += fmt::format("{}: {}", addresses[i].address().to_string(), reason(reasons[i]));
        }
        if (untried != 0) text += fmt::format("; {} more addresses not tried", untried);
        return text;
    }

    std::size_t untried;
    std::vector<tcp::endpoint> addresses;
    connect_options options;
    race order;
    std::vector<error_code> reasons;
    std::vector<tcp::socket> sockets;
    asio::steady_timer timer;
    base::signal news;
    std::optional<std::size_t> winner;
    bool over = false;
};

struct stop_on_exit {
    std::shared_ptr<contest> owned;
    ~stop_on_exit() { owned->stop(); }
};

}  // namespace

awaitable<base::result<tcp::socket>> dial(std::vector<tcp::endpoint> addresses, time_point deadline,
                                          connect_options options) {
    const auto all =
        std::make_shared<contest>(co_await asio::this_coro::executor, std::move(addresses), std::move(options));
    const stop_on_exit guard{all};
    for (;;) {
        const time_point now = std::chrono::steady_clock::now();
        if (all->winner) co_return std::move(all->sockets[*all->winner]);
        while (const auto next = all->order.start(now)) all->start(*next);
        if (all->order.lost() || now >= deadline) co_return base::fail(base::errc::connect, all->reasons_text());
        all->wake_at(std::min(deadline, all->order.wake().value_or(deadline)));
        if (!co_await all->news.wait()) co_return base::fail(base::errc::canceled, "given up");
    }
}

}  // namespace cotrain::net::tcp
