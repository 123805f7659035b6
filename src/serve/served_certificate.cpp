// Making new TLS contexts when certificate, key or the authorities of clients have changed.
#include "serve/served_certificate.hpp"

#include <utility>

#include "net/tls/pem.hpp"

namespace cotrain::serve {

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
    return {};
}

}  // namespace cotrain::serve
