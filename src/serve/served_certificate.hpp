// The certificate our servers show at present; replaced as a whole, connections that exist keep theirs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/error.hpp"
#include "net/tls/context.hpp"

namespace cotrain::serve {

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

    // How often a certificate was read, and in vain: certwatcher_read_certificate_*.
    [[nodiscard]] std::uint64_t reads() const { return reads_; }
    [[nodiscard]] std::uint64_t failures() const { return failures_; }

   private:
    [[nodiscard]] base::result<> replace(net::tls::server_options rules, std::string authorities_pem);

    net::tls::server_options rules_;
    std::string authorities_pem_;
    std::shared_ptr<const net::tls::context> context_;
    std::shared_ptr<const net::tls::context> demanding_;
    std::uint64_t reads_ = 0;
    std::uint64_t failures_ = 0;
};

}  // namespace cotrain::serve
