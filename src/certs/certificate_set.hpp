// Our own authority and serving certificate: judging what there is, making what is missing. Time is passed in.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "net/tls/pem.hpp"

namespace cotrain::certs {

using wall_time = std::chrono::sys_seconds;

// PEM texts under the names of the secret's keys.
struct certificate_set {
    std::string ca_crt;  // the authority that signs, first; one that is being replaced after it
    std::string ca_key;  // PKCS#1, which the reference can read, too
    std::string tls_crt;
    std::string tls_key;
    bool operator==(const certificate_set&) const = default;
};

// Whom the serving certificate is for; the first host is needed, the others may be missing in one that exists.
struct certificate_names {
    std::vector<std::string> hosts;
    std::vector<std::string> addresses{};
};

inline constexpr std::chrono::days authority_days{3650};
inline constexpr std::chrono::days serving_days{365};
// A certificate is replaced this long before it expires.
inline constexpr std::chrono::days renew_days{90};
// Clocks of a cluster differ: certificates begin to be valid this long before they are made.
inline constexpr std::chrono::hours backdate{1};

enum class standing : std::uint8_t {
    good,
    renew_serving,  // the authority is good and can sign
    renew_all
};

struct judgement {
    standing what = standing::renew_all;
    std::string why;       // of a renewal, for the log
    wall_time renew_at{};  // of a good set
};

[[nodiscard]] judgement judge(const certificate_set& set, const certificate_names& names, wall_time now);
// A set that is good. With a new authority the old one, if it is still valid, stays in ca_crt: who has the old bundle
// or serves the old certificate goes on.
[[nodiscard]] base::result<certificate_set> renew(const certificate_set& old, standing what,
                                                  const certificate_names& names, wall_time now);

// Making of keys and certificates with OpenSSL.

struct issued {
    net::tls::certificate_ptr certificate;
    net::tls::key_ptr key;
};

// Its key is made if none is given: RSA, which takes a tenth of a second.
[[nodiscard]] base::result<issued> make_authority(wall_time now, net::tls::key_ptr key = {});
[[nodiscard]] base::result<issued> make_serving(const certificate_names& names, X509& authority, EVP_PKEY& signer,
                                                wall_time now);

[[nodiscard]] std::string to_pem(X509& certificate);
// RSA as PKCS#1, others as PKCS#8.
[[nodiscard]] std::string to_pem(EVP_PKEY& key);

// Certificates in Kubernetes' objects: the secret that holds them and the webhook configurations that trust them.

// What a Secret's data says; keys that are missing or no base64 come out empty.
[[nodiscard]] base::result<certificate_set> read_secret(std::string_view body);
// The same Secret with our keys set, everything else kept; `body` empty: a new one.
[[nodiscard]] base::result<std::string> write_secret(std::string_view body, std::string_view ns, std::string_view name,
                                                     const certificate_set& set);

// The ConfigMap that tells everybody whom to trust.
[[nodiscard]] std::string write_bundle(std::string_view ns, std::string_view name, std::string_view ca_pem);

// A (Validating|Mutating)WebhookConfiguration in which every webhook trusts `ca_pem`; nothing if they all do already.
[[nodiscard]] base::result<std::optional<std::string>> inject_authority(std::string_view body, std::string_view ca_pem);

// The field manager that wrote last to a top-level member ("data", "webhooks"), as metadata.managedFields tell it;
// empty where they do not.
[[nodiscard]] std::string last_writer(std::string_view body, std::string_view member);

}  // namespace cotrain::certs
