// X25519 by OpenSSL, which is what ZeroMQ's CURVE uses (RFC 7748; ZeroMQ RFC 26), in Z85.
#include "plugins/flux_keys.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <array>
#include <memory>

#include "plugins/encode.hpp"

namespace cotrain::plugins {
namespace {

constexpr std::size_t key_bytes = 32;

std::string text(const std::array<unsigned char, key_bytes>& bytes) {
    return z85({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace

base::result<runtime::curve_key> make_curve_key(const byte_source& random) {
    std::array<unsigned char, key_bytes> secret{};
    if (!random(secret)) return base::fail(base::errc::internal, "make a CURVE key: OpenSSL: no random bytes");
    std::array<unsigned char, key_bytes> open{};
    std::size_t open_bytes = open.size();
    using key = std::unique_ptr<EVP_PKEY, decltype([](EVP_PKEY* k) { EVP_PKEY_free(k); })>;
    const key pair(EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, nullptr, secret.data(), secret.size()));
    const bool made = pair && EVP_PKEY_get_raw_public_key(pair.get(), open.data(), &open_bytes) == 1;
    runtime::curve_key out;
    if (made) out = {text(open), text(secret)};
    OPENSSL_cleanse(secret.data(), secret.size());
    if (!made) return base::fail(base::errc::internal, "make a CURVE key: OpenSSL: no X25519");
    return out;
}

}  // namespace cotrain::plugins
