#include "playground/local_tls.hpp"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "base/random.hpp"
#include "certs/certificate_set.hpp"

namespace cotrain::playground {

base::result<local_tls> make_local_tls(const std::string& address, std::string client_ca_pem) {
    const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    // RSA, as a cluster's authority has it, would take longer than all the rest.
    const auto authority = certs::make_authority(now, net::tls::key_ptr(EVP_EC_gen("P-256")));
    if (!authority) return base::fail(authority.error());
    const certs::certificate_names names{.hosts = {"localhost", "kubernetes.default.svc"}, .addresses = {address}};
    const auto serving = certs::make_serving(names, *authority->certificate, *authority->key, now);
    if (!serving) return base::fail(serving.error());
    auto context = net::tls::context::for_server({.certificate_pem = certs::to_pem(*serving->certificate),
                                                  .key_pem = certs::to_pem(*serving->key),
                                                  .client_ca_pem = std::move(client_ca_pem)});
    if (!context) return base::fail(std::move(context.error()));
    return local_tls{std::move(*context), certs::to_pem(*authority->certificate)};
}

std::string random_token() {
    base::random_source random = base::random_source::from_system();
    std::string out;
    for (int i = 0; i < 4; ++i) out += fmt::format("{:016x}", random.next());
    return out;
}

}  // namespace cotrain::playground
