#include "serve/jwt.hpp"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/encoding.hpp"
#include "doc/json.hpp"
#include "net/tls/pem.hpp"

namespace cotrain::serve {

namespace tls = net::tls;
using doc::ref;

namespace {

using build_ptr = std::unique_ptr<OSSL_PARAM_BLD, tls::release<OSSL_PARAM_BLD_free>>;
using digest_ptr = std::unique_ptr<EVP_MD_CTX, tls::release<EVP_MD_CTX_free>>;
using key_context_ptr = std::unique_ptr<EVP_PKEY_CTX, tls::release<EVP_PKEY_CTX_free>>;
using number_ptr = std::unique_ptr<BIGNUM, tls::release<BN_free>>;
using params_ptr = std::unique_ptr<OSSL_PARAM, tls::release<OSSL_PARAM_free>>;
using signature_ptr = std::unique_ptr<ECDSA_SIG, tls::release<ECDSA_SIG_free>>;

constexpr std::size_t json_bytes_max = 16U << 10U;
constexpr unsigned json_depth_max = 16;

struct algorithm {
    std::string_view name;
    signature_kind kind;
};
constexpr std::array algorithms{
    algorithm{"RS256", signature_kind::rs256},
    algorithm{"ES256", signature_kind::es256},
    algorithm{"ES384", signature_kind::es384},
    algorithm{"ES512", signature_kind::es512},
};

std::unexpected<base::error> refuse(std::string why) {
    return base::fail(base::errc::auth, "token: " + std::move(why));
}

base::result<> read_header(std::string_view text, token& out) {
    doc::arena memory;
    const auto header = doc::parse_json(memory, text, {json_bytes_max, json_depth_max});
    if (!header || !header->is_object()) return refuse("its header is no JSON object");
    if (header->contains("crit")) return refuse("it demands extensions that are not known");
    const auto name = header->get("alg").as_string();
    const auto found = std::ranges::find(algorithms, name, &algorithm::name);
    if (found == algorithms.end()) return refuse("algorithm '" + base::one_line(name, 20) + "' is not taken");
    out.kind = found->kind;
    out.key_id = header->get("kid").as_string();
    return {};
}

// A point in time may have a fraction.
std::optional<std::int64_t> read_time(ref at) {
    const auto number = at.is_number() ? at.as_double() : std::nullopt;
    if (!number || !(*number >= 0) || !(*number <= 1e12)) return std::nullopt;
    return static_cast<std::int64_t>(*number);
}

base::result<> read_claims(std::string_view text, token_claims& out) {
    doc::arena memory;
    const auto claims = doc::parse_json(memory, text, {json_bytes_max, json_depth_max});
    if (!claims || !claims->is_object()) return refuse("its claims are no JSON object");
    out.issuer = claims->get("iss").as_string();
    out.ns = claims->get({"kubernetes.io", "namespace"}).as_string();
    out.pod = claims->get({"kubernetes.io", "pod", "name"}).as_string();
    const ref audience = claims->get("aud");
    if (audience.is_string()) out.audiences.emplace_back(audience.as_string());
    if (audience.size() > audiences_max) return refuse("it has too many audiences");
    for (const ref each : audience.items()) out.audiences.emplace_back(each.as_string());
    const auto expires = read_time(claims->get("exp"));
    if (!expires) return refuse("it does not say when it expires");
    out.expires = *expires;
    for (const auto& [name, time] : {std::pair{"nbf", &token_claims::not_before}, {"iat", &token_claims::issued}}) {
        const ref from = claims->get(name);
        if (from.is_unset()) continue;
        const auto begin = read_time(from);
        if (!begin) return refuse("its " + std::string(name) + " is no time");
        out.*time = *begin;
    }
    return {};
}

constexpr std::size_t document_bytes_max = 1U << 20U;
constexpr unsigned document_depth_max = 16;
constexpr int rsa_bits_min = 2048;

// How each algorithm's key and signature look.
struct curve {
    std::string_view jwk_name;
    const char* group;
    signature_kind kind;
    std::size_t bytes;  // of a coordinate
};
constexpr std::array curves{
    curve{"P-256", "P-256", signature_kind::es256, 32},
    curve{"P-384", "P-384", signature_kind::es384, 48},
    curve{"P-521", "P-521", signature_kind::es512, 66},
};

const unsigned char* bytes_of(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

number_ptr number_of(std::string_view bytes) {
    return number_ptr(BN_bin2bn(bytes_of(bytes), static_cast<int>(bytes.size()), nullptr));
}

tls::key_ptr from_params(const char* type, const build_ptr& build) {
    const params_ptr params(OSSL_PARAM_BLD_to_param(build.get()));
    const key_context_ptr context(EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr));
    EVP_PKEY* made = nullptr;
    if (!params || !context || EVP_PKEY_fromdata_init(context.get()) != 1 ||
        EVP_PKEY_fromdata(context.get(), &made, EVP_PKEY_PUBLIC_KEY, params.get()) != 1) {
        return nullptr;
    }
    tls::key_ptr key(made);
    const key_context_ptr check(EVP_PKEY_CTX_new_from_pkey(nullptr, key.get(), nullptr));
    if (!check || EVP_PKEY_public_check(check.get()) != 1) return nullptr;
    return key;
}

tls::key_ptr rsa_key(ref jwk) {
    const auto n = base::decode_base64url(jwk.get("n").as_string());
    const auto e = base::decode_base64url(jwk.get("e").as_string());
    if (!n || !e || n->empty() || e->empty() || n->size() > key_bits_max / 8 || e->size() > 8) return nullptr;
    const number_ptr modulus = number_of(*n);
    const number_ptr exponent = number_of(*e);
    const build_ptr build(OSSL_PARAM_BLD_new());
    if (!build || !modulus || !exponent || BN_num_bits(modulus.get()) < rsa_bits_min ||
        OSSL_PARAM_BLD_push_BN(build.get(), OSSL_PKEY_PARAM_RSA_N, modulus.get()) != 1 ||
        OSSL_PARAM_BLD_push_BN(build.get(), OSSL_PKEY_PARAM_RSA_E, exponent.get()) != 1) {
        return nullptr;
    }
    return from_params("RSA", build);
}

tls::key_ptr ec_key(ref jwk, const curve& on) {
    const auto x = base::decode_base64url(jwk.get("x").as_string());
    const auto y = base::decode_base64url(jwk.get("y").as_string());
    if (!x || !y || x->size() != on.bytes || y->size() != on.bytes) return nullptr;
    const std::string point = "\x04" + *x + *y;
    const build_ptr build(OSSL_PARAM_BLD_new());
    if (!build || OSSL_PARAM_BLD_push_utf8_string(build.get(), OSSL_PKEY_PARAM_GROUP_NAME, on.group, 0) != 1 ||
        OSSL_PARAM_BLD_push_octet_string(build.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(), point.size()) != 1) {
        return nullptr;
    }
    return from_params("EC", build);
}

const curve* curve_of(signature_kind kind) {
    const auto found = std::ranges::find(curves, kind, &curve::kind);
    return found == curves.end() ? nullptr : &*found;
}

// r and s side by side become the DER that OpenSSL reads.
std::string to_der(std::string_view raw, std::size_t bytes) {
    if (raw.size() != 2 * bytes) return {};
    const signature_ptr parts(ECDSA_SIG_new());
    if (!parts) return {};
    BIGNUM* const r = number_of(raw.substr(0, bytes)).release();
    BIGNUM* const s = number_of(raw.substr(bytes)).release();
    if (ECDSA_SIG_set0(parts.get(), r, s) != 1) {
        BN_free(r);
        BN_free(s);
        return {};
    }
    unsigned char* der = nullptr;
    const int size = i2d_ECDSA_SIG(parts.get(), &der);
    if (size <= 0) return {};
    std::string out(reinterpret_cast<const char*>(der), static_cast<std::size_t>(size));
    OPENSSL_free(der);
    return out;
}

const EVP_MD* digest_of(signature_kind kind) {
    if (kind == signature_kind::es384) return EVP_sha384();
    return kind == signature_kind::es512 ? EVP_sha512() : EVP_sha256();
}

bool signed_by(EVP_PKEY* key, const token& t) {
    const curve* const on = curve_of(t.kind);
    const std::string signature = on == nullptr ? t.signature : to_der(t.signature, on->bytes);
    const digest_ptr context(EVP_MD_CTX_new());
    return !signature.empty() && context &&
           EVP_DigestVerifyInit(context.get(), nullptr, digest_of(t.kind), nullptr, key) == 1 &&
           EVP_DigestVerify(context.get(), bytes_of(signature), signature.size(), bytes_of(t.signed_text),
                            t.signed_text.size()) == 1;
}

}  // namespace

base::result<token> read_token(std::string_view text) {
    if (text.size() > token_bytes_max) return refuse("it is larger than 16 KiB");
    const auto first = text.find('.');
    const auto second = first == std::string_view::npos ? first : text.find('.', first + 1);
    if (second == std::string_view::npos || text.find('.', second + 1) != std::string_view::npos)
        return refuse("it has not three parts");
    const auto header = base::decode_base64url(text.substr(0, first));
    const auto claims = base::decode_base64url(text.substr(first + 1, second - first - 1));
    auto signature = base::decode_base64url(text.substr(second + 1));
    if (!header || !claims || !signature) return refuse("it is not base64");
    token out;
    if (auto ok = read_header(*header, out); !ok) return std::unexpected(std::move(ok.error()));
    if (auto ok = read_claims(*claims, out.claims); !ok) return std::unexpected(std::move(ok.error()));
    out.signed_text = text.substr(0, second);
    out.signature = std::move(*signature);
    return out;
}

base::result<> check_claims(const token_claims& claims, const token_demands& demands, std::chrono::sys_seconds now) {
    const std::int64_t at = now.time_since_epoch().count();
    if (demands.issuer.empty() || claims.issuer != demands.issuer) return refuse("it is from another issuer");
    if (demands.audience.empty() || std::ranges::find(claims.audiences, demands.audience) == claims.audiences.end())
        return refuse("it is for another audience");
    if (demands.ns.empty() || claims.ns != demands.ns) return refuse("it is from another namespace");
    if (at >= claims.expires) return refuse("it has expired");
    if (at + clock_skew_max.count() < claims.not_before) return refuse("it is not valid yet");
    return {};
}

struct key_set::key {
    std::string id;
    signature_kind kind;
    tls::key_ptr value;
};

key_set::key_set() = default;
key_set::key_set(key_set&&) noexcept = default;
key_set& key_set::operator=(key_set&&) noexcept = default;
key_set::~key_set() = default;

base::result<key_set> key_set::read(std::string_view json) {
    doc::arena memory;
    const auto document = doc::parse_json(memory, json, {document_bytes_max, document_depth_max});
    if (!document || !document->get("keys").is_array())
        return base::fail(base::errc::decode, "the issuer's keys are no JSON with a list of keys");
    key_set out;
    for (const ref each : document->get("keys").items()) {
        if (out.keys_.size() == published_keys_max) break;
        const auto use = each.get("use").as_string("sig");
        const auto type = each.get("kty").as_string();
        key one{.id = std::string(each.get("kid").as_string()), .kind = signature_kind::rs256, .value = nullptr};
        const auto on = std::ranges::find(curves, each.get("crv").as_string(), &curve::jwk_name);
        if (type == "RSA") {
            one.value = rsa_key(each);
        } else if (type == "EC" && on != curves.end()) {
            one.kind = on->kind;
            one.value = ec_key(each, *on);
        }
        if (use == "sig" && one.value) out.keys_.push_back(std::move(one));
    }
    ERR_clear_error();
    return out;
}

std::size_t key_set::size() const { return keys_.size(); }

bool key_set::knows(std::string_view key_id) const {
    return std::ranges::any_of(keys_, [key_id](const key& each) { return each.id == key_id; });
}

bool key_set::verify(const token& t) const {
    const bool good = std::ranges::any_of(keys_, [&t](const key& each) {
        return each.kind == t.kind && (t.key_id.empty() || each.id == t.key_id) && signed_by(each.value.get(), t);
    });
    ERR_clear_error();
    return good;
}

}  // namespace cotrain::serve
