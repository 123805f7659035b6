// Resumption of TLS sessions: who may, how often, and what is forgotten.
#include "net/tls/engine.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include "net/tls_defaults.hpp"

namespace cotrain::net::tls {
namespace {

TEST(tls_resumption, a_reconnect_resumes) {
    for (const int version : {tls12, tls13}) {
        const context_ptr client = client_keys(version);
        const context_ptr server = server_keys();
        tls_pair first(client, server);
        ASSERT_TRUE(first.connected());
        EXPECT_FALSE(first.client.tls.resumed());
        tls_pair second(client, server);
        ASSERT_TRUE(second.connected());
        EXPECT_TRUE(second.client.tls.resumed()) << version;
        EXPECT_TRUE(second.server.tls.resumed()) << version;
        second.client.say("again");
        second.settle();
        EXPECT_EQ(second.server.got, "again");
        EXPECT_EQ(second.client.tls.protocol(), "h2");
        EXPECT_EQ(second.client.tls.peer_subject(), "CN=api");
    }
}

TEST(tls_resumption, a_connection_that_broke_can_be_resumed) {
    for (const int version : {tls12, tls13}) {
        const context_ptr client = client_keys(version);
        const context_ptr server = server_keys();
        for (int round = 0; round < 20; ++round) {
            // Destroyed without close_notify, as when the network goes; with TLS 1.3 each brings tickets for the next.
            tls_pair pair(client, server);
            ASSERT_TRUE(pair.connected());
            EXPECT_EQ(pair.client.tls.resumed(), round > 0) << round;
        }
    }
}

TEST(tls_resumption, tickets_are_used_once) {
    const context_ptr client = client_keys();
    const context_ptr server = server_keys();
    tls_pair first(client, server);
    ASSERT_TRUE(first.connected());
    // Two tickets came; connections that bring no new ones use them up.
    SSL_CTX_set_num_tickets(server->native(), 0);
    EXPECT_TRUE(tls_pair(client, server).client.tls.resumed());
    EXPECT_TRUE(tls_pair(client, server).client.tls.resumed());
    EXPECT_FALSE(tls_pair(client, server).client.tls.resumed());
}

TEST(tls_resumption, tickets_of_one_server_are_bounded) {
    const context_ptr client = client_keys();
    const context_ptr server = server_keys();
    SSL_CTX_set_num_tickets(server->native(), 10);
    ASSERT_TRUE(tls_pair(client, server).connected());
    SSL_CTX_set_num_tickets(server->native(), 0);
    int resumed = 0;
    while (tls_pair(client, server).client.tls.resumed()) ++resumed;
    EXPECT_EQ(resumed, 4);
}

TEST(tls_resumption, sessions_of_two_servers_do_not_mix) {
    const context_ptr client = client_keys();
    const context_ptr server = server_keys();
    const context_ptr other = make_context(keys().serving());
    for (int round = 0; round < 4; ++round) {
        EXPECT_EQ(tls_pair(client, server, "api.test").client.tls.resumed(), round > 0) << round;
        EXPECT_EQ(tls_pair(client, other, "localhost").client.tls.resumed(), round > 0) << round;
    }
}

TEST(tls_resumption, a_certificate_that_has_expired_is_not_resumed) {
    const test::certificate expired =
        keys().ca.issue({.common_name = "old", .names = {"api.test"}, .valid_until = -std::chrono::minutes(1)});
    const context_ptr careless = make_context(client_options{.verify = false});
    const context_ptr server = server_keys();
    ASSERT_TRUE(tls_pair(careless, server).connected());
    EXPECT_TRUE(tls_pair(careless, server).client.tls.resumed());
    serve(server, expired);
    const context_ptr again = make_context(client_options{.verify = false});
    ASSERT_TRUE(tls_pair(again, server).connected());
    EXPECT_FALSE(tls_pair(again, server).client.tls.resumed());
}

TEST(tls_resumption, sessions_belong_to_one_name_and_one_context) {
    const context_ptr client = client_keys();
    const context_ptr server = server_keys();
    ASSERT_TRUE(tls_pair(client, server, "api.test").connected());
    EXPECT_FALSE(tls_pair(client, server, "localhost").client.tls.resumed());
    EXPECT_FALSE(tls_pair(client_keys(), server, "api.test").client.tls.resumed());
    EXPECT_TRUE(tls_pair(client, server, "api.test").client.tls.resumed());
}

TEST(tls_resumption, a_server_with_new_keys_is_met_with_a_whole_handshake) {
    const context_ptr client = client_keys();
    ASSERT_TRUE(tls_pair(client, server_keys()).connected());
    tls_pair pair(client, server_keys());
    ASSERT_TRUE(pair.connected()) << pair.client.message();
    EXPECT_FALSE(pair.client.tls.resumed());
}

TEST(tls_resumption, the_oldest_servers_are_forgotten) {
    std::vector<std::string> names;
    for (int i = 0; i < 40; ++i) names.push_back("s" + std::to_string(i) + ".test");
    const test::certificate wide = keys().ca.issue({.common_name = "wide", .names = names});
    const context_ptr server =
        make_context(server_options{.certificate_pem = wide.certificate_pem, .key_pem = wide.key_pem});
    const context_ptr client = client_keys();
    for (const std::string& name : names) ASSERT_TRUE(tls_pair(client, server, name).connected());
    EXPECT_TRUE(tls_pair(client, server, names[39]).client.tls.resumed());
    EXPECT_TRUE(tls_pair(client, server, names[8]).client.tls.resumed());
    EXPECT_FALSE(tls_pair(client, server, names[0]).client.tls.resumed());
}

TEST(tls_resumption, client_certificates_are_remembered) {
    client_options options = keys().trusting();
    options.certificate_pem = keys().client.certificate_pem;
    options.key_pem = keys().client.key_pem;
    server_options asking = keys().serving();
    asking.client_ca_pem = keys().ca.pem();
    asking.require_client_certificate = true;
    const context_ptr client = make_context(options);
    const context_ptr server = make_context(asking);
    ASSERT_TRUE(tls_pair(client, server).connected());
    tls_pair again(client, server);
    ASSERT_TRUE(again.connected()) << again.server.message();
    EXPECT_TRUE(again.server.tls.resumed());
    EXPECT_EQ(again.server.tls.peer_subject(), "CN=operator,O=trainers");
}

}  // namespace
}  // namespace cotrain::net::tls
