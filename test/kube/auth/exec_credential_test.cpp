// What plugins are told and what they may answer.
#include "kube/auth/exec_credential.hpp"

#include <gtest/gtest.h>

namespace cotrain::kube::auth {
namespace {

constexpr std::string_view v1 = "client.authentication.k8s.io/v1";

std::string credential(std::string_view status) {
    return R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","spec":{},"status":)" +
           std::string(status) + "}";
}

TEST(write_exec_info, tells_the_cluster_only_when_asked) {
    exec_plugin plugin{.command = "x", .api_version = std::string(v1)};
    cluster_config cluster;
    cluster.server = "https://x";
    EXPECT_EQ(
        write_exec_info(plugin, cluster, "pem"),
        R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","spec":{"interactive":false}})");
    plugin.provide_cluster_info = true;
    plugin.cluster_config_json = R"({"a":1})";
    cluster.tls_server_name = "n\"";
    cluster.insecure = true;
    EXPECT_EQ(write_exec_info(plugin, cluster, "pem"),
              R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","spec":{"interactive":false,)"
              R"("cluster":{"server":"https://x","tls-server-name":"n\"","insecure-skip-tls-verify":true,)"
              R"("certificate-authority-data":"cGVt","config":{"a":1}}}})");
}

TEST(read_exec_credential, takes_token_and_certificate) {
    const auto token =
        read_exec_credential(credential(R"({"token":"t","expirationTimestamp":"2030-01-02T03:04:05Z","new":1})"), v1);
    ASSERT_TRUE(token) << token.error().message;
    EXPECT_EQ(token->token, "t");
    EXPECT_EQ(token->expires, std::chrono::sys_seconds(std::chrono::seconds(1893553445)));
    const auto pair = read_exec_credential(
        credential(R"({"clientCertificateData":"c","clientKeyData":"k","expirationTimestamp":null})"), v1);
    ASSERT_TRUE(pair) << pair.error().message;
    EXPECT_EQ(pair->certificate_pem, "c");
    EXPECT_EQ(pair->key_pem, "k");
    EXPECT_FALSE(pair->expires);
}

TEST(read_exec_credential, says_what_is_missing) {
    const std::pair<std::string, const char*> cases[] = {
        {"", "not an ExecCredential in JSON (0 bytes)"},
        {"secret-token", "not an ExecCredential in JSON (12 bytes)"},
        {"{}", "not of kind ExecCredential"},
        {R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1"})",
         "but the kubeconfig asks for"},
        {R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1"})", "has no status"},
        {credential("{}"), "neither a token nor a client certificate"},
        {credential(R"({"clientKeyData":"k"})"), "only one of"},
        {credential(R"({"token":"a\nb"})"), "bytes that no token has"},
        {credential(R"({"token":"t","expirationTimestamp":"tomorrow"})"), "no time: tomorrow"},
    };
    for (const auto& [body, part] : cases) {
        const auto said = read_exec_credential(body, v1);
        ASSERT_FALSE(said) << body;
        EXPECT_EQ(said.error().code, base::errc::auth);
        EXPECT_NE(said.error().message.find(part), std::string::npos) << said.error().message;
        EXPECT_EQ(said.error().message.find("secret-token"), std::string::npos);
    }
}

}  // namespace
}  // namespace cotrain::kube::auth
