// Filling a context's store of trusted certificates.
#include "net/tls/trust.hpp"

#include <fmt/format.h>
#include <openssl/err.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "net/tls/errors.hpp"
#include "net/tls/pem.hpp"

namespace cotrain::net::tls {
namespace {

// A statically linked OpenSSL looks where it was built, not where the system at hand keeps its bundle.
constexpr std::array bundles = {
    "/etc/ssl/certs/ca-certificates.crt",                 // Debian, Alpine, distroless
    "/etc/pki/tls/certs/ca-bundle.crt",                   // Fedora, RHEL
    "/etc/ssl/ca-bundle.pem",                             // openSUSE
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  // RHEL 7 and later
    "/etc/ssl/cert.pem",                                  // Alpine, BSD
};

bool readable(const char* file) { return ::access(file, R_OK) == 0; }

}  // namespace

base::result<> trust_pem(SSL_CTX* context, std::string_view ca_pem, std::string_view what) {
    auto authorities = read_certificates(ca_pem, what);
    if (!authorities) return std::unexpected(std::move(authorities.error()));
    X509_STORE* store = SSL_CTX_get_cert_store(context);
    X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN);
    for (const certificate_ptr& authority : *authorities) {
        ERR_clear_error();
        if (X509_STORE_add_cert(store, authority.get()) != 1)
            return base::fail(base::errc::invalid, fmt::format("{}: {}", what, take_reason()));
    }
    return {};
}

base::result<> trust_system(SSL_CTX* context) {
    ERR_clear_error();
    const bool told = std::getenv(X509_get_default_cert_file_env()) != nullptr ||
                      std::getenv(X509_get_default_cert_dir_env()) != nullptr;
    if (told || readable(X509_get_default_cert_file()) || readable(X509_get_default_cert_dir())) {
        if (SSL_CTX_set_default_verify_paths(context) == 1) {
            ERR_clear_error();  // a file or directory that does not exist is no failure
            return {};
        }
    }
    for (const char* bundle : bundles)
        if (readable(bundle) && SSL_CTX_load_verify_file(context, bundle) == 1) return {};
    ERR_clear_error();
    return base::fail(
        base::errc::invalid,
        "this system has no bundle of trusted authorities (install ca-certificates, set SSL_CERT_FILE, or "
        "give certificate-authority-data)");
}

}  // namespace cotrain::net::tls
