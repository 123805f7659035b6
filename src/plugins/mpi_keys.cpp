// P-521 keys by OpenSSL, written as SEC1 PEM and as a line for authorized_keys (RFC 5915, RFC 5656).
#include "plugins/mpi_keys.hpp"

#include <openssl/bn.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/obj_mac.h>
#include <openssl/rand.h>

#include <algorithm>
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

constexpr std::string_view key_type = "ecdsa-sha2-nistp521";
constexpr std::string_view curve_name = "nistp521";
// 64 bits more than the order has, so that the remainder is as good as uniform (FIPS 186-5, A.2.1).
constexpr std::size_t seed_bytes = 66 + 8;
constexpr std::size_t number_bytes = 66;
constexpr std::size_t point_bytes = 1 + 2 * number_bytes;  // uncompressed

// ECPrivateKey (RFC 5915) in DER: all of it but the two numbers is the same for every key of this curve.
constexpr std::array<unsigned char, 8> before_private{0x30, 0x81, 0xdc, 0x02, 0x01, 0x01, 0x04, number_bytes};
// secp521r1 is 1.3.132.0.35; the point is a bit string without unused bits.
constexpr std::array<unsigned char, 9> curve_field{0xa0, 0x07, 0x06, 0x05, 0x2b, 0x81, 0x04, 0x00, 0x23};
constexpr std::array<unsigned char, 7> before_public{0xa1, 0x81, 0x89, 0x03, 0x81, 1 + point_bytes, 0x00};
constexpr std::size_t pem_width = 64;
constexpr std::size_t der_bytes =
    before_private.size() + number_bytes + curve_field.size() + before_public.size() + point_bytes;
static_assert(before_private[2] == der_bytes - 3 && before_public[2] == point_bytes + 4);

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

// Empty if the number does not fit. What it was made from is wiped.
std::string to_pem(const BIGNUM* d, const public_point& q) {
    std::array<unsigned char, der_bytes> der{};
    auto* at = std::ranges::copy(before_private, der.data()).out;
    if (BN_bn2binpad(d, at, number_bytes) != number_bytes) return {};
    at = std::ranges::copy(curve_field, at + number_bytes).out;
    at = std::ranges::copy(before_public, at).out;
    std::ranges::copy(q, at);
    std::string text = base64({reinterpret_cast<const char*>(der.data()), der.size()});
    OPENSSL_cleanse(der.data(), der.size());
    std::string pem = "-----BEGIN EC PRIVATE KEY-----\n";
    pem.reserve(text.size() + 80);
    for (std::size_t line = 0; line < text.size(); line += pem_width) pem.append(text, line, pem_width).append("\n");
    OPENSSL_cleanse(text.data(), text.size());
    return pem.append("-----END EC PRIVATE KEY-----\n");
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

}  // namespace cotrain::plugins
