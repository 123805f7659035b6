// Keys from random bytes, in the encodings that their readers want.
#include "plugins/keys.hpp"

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/obj_mac.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/rand.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/encoding.hpp"

namespace cotrain::plugins {
namespace {

constexpr std::string_view z85_alphabet =
    "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";

std::uint32_t byte_at(std::string_view bytes, std::size_t i) {
    return i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0;
}

}  // namespace

std::string z85(std::string_view bytes) {
    std::string out;
    out.reserve(bytes.size() / 4 * 5);
    for (std::size_t i = 0; i + 4 <= bytes.size(); i += 4) {
        std::uint32_t four =
            byte_at(bytes, i) << 24 | byte_at(bytes, i + 1) << 16 | byte_at(bytes, i + 2) << 8 | byte_at(bytes, i + 3);
        std::array<char, 5> five{};
        for (std::size_t k = five.size(); k-- > 0; four /= 85) five[k] = z85_alphabet[four % 85];
        out.append(five.data(), five.size());
    }
    return out;
}

namespace {

template <auto Free>
struct freed_by {
    template <class T>
    void operator()(T* p) const {
        Free(p);
    }
};
template <class T, auto Free>
using owned = std::unique_ptr<T, freed_by<Free>>;

using number = owned<BIGNUM, BN_clear_free>;
using group = owned<EC_GROUP, EC_GROUP_free>;
using point = owned<EC_POINT, EC_POINT_free>;
using context = owned<BN_CTX, BN_CTX_free>;

constexpr std::string_view key_type = "ecdsa-sha2-nistp521";
constexpr std::string_view curve_name = "nistp521";
// 64 bits more than the order has, so that the remainder is as good as uniform (FIPS 186-5, A.2.1).
constexpr std::size_t seed_bytes = 66 + 8;
constexpr std::size_t number_bytes = 66;
constexpr std::size_t point_bytes = 1 + 2 * number_bytes;  // uncompressed

using public_point = std::array<unsigned char, point_bytes>;

std::unexpected<base::error> failed(const char* step) {
    return base::fail(base::errc::internal, std::string("make an ssh key: OpenSSL: ") + step);
}

// Made once: that takes longer than all but the public point of a key.
const EC_GROUP* p521() {
    static const group curve(EC_GROUP_new_by_curve_name(NID_secp521r1));
    return curve.get();
}

// 1 + seed mod (order − 1)
number private_number(std::span<const unsigned char> seed, const EC_GROUP* curve, BN_CTX* ctx) {
    number range(BN_dup(EC_GROUP_get0_order(curve)));
    number wide(BN_bin2bn(seed.data(), static_cast<int>(seed.size()), nullptr));
    number d(BN_secure_new());
    if (!range || !wide || !d || BN_sub_word(range.get(), 1) != 1) return nullptr;
    if (BN_mod(d.get(), wide.get(), range.get(), ctx) != 1 || BN_add_word(d.get(), 1) != 1) return nullptr;
    return d;
}

bool make_public(const EC_GROUP* curve, const BIGNUM* d, BN_CTX* ctx, public_point& out) {
    const point q(EC_POINT_new(curve));
    if (!q || EC_POINT_mul(curve, q.get(), d, nullptr, nullptr, ctx) != 1) return false;
    return EC_POINT_point2oct(curve, q.get(), POINT_CONVERSION_UNCOMPRESSED, out.data(), out.size(), ctx) == out.size();
}

using key_context = owned<EVP_PKEY_CTX, EVP_PKEY_CTX_free>;

owned<EVP_PKEY, EVP_PKEY_free> to_key(const BIGNUM* d, const public_point& q) {
    const owned<OSSL_PARAM_BLD, OSSL_PARAM_BLD_free> parts(OSSL_PARAM_BLD_new());
    if (!parts || OSSL_PARAM_BLD_push_utf8_string(parts.get(), OSSL_PKEY_PARAM_GROUP_NAME, SN_secp521r1, 0) != 1 ||
        OSSL_PARAM_BLD_push_octet_string(parts.get(), OSSL_PKEY_PARAM_PUB_KEY, q.data(), q.size()) != 1 ||
        OSSL_PARAM_BLD_push_BN(parts.get(), OSSL_PKEY_PARAM_PRIV_KEY, d) != 1)
        return nullptr;
    const owned<OSSL_PARAM, OSSL_PARAM_free> given(OSSL_PARAM_BLD_to_param(parts.get()));
    const key_context ctx(EVP_PKEY_CTX_new_from_name(nullptr, "EC", nullptr));
    EVP_PKEY* made = nullptr;
    if (!given || !ctx || EVP_PKEY_fromdata_init(ctx.get()) != 1) return nullptr;
    if (EVP_PKEY_fromdata(ctx.get(), &made, EVP_PKEY_KEYPAIR, given.get()) != 1) return nullptr;
    return owned<EVP_PKEY, EVP_PKEY_free>(made);
}

// Empty if OpenSSL cannot.
std::string to_pem(const BIGNUM* d, const public_point& q) {
    const auto key = to_key(d, q);
    const owned<BIO, BIO_free_all> out(BIO_new(BIO_s_secmem()));
    if (!key || !out) return {};
    if (PEM_write_bio_PrivateKey_traditional(out.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) != 1)
        return {};
    char* text = nullptr;
    const long bytes = BIO_get_mem_data(out.get(), &text);
    return {text, static_cast<std::size_t>(bytes)};
}

void append_field(std::string& blob, std::string_view field) {
    const auto bytes = static_cast<std::uint32_t>(field.size());
    for (int shift = 24; shift >= 0; shift -= 8) blob += static_cast<char>((bytes >> shift) & 0xff);
    blob.append(field);
}

std::string to_line(const public_point& q) {
    std::string blob;
    append_field(blob, key_type);
    append_field(blob, curve_name);
    append_field(blob, {reinterpret_cast<const char*>(q.data()), q.size()});
    return std::string(key_type) + " " + base::encode_base64(blob) + "\n";
}

}  // namespace

byte_source system_bytes() {
    return [](std::span<unsigned char> out) { return RAND_priv_bytes(out.data(), static_cast<int>(out.size())) == 1; };
}

base::result<runtime::ssh_key> make_ssh_key(const byte_source& random) {
    std::array<unsigned char, seed_bytes> seed{};
    if (!random(seed)) return failed("no random bytes");
    const EC_GROUP* const curve = p521();
    const context ctx(BN_CTX_secure_new());
    if (curve == nullptr || !ctx) return failed("no P-521");
    const number d = private_number(seed, curve, ctx.get());
    OPENSSL_cleanse(seed.data(), seed.size());
    public_point q{};
    if (!d || !make_public(curve, d.get(), ctx.get(), q)) return failed("no public point");
    runtime::ssh_key pair{to_pem(d.get(), q), to_line(q)};
    if (pair.private_pem.empty()) return failed("no PEM");
    return pair;
}

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
