// Whom a context trusts.
#pragma once

#include <openssl/ssl.h>

#include <string_view>

#include "base/error.hpp"

namespace cotrain::net::tls {

// Trusts every certificate of `ca_pem`, an intermediate or a server's own as good as a root: as kubectl does.
[[nodiscard]] base::result<> trust_pem(SSL_CTX* context, std::string_view ca_pem, std::string_view what);
// Trusts what the system trusts: SSL_CERT_FILE and SSL_CERT_DIR, OpenSSL's own place, or where distributions keep it.
[[nodiscard]] base::result<> trust_system(SSL_CTX* context);

}  // namespace cotrain::net::tls
