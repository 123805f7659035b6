// OpenSSL's errors and certificates in words, and what its callbacks know of their connection.
#pragma once

#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace cotrain::net::tls {

// What OpenSSL's callbacks know about the connection they are called for.

enum class side : std::uint8_t { client, server };

// Why a peer's certificate was not accepted; kept because OpenSSL forgets the certificate.
struct verify_failure {
    int code = 0;   // X509_V_…; 0: there was none
    int depth = 0;  // 0: the peer's own certificate; above: one of its issuers
    std::string subject;
    std::string issuer;
    std::string names;  // the names and addresses it is for, comma separated
    std::string valid_from;
    std::string valid_until;
};

// Stays at one address for as long as its SSL object.
struct link {
    side role = side::client;
    std::string server_name;        // a name without its final dot or an address without brackets; empty: server role
    std::vector<std::string> alpn;  // what our context speaks
    verify_failure failure;
    std::string first_bytes;  // of what the peer sent, to recognise what is no TLS
    bool complete = false;    // the handshake
};

inline void attach(SSL* ssl, link* connection) { SSL_set_app_data(ssl, connection); }
inline link& attached(const SSL* ssl) { return *static_cast<link*>(SSL_get_app_data(ssl)); }

// Certificates in words.

// More names of one certificate than these are only counted.
inline constexpr int names_shown_max = 8;

// "CN=a,O=b".
[[nodiscard]] std::string to_text(const X509_NAME* name);
// "2026-01-31 12:00:00 UTC".
[[nodiscard]] std::string to_text(const ASN1_TIME* time);
// The names and addresses a certificate is for: "a, b, 10.0.0.1 and 3 more"; empty if none.
[[nodiscard]] std::string names_of(const X509& certificate);

// OpenSSL's error codes in the words of those who have to act on them.

// At most this much of what a peer sent goes into one message.
inline constexpr std::size_t message_bytes_max = 1024;

// Empties OpenSSL's queue of errors; the reason given last, never empty.
[[nodiscard]] std::string take_reason();
// Whether the error queued last is that one; leaves the queue as it is.
[[nodiscard]] bool last_reason_is(int library, int reason);

// What a failed verification is about, from inside OpenSSL's callback.
[[nodiscard]] verify_failure describe(X509_STORE_CTX* verification);
// Why the connection failed, from the queue and from what is known about it. Empties the queue.
[[nodiscard]] base::error take_error(const link& connection);
// What it means that the peer's bytes ended here.
[[nodiscard]] base::error end_of_bytes(const link& connection);

}  // namespace cotrain::net::tls
