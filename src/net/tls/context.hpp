// Keys, trust and protocol choices that many TLS connections share; made from PEM text, replaced as a whole on reload.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

struct ssl_ctx_st;
namespace cotrain::net::tls {

struct client_options {
    std::string ca_pem{};           // trusted authorities; empty: the system's
    std::string certificate_pem{};  // client certificate with its chain, its own first; empty: none
    std::string key_pem{};
    bool verify = true;
    std::vector<std::string> alpn = {"h2"};
};

struct server_options {
    std::string certificate_pem{};
    std::string key_pem{};
    std::string client_ca_pem{};  // non-empty: client certificates are asked for …
    bool require_client_certificate = false;
    std::vector<std::string> alpn = {"h2", "http/1.1"};  // our order of preference
    std::string tls12_ciphers{};                         // OpenSSL names, colon separated; empty: a sane default
    int version_min = 0x0303;                            // TLS 1.2
};

// Immutable apart from the client's cache of sessions, which makes a reconnect a resumption. To renew certificates
// or trust make another context and use it for new connections: those that exist keep theirs.
class context {
   public:
    [[nodiscard]] static base::result<std::shared_ptr<const context>> for_client(const client_options& options);
    [[nodiscard]] static base::result<std::shared_ptr<const context>> for_server(const server_options& options);
    ~context();
    context(const context&) = delete;
    context& operator=(const context&) = delete;

    [[nodiscard]] ssl_ctx_st* native() const { return native_; }
    [[nodiscard]] bool verifies() const { return verify_; }

   private:
    friend class engine;
    context() = default;
    ssl_ctx_st* native_ = nullptr;
    bool verify_ = true;
    struct session_cache;
    std::unique_ptr<session_cache> sessions_;
    std::vector<std::string> alpn_;
};

// Where OpenSSL keeps private numbers and the PEM of keys that it reads.

// Of address space; what is not used costs no memory. Each TLS connection keeps its ephemeral key there: it is enough
// for more connections than all servers of a process take together.
inline constexpr std::size_t secure_bytes = 4U << 20U;
inline constexpr std::size_t secure_bytes_of_connection_max = 512;

// To be called once, before the first key. Without it OpenSSL takes ordinary memory, which it wipes as well; with it
// the memory is between guard pages, left out of core dumps and, where the process may lock so much, never swapped.
// False: there is none, and ordinary memory serves.
bool use_secure_memory();

}  // namespace cotrain::net::tls
