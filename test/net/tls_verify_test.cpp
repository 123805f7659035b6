// Who is let in by certificates in both roles, and what is said about those who are not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "net/tls_pair.hpp"

namespace cotrain::net::tls {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

const test_keys& keys() { return test_keys::get(); }

server_options serving(const test::certificate& certificate) {
    return {.certificate_pem = certificate.certificate_pem, .key_pem = certificate.key_pem};
}

// The client's error against a server with that certificate.
std::string refused(const test::certificate& certificate, const std::string& server_name = "api.test",
                    const client_options& options = keys().trusting()) {
    tls_pair pair(make_context(options), make_context(serving(certificate)), server_name);
    EXPECT_FALSE(pair.connected());
    EXPECT_TRUE(pair.client.error && pair.client.error->code == base::errc::tls);
    EXPECT_TRUE(pair.server.error) << "the alert must reach the server";
    return pair.client.message();
}

bool accepted(const context_ptr& client, const context_ptr& server, const std::string& server_name) {
    tls_pair pair(client, server, server_name);
    EXPECT_EQ(pair.client.message(), "") << server_name;
    return pair.connected();
}

TEST(tls_verify, names_and_addresses_of_the_certificate_are_accepted) {
    const context_ptr client = make_context(keys().trusting());
    const context_ptr server = make_context(keys().serving());
    for (const char* name : {"api.test", "API.test", "api.test.", "localhost", "127.0.0.1", "::1", "[::1]", "::1%lo"})
        EXPECT_TRUE(accepted(client, server, name)) << name;
}

TEST(tls_verify, a_wildcard_covers_one_label) {
    const context_ptr client = make_context(keys().trusting());
    const test::certificate wild = keys().ca.issue({.common_name = "w", .names = {"*.apps.test"}});
    EXPECT_TRUE(accepted(client, make_context(serving(wild)), "a.apps.test"));
    EXPECT_EQ(refused(wild, "a.b.apps.test"),
              "hostname mismatch: certificate is for *.apps.test; wanted a.b.apps.test");
}

TEST(tls_verify, a_mismatch_names_both_sides) {
    EXPECT_EQ(refused(keys().server, "db.test"),
              "hostname mismatch: certificate is for api.test, localhost, 127.0.0.1, ::1; wanted db.test");
    EXPECT_EQ(refused(keys().server, "127.0.0.2"),
              "hostname mismatch: certificate is for api.test, localhost, 127.0.0.1, ::1; wanted 127.0.0.2");
    // An address in a DNS name is no address.
    EXPECT_EQ(refused(keys().ca.issue({.common_name = "x", .names = {"127.0.0.1"}}), "127.0.0.1"),
              "hostname mismatch: certificate is for 127.0.0.1; wanted 127.0.0.1");
    // The common name does not count (RFC 6125).
    EXPECT_EQ(refused(keys().ca.issue({.common_name = "api.test"})),
              "hostname mismatch: certificate CN=api.test is for no name or address; wanted api.test");
    const test::certificate many =
        keys().ca.issue({.common_name = "m", .names = {"a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "b0"}});
    EXPECT_EQ(refused(many),
              "hostname mismatch: certificate is for a1, a2, a3, a4, a5, a6, a7, a8 and 2 more; "
              "wanted api.test");
}

TEST(tls_verify, times_are_checked) {
    const test::certificate expired =
        keys().ca.issue({.common_name = "old", .names = {"api.test"}, .valid_until = -std::chrono::minutes(1)});
    EXPECT_THAT(context::for_server(serving(expired)).error().message,
                StartsWith("server certificate: certificate has expired: CN=old was valid until "));
    const test::certificate early =
        keys().ca.issue({.common_name = "early", .names = {"api.test"}, .valid_from = std::chrono::hours(1)});
    EXPECT_THAT(refused(early), AllOf(StartsWith("server certificate is not valid yet: CN=early will be from 2"),
                                      HasSubstr("are both clocks right?")));
}

TEST(tls_verify, a_server_whose_certificate_expired_meanwhile_is_named) {
    const test::certificate expired =
        keys().ca.issue({.common_name = "old", .names = {"api.test"}, .valid_until = -std::chrono::minutes(1)});
    const context_ptr server = make_context(keys().serving());
    serve(server, expired);
    tls_pair pair(make_context(keys().trusting()), server);
    EXPECT_THAT(pair.client.message(), StartsWith("server certificate has expired: CN=old was valid until 2"));
    EXPECT_EQ(pair.server.message(), "peer refuses our server certificate: expired");
}

TEST(tls_verify, an_unknown_authority_is_named_with_the_cure) {
    const test::authority other("other CA");
    EXPECT_EQ(refused(other.issue({.common_name = "api", .names = {"api.test"}})),
              "server certificate CN=api is signed by an unknown authority: CN=other CA; "
              "give its CA as certificate-authority-data");
    EXPECT_EQ(refused(test::self_signed({.common_name = "lone", .names = {"api.test"}})),
              "server certificate is self-signed: CN=lone; give its CA as certificate-authority-data");
    test::certificate whole = other.issue({.common_name = "api", .names = {"api.test"}});
    whole.certificate_pem += other.pem();
    EXPECT_EQ(refused(whole),
              "self-signed certificate in chain: signed by CN=other CA; "
              "give its CA as certificate-authority-data");
    const test::authority impostor("test CA");
    EXPECT_THAT(refused(impostor.issue({.common_name = "api", .names = {"api.test"}})), HasSubstr("CN=test CA"));
}

TEST(tls_verify, any_certificate_given_as_trust_ends_a_chain) {
    const test::authority middle = keys().ca.intermediate("middle CA");
    const test::certificate leaf = middle.issue({.common_name = "api", .names = {"api.test"}});
    const context_ptr server = make_context(serving(leaf));
    EXPECT_TRUE(accepted(make_context(keys().trusting()), server, "api.test")) << "the chain is sent";
    EXPECT_TRUE(accepted(make_context(client_options{.ca_pem = middle.pem()}), server, "api.test"));
    EXPECT_TRUE(accepted(make_context(client_options{.ca_pem = leaf.certificate_pem}), server, "api.test"));
    const test::certificate lone = test::self_signed({.common_name = "lone", .names = {"api.test"}});
    EXPECT_TRUE(accepted(make_context(client_options{.ca_pem = lone.certificate_pem}), make_context(serving(lone)),
                         "api.test"));
}

TEST(tls_verify, a_bundle_of_many_authorities_is_searched) {
    const test::authority other("other CA");
    const context_ptr client = make_context(client_options{.ca_pem = other.pem() + keys().ca.pem()});
    EXPECT_TRUE(accepted(client, make_context(keys().serving()), "api.test"));
}

TEST(tls_verify, without_a_bundle_the_systems_counts) {
    const char* const variable = X509_get_default_cert_file_env();
    const std::string before = std::getenv(variable) != nullptr ? std::getenv(variable) : "";
    const std::string file = testing::TempDir() + "cotrain_tls_verify_test_" + std::to_string(::getpid()) + ".pem";
    std::ofstream(file) << keys().ca.pem();
    ::setenv(variable, file.c_str(), 1);
    const context_ptr client = make_context(client_options{});
    if (before.empty()) {
        ::unsetenv(variable);
    } else {
        ::setenv(variable, before.c_str(), 1);
    }
    std::filesystem::remove(file);
    EXPECT_TRUE(accepted(client, make_context(keys().serving()), "api.test"));
}

TEST(tls_verify, a_certificate_for_clients_is_no_servers) {
    const test::certificate wrong = keys().ca.issue({.common_name = "c", .names = {"api.test"}, .for_server = false});
    EXPECT_EQ(refused(wrong), "server certificate CN=c may not be used as one (key usage)");
}

TEST(tls_verify, without_verification_everything_is_accepted) {
    const context_ptr client = make_context(client_options{.verify = false});
    EXPECT_FALSE(client->verifies());
    EXPECT_TRUE(accepted(client, make_context(serving(test::self_signed({.common_name = "x"}))), "api.test"));
}

TEST(tls_verify, names_go_into_sni_and_addresses_do_not) {
    const context_ptr client = make_context(keys().trusting());
    const context_ptr server = make_context(keys().serving());
    static std::string seen;
    SSL_CTX_set_tlsext_servername_callback(
        server->native(), +[](SSL* ssl, int*, void*) {
            const char* name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
            seen = name != nullptr ? name : "none";
            return SSL_TLSEXT_ERR_OK;
        });
    EXPECT_TRUE(accepted(client, server, "api.test."));
    EXPECT_EQ(seen, "api.test");
    EXPECT_TRUE(accepted(client, server, "127.0.0.1"));
    EXPECT_EQ(seen, "none");
    EXPECT_TRUE(accepted(client, server, "[::1]"));
    EXPECT_EQ(seen, "none");
}

TEST(tls_verify, a_name_that_cannot_be_one_is_refused_before_anything_is_sent) {
    const context_ptr client = make_context(keys().trusting());
    using namespace std::string_literals;
    for (const std::string& name : {""s, "a b"s, "api.test\0evil"s, "a\nb"s, std::string(256, 'a')}) {
        engine tls(client, name);
        const auto started = tls.handshake();
        ASSERT_FALSE(started);
        EXPECT_EQ(started.error().code, base::errc::invalid);
        EXPECT_THAT(started.error().message, StartsWith("TLS server name '"));
        EXPECT_TRUE(tls.outgoing().empty());
    }
}

client_options with_certificate(const test::certificate& certificate) {
    client_options options = keys().trusting();
    options.certificate_pem = certificate.certificate_pem;
    options.key_pem = certificate.key_pem;
    return options;
}

server_options asking(bool required) {
    server_options options = keys().serving();
    options.client_ca_pem = keys().ca.pem();
    options.require_client_certificate = required;
    return options;
}

TEST(tls_verify, a_client_certificate_names_the_client) {
    for (const int version : {0x0303, 0x0304}) {
        const context_ptr client = make_context(with_certificate(keys().client));
        SSL_CTX_set_max_proto_version(client->native(), version);
        tls_pair pair(client, make_context(asking(true)));
        ASSERT_TRUE(pair.connected()) << pair.server.message();
        EXPECT_EQ(pair.server.tls.peer_subject(), "CN=operator,O=trainers");
        EXPECT_EQ(pair.client.tls.peer_subject(), "CN=api");
    }
}

// They are parsed before it is known whose they are.
TEST(tls_verify, a_peers_certificates_are_bounded) {
    const auto with_names = [](std::size_t count) {
        std::vector<std::string> names{"api.test"};
        for (std::size_t i = 0; i < count; ++i)
            names.push_back(std::to_string(1000 + i) + std::string(46, 'n') + ".test");
        return keys().ca.issue({.common_name = "many names", .names = std::move(names)});
    };
    for (const int version : {0x0303, 0x0304}) {
        const auto as_client = [&](const test::certificate& c) {
            const context_ptr client = make_context(with_certificate(c));
            SSL_CTX_set_max_proto_version(client->native(), version);
            return tls_pair(client, make_context(asking(true))).server.message();
        };
        EXPECT_EQ(as_client(with_names(200)), "");
        EXPECT_THAT(as_client(with_names(300)), HasSubstr("excessive message size"));
        const auto as_server = [&](const test::certificate& c) {
            const context_ptr client = make_context(keys().trusting());
            SSL_CTX_set_max_proto_version(client->native(), version);
            return tls_pair(client, make_context(serving(c))).client.message();
        };
        EXPECT_EQ(as_server(with_names(400)), "");
        EXPECT_THAT(as_server(with_names(600)), HasSubstr("excessive message size"));
    }
}

TEST(tls_verify, a_client_without_certificate_passes_where_none_is_required) {
    tls_pair pair(make_context(keys().trusting()), make_context(asking(false)));
    ASSERT_TRUE(pair.connected());
    EXPECT_EQ(pair.server.tls.peer_subject(), "");
}

TEST(tls_verify, a_client_learns_which_authorities_are_accepted) {
    static std::string accepted_authority;
    const context_ptr client = make_context(keys().trusting());
    SSL_CTX_set_client_cert_cb(
        client->native(), +[](SSL* ssl, X509**, EVP_PKEY**) {
            const STACK_OF(X509_NAME)* names = SSL_get_client_CA_list(ssl);
            char text[100] = "";
            if (sk_X509_NAME_num(names) == 1) X509_NAME_oneline(sk_X509_NAME_value(names, 0), text, sizeof text);
            accepted_authority = text;
            return 0;
        });
    tls_pair pair(client, make_context(asking(false)));
    EXPECT_EQ(accepted_authority, "/CN=test CA");
}

TEST(tls_verify, a_chain_is_sent_as_given) {
    // The client trusts, and so has at hand, the root of its own certificate.
    server_options strict = keys().serving();
    strict.client_ca_pem = test::authority("other CA").pem();
    tls_pair pair(make_context(with_certificate(keys().client)), make_context(strict));
    EXPECT_THAT(pair.server.message(), HasSubstr("is signed by an unknown authority: CN=test CA"));
}

TEST(tls_verify, both_sides_say_why_a_client_is_refused) {
    // With TLS 1.3 the client learns of it when it reads.
    for (const int version : {0x0303, 0x0304}) {
        const context_ptr bare = make_context(keys().trusting());
        SSL_CTX_set_max_proto_version(bare->native(), version);
        tls_pair pair(bare, make_context(asking(true)));
        EXPECT_EQ(pair.server.message(), "peer gave no client certificate, which is required");
        EXPECT_THAT(pair.client.message(), HasSubstr("demands a client certificate"));

        const test::certificate foreign = test::authority("other CA").issue({.common_name = "stranger"});
        const context_ptr stranger = make_context(with_certificate(foreign));
        SSL_CTX_set_max_proto_version(stranger->native(), version);
        tls_pair other(stranger, make_context(asking(true)));
        EXPECT_EQ(other.server.message(),
                  "client certificate CN=stranger is signed by an unknown authority: CN=other CA; "
                  "its CA is not among the client CAs");
        EXPECT_EQ(other.client.message(),
                  "peer refuses our client certificate: signed by an authority it does not know");
    }
}

}  // namespace
}  // namespace cotrain::net::tls
