#include "net/tls/errors.hpp"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/sslerr.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <ctime>
#include <memory>
#include <vector>

#include "base/error.hpp"
#include "net/tls/pem.hpp"

namespace cotrain::net::tls {

namespace {

constexpr std::size_t name_bytes_max = 200;

std::string_view bytes_of(const ASN1_STRING* text) {
    return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
            static_cast<std::size_t>(ASN1_STRING_length(text))};
}

std::string address_text(std::string_view bytes) {
    if (bytes.size() == 4) {
        boost::asio::ip::address_v4::bytes_type v4;
        std::ranges::copy(bytes, v4.begin());
        return boost::asio::ip::address_v4(v4).to_string();
    }
    if (bytes.size() == 16) {
        boost::asio::ip::address_v6::bytes_type v6;
        std::ranges::copy(bytes, v6.begin());
        return boost::asio::ip::address_v6(v6).to_string();
    }
    return "a malformed address";
}

constexpr std::size_t first_line_bytes_max = 40;

std::string_view whose_certificate(side role, int depth) {
    if (role == side::client) return depth == 0 ? "server certificate" : "certificate in the server's chain";
    return depth == 0 ? "client certificate" : "certificate in the client's chain";
}

std::string_view whose_authority(side role) {
    return role == side::client ? "give its CA as certificate-authority-data" : "its CA is not among the client CAs";
}

std::string verify_text(const link& connection) {
    const verify_failure& f = connection.failure;
    const std::string_view whose = whose_certificate(connection.role, f.depth);
    const std::string_view cure = whose_authority(connection.role);
    switch (f.code) {
        case X509_V_ERR_CERT_HAS_EXPIRED:
            return fmt::format("{} has expired: {} was valid until {}", whose, f.subject, f.valid_until);
        case X509_V_ERR_CERT_NOT_YET_VALID:
            return fmt::format("{} is not valid yet: {} will be from {}; are both clocks right?", whose, f.subject,
                               f.valid_from);
        case X509_V_ERR_HOSTNAME_MISMATCH:
        case X509_V_ERR_IP_ADDRESS_MISMATCH:
            if (f.names.empty()) {
                return fmt::format("hostname mismatch: certificate {} is for no name or address; wanted {}", f.subject,
                                   connection.server_name);
            }
            return fmt::format("hostname mismatch: certificate is for {}; wanted {}", f.names, connection.server_name);
        case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
            return fmt::format("{} is self-signed: {}; {}", whose, f.subject, cure);
        case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
            return fmt::format("self-signed certificate in chain: signed by {}; {}", f.issuer, cure);
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
        case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
        case X509_V_ERR_CERT_UNTRUSTED:
            return fmt::format("{} {} is signed by an unknown authority: {}; {}", whose, f.subject, f.issuer, cure);
        case X509_V_ERR_CERT_SIGNATURE_FAILURE:
            return fmt::format("{} {} is not signed by the trusted {} but by another of that name; {}", whose,
                               f.subject, f.issuer, cure);
        case X509_V_ERR_INVALID_PURPOSE:
            return fmt::format("{} {} may not be used as one (key usage)", whose, f.subject);
        case X509_V_ERR_INVALID_CA:
            return fmt::format("{} is signed by {}, which is no certificate authority", whose, f.subject);
        default:
            return fmt::format("{} {} is not accepted: {}", whose, f.subject, X509_verify_cert_error_string(f.code));
    }
}

// What the peer's fatal alert means to us.
std::string alert_text(const link& connection, int alert) {
    const std::string_view ours = connection.role == side::client ? "our client certificate" : "our server certificate";
    switch (alert) {
        case SSL_AD_HANDSHAKE_FAILURE:
            return connection.role == side::client
                       ? "peer refused the handshake: nothing in common, or it demands a client certificate"
                       : "peer refused the handshake: nothing in common";
        case SSL_AD_BAD_CERTIFICATE: return fmt::format("peer refuses {} (bad certificate)", ours);
        case SSL_AD_UNSUPPORTED_CERTIFICATE: return fmt::format("peer refuses {}: of a kind it does not use", ours);
        case SSL_AD_CERTIFICATE_REVOKED: return fmt::format("peer refuses {}: revoked", ours);
        case SSL_AD_CERTIFICATE_EXPIRED: return fmt::format("peer refuses {}: expired", ours);
        case SSL_AD_CERTIFICATE_UNKNOWN: return fmt::format("peer refuses {}", ours);
        case SSL_AD_UNKNOWN_CA: return fmt::format("peer refuses {}: signed by an authority it does not know", ours);
        case SSL_AD_ACCESS_DENIED: return fmt::format("peer refuses {}: access denied", ours);
        case SSL_AD_CERTIFICATE_REQUIRED: return "peer demands a client certificate";
        case SSL_AD_PROTOCOL_VERSION: return "peer speaks none of our TLS versions (1.2 and 1.3)";
        case SSL_AD_INSUFFICIENT_SECURITY: return "peer wants stronger cipher suites than we offered";
        case SSL_AD_UNRECOGNIZED_NAME:
            return fmt::format("peer does not know the server name {}", connection.server_name);
        case SSL_AD_NO_APPLICATION_PROTOCOL:
            return fmt::format("peer speaks none of {}", fmt::join(connection.alpn, ", "));
        case SSL_AD_INTERNAL_ERROR: return "peer reports an internal error";
        default: return fmt::format("peer ended the connection: {}", SSL_alert_desc_string_long(alert));
    }
}

std::string library_text(const link& connection, unsigned long code) {
    if (ERR_GET_LIB(code) == ERR_LIB_SSL) {
        const int reason = ERR_GET_REASON(code);
        if (reason >= SSL_AD_REASON_OFFSET && reason < SSL_AD_REASON_OFFSET + 256)
            return alert_text(connection, reason - SSL_AD_REASON_OFFSET);
        switch (reason) {
            case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE: return "peer gave no client certificate, which is required";
            case SSL_R_UNSUPPORTED_PROTOCOL:
            case SSL_R_UNKNOWN_PROTOCOL:
            case SSL_R_NO_PROTOCOLS_AVAILABLE: return "peer speaks only a TLS version that is too old";
            case SSL_R_NO_SHARED_CIPHER: return "no cipher suite in common with the peer";
            case SSL_R_NO_APPLICATION_PROTOCOL:
                return fmt::format("peer speaks none of {}", fmt::join(connection.alpn, ", "));
            case SSL_R_DECRYPTION_FAILED_OR_BAD_RECORD_MAC: return "a record was damaged on its way (bad MAC)";
            default: break;
        }
    }
    const char* reason = ERR_reason_error_string(code);
    return fmt::format("TLS protocol error: {}", reason != nullptr ? reason : "unknown");
}

bool looks_like_tls(std::string_view bytes) {
    if (bytes.empty()) return true;
    const auto type = static_cast<unsigned char>(bytes[0]);
    return type >= 0x14 && type <= 0x17 && (bytes.size() < 2 || bytes[1] == 3);
}

std::string no_tls_text(const link& connection) {
    const std::string_view bytes = connection.first_bytes;
    const std::string_view line = bytes.substr(0, std::min(bytes.find_first_of("\r\n"), first_line_bytes_max));
    const std::string_view verb = connection.role == side::client ? "answered" : "sent";
    if (!line.empty() && std::ranges::all_of(line, [](char c) { return c >= 0x20 && c < 0x7f; }))
        return fmt::format("peer speaks no TLS ({} '{}')", verb, line);
    const std::string_view head = bytes.substr(0, 8);
    return fmt::format("peer speaks no TLS ({} bytes {:02x})", verb,
                       fmt::join(reinterpret_cast<const unsigned char*>(head.data()),
                                 reinterpret_cast<const unsigned char*>(head.data()) + head.size(), " "));
}

}  // namespace

std::string to_text(const X509_NAME* name) {
    const bio_ptr out(BIO_new(BIO_s_mem()));
    const unsigned long flags = XN_FLAG_RFC2253 & ~static_cast<unsigned long>(ASN1_STRFLGS_ESC_MSB);
    if (!out || X509_NAME_print_ex(out.get(), name, 0, flags) < 0) return "an unreadable name";
    char* text = nullptr;
    const long size = BIO_get_mem_data(out.get(), &text);
    if (size <= 0) return "(no subject)";
    return base::one_line({text, static_cast<std::size_t>(size)}, name_bytes_max);
}

std::string to_text(const ASN1_TIME* time) {
    std::tm t{};
    if (ASN1_TIME_to_tm(time, &t) != 1) return "an unreadable time";
    return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02} UTC", t.tm_year + 1900, t.tm_mon + 1, t.tm_mday, t.tm_hour,
                       t.tm_min, t.tm_sec);
}

std::string names_of(const X509& certificate) {
    const std::unique_ptr<GENERAL_NAMES, release<GENERAL_NAMES_free>> list(
        static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(&certificate, NID_subject_alt_name, nullptr, nullptr)));
    std::vector<std::string> shown;
    int names = 0;
    for (int i = 0; list && i < sk_GENERAL_NAME_num(list.get()); ++i) {
        const GENERAL_NAME* name = sk_GENERAL_NAME_value(list.get(), i);
        if (name->type != GEN_DNS && name->type != GEN_IPADD) continue;
        if (++names > names_shown_max) continue;
        shown.push_back(name->type == GEN_DNS ? base::one_line(bytes_of(name->d.dNSName), name_bytes_max)
                                              : address_text(bytes_of(name->d.iPAddress)));
    }
    std::string text = fmt::format("{}", fmt::join(shown, ", "));
    if (names > names_shown_max) text += fmt::format(" and {} more", names - names_shown_max);
    return text;
}

std::string take_reason() {
    const unsigned long code = ERR_peek_last_error();
    ERR_clear_error();
    if (code == 0) return "unknown reason";
    if (ERR_GET_LIB(code) == ERR_LIB_SSL && ERR_GET_REASON(code) == SSL_R_EE_KEY_TOO_SMALL)
        return "its key is too short (RSA takes 2048 bits)";
    const char* reason = ERR_reason_error_string(code);
    return reason != nullptr ? reason : fmt::format("OpenSSL error {:x}", code);
}

bool last_reason_is(int library, int reason) {
    const unsigned long code = ERR_peek_last_error();
    return ERR_GET_LIB(code) == library && ERR_GET_REASON(code) == reason;
}

verify_failure describe(X509_STORE_CTX* verification) {
    verify_failure failure;
    failure.code = X509_STORE_CTX_get_error(verification);
    failure.depth = X509_STORE_CTX_get_error_depth(verification);
    const X509* certificate = X509_STORE_CTX_get_current_cert(verification);
    if (certificate == nullptr) return failure;
    failure.subject = to_text(X509_get_subject_name(certificate));
    failure.issuer = to_text(X509_get_issuer_name(certificate));
    failure.names = names_of(*certificate);
    failure.valid_from = to_text(X509_get0_notBefore(certificate));
    failure.valid_until = to_text(X509_get0_notAfter(certificate));
    return failure;
}

base::error take_error(const link& connection) {
    // The first error is the cause, later ones are what it led to.
    const unsigned long code = ERR_peek_error();
    ERR_clear_error();
    std::string text;
    if (connection.failure.code != X509_V_OK) {
        text = verify_text(connection);
    } else if (!connection.complete && !looks_like_tls(connection.first_bytes)) {
        text = no_tls_text(connection);
    } else {
        text = library_text(connection, code);
    }
    return base::make_error(base::errc::tls, base::one_line(text, message_bytes_max));
}

base::error end_of_bytes(const link& connection) {
    if (connection.complete)
        return base::make_error(base::errc::lost, "connection ended without TLS close_notify: bytes may be missing");
    if (connection.first_bytes.empty())
        return base::make_error(base::errc::connect, "peer closed the connection at the start of the TLS handshake");
    if (!looks_like_tls(connection.first_bytes)) return base::make_error(base::errc::tls, no_tls_text(connection));
    return base::make_error(base::errc::connect, "peer closed the connection during the TLS handshake");
}

}  // namespace cotrain::net::tls
