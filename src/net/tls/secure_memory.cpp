// OpenSSL's secure heap.
#include "net/tls/secure_memory.hpp"

#include <openssl/crypto.h>

namespace cotrain::net::tls {

namespace {

constexpr std::size_t smallest_bytes = 32;  // an X25519 key

}  // namespace

bool use_secure_memory() { return CRYPTO_secure_malloc_init(secure_bytes, smallest_bytes) != 0; }

}  // namespace cotrain::net::tls
