// P-521 keys by OpenSSL, written as SEC1 PEM and as a line for authorized_keys (RFC 5915, RFC 5656).
#include "plugins/mpi_keys.hpp"

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

#include "plugins/encode.hpp"

namespace cotrain::plugins {
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
using bio = owned<BIO, BIO_free_all>;
using pkey = owned<EVP_PKEY, EVP_PKEY_free>;
using pkey_context = owned<EVP_PKEY_CTX, EVP_PKEY_CTX_free>;
using param_builder = owned<OSSL_PARAM_BLD, OSSL_PARAM_BLD_free>;
using params = owned<OSSL_PARAM, OSSL_PARAM_free>;

constexpr std::string_view key_type = "ecdsa-sha2-nistp521";
constexpr std::string_view curve_name = "nistp521";
// 64 bits more than the order has, so that the remainder is as good as uniform (FIPS 186-5, A.2.1).
constexpr std::size_t seed_bytes = 66 + 8;
constexpr std::size_t point_bytes = 1 + 2 * 66;  // uncompressed

using public_point = std::array<unsigned char, point_bytes>;

std::unexpected<base::error> failed(const char* step) {
    return base::fail(base::errc::internal, std::string("make an ssh key: OpenSSL: ") + step);
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

pkey assemble(const BIGNUM* d, const public_point& q) {
    const param_builder build(OSSL_PARAM_BLD_new());
    if (!build) return nullptr;
    const bool pushed =
        OSSL_PARAM_BLD_push_utf8_string(build.get(), OSSL_PKEY_PARAM_GROUP_NAME, SN_secp521r1, 0) == 1 &&
        OSSL_PARAM_BLD_push_BN(build.get(), OSSL_PKEY_PARAM_PRIV_KEY, d) == 1 &&
        OSSL_PARAM_BLD_push_octet_string(build.get(), OSSL_PKEY_PARAM_PUB_KEY, q.data(), q.size()) == 1;
    const params list(pushed ? OSSL_PARAM_BLD_to_param(build.get()) : nullptr);
    const pkey_context ctx(EVP_PKEY_CTX_new_from_name(nullptr, "EC", nullptr));
    EVP_PKEY* made = nullptr;
    if (!list || !ctx || EVP_PKEY_fromdata_init(ctx.get()) != 1 ||
        EVP_PKEY_fromdata(ctx.get(), &made, EVP_PKEY_KEYPAIR, list.get()) != 1) {
        return nullptr;
    }
    return pkey(made);
}

std::string to_pem(EVP_PKEY* key) {
    const bio out(BIO_new(BIO_s_secmem()));
    if (!out || PEM_write_bio_PrivateKey_traditional(out.get(), key, nullptr, nullptr, 0, nullptr, nullptr) != 1) {
        return {};
    }
    char* data = nullptr;
    const long bytes = BIO_get_mem_data(out.get(), &data);
    return bytes > 0 ? std::string(data, static_cast<std::size_t>(bytes)) : std::string{};
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
    return std::string(key_type) + " " + base64(blob) + "\n";
}

}  // namespace

byte_source system_bytes() {
    return [](std::span<unsigned char> out) { return RAND_priv_bytes(out.data(), static_cast<int>(out.size())) == 1; };
}

base::result<runtime::ssh_key> make_ssh_key(const byte_source& random) {
    std::array<unsigned char, seed_bytes> seed{};
    if (!random(seed)) return failed("no random bytes");
    const group curve(EC_GROUP_new_by_curve_name(NID_secp521r1));
    const context ctx(BN_CTX_secure_new());
    if (!curve || !ctx) return failed("no P-521");
    const number d = private_number(seed, curve.get(), ctx.get());
    OPENSSL_cleanse(seed.data(), seed.size());
    public_point q{};
    if (!d || !make_public(curve.get(), d.get(), ctx.get(), q)) return failed("no public point");
    const pkey key = assemble(d.get(), q);
    if (!key) return failed("no key");
    runtime::ssh_key pair{to_pem(key.get()), to_line(q)};
    if (pair.private_pem.empty()) return failed("no PEM");
    return pair;
}

}  // namespace cotrain::plugins
