// What is wrong with a set of certificates, and how little has to be renewed.
#include "serve/certificate_set.hpp"

#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <optional>
#include <utility>

#include "net/tls/pem.hpp"
#include "serve/certificate_issue.hpp"

namespace cotrain::serve {

namespace tls = net::tls;

namespace {

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

}  // namespace

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

}  // namespace cotrain::serve
