// One small file every few seconds.
#include "serve/client_authorities.hpp"

#include <utility>

#include "kube/read_file.hpp"

namespace cotrain::serve {

namespace {

constexpr std::size_t file_bytes_max = 1U << 20U;

}  // namespace

client_authorities::client_authorities(asio::any_io_executor executor, served_certificate& serving, std::string file,
                                       base::logger& log, std::chrono::milliseconds look_every)
    : serving_(serving), file_(std::move(file)), log_(log), look_every_(look_every), tasks_(std::move(executor)) {}

base::result<> client_authorities::start() {
    if (auto first = look(); !first) return first;
    tasks_.supervise("client authorities", [this] { return follow(); }, log_);
    return {};
}

awaitable<void> client_authorities::stop() {
    tasks_.cancel();
    co_await tasks_.join();
}

base::result<> client_authorities::look() {
    const auto text = kube::read_file(file_, file_bytes_max);
    if (!text) return base::fail(text.error());
    auto used = serving_.demand(*text);
    if (!used) return base::fail(std::move(used.error()).during(file_));
    return {};
}

awaitable<void> client_authorities::follow() {
    asio::steady_timer timer(tasks_.executor());
    for (;;) {
        timer.expires_after(look_every_);
        co_await timer.async_wait(use_tuple);
        const auto seen = look();
        if (!seen && told_ != seen.error().message) {
            told_ = seen.error().message;
            log_.warn("the authorities of clients cannot be read: those read last stay", {{"error", told_}});
        }
        if (seen) told_.clear();
    }
}

}  // namespace cotrain::serve
