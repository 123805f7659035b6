// Owning pointers to OpenSSL's objects.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <memory>

namespace cotrain::net::tls {

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

}  // namespace cotrain::net::tls
