// What OpenSSL's callbacks know about the connection they are called for.
#pragma once

#include <openssl/ssl.h>

#include <cstdint>
#include <string>
#include <vector>

namespace cotrain::net::tls {

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

}  // namespace cotrain::net::tls
