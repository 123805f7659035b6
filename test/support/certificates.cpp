// Building, signing and writing out X.509 certificates with OpenSSL.
#include "certificates.hpp"

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <ctime>
#include <stdexcept>

namespace cotrain::test {
namespace {

using key_ptr = std::shared_ptr<EVP_PKEY>;
using x509_ptr = std::shared_ptr<X509>;

void require(bool good, const char* what) {
    if (!good) throw std::runtime_error(std::string("test certificate: ") + what);
}

key_ptr make_key(key_kind kind) {
    EVP_PKEY* key = kind == key_kind::rsa2048 ? EVP_RSA_gen(2048U)
                                              : EVP_EC_gen(kind == key_kind::p256 ? "P-256" : "brainpoolP256r1");
    require(key != nullptr, "no key");
    return {key, EVP_PKEY_free};
}

void extend(X509* certificate, X509* issuer, int nid, const std::string& value) {
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
    require(extension != nullptr, value.c_str());
    require(X509_add_ext(certificate, extension, -1) == 1, "extension");
    X509_EXTENSION_free(extension);
}

void name_subject(X509* certificate, const std::string& organization, const std::string& common_name) {
    X509_NAME* subject = X509_get_subject_name(certificate);
    const auto add = [subject](const char* field, const std::string& value) {
        const auto* bytes = reinterpret_cast<const unsigned char*>(value.data());
        if (!value.empty())
            require(X509_NAME_add_entry_by_txt(subject, field, MBSTRING_UTF8, bytes, static_cast<int>(value.size()), -1,
                                               0) == 1,
                    field);
    };
    add("O", organization);
    add("CN", common_name);
}

x509_ptr begin(EVP_PKEY* key, std::chrono::seconds from, std::chrono::seconds until) {
    const x509_ptr certificate(X509_new(), X509_free);
    require(certificate != nullptr, "no certificate");
    std::uint64_t serial = 0;
    require(RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial) == 1, "no random bytes");
    ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate.get()), serial >> 1U);
    X509_set_version(certificate.get(), X509_VERSION_3);
    X509_gmtime_adj(X509_getm_notBefore(certificate.get()), from.count());
    X509_gmtime_adj(X509_getm_notAfter(certificate.get()), until.count());
    X509_set_pubkey(certificate.get(), key);
    return certificate;
}

void sign(X509* certificate, X509* issuer, EVP_PKEY* issuer_key) {
    X509_set_issuer_name(certificate, X509_get_subject_name(issuer));
    require(X509_sign(certificate, issuer_key, EVP_sha256()) != 0, "signature");
}

template <class Write>
std::string written(Write write) {
    const std::unique_ptr<BIO, decltype(&BIO_free)> out(BIO_new(BIO_s_mem()), BIO_free);
    require(out && write(out.get()) == 1, "PEM");
    char* text = nullptr;
    const long size = BIO_get_mem_data(out.get(), &text);
    return {text, static_cast<std::size_t>(size)};
}

std::string to_pem(X509* certificate) {
    return written([&](BIO* out) { return PEM_write_bio_X509(out, certificate); });
}

x509_ptr make_leaf(const certificate_options& options, EVP_PKEY* key, X509* issuer) {
    x509_ptr leaf = begin(key, options.valid_from, options.valid_until);
    X509* const raw = leaf.get();
    name_subject(raw, options.organization, options.common_name);
    if (issuer == nullptr) issuer = raw;
    extend(raw, issuer, NID_basic_constraints, "critical,CA:FALSE");
    extend(raw, issuer, NID_key_usage, "critical,digitalSignature,keyEncipherment");
    std::string usage;
    if (options.for_server) usage += ",serverAuth";
    if (options.for_client) usage += ",clientAuth";
    if (!usage.empty()) extend(raw, issuer, NID_ext_key_usage, usage.substr(1));
    std::string alternatives;
    for (const std::string& name : options.names) alternatives += ",DNS:" + name;
    for (const std::string& address : options.addresses) alternatives += ",IP:" + address;
    if (!alternatives.empty()) extend(raw, issuer, NID_subject_alt_name, alternatives.substr(1));
    return leaf;
}

certificate finish(X509* leaf, EVP_PKEY* key, const std::string& chain_pem) {
    certificate made;
    made.certificate_pem = to_pem(leaf) + chain_pem;
    made.key_pem = written(
        [&](BIO* out) { return PEM_write_bio_PKCS8PrivateKey(out, key, nullptr, nullptr, 0, nullptr, nullptr); });
    made.sec1_key_pem = written([&](BIO* out) {
        return PEM_write_bio_PrivateKey_traditional(out, key, nullptr, nullptr, 0, nullptr, nullptr);
    });
    return made;
}

}  // namespace

authority::authority(std::string common_name) : authority(std::move(common_name), nullptr) {}

authority::authority(std::string common_name, const authority* parent) : key_(make_key(key_kind::p256)) {
    certificate_ = begin(key_.get(), -std::chrono::hours(2), std::chrono::hours(240));
    X509* const raw = certificate_.get();
    X509* const issuer = parent != nullptr ? parent->certificate_.get() : raw;
    name_subject(raw, {}, common_name);
    extend(raw, issuer, NID_basic_constraints, "critical,CA:TRUE");
    extend(raw, issuer, NID_key_usage, "critical,keyCertSign,cRLSign,digitalSignature");
    extend(raw, issuer, NID_subject_key_identifier, "hash");
    sign(raw, issuer, parent != nullptr ? parent->key_.get() : key_.get());
    pem_ = to_pem(raw);
    if (parent != nullptr) chain_pem_ = pem_ + parent->chain_pem_;
}

authority authority::intermediate(std::string common_name) const { return {std::move(common_name), this}; }

certificate authority::issue(const certificate_options& options) const {
    const key_ptr key = make_key(options.key);
    const x509_ptr leaf = make_leaf(options, key.get(), certificate_.get());
    extend(leaf.get(), certificate_.get(), NID_authority_key_identifier, "keyid");
    sign(leaf.get(), certificate_.get(), key_.get());
    return finish(leaf.get(), key.get(), chain_pem_);
}

certificate self_signed(const certificate_options& options) {
    const key_ptr key = make_key(options.key);
    const x509_ptr leaf = make_leaf(options, key.get(), nullptr);
    sign(leaf.get(), leaf.get(), key.get());
    return finish(leaf.get(), key.get(), {});
}

}  // namespace cotrain::test
