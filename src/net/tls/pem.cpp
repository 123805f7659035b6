// Reading PEM with messages that say what is wrong with the text.
#include "net/tls/pem.hpp"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/pemerr.h>

#include "net/tls/errors.hpp"

namespace cotrain::net::tls {
namespace {

std::unexpected<base::error> invalid(std::string_view what, std::string_view why) {
    return base::fail(base::errc::invalid, fmt::format("{}: {}", what, why));
}

// OpenSSL asks for a passphrase on the terminal unless somebody answers.
int refuse_passphrase(char*, int, int, void* asked) {
    *static_cast<bool*>(asked) = true;
    return -1;
}

// Why a text has no PEM block of the kind that is looked for.
std::string_view absence(std::string_view pem, std::string_view kind) {
    if (pem.starts_with("LS0tLS1CRUdJTi")) return "is base64 around PEM; decode it once";
    if (!pem.empty() && pem.front() == 0x30) return "is DER; convert it to PEM";
    return kind;
}

base::result<bio_ptr> open(std::string_view pem, std::string_view what) {
    if (pem.size() > pem_bytes_max) return invalid(what, fmt::format("more than {} MiB", pem_bytes_max >> 20U));
    bio_ptr text(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
    if (!text) return base::fail(base::errc::internal, "out of memory for a certificate");
    ERR_clear_error();
    return text;
}

}  // namespace

base::result<std::vector<certificate_ptr>> read_certificates(std::string_view pem, std::string_view what) {
    base::result<bio_ptr> text = open(pem, what);
    if (!text) return std::unexpected(std::move(text.error()));
    std::vector<certificate_ptr> found;
    bool asked = false;
    while (certificate_ptr one{PEM_read_bio_X509(text->get(), nullptr, refuse_passphrase, &asked)}) {
        if (found.size() == certificates_max)
            return invalid(what, fmt::format("more than {} certificates", certificates_max));
        found.push_back(std::move(one));
    }
    const bool at_end = last_reason_is(ERR_LIB_PEM, PEM_R_NO_START_LINE);
    const std::string reason = take_reason();
    if (!at_end) return invalid(what, fmt::format("PEM block {} is damaged: {}", found.size() + 1, reason));
    if (found.empty()) return invalid(what, absence(pem, "no PEM certificate (-----BEGIN CERTIFICATE-----) in it"));
    return found;
}

base::result<key_ptr> read_key(std::string_view pem, std::string_view what) {
    base::result<bio_ptr> text = open(pem, what);
    if (!text) return std::unexpected(std::move(text.error()));
    bool asked = false;
    key_ptr key(PEM_read_bio_PrivateKey(text->get(), nullptr, refuse_passphrase, &asked));
    if (key) {
        ERR_clear_error();  // a decoder that was tried first may have left one
        return key;
    }
    const bool absent = pem.find("PRIVATE KEY-----") == std::string_view::npos;
    const std::string reason = take_reason();
    if (asked) return invalid(what, "is encrypted; only keys without a passphrase can be used");
    if (absent) return invalid(what, absence(pem, "no PEM private key (-----BEGIN PRIVATE KEY-----) in it"));
    return invalid(what, fmt::format("cannot be read: {}", reason));
}

}  // namespace cotrain::net::tls
