// Making a new TLS context when certificate or key have changed.
#include "serve/served_certificate.hpp"

#include <utility>

namespace cotrain::serve {

base::result<> served_certificate::use(const std::string& certificate_pem, const std::string& key_pem) {
    ++reads_;
    if (context_ && rules_.certificate_pem == certificate_pem && rules_.key_pem == key_pem) return {};
    net::tls::server_options next = rules_;
    next.certificate_pem = certificate_pem;
    next.key_pem = key_pem;
    auto made = net::tls::context::for_server(next);
    if (!made) {
        ++failures_;
        return base::fail(std::move(made).error().during("serving certificate"));
    }
    rules_ = std::move(next);
    context_ = std::move(*made);
    return {};
}

}  // namespace cotrain::serve
