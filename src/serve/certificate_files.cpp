// Two small files every few seconds cost less than watching a directory of links.
#include "serve/certificate_files.hpp"

#include <utility>

#include "kube/read_file.hpp"

namespace cotrain::serve {

namespace {

constexpr std::size_t file_bytes_max = 1U << 20U;

}  // namespace

certificate_files::certificate_files(asio::any_io_executor executor, served_certificate& serving, std::string directory,
                                     base::logger& log, std::chrono::milliseconds look_every)
    : serving_(serving),
      directory_(std::move(directory)),
      log_(log),
      look_every_(look_every),
      tasks_(std::move(executor)) {}

void certificate_files::start() {
    tasks_.supervise("certificate files", [this] { return follow(); }, log_);
}

awaitable<void> certificate_files::stop() {
    tasks_.cancel();
    co_await tasks_.join();
}

base::result<> certificate_files::look() {
    const auto certificate = kube::read_file(directory_ + "/tls.crt", file_bytes_max);
    if (!certificate) return base::fail(certificate.error());
    const auto key = kube::read_file(directory_ + "/tls.key", file_bytes_max);
    if (!key) return base::fail(key.error());
    auto used = serving_.use(*certificate, *key);
    if (!used) return base::fail(std::move(used.error()).during(directory_));
    authority_ = kube::read_file(directory_ + "/ca.crt", file_bytes_max).value_or(std::string());
    return {};
}

awaitable<void> certificate_files::follow() {
    asio::steady_timer timer(tasks_.executor());
    for (;;) {
        const auto before = serving_.context();
        const auto seen = look();
        if (!seen && told_ != seen.error().message) {
            told_ = seen.error().message;
            log_.warn("cannot load the certificate files", {{"error", told_}});
        }
        if (seen) told_.clear();
        if (before != serving_.context()) log_.info("certificate files loaded", {{"directory", directory_}});
        timer.expires_after(look_every_);
        co_await timer.async_wait(use_tuple);
    }
}

}  // namespace cotrain::serve
