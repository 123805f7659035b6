// Certificates from files: what servers present, followed as the files change, and the CAs that clients are checked by.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "base/asio.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/task_group.hpp"
#include "net/tls/context.hpp"

namespace cotrain::certs {

// The certificate our servers show at present; replaced as a whole, connections that exist keep theirs.

class served_certificate {
   public:
    // `rules`: everything but certificate and key.
    explicit served_certificate(net::tls::server_options rules) : rules_(std::move(rules)) {}

    // Nothing changes when the texts cannot be used.
    [[nodiscard]] base::result<> use(const std::string& certificate_pem, const std::string& key_pem);
    // For net::server_options::tls; null before the first.
    [[nodiscard]] std::shared_ptr<const net::tls::context> context() const { return context_; }
    [[nodiscard]] bool ready() const { return context_ != nullptr; }

    // From now on demanding_context() completes a handshake only with who shows a certificate of these authorities
    // (PEM) and has its key. Nothing changes when the text cannot be used.
    [[nodiscard]] base::result<> demand(const std::string& authorities_pem);
    // Null before the first certificate, and before the first authorities.
    [[nodiscard]] std::shared_ptr<const net::tls::context> demanding_context() const { return demanding_; }

    // When the certificate in use begins and ends to be valid, in seconds since 1970; 0 before the first.
    struct validity {
        std::int64_t begin = 0;
        std::int64_t end = 0;
    };
    [[nodiscard]] validity valid() const { return valid_; }
    // How often a certificate was read, and in vain: certwatcher_read_certificate_*.
    [[nodiscard]] std::uint64_t reads() const { return reads_; }
    [[nodiscard]] std::uint64_t failures() const { return failures_; }

   private:
    [[nodiscard]] base::result<> replace(net::tls::server_options rules, std::string authorities_pem);

    net::tls::server_options rules_;
    std::string authorities_pem_;
    std::shared_ptr<const net::tls::context> context_;
    std::shared_ptr<const net::tls::context> demanding_;
    validity valid_;
    std::uint64_t reads_ = 0;
    std::uint64_t failures_ = 0;
};

// External certificates: tls.crt and tls.key of a directory, read again while they change.

// A volume of a Secret changes both files at once, by a link; who writes them one by one gets a second chance at the
// next look.
class certificate_files {
   public:
    certificate_files(asio::any_io_executor executor, served_certificate& serving, std::string directory,
                      base::logger& log, std::chrono::milliseconds look_every = std::chrono::seconds(5));

    void start();
    [[nodiscard]] awaitable<void> stop();
    // One look; the error names the file.
    [[nodiscard]] base::result<> look();
    // ca.crt, which may be missing: empty then.
    [[nodiscard]] const std::string& authority() const { return authority_; }

   private:
    [[nodiscard]] awaitable<void> follow();

    served_certificate& serving_;
    std::string directory_;
    base::logger& log_;
    std::chrono::milliseconds look_every_;
    std::string authority_;
    std::string told_;  // the trouble that was told last: once is enough
    base::task_group tasks_;
};

// The authorities of clients from a file, read again and again: a volume changes under a running process.

class client_authorities {
   public:
    client_authorities(asio::any_io_executor executor, served_certificate& serving, std::string file, base::logger& log,
                       std::chrono::milliseconds look_every = std::chrono::seconds(5));

    // Without the file nobody may be served: an error, which names it. Later the last good one stays in use.
    [[nodiscard]] base::result<> start();
    [[nodiscard]] awaitable<void> stop();
    [[nodiscard]] base::result<> look();

   private:
    [[nodiscard]] awaitable<void> follow();

    served_certificate& serving_;
    std::string file_;
    base::logger& log_;
    std::chrono::milliseconds look_every_;
    std::string told_;  // the trouble that was told last: once is enough
    base::task_group tasks_;
};

}  // namespace cotrain::certs
