// PEM text into certificates and keys, and owning pointers to OpenSSL's objects.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <memory>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace cotrain::net::tls {

// Owning pointers to OpenSSL's objects.

template <auto free_object>
struct release {
    template <class T>
    void operator()(T* object) const {
        free_object(object);
    }
};

using bio_ptr = std::unique_ptr<BIO, release<BIO_free>>;
using key_ptr = std::unique_ptr<EVP_PKEY, release<EVP_PKEY_free>>;
using certificate_ptr = std::unique_ptr<X509, release<X509_free>>;
using session_ptr = std::unique_ptr<SSL_SESSION, release<SSL_SESSION_free>>;
using ssl_ptr = std::unique_ptr<SSL, release<SSL_free>>;

// PEM text into certificates and keys.

inline constexpr std::size_t pem_bytes_max = 8U << 20U;
inline constexpr std::size_t certificates_max = 2000;  // in one text; a system's bundle has about 150

// All certificates of `pem`, at least one; other PEM blocks are passed over. `what` begins the error message.
[[nodiscard]] base::result<std::vector<certificate_ptr>> read_certificates(std::string_view pem, std::string_view what);
// The first private key of `pem`: PKCS#8, SEC1 or PKCS#1, not encrypted. No message ever quotes it.
[[nodiscard]] base::result<key_ptr> read_key(std::string_view pem, std::string_view what);

}  // namespace cotrain::net::tls
