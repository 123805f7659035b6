// What the configuration's TLS section comes to in a handshake.
#include "app/config/config.hpp"

#include <gtest/gtest.h>

#include <string>

#include "net/tls_defaults.hpp"

namespace cotrain::app {
namespace {

namespace tls = net::tls;

// A server of that configuration, with a certificate.
tls::context_ptr serving(const std::string& section) {
    const auto read = read_configuration("tls: " + section + "\n");
    if (!read) throw std::runtime_error(read.error().message);
    tls::server_options options = to_server_options(read->tls);
    const tls::server_options keys = tls::keys().serving();
    options.certificate_pem = keys.certificate_pem;
    options.key_pem = keys.key_pem;
    return tls::make_context(options);
}

bool connects(const tls::context_ptr& client, const std::string& section) {
    return tls::tls_pair(client, serving(section)).connected();
}

TEST(config_tls, a_minimal_version_keeps_older_clients_out) {
    EXPECT_TRUE(connects(tls::client_keys(tls::tls12), "{}"));
    EXPECT_TRUE(connects(tls::client_keys(tls::tls12), "{minVersion: '1.2'}"));
    EXPECT_FALSE(connects(tls::client_keys(tls::tls12), "{minVersion: '1.3'}"));
    EXPECT_TRUE(connects(tls::client_keys(), "{minVersion: '1.3'}"));
}

TEST(config_tls, cipher_suites_are_those_that_are_spoken) {
    const tls::context_ptr client = tls::client_keys(tls::tls12);
    ASSERT_EQ(SSL_CTX_set_cipher_list(client->native(), "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256"),
              1);
    const std::string own = "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256";
    const std::string other = "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384";
    EXPECT_TRUE(connects(client, "{}"));
    EXPECT_TRUE(connects(client, "{cipherSuites: [" + own + "]}"));
    EXPECT_FALSE(connects(client, "{cipherSuites: [" + other + "]}"));
    EXPECT_TRUE(connects(client, "{cipherSuites: [NO_SUCH_SUITE]}"));
}

TEST(config_tls, protocols_are_offered_in_their_order) {
    tls::client_options both = tls::keys().trusting();
    both.alpn = {"h2", "http/1.1"};
    const auto chosen = [&](const std::string& section) {
        tls::tls_pair pair(tls::make_context(both), serving(section));
        EXPECT_TRUE(pair.connected());
        return std::string(pair.client.tls.protocol());
    };
    EXPECT_EQ(chosen("{}"), "h2");
    EXPECT_EQ(chosen("{nextProtos: [http/1.1]}"), "http/1.1");
    EXPECT_EQ(chosen("{nextProtos: [http/1.1, h2]}"), "http/1.1");
}

}  // namespace
}  // namespace cotrain::app
