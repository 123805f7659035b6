// A TLS client and server in one process, joined by memory that hands over ciphertext in pieces of any size.
#pragma once

#include <openssl/pem.h>
#include <openssl/ssl.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "net/tls/engine.hpp"
#include "support/certificates.hpp"

namespace cotrain::net::tls {

using context_ptr = std::shared_ptr<const context>;

// For options that must be good.
template <class Options>
context_ptr make_context(const Options& options) {
    auto made = [&] {
        if constexpr (std::is_same_v<Options, client_options>) {
            return context::for_client(options);
        } else {
            return context::for_server(options);
        }
    }();
    if (!made) throw std::runtime_error(made.error().message);
    return *made;
}

// Makes a server serve what context::for_server refuses: an expired certificate.
inline void serve(const context_ptr& server, const test::certificate& certificate) {
    BIO* text =
        BIO_new_mem_buf(certificate.certificate_pem.data(), static_cast<int>(certificate.certificate_pem.size()));
    X509* own = PEM_read_bio_X509(text, nullptr, nullptr, nullptr);
    BIO_free(text);
    text = BIO_new_mem_buf(certificate.key_pem.data(), static_cast<int>(certificate.key_pem.size()));
    EVP_PKEY* key = PEM_read_bio_PrivateKey(text, nullptr, nullptr, nullptr);
    BIO_free(text);
    const bool taken = SSL_CTX_use_cert_and_key(server->native(), own, key, nullptr, 1) == 1;
    X509_free(own);
    EVP_PKEY_free(key);
    if (!taken) throw std::runtime_error("the server does not take the certificate");
}

struct tls_end {
    engine tls;
    bool complete = false;  // handshake
    bool ended = false;     // the peer said close_notify
    std::string got{};      // plaintext
    std::optional<base::error> error{};

    // Does what a connection does after a feed.
    void advance() {
        if (error) return;
        if (!complete) {
            const auto done = tls.handshake();
            if (!done) error = done.error();
            if (!done || !*done) return;
            complete = true;
        }
        base::byte_queue plaintext;
        const auto more = tls.read(plaintext);
        got.append(plaintext.view());
        if (!more) {
            error = more.error();
        } else {
            ended = !*more;
        }
    }
    void take(std::string_view ciphertext, std::size_t piece_bytes) {
        while (!ciphertext.empty() && !error) {
            const std::string piece(ciphertext.substr(0, piece_bytes));  // a buffer of its own: sanitizers see misuse
            ciphertext.remove_prefix(piece.size());
            if (const auto fed = tls.feed(piece); !fed) {
                error = fed.error();
                return;
            }
            advance();
        }
    }
    void say(std::string_view plaintext) {
        if (const auto written = tls.write(plaintext); !written) error = written.error();
    }
    std::string send() {
        std::string bytes(tls.outgoing().view());
        tls.outgoing().clear();
        return bytes;
    }
    [[nodiscard]] std::string message() const { return error ? error->message : std::string(); }
};

struct tls_pair {
    tls_end client;
    tls_end server;
    std::size_t piece_bytes;

    tls_pair(context_ptr client_keys, context_ptr server_keys, std::string server_name = "api.test",
             std::size_t piece = 1U << 16U)
        : client{engine(std::move(client_keys), std::move(server_name))},
          server{engine(std::move(server_keys))},
          piece_bytes(piece) {
        client.advance();
        settle();
    }
    // Carries bytes to and fro until there are none.
    void settle() {
        for (;;) {
            const std::string to_server = client.send();
            server.take(to_server, piece_bytes);
            const std::string to_client = server.send();
            client.take(to_client, piece_bytes);
            if (to_server.empty() && to_client.empty()) return;
        }
    }
    [[nodiscard]] bool connected() const {
        return client.complete && server.complete && !client.error && !server.error;
    }
};

// One authority and what it issued for api.test, shared by the tests of a suite: keys take time.
struct test_keys {
    test::authority ca{"test CA"};
    test::certificate server =
        ca.issue({.common_name = "api", .names = {"api.test", "localhost"}, .addresses = {"127.0.0.1", "::1"}});
    test::certificate client = ca.issue({.common_name = "operator", .organization = "trainers"});

    [[nodiscard]] client_options trusting() const { return {.ca_pem = ca.pem()}; }
    [[nodiscard]] server_options serving() const {
        return {.certificate_pem = server.certificate_pem, .key_pem = server.key_pem};
    }
    static const test_keys& get() {
        static const test_keys made;
        return made;
    }
};

}  // namespace cotrain::net::tls
