#include "net/tcp/connect.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/system/error_code.hpp>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/asio.hpp"
#include "base/error.hpp"
#include "base/signal.hpp"
#include "net/tcp/proxy.hpp"

namespace cotrain::net::tcp {

[[nodiscard]] std::string reason(const boost::system::error_code& code);

// Asks the proxy at the other end of `socket` for `peer`; what comes after its answer is left in the socket.
[[nodiscard]] awaitable<base::result<asio::ip::tcp::socket>> tunnel(asio::ip::tcp::socket socket, address peer,
                                                                    proxy via, time_point deadline);

namespace error = boost::asio::error;
using boost::asio::ip::tcp;

namespace {

using asio::ip::tcp;

// Outlives the coroutine that asked, if that does not wait for the answer; nobody hears its news then.
struct inquiry {
    explicit inquiry(const asio::any_io_executor& executor) : resolver(executor), timer(executor) {}

    tcp::resolver resolver;
    asio::steady_timer timer;
    base::signal news;
    bool answered = false;
    boost::system::error_code error;
    std::vector<tcp::endpoint> addresses;
};

void ask(const std::shared_ptr<inquiry>& about, const std::string& host, std::uint16_t port) {
    about->resolver.async_resolve(
        host, std::to_string(port), tcp::resolver::numeric_service,
        [about](const boost::system::error_code& error, const tcp::resolver::results_type& found) {
            about->answered = true;
            about->error = error;
            for (const auto& entry : found) about->addresses.push_back(entry.endpoint());
            about->news.notify();
        });
}

struct give_up_on_exit {
    std::shared_ptr<inquiry> about;
    ~give_up_on_exit() {
        about->timer.cancel();
        about->resolver.cancel();
    }
};

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

using asio::ip::tcp;
using boost::system::error_code;

// Ends the socket's pending operation when time is up; outlives the coroutine while its timer's handler is due.
struct watchdog {
    explicit watchdog(tcp::socket& socket) : watched(&socket), timer(socket.get_executor()) {}

    tcp::socket* watched;
    asio::steady_timer timer;
    bool barked = false;
};

struct release_on_exit {
    std::shared_ptr<watchdog> dog;
    ~release_on_exit() {
        dog->watched = nullptr;
        dog->timer.cancel();
    }
};

void watch(const std::shared_ptr<watchdog>& dog, time_point deadline) {
    dog->timer.expires_at(deadline);
    dog->timer.async_wait([dog](const error_code& error) {
        if (error || dog->watched == nullptr) return;
        dog->barked = true;
        error_code ignored;
        static_cast<void>(dog->watched->cancel(ignored));
    });
}

std::unexpected<base::error> broken(const watchdog& dog, const error_code& error) {
    if (dog.barked) return base::fail(base::errc::connect, "it does not answer in time");
    if (error == asio::error::operation_aborted) return base::fail(base::errc::canceled, "given up");
    return base::fail(base::errc::connect, reason(error));
}

// Takes bytes off the socket that are surely there, because they were peeked at.
error_code take(tcp::socket& socket, std::span<char> bytes) {
    error_code error;
    while (!bytes.empty() && !error)
        bytes = bytes.subspan(socket.receive(asio::buffer(bytes.data(), bytes.size()), 0, error));
    return error;
}

awaitable<base::result<tcp::socket>> ask(tcp::socket socket, std::string request, time_point deadline) {
    const auto dog = std::make_shared<watchdog>(socket);
    const release_on_exit guard{dog};
    watch(dog, deadline);
    for (std::string_view rest = request; !rest.empty();) {
        const auto [error, sent] = co_await socket.async_write_some(asio::buffer(rest.data(), rest.size()), use_tuple);
        if (error || dog->barked) co_return broken(*dog, error);
        rest.remove_prefix(sent);
    }
    connect_answer answer;
    std::string bytes(1024, '\0');
    while (!answer.complete()) {
        const auto [error, seen] =
            co_await socket.async_receive(asio::buffer(bytes), tcp::socket::message_peek, use_tuple);
        if (error || dog->barked) co_return broken(*dog, error);
        const auto used = answer.feed(std::string_view(bytes).substr(0, seen));
        if (!used) co_return base::fail(used.error());
        if (const error_code failed = take(socket, {bytes.data(), *used})) co_return broken(*dog, failed);
    }
    co_return std::move(socket);
}

using asio::ip::tcp;

constexpr std::chrono::milliseconds timeout_max = std::chrono::hours(24);
constexpr std::size_t host_bytes_max = 255;

// Neither the resolver nor a CONNECT line may see bytes that end or break them.
bool usable(const address& where) {
    return !where.host.empty() && where.host.size() <= host_bytes_max && where.port != 0 &&
           std::ranges::all_of(where.host, [](char c) { return c > 0x20 && c != 0x7f; });
}

base::error refuse(const address& where) {
    return base::make_error(base::errc::invalid,
                            fmt::format("cannot connect to '{}:{}': no host name or address with a port",
                                        base::one_line(where.host, host_bytes_max), where.port));
}

// A literal address needs no repetition of itself before the reason.
std::string without_repetition(const address& where, std::string reasons) {
    const std::string prefix = where.host + ": ";
    if (reasons.starts_with(prefix) && reasons.find("; ") == std::string::npos) reasons.erase(0, prefix.size());
    return reasons;
}

awaitable<base::result<tcp::socket>> reach(address where, std::string role, time_point deadline,
                                           connect_options options) {
    const std::string attempt = fmt::format("cannot connect to {}{}", role, to_text(where));
    auto found = co_await look_up(where.host, where.port, deadline);
    if (!found) co_return base::fail(std::move(found).error().during(attempt));
    auto socket = co_await dial(take_turns(*found), deadline, std::move(options));
    if (!socket) {
        base::error e = std::move(socket).error();
        e.message = without_repetition(where, std::move(e.message));
        co_return base::fail(std::move(e).during(attempt));
    }
    co_return socket;
}

}  // namespace

std::string reason(const boost::system::error_code& code) {
    if (code == error::host_not_found) return "no such host";
    if (code == error::host_not_found_try_again) return "name servers give no answer";
    if (code == error::no_data) return "the name has no address";
    if (code == error::no_recovery) return "the name cannot be looked up";
    if (code == error::no_descriptors) return "too many open files";
    if (code == error::timed_out) return "no answer";
    if (code == error::eof) return "connection closed by peer";
    std::string text = code.message();
    if (text.size() > 1 && text[0] >= 'A' && text[0] <= 'Z' && text[1] >= 'a')
        text[0] = static_cast<char>(text[0] + 32);
    return text;
}

std::vector<tcp::endpoint> take_turns(const std::vector<tcp::endpoint>& addresses) {
    if (addresses.empty()) return {};
    std::vector<tcp::endpoint> first;
    std::vector<tcp::endpoint> second;
    for (const tcp::endpoint& address : addresses)
        (address.protocol() == addresses.front().protocol() ? first : second).push_back(address);
    std::vector<tcp::endpoint> turns;
    turns.reserve(addresses.size());
    for (std::size_t i = 0; i < std::max(first.size(), second.size()); ++i) {
        if (i < first.size()) turns.push_back(first[i]);
        if (i < second.size()) turns.push_back(second[i]);
    }
    return turns;
}

race::race(std::size_t runners, std::chrono::milliseconds head_start)
    : runners_(runners), head_start_(std::max(head_start, head_start_min)) {}

std::optional<std::size_t> race::start(time_point now) {
    if (started_ == runners_ || now < due_) return std::nullopt;
    due_ = now + head_start_;
    ++running_;
    return started_++;
}

void race::failed(std::size_t runner) {
    --running_;
    if (runner + 1 == started_ || running_ == 0) due_ = time_point::min();
}

std::optional<time_point> race::wake() const {
    if (started_ == runners_) return std::nullopt;
    return due_;
}

awaitable<base::result<std::vector<tcp::endpoint>>> look_up(std::string host, std::uint16_t port, time_point deadline) {
    boost::system::error_code no_address;
    if (const auto literal = asio::ip::make_address(host, no_address); !no_address)
        co_return std::vector{tcp::endpoint(literal, port)};
    const auto about = std::make_shared<inquiry>(co_await asio::this_coro::executor);
    const give_up_on_exit guard{about};
    ask(about, host, port);
    about->timer.expires_at(deadline);
    about->timer.async_wait([about](const boost::system::error_code& error) {
        if (!error) about->news.notify();
    });
    if (!co_await about->news.wait())
        co_return base::fail(base::errc::canceled, fmt::format("look-up of {} was given up", host));
    if (!about->answered)
        co_return base::fail(base::errc::connect, fmt::format("cannot look up {}: no answer in time", host));
    if (about->error)
        co_return base::fail(base::errc::connect, fmt::format("cannot look up {}: {}", host, reason(about->error)));
    if (about->addresses.empty())
        co_return base::fail(base::errc::connect, fmt::format("cannot look up {}: the name has no address", host));
    co_return std::move(about->addresses);
}

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

awaitable<base::result<tcp::socket>> tunnel(tcp::socket socket, address peer, proxy via, time_point deadline) {
    auto asked = co_await ask(std::move(socket), connect_request(peer, via), deadline);
    if (!asked)
        co_return base::fail(
            std::move(asked).error().during("CONNECT " + to_text(peer) + " through proxy " + to_text(via.where)));
    co_return asked;
}

awaitable<base::result<tcp::socket>> connect(address peer, connect_options options) {
    if (!usable(peer)) co_return base::fail(refuse(peer));
    if (options.via && !usable(options.via->where)) co_return base::fail(refuse(options.via->where));
    if (options.via && options.via->over_tls)
        co_return base::fail(base::errc::invalid, "https:// proxies are not supported");
    const time_point deadline = std::chrono::steady_clock::now() + std::min(options.timeout, timeout_max);
    if (!options.via) co_return co_await reach(std::move(peer), "", deadline, std::move(options));
    const proxy via = *options.via;
    auto socket = co_await reach(via.where, "proxy ", deadline, std::move(options));
    if (!socket) co_return socket;
    co_return co_await tunnel(std::move(*socket), std::move(peer), via, deadline);
}

}  // namespace cotrain::net::tcp
