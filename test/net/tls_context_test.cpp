// What contexts take as keys and trust, and what they say about the rest.
#include "net/tls/context.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include "net/tls_pair.hpp"

namespace cotrain::net::tls {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const test_keys& keys() { return test_keys::get(); }

std::string client_error(const client_options& options) {
    const auto made = context::for_client(options);
    if (made) return "";
    EXPECT_EQ(made.error().code, base::errc::invalid);
    EXPECT_EQ(made.error().message.find('\n'), std::string::npos);
    return made.error().message;
}

std::string server_error(const server_options& options) {
    const auto made = context::for_server(options);
    if (made) return "";
    EXPECT_EQ(made.error().code, base::errc::invalid);
    EXPECT_EQ(made.error().message.find('\n'), std::string::npos);
    return made.error().message;
}

std::string client_identity_error(std::string certificate_pem, std::string key_pem) {
    return client_error(
        {.ca_pem = keys().ca.pem(), .certificate_pem = std::move(certificate_pem), .key_pem = std::move(key_pem)});
}

std::string encrypted_key() {
    EVP_PKEY* key = EVP_EC_gen("P-256");
    BIO* out = BIO_new(BIO_s_mem());
    char passphrase[] = "secret";
    PEM_write_bio_PKCS8PrivateKey(out, key, EVP_aes_256_cbc(), passphrase, 6, nullptr, nullptr);
    char* text = nullptr;
    const long size = BIO_get_mem_data(out, &text);
    std::string pem(text, static_cast<std::size_t>(size));
    BIO_free(out);
    EVP_PKEY_free(key);
    return pem;
}

TEST(tls_context, keys_are_read_in_every_usual_form) {
    EXPECT_EQ(client_identity_error(keys().client.certificate_pem, keys().client.key_pem), "");
    EXPECT_THAT(keys().client.sec1_key_pem, HasSubstr("EC PRIVATE KEY"));
    EXPECT_EQ(client_identity_error(keys().client.certificate_pem, keys().client.sec1_key_pem), "");
    const test::certificate rsa = keys().ca.issue({.common_name = "rsa", .key = test::key_kind::rsa2048});
    EXPECT_THAT(rsa.sec1_key_pem, HasSubstr("RSA PRIVATE KEY"));
    EXPECT_EQ(client_identity_error(rsa.certificate_pem, rsa.key_pem), "");
    EXPECT_EQ(client_identity_error(rsa.certificate_pem, rsa.sec1_key_pem), "");
    // One file with both, as some tools write it.
    const std::string both = keys().client.key_pem + keys().client.certificate_pem;
    EXPECT_EQ(client_identity_error(both, both), "");
}

TEST(tls_context, keys_on_curves_that_nobody_uses_are_refused) {
    const test::certificate other = keys().ca.issue({.common_name = "odd", .key = test::key_kind::brainpool});
    EXPECT_EQ(client_identity_error(other.certificate_pem, other.key_pem),
              "client key: curve brainpoolP256r1 is not supported, P-256 is");
}

TEST(tls_context, a_key_of_another_certificate_is_named) {
    EXPECT_EQ(client_identity_error(keys().client.certificate_pem, keys().server.key_pem),
              "client certificate: key does not match certificate");
    EXPECT_EQ(
        client_identity_error(keys().server.certificate_pem + keys().client.certificate_pem, keys().client.key_pem),
        "client certificate: key matches certificate 2 of the chain; it must come first");
    server_options mixed = keys().serving();
    mixed.key_pem = keys().client.key_pem;
    EXPECT_EQ(server_error(mixed), "server certificate: key does not match certificate");
}

TEST(tls_context, half_an_identity_is_refused) {
    EXPECT_EQ(client_identity_error(keys().client.certificate_pem, ""), "client certificate: its key is missing");
    EXPECT_EQ(client_identity_error("", keys().client.key_pem), "client key: its certificate is missing");
    EXPECT_EQ(server_error({}), "server certificate: its key is missing");
}

TEST(tls_context, an_expired_certificate_is_named_with_its_date) {
    const test::certificate old = keys().ca.issue({.common_name = "old", .valid_until = -std::chrono::minutes(1)});
    EXPECT_THAT(
        client_identity_error(old.certificate_pem, old.key_pem),
        AllOf(StartsWith("client certificate: certificate has expired: CN=old was valid until 2"), HasSubstr(" UTC")));
}

TEST(tls_context, text_that_is_no_pem_is_named_but_never_quoted) {
    const std::string secret = "c2VjcmV0LWJ5dGVz";
    const std::string broken_key = "-----BEGIN PRIVATE KEY-----\n" + secret + "\n-----END PRIVATE KEY-----\n";
    EXPECT_THAT(client_identity_error(keys().client.certificate_pem, broken_key),
                AllOf(StartsWith("client key: cannot be read: "), Not(HasSubstr(secret))));
    EXPECT_THAT(client_identity_error(keys().client.certificate_pem, secret),
                AllOf(StartsWith("client key: no PEM private key"), Not(HasSubstr(secret))));
    EXPECT_THAT(client_identity_error("garbage", keys().client.key_pem),
                StartsWith("client certificate: no PEM certificate"));
    EXPECT_THAT(client_error({.ca_pem = "garbage"}), StartsWith("certificate authority: no PEM certificate"));
    EXPECT_THAT(client_error({.ca_pem = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t"}),
                HasSubstr("is base64 around PEM; decode it once"));
    EXPECT_THAT(client_error({.ca_pem = "\x30\x82\x01"}), HasSubstr("is DER"));
    EXPECT_EQ(client_identity_error(keys().client.certificate_pem, encrypted_key()),
              "client key: is encrypted; only keys without a passphrase can be used");
}

TEST(tls_context, damage_inside_a_bundle_is_located) {
    const std::string pem = keys().ca.pem();
    std::string damaged = keys().ca.pem();
    damaged[damaged.size() / 2] = '!';
    EXPECT_THAT(client_error({.ca_pem = pem + damaged}), StartsWith("certificate authority: PEM block 2 is damaged: "));
    const std::string cut = pem.substr(0, pem.size() - 40);
    EXPECT_THAT(client_error({.ca_pem = pem + cut}), StartsWith("certificate authority: PEM block 2 is damaged: "));
    EXPECT_EQ(client_error({.ca_pem = "# a comment\n" + pem + "\n# another\n" + pem}), "");
}

TEST(tls_context, bundles_are_bounded) {
    EXPECT_EQ(client_error({.ca_pem = std::string((8U << 20U) + 1, 'x')}), "certificate authority: more than 8 MiB");
    std::string many;
    while (many.size() < 2001 * keys().ca.pem().size()) many += keys().ca.pem();
    EXPECT_EQ(client_error({.ca_pem = many}), "certificate authority: more than 2000 certificates");
}

TEST(tls_context, protocol_choices_are_checked) {
    server_options options = keys().serving();
    options.version_min = 0x0301;
    EXPECT_EQ(server_error(options), "minimal TLS version: only 1.2 and 1.3 can be asked for");
    options = keys().serving();
    options.tls12_ciphers = "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-TYPO";
    EXPECT_EQ(server_error(options), "TLS 1.2 cipher suites: 'ECDHE-TYPO' is not known");
    options.tls12_ciphers = "ECDHE-ECDSA-AES128-GCM-SHA256";
    EXPECT_EQ(server_error(options), "");
    options.alpn = {"h2", ""};
    EXPECT_EQ(server_error(options), "ALPN: a protocol name has 1 to 255 bytes");
    options = keys().serving();
    options.require_client_certificate = true;
    EXPECT_EQ(server_error(options),
              "client certificate authority: is missing although client certificates are required");
    options.client_ca_pem = "garbage";
    EXPECT_THAT(server_error(options), StartsWith("client certificate authority: no PEM certificate"));
}

}  // namespace
}  // namespace cotrain::net::tls
