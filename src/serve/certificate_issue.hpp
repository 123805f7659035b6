// Making of keys and certificates with OpenSSL.
#pragma once

#include <string>

#include "base/error.hpp"
#include "net/tls/handles.hpp"
#include "serve/certificate_set.hpp"

namespace cotrain::serve {

struct issued {
    net::tls::certificate_ptr certificate;
    net::tls::key_ptr key;
};

[[nodiscard]] base::result<issued> make_authority(wall_time now);
[[nodiscard]] base::result<issued> make_serving(const certificate_names& names, X509& authority, EVP_PKEY& signer,
                                                wall_time now);

[[nodiscard]] std::string to_pem(X509& certificate);
// RSA as PKCS#1, others as PKCS#8.
[[nodiscard]] std::string to_pem(EVP_PKEY& key);

}  // namespace cotrain::serve
