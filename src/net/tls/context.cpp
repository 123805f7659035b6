#include "net/tls/context.hpp"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <span>
#include <string_view>

#include "base/error.hpp"
#include "net/tls/errors.hpp"
#include "net/tls/pem.hpp"
#include "net/tls/session_cache.hpp"

namespace cotrain::net::tls {

// Trusts every certificate of `ca_pem`, an intermediate or a server's own as good as a root: as kubectl does.
[[nodiscard]] base::result<> trust_pem(SSL_CTX* context, std::string_view ca_pem, std::string_view what);
// Trusts what the system trusts: SSL_CERT_FILE and SSL_CERT_DIR, OpenSSL's own place, or where distributions keep it.
[[nodiscard]] base::result<> trust_system(SSL_CTX* context);

namespace {

constexpr std::size_t smallest_bytes = 32;  // an X25519 key

// A statically linked OpenSSL looks where it was built, not where the system at hand keeps its bundle.
constexpr std::array bundles = {
    "/etc/ssl/certs/ca-certificates.crt",                 // Debian, Alpine, distroless
    "/etc/pki/tls/certs/ca-bundle.crt",                   // Fedora, RHEL
    "/etc/ssl/ca-bundle.pem",                             // openSUSE
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  // RHEL 7 and later
    "/etc/ssl/cert.pem",                                  // Alpine, BSD
};

bool readable(const char* file) { return ::access(file, R_OK) == 0; }

// A certificate that has expired since must not live on through resumption.
bool peer_still_valid(const SSL_SESSION* session) {
    X509* peer = SSL_SESSION_get0_peer(const_cast<SSL_SESSION*>(session));
    return peer == nullptr || X509_cmp_current_time(X509_get0_notAfter(peer)) > 0;
}

// Forward secrecy and AEAD only; AES-128 first, because it is the fastest wherever there are AES instructions.
constexpr const char* tls12_ciphers_default = "ECDHE+AESGCM:ECDHE+CHACHA20";
constexpr const char* tls13_ciphers = "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";

// Of a peer's certificates, which are parsed before anybody knows whose they are: the work and memory that they make
// can grow with the square of their length.
constexpr long client_certificates_bytes_max = 16L << 10U;
constexpr long server_certificates_bytes_max = 32L << 10U;

std::unexpected<base::error> invalid(std::string_view what, std::string_view why) {
    return base::fail(base::errc::invalid, fmt::format("{}: {}", what, why));
}

// Tells SSL_CTX_set_verify what to do with a certificate that did not pass: remember why, and stop.
int remember_failure(int passed, X509_STORE_CTX* verification) {
    if (passed == 1) return 1;
    const auto* ssl = static_cast<SSL*>(X509_STORE_CTX_get_ex_data(verification, SSL_get_ex_data_X509_STORE_CTX_idx()));
    if (ssl != nullptr) attached(ssl).failure = describe(verification);
    return 0;
}

base::result<> set_common(SSL_CTX* context, int version_min, long peer_certificates_bytes_max) {
    if (context == nullptr) return base::fail(base::errc::internal, "no TLS context: " + take_reason());
    if (version_min != TLS1_2_VERSION && version_min != TLS1_3_VERSION)
        return invalid("minimal TLS version", "only 1.2 and 1.3 can be asked for");
    SSL_CTX_set_min_proto_version(context, version_min);
    SSL_CTX_set_max_cert_list(context, peer_certificates_bytes_max);
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
    // The chain is sent as it was given, never completed from what we trust. Idle connections hold no buffers.
    SSL_CTX_set_mode(context, SSL_MODE_NO_AUTO_CHAIN | SSL_MODE_RELEASE_BUFFERS);
    if (SSL_CTX_set_ciphersuites(context, tls13_ciphers) != 1)
        return base::fail(base::errc::internal, "TLS 1.3 cipher suites: " + take_reason());
    return {};
}

// OpenSSL takes a list in which one name is good; a typing error would weaken or empty the rest unnoticed.
base::result<> set_tls12_ciphers(SSL_CTX* context, std::string_view names) {
    const std::string list(names.empty() ? tls12_ciphers_default : names);
    for (std::string_view rest = list; !rest.empty();) {
        const std::string one(rest.substr(0, rest.find(':')));
        rest.remove_prefix(std::min(rest.size(), one.size() + 1));
        ERR_clear_error();
        if (SSL_CTX_set_cipher_list(context, one.c_str()) != 1) {
            ERR_clear_error();
            return invalid("TLS 1.2 cipher suites", fmt::format("'{}' is not known", base::one_line(one, 80)));
        }
    }
    if (SSL_CTX_set_cipher_list(context, list.c_str()) != 1) return invalid("TLS 1.2 cipher suites", take_reason());
    return {};
}

base::result<> check_match(std::span<const certificate_ptr> chain, EVP_PKEY* key, std::string_view whose) {
    const auto matches = [key](const certificate_ptr& c) { return X509_check_private_key(c.get(), key) == 1; };
    const auto match = std::ranges::find_if(chain, matches);
    ERR_clear_error();
    if (match == chain.begin()) return {};
    if (match == chain.end()) return invalid(fmt::format("{} certificate", whose), "key does not match certificate");
    return invalid(
        fmt::format("{} certificate", whose),
        fmt::format("key matches certificate {} of the chain; it must come first", match - chain.begin() + 1));
}

// As in Go. OpenSSL works on other curves in a time that depends on the key (CVE-2026-54872).
base::result<> check_curve(EVP_PKEY* key, std::string_view whose) {
    if (EVP_PKEY_is_a(key, "EC") != 1) return {};
    char name[64] = {};
    EVP_PKEY_get_group_name(key, name, sizeof name, nullptr);
    constexpr std::array<std::string_view, 4> curves{"secp224r1", "prime256v1", "secp384r1", "secp521r1"};
    if (std::ranges::find(curves, std::string_view(name)) != curves.end()) return {};
    return invalid(fmt::format("{} key", whose), fmt::format("curve {} is not supported, P-256 is", name));
}

// `whose` is "client" or "server".
base::result<> set_identity(SSL_CTX* context, std::string_view certificate_pem, std::string_view key_pem,
                            std::string_view whose) {
    const std::string what = fmt::format("{} certificate", whose);
    if (key_pem.empty()) return invalid(what, "its key is missing");
    if (certificate_pem.empty()) return invalid(fmt::format("{} key", whose), "its certificate is missing");
    auto chain = read_certificates(certificate_pem, what);
    if (!chain) return std::unexpected(std::move(chain.error()));
    auto key = read_key(key_pem, fmt::format("{} key", whose));
    if (!key) return std::unexpected(std::move(key.error()));
    if (auto ok = check_curve(key->get(), whose); !ok) return ok;
    if (auto ok = check_match(*chain, key->get(), whose); !ok) return ok;
    X509* own = chain->front().get();
    if (X509_cmp_current_time(X509_get0_notAfter(own)) < 0) {
        return invalid(what, fmt::format("certificate has expired: {} was valid until {}",
                                         to_text(X509_get_subject_name(own)), to_text(X509_get0_notAfter(own))));
    }
    ERR_clear_error();
    if (SSL_CTX_use_certificate(context, own) != 1 || SSL_CTX_use_PrivateKey(context, key->get()) != 1)
        return invalid(what, take_reason());
    for (const certificate_ptr& issuer : std::span(*chain).subspan(1))
        if (SSL_CTX_add1_chain_cert(context, issuer.get()) != 1) return invalid(what, take_reason());
    return {};
}

// Protocol names as the wire has them: each with its length before it.
base::result<std::string> alpn_wire(const std::vector<std::string>& names) {
    std::string wire;
    for (const std::string& name : names) {
        if (name.empty() || name.size() > 255 || wire.size() > 4096)
            return invalid("ALPN", "a protocol name has 1 to 255 bytes");
        wire.push_back(static_cast<char>(name.size()));
        wire.append(name);
    }
    return wire;
}

// The first of our protocols that the client offers; without one the handshake must fail (RFC 7301, 3.2).
int select_alpn(SSL* ssl, const unsigned char** chosen, unsigned char* chosen_size, const unsigned char* offered,
                unsigned offered_size, void*) {
    for (const std::string& ours : attached(ssl).alpn) {
        for (unsigned at = 0; at < offered_size; at += 1U + offered[at]) {
            const std::string_view theirs(reinterpret_cast<const char*>(offered + at + 1), offered[at]);
            if (theirs != ours) continue;
            *chosen = offered + at + 1;
            *chosen_size = offered[at];
            return SSL_TLSEXT_ERR_OK;
        }
    }
    return SSL_TLSEXT_ERR_ALERT_FATAL;
}

base::result<> ask_for_client_certificates(SSL_CTX* context, const server_options& options) {
    if (options.client_ca_pem.empty()) {
        if (!options.require_client_certificate) return {};
        return invalid("client certificate authority", "is missing although client certificates are required");
    }
    if (auto ok = trust_pem(context, options.client_ca_pem, "client certificate authority"); !ok) return ok;
    auto authorities = read_certificates(options.client_ca_pem, "client certificate authority");
    if (!authorities) return std::unexpected(std::move(authorities.error()));
    for (const certificate_ptr& authority : *authorities) SSL_CTX_add_client_CA(context, authority.get());
    const int required = options.require_client_certificate ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0;
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | required, remember_failure);
    return {};
}

}  // namespace

bool use_secure_memory() { return CRYPTO_secure_malloc_init(secure_bytes, smallest_bytes) != 0; }

base::result<> trust_pem(SSL_CTX* context, std::string_view ca_pem, std::string_view what) {
    auto authorities = read_certificates(ca_pem, what);
    if (!authorities) return std::unexpected(std::move(authorities.error()));
    X509_STORE* store = SSL_CTX_get_cert_store(context);
    X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN);
    for (const certificate_ptr& authority : *authorities) {
        ERR_clear_error();
        if (X509_STORE_add_cert(store, authority.get()) != 1)
            return base::fail(base::errc::invalid, fmt::format("{}: {}", what, take_reason()));
    }
    return {};
}

base::result<> trust_system(SSL_CTX* context) {
    ERR_clear_error();
    const bool told = std::getenv(X509_get_default_cert_file_env()) != nullptr ||
                      std::getenv(X509_get_default_cert_dir_env()) != nullptr;
    if (told || readable(X509_get_default_cert_file()) || readable(X509_get_default_cert_dir())) {
        if (SSL_CTX_set_default_verify_paths(context) == 1) {
            ERR_clear_error();  // a file or directory that does not exist is no failure
            return {};
        }
    }
    for (const char* bundle : bundles)
        if (readable(bundle) && SSL_CTX_load_verify_file(context, bundle) == 1) return {};
    ERR_clear_error();
    return base::fail(
        base::errc::invalid,
        "this system has no bundle of trusted authorities (install ca-certificates, set SSL_CERT_FILE, or "
        "give certificate-authority-data)");
}

void context::session_cache::put(std::string_view server, session_ptr session) {
    auto it = std::ranges::find(servers_, server, &entry::server);
    if (it == servers_.end()) {
        if (servers_.size() == servers_max) servers_.erase(servers_.begin());
        servers_.push_back({std::string(server), {}});
    } else {
        std::rotate(it, it + 1, servers_.end());
    }
    std::vector<session_ptr>& sessions = servers_.back().sessions;
    if (sessions.size() == sessions_per_server_max) sessions.erase(sessions.begin());
    sessions.push_back(std::move(session));
}

session_ptr context::session_cache::take(std::string_view server) {
    const auto it = std::ranges::find(servers_, server, &entry::server);
    if (it == servers_.end()) return nullptr;
    std::vector<session_ptr>& sessions = it->sessions;
    while (!sessions.empty()) {
        session_ptr newest = std::move(sessions.back());
        sessions.pop_back();
        if (SSL_SESSION_is_resumable(newest.get()) != 1 || !peer_still_valid(newest.get())) continue;
        if (SSL_SESSION_get_protocol_version(newest.get()) < TLS1_3_VERSION && SSL_SESSION_up_ref(newest.get()) == 1)
            sessions.emplace_back(newest.get());
        return newest;
    }
    return nullptr;
}

context::~context() { SSL_CTX_free(native_); }

base::result<std::shared_ptr<const context>> context::for_client(const client_options& options) {
    const std::shared_ptr<context> made(new context);
    ERR_clear_error();
    made->native_ = SSL_CTX_new(TLS_client_method());
    SSL_CTX* native = made->native_;
    if (auto ok = set_common(native, TLS1_2_VERSION, server_certificates_bytes_max); !ok)
        return std::unexpected(std::move(ok.error()));
    if (auto ok = set_tls12_ciphers(native, {}); !ok) return std::unexpected(std::move(ok.error()));
    made->verify_ = options.verify;
    if (options.verify) {
        auto ok =
            options.ca_pem.empty() ? trust_system(native) : trust_pem(native, options.ca_pem, "certificate authority");
        if (!ok) return std::unexpected(std::move(ok.error()));
        SSL_CTX_set_verify(native, SSL_VERIFY_PEER, remember_failure);
    }
    if (!options.certificate_pem.empty() || !options.key_pem.empty()) {
        if (auto ok = set_identity(native, options.certificate_pem, options.key_pem, "client"); !ok)
            return std::unexpected(std::move(ok.error()));
    }
    auto wire = alpn_wire(options.alpn);
    if (!wire) return std::unexpected(std::move(wire.error()));
    made->alpn_ = options.alpn;
    if (SSL_CTX_set_alpn_protos(native, reinterpret_cast<const unsigned char*>(wire->data()),
                                static_cast<unsigned>(wire->size())) != 0)
        return base::fail(base::errc::internal, "ALPN: " + take_reason());
    made->sessions_ = std::make_unique<session_cache>();
    SSL_CTX_set_app_data(native, made->sessions_.get());
    SSL_CTX_set_session_cache_mode(native, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(native, [](SSL* ssl, SSL_SESSION* session) {
        auto* cache = static_cast<session_cache*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)));
        cache->put(attached(ssl).server_name, session_ptr(session));
        return 1;
    });
    return made;
}

base::result<std::shared_ptr<const context>> context::for_server(const server_options& options) {
    const std::shared_ptr<context> made(new context);
    ERR_clear_error();
    made->native_ = SSL_CTX_new(TLS_server_method());
    SSL_CTX* native = made->native_;
    if (auto ok = set_common(native, options.version_min, client_certificates_bytes_max); !ok)
        return std::unexpected(std::move(ok.error()));
    if (auto ok = set_tls12_ciphers(native, options.tls12_ciphers); !ok) return std::unexpected(std::move(ok.error()));
    if (auto ok = set_identity(native, options.certificate_pem, options.key_pem, "server"); !ok)
        return std::unexpected(std::move(ok.error()));
    if (auto ok = ask_for_client_certificates(native, options); !ok) return std::unexpected(std::move(ok.error()));
    if (auto wire = alpn_wire(options.alpn); !wire) return std::unexpected(std::move(wire.error()));
    made->alpn_ = options.alpn;
    if (!options.alpn.empty()) SSL_CTX_set_alpn_select_cb(native, select_alpn, nullptr);
    // Clients keep their sessions in tickets; we keep none. The context of a session must be known (see
    // SSL_CTX_set_session_id_context), or resumption with client certificates fails.
    constexpr std::string_view session_context = "cotrain";
    SSL_CTX_set_session_cache_mode(native, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_session_id_context(native, reinterpret_cast<const unsigned char*>(session_context.data()),
                                   session_context.size());
    return made;
}

}  // namespace cotrain::net::tls
