// Asio's resolver with a deadline and a cancellation that it does not have itself.
#include "net/tcp/lookup.hpp"

#include <fmt/format.h>

#include <memory>

#include "base/signal.hpp"
#include "net/tcp/errors.hpp"

namespace cotrain::net::tcp {
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

}  // namespace

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

}  // namespace cotrain::net::tcp
