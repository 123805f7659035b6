// The keys and versions that most tests of TLS use.
#pragma once

#include <openssl/ssl.h>

#include "net/tls_pair.hpp"

namespace cotrain::net::tls {

inline constexpr int tls12 = 0x0303;
inline constexpr int tls13 = 0x0304;

inline const test_keys& keys() { return test_keys::get(); }
inline context_ptr client_keys() { return make_context(keys().trusting()); }
inline context_ptr server_keys() { return make_context(keys().serving()); }

inline context_ptr client_keys(int version) {
    context_ptr made = client_keys();
    SSL_CTX_set_max_proto_version(made->native(), version);
    return made;
}

}  // namespace cotrain::net::tls
