#include "certs/certificate_set.hpp"

#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>

#include <array>
#include <optional>
#include <utility>

#include "base/encoding.hpp"
#include "doc/edit.hpp"
#include "doc/json.hpp"
#include "net/tls/errors.hpp"
#include "net/tls/pem.hpp"

namespace cotrain::certs {

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

// More old authorities than this are not carried along.
constexpr std::size_t old_authorities_max = 1;

std::time_t seconds(wall_time when) { return std::chrono::system_clock::to_time_t(when); }

bool valid_at(const X509& certificate, wall_time when) {
    std::time_t at = seconds(when);
    return X509_cmp_time(X509_get0_notBefore(&certificate), &at) < 0 &&
           X509_cmp_time(X509_get0_notAfter(&certificate), &at) > 0;
}

std::optional<wall_time> end_of(const X509& certificate) {
    std::tm parts{};
    if (ASN1_TIME_to_tm(X509_get0_notAfter(&certificate), &parts) != 1) return std::nullopt;
    return wall_time(std::chrono::seconds(::timegm(&parts)));
}

judgement bad(standing what, std::string why) { return {.what = what, .why = std::move(why), .renew_at = {}}; }

// The first of `problems` that holds, or nothing.
std::string authority_trouble(const std::vector<tls::certificate_ptr>& authorities, const EVP_PKEY* key,
                              wall_time now) {
    X509& first = *authorities.front();
    if (!valid_at(first, now)) return "the authority is not valid now";
    if (!valid_at(first, now + renew_days)) return "the authority expires soon";
    if (X509_check_ca(&first) != 1) return "ca.crt is no authority";
    if (X509_check_private_key(&first, key) != 1) return "ca.key does not belong to ca.crt";
    return {};
}

std::string serving_trouble(const std::vector<tls::certificate_ptr>& chain, const EVP_PKEY* key, X509& authority,
                            const certificate_names& names, wall_time now) {
    X509& leaf = *chain.front();
    if (!valid_at(leaf, now)) return "the serving certificate is not valid now";
    if (!valid_at(leaf, now + renew_days)) return "the serving certificate expires soon";
    if (X509_check_private_key(&leaf, key) != 1) return "tls.key does not belong to tls.crt";
    if (X509_verify(&leaf, X509_get0_pubkey(&authority)) != 1) return "tls.crt is not signed by ca.crt";
    if (X509_check_host(&leaf, names.hosts.front().data(), names.hosts.front().size(), 0, nullptr) != 1)
        return "tls.crt is not for " + names.hosts.front();
    for (const std::string& address : names.addresses)
        if (X509_check_ip_asc(&leaf, address.c_str(), 0) != 1) return "tls.crt is not for " + address;
    return {};
}

struct key {
    std::string_view name;
    std::string certificate_set::* text;
};
constexpr key keys[] = {{"ca.crt", &certificate_set::ca_crt},
                        {"ca.key", &certificate_set::ca_key},
                        {"tls.crt", &certificate_set::tls_crt},
                        {"tls.key", &certificate_set::tls_key}};

// Of a field manager's name in a log line; the API server allows 128.
constexpr std::size_t manager_bytes_max = 128;

std::unexpected<base::error> unreadable(const base::error& why) {
    return base::fail(base::make_error(base::errc::decode, why.message));
}

}  // namespace

base::result<issued> make_authority(wall_time now, tls::key_ptr key) {
    issued out;
    out.key = key ? std::move(key) : tls::key_ptr(EVP_RSA_gen(authority_key_bits));
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

judgement judge(const certificate_set& set, const certificate_names& names, wall_time now) {
    if (set == certificate_set{}) return bad(standing::renew_all, "there are none");
    const auto authorities = tls::read_certificates(set.ca_crt, "ca.crt");
    if (!authorities) return bad(standing::renew_all, authorities.error().message);
    const auto authority_key = tls::read_key(set.ca_key, "ca.key");
    if (!authority_key) return bad(standing::renew_all, authority_key.error().message);
    std::string trouble = authority_trouble(*authorities, authority_key->get(), now);
    ERR_clear_error();
    if (!trouble.empty()) return bad(standing::renew_all, std::move(trouble));
    const auto chain = tls::read_certificates(set.tls_crt, "tls.crt");
    if (!chain) return bad(standing::renew_serving, chain.error().message);
    const auto key = tls::read_key(set.tls_key, "tls.key");
    if (!key) return bad(standing::renew_serving, key.error().message);
    trouble = serving_trouble(*chain, key->get(), *authorities->front(), names, now);
    ERR_clear_error();
    if (!trouble.empty()) return bad(standing::renew_serving, std::move(trouble));
    const auto end = std::min(end_of(*chain->front()).value_or(now), end_of(*authorities->front()).value_or(now));
    return {.what = standing::good, .why = {}, .renew_at = end - renew_days};
}

base::result<certificate_set> renew(const certificate_set& old, standing what, const certificate_names& names,
                                    wall_time now) {
    certificate_set out = old;
    const auto before = tls::read_certificates(old.ca_crt, "ca.crt");
    ERR_clear_error();
    if (what == standing::renew_all || !before) {
        auto authority = make_authority(now);
        if (!authority) return std::unexpected(std::move(authority.error()));
        out.ca_crt = to_pem(*authority->certificate);
        out.ca_key = to_pem(*authority->key);
        for (std::size_t i = 0; before && i < before->size() && i < old_authorities_max; ++i)
            if (valid_at(*(*before)[i], now)) out.ca_crt += to_pem(*(*before)[i]);
    }
    const auto authorities = tls::read_certificates(out.ca_crt, "ca.crt");
    if (!authorities) return std::unexpected(authorities.error());
    const auto signer = tls::read_key(out.ca_key, "ca.key");
    if (!signer) return std::unexpected(signer.error());
    const auto serving = make_serving(names, *authorities->front(), **signer, now);
    if (!serving) return std::unexpected(serving.error());
    out.tls_crt = to_pem(*serving->certificate);
    out.tls_key = to_pem(*serving->key);
    return out;
}

base::result<certificate_set> read_secret(std::string_view body) {
    doc::arena memory;
    const auto document = doc::parse_json(memory, body);
    if (!document) return unreadable(document.error());
    certificate_set out;
    for (const key& each : keys)
        out.*each.text = base::decode_base64(document->get({"data", each.name}).as_string()).value_or(std::string());
    return out;
}

base::result<std::string> write_secret(std::string_view body, std::string_view ns, std::string_view name,
                                       const certificate_set& set) {
    doc::arena memory;
    doc::editor secret = doc::editor::object(memory);
    if (body.empty()) {
        secret.set("apiVersion", "v1").set("kind", "Secret");
        secret.ensure_object("metadata").set("name", name).set("namespace", ns);
        secret.set("type", "Opaque");
    } else {
        const auto document = doc::parse_json(memory, body);
        if (!document) return unreadable(document.error());
        secret = doc::editor::of(memory, *document);
        if (!secret || secret.type() != doc::kind::object)
            return base::fail(base::errc::decode, "the secret is no object");
        if (doc::editor metadata = secret.child("metadata")) metadata.remove("managedFields");
    }
    doc::editor data = secret.ensure_object("data");
    for (const key& each : keys) data.set(each.name, base::encode_base64(set.*each.text));
    return doc::to_json(secret);
}

std::string write_bundle(std::string_view ns, std::string_view name, std::string_view ca_pem) {
    doc::arena memory;
    doc::editor map = doc::editor::object(memory);
    map.set("apiVersion", "v1").set("kind", "ConfigMap");
    map.ensure_object("metadata").set("name", name).set("namespace", ns);
    map.ensure_object("data").set("ca.crt", ca_pem);
    return doc::to_json(map);
}

base::result<std::optional<std::string>> inject_authority(std::string_view body, std::string_view ca_pem) {
    doc::arena memory;
    const auto document = doc::parse_json(memory, body);
    if (!document) return unreadable(document.error());
    doc::editor configuration = doc::editor::of(memory, *document);
    if (!configuration || configuration.type() != doc::kind::object)
        return base::fail(base::errc::decode, "the webhook configuration is no object");
    const std::string wanted = base::encode_base64(ca_pem);
    bool changed = false;
    doc::editor webhooks = configuration.child("webhooks");
    for (std::size_t i = 0; webhooks && i < webhooks.size(); ++i) {
        if (webhooks.at(i).get({"clientConfig", "caBundle"}).as_string() == wanted) continue;
        webhooks.child(i).ensure_object("clientConfig").set("caBundle", wanted);
        changed = true;
    }
    if (!changed) return std::nullopt;
    if (doc::editor metadata = configuration.child("metadata")) metadata.remove("managedFields");
    return doc::to_json(configuration);
}

std::string last_writer(std::string_view body, std::string_view member) {
    doc::arena memory;
    const auto document = doc::parse_json(memory, body);
    if (!document) return {};
    const std::string field = "f:" + std::string(member);
    std::string_view manager;
    std::string_view newest;  // RFC 3339 in UTC sorts as time
    for (const doc::ref entry : document->get({"metadata", "managedFields"}).items()) {
        const std::string_view time = entry.get("time").as_string();
        if (!entry.get({"fieldsV1", field}) || time < newest) continue;
        newest = time;
        manager = entry.get("manager").as_string();
    }
    return base::one_line(manager, manager_bytes_max);
}

}  // namespace cotrain::certs
