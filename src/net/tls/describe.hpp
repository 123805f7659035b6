// Certificates in words.
#pragma once

#include <openssl/x509.h>

#include <string>

namespace cotrain::net::tls {

// More names of one certificate than these are only counted.
inline constexpr int names_shown_max = 8;

// "CN=a,O=b".
[[nodiscard]] std::string to_text(const X509_NAME* name);
// "2026-01-31 12:00:00 UTC".
[[nodiscard]] std::string to_text(const ASN1_TIME* time);
// The names and addresses a certificate is for: "a, b, 10.0.0.1 and 3 more"; empty if none.
[[nodiscard]] std::string names_of(const X509& certificate);

}  // namespace cotrain::net::tls
