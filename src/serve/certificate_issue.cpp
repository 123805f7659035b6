// X.509 as Go's verifier wants it: names as subject alternatives, key identifiers, basic constraints.
#include "serve/certificate_issue.hpp"

#include <openssl/bn.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>

#include <array>

#include "net/tls/errors.hpp"

namespace cotrain::serve {

namespace tls = net::tls;

namespace {

constexpr std::string_view authority_name = "kubeflow-trainer-ca";
constexpr std::string_view organization = "kubeflow-trainer";
constexpr unsigned authority_key_bits = 2048;
constexpr std::size_t serial_bytes = 16;
constexpr std::size_t common_name_bytes_max = 64;  // X.509's own bound

std::unexpected<base::error> failed(std::string_view doing) {
    return base::fail(base::errc::internal, std::string(doing) + ": " + tls::take_reason());
}

bool add_name(X509_NAME* to, const char* field, std::string_view text) {
    return X509_NAME_add_entry_by_txt(to, field, MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(text.data()),
                                      static_cast<int>(text.size()), -1, 0) == 1;
}

bool extend(X509* certificate, X509* issuer, int kind, const std::string& value) {
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
    X509_EXTENSION* const made = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
    const bool added = made != nullptr && X509_add_ext(certificate, made, -1) == 1;
    X509_EXTENSION_free(made);
    return added;
}

bool set_times(X509* certificate, wall_time now, std::chrono::days valid) {
    const std::time_t from = std::chrono::system_clock::to_time_t(now - backdate);
    const std::time_t until = std::chrono::system_clock::to_time_t(now + valid);
    return ASN1_TIME_set(X509_getm_notBefore(certificate), from) != nullptr &&
           ASN1_TIME_set(X509_getm_notAfter(certificate), until) != nullptr;
}

bool set_serial(X509* certificate) {
    std::array<unsigned char, serial_bytes> bytes{};
    if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) return false;
    bytes[0] = static_cast<unsigned char>((bytes[0] & 0x7FU) | 0x40U);  // positive, and of full length
    BIGNUM* const number = BN_bin2bn(bytes.data(), static_cast<int>(bytes.size()), nullptr);
    const bool set = number != nullptr && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) != nullptr;
    BN_free(number);
    return set;
}

std::string alternatives(const certificate_names& names) {
    std::string list;
    for (const std::string& host : names.hosts) list.append(list.empty() ? "DNS:" : ",DNS:").append(host);
    for (const std::string& address : names.addresses) list.append(list.empty() ? "IP:" : ",IP:").append(address);
    return list;
}

std::string take_text(const tls::bio_ptr& memory) {
    char* data = nullptr;
    const long size = BIO_get_mem_data(memory.get(), &data);
    return {data, static_cast<std::size_t>(size)};
}

}  // namespace

base::result<issued> make_authority(wall_time now) {
    issued out;
    out.key.reset(EVP_RSA_gen(authority_key_bits));
    out.certificate.reset(X509_new());
    if (!out.key || !out.certificate) return failed("make a certificate authority");
    X509* const made = out.certificate.get();
    X509_NAME* const subject = X509_get_subject_name(made);
    const bool done =
        X509_set_version(made, X509_VERSION_3) == 1 && set_serial(made) && set_times(made, now, authority_days) &&
        add_name(subject, "O", organization) && add_name(subject, "CN", authority_name) &&
        X509_set_issuer_name(made, subject) == 1 && X509_set_pubkey(made, out.key.get()) == 1 &&
        extend(made, made, NID_basic_constraints, "critical,CA:TRUE") &&
        extend(made, made, NID_key_usage, "critical,digitalSignature,keyCertSign") &&
        extend(made, made, NID_subject_key_identifier, "hash") && X509_sign(made, out.key.get(), EVP_sha256()) > 0;
    if (!done) return failed("make a certificate authority");
    return out;
}

base::result<issued> make_serving(const certificate_names& names, X509& authority, EVP_PKEY& signer, wall_time now) {
    issued out;
    out.key.reset(EVP_EC_gen("P-256"));
    out.certificate.reset(X509_new());
    if (!out.key || !out.certificate) return failed("make a serving certificate");
    X509* const made = out.certificate.get();
    X509_NAME* const subject = X509_get_subject_name(made);
    const std::string& host = names.hosts.front();
    const bool done = X509_set_version(made, X509_VERSION_3) == 1 && set_serial(made) &&
                      set_times(made, now, serving_days) && add_name(subject, "O", organization) &&
                      (host.size() > common_name_bytes_max || add_name(subject, "CN", host)) &&
                      X509_set_issuer_name(made, X509_get_subject_name(&authority)) == 1 &&
                      X509_set_pubkey(made, out.key.get()) == 1 &&
                      extend(made, &authority, NID_basic_constraints, "critical,CA:FALSE") &&
                      extend(made, &authority, NID_key_usage, "critical,digitalSignature") &&
                      extend(made, &authority, NID_ext_key_usage, "serverAuth") &&
                      extend(made, &authority, NID_subject_alt_name, alternatives(names)) &&
                      extend(made, &authority, NID_subject_key_identifier, "hash") &&
                      extend(made, &authority, NID_authority_key_identifier, "keyid") &&
                      X509_sign(made, &signer, EVP_sha256()) > 0;
    if (!done) return failed("make a serving certificate for " + base::one_line(host, 256));
    return out;
}

std::string to_pem(X509& certificate) {
    const tls::bio_ptr memory(BIO_new(BIO_s_mem()));
    PEM_write_bio_X509(memory.get(), &certificate);
    return take_text(memory);
}

std::string to_pem(EVP_PKEY& key) {
    const tls::bio_ptr memory(BIO_new(BIO_s_secmem()));
    if (EVP_PKEY_get_base_id(&key) == EVP_PKEY_RSA) {
        PEM_write_bio_PrivateKey_traditional(memory.get(), &key, nullptr, nullptr, 0, nullptr, nullptr);
    } else {
        PEM_write_bio_PrivateKey(memory.get(), &key, nullptr, nullptr, 0, nullptr, nullptr);
    }
    return take_text(memory);
}

}  // namespace cotrain::serve
