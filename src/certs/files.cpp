#include "certs/files.hpp"

#include <openssl/ssl.h>

#include <ctime>
#include <utility>

#include "base/read_file.hpp"
#include "net/tls/pem.hpp"

namespace cotrain::certs {

namespace {

constexpr std::size_t file_bytes_max = 1U << 20U;

std::int64_t seconds_of(const ASN1_TIME* time) {
    std::tm parts{};
    return ASN1_TIME_to_tm(time, &parts) == 1 ? ::timegm(&parts) : 0;
}

served_certificate::validity validity_of(const net::tls::context& shown) {
    const X509* const leaf = SSL_CTX_get0_certificate(shown.native());
    if (leaf == nullptr) return {};
    return {.begin = seconds_of(X509_get0_notBefore(leaf)), .end = seconds_of(X509_get0_notAfter(leaf))};
}

}  // namespace

base::result<> served_certificate::use(const std::string& certificate_pem, const std::string& key_pem) {
    ++reads_;
    if (context_ && rules_.certificate_pem == certificate_pem && rules_.key_pem == key_pem) return {};
    net::tls::server_options next = rules_;
    next.certificate_pem = certificate_pem;
    next.key_pem = key_pem;
    auto done = replace(std::move(next), authorities_pem_);
    if (!done) ++failures_;
    return done;
}

base::result<> served_certificate::demand(const std::string& authorities_pem) {
    if (authorities_pem == authorities_pem_) return {};
    if (context_) return replace(rules_, authorities_pem);
    auto readable = net::tls::read_certificates(authorities_pem, "client certificate authority");
    if (!readable) return base::fail(std::move(readable).error());
    authorities_pem_ = authorities_pem;
    return {};
}

base::result<> served_certificate::replace(net::tls::server_options rules, std::string authorities_pem) {
    auto open = net::tls::context::for_server(rules);
    if (!open) return base::fail(std::move(open).error().during("serving certificate"));
    if (!authorities_pem.empty()) {
        net::tls::server_options strict = rules;
        strict.client_ca_pem = authorities_pem;
        strict.require_client_certificate = true;
        auto demanding = net::tls::context::for_server(strict);
        if (!demanding) return base::fail(std::move(demanding).error().during("serving certificate"));
        demanding_ = std::move(*demanding);
    }
    rules_ = std::move(rules);
    authorities_pem_ = std::move(authorities_pem);
    context_ = std::move(*open);
    valid_ = validity_of(*context_);
    return {};
}

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
    const auto certificate = base::read_file(directory_ + "/tls.crt", file_bytes_max);
    if (!certificate) return base::fail(certificate.error());
    const auto key = base::read_file(directory_ + "/tls.key", file_bytes_max);
    if (!key) return base::fail(key.error());
    auto used = serving_.use(*certificate, *key);
    if (!used) return base::fail(std::move(used.error()).during(directory_));
    authority_ = base::read_file(directory_ + "/ca.crt", file_bytes_max).value_or(std::string());
    return {};
}

awaitable<void> certificate_files::follow() {
    asio::steady_timer timer(tasks_.executor());
    for (;;) {
        const auto before = serving_.context();
        const auto seen = look();
        if (!seen && told_ != seen.error().message) {
            told_ = seen.error().message;
            log_.error("cannot load the certificate files", {{"error", told_}});
        }
        if (seen) told_.clear();
        if (before != serving_.context()) log_.info("certificate files loaded", {{"directory", directory_}});
        timer.expires_after(look_every_);
        co_await timer.async_wait(use_tuple);
    }
}

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
    const auto text = base::read_file(file_, file_bytes_max);
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
            log_.error("cannot read the client CA, the last one stays in use", {{"error", told_}});
        }
        if (seen) told_.clear();
    }
}

}  // namespace cotrain::certs
