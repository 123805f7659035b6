// What a configuration means for the wire: names, proxies and verification.
#include <gtest/gtest.h>

#include "kube/client.hpp"
#include "support/certificates.hpp"

namespace cotrain::kube {
namespace {

cluster_config cluster_at(std::string host, std::uint16_t port) {
    cluster_config made;
    made.host = std::move(host);
    made.port = port;
    return made;
}

base::result<net::client_options> options_of(const cluster_config& cluster) {
    static const test::authority ca("wire CA");
    return wire_options(cluster, {}, {.version = 1, .ca_pem = ca.pem(), .certificate_pem = {}, .key_pem = {}});
}

// Host and port of the proxy; empty: none.
std::string proxy_of(const cluster_config& cluster) {
    const auto options = options_of(cluster);
    if (!options) return options.error().message;
    const auto& via = options->connect.via;
    return via ? via->where.host + ":" + std::to_string(via->where.port) : "";
}

TEST(wire_options, take_the_proxy_of_the_environment_unless_the_server_is_exempt) {
    cluster_config cluster = cluster_at("api.example.com", 6443);
    cluster.https_proxy = "http://proxy.example.com:3128";
    EXPECT_EQ(proxy_of(cluster), "proxy.example.com:3128");
    for (const char* exempt : {"example.com", ".example.com", "other,api.example.com:6443", "*"}) {
        cluster.no_proxy = exempt;
        EXPECT_EQ(proxy_of(cluster), "") << exempt;
    }
    cluster.no_proxy = "api.example.com:443";
    EXPECT_EQ(proxy_of(cluster), "proxy.example.com:3128");
    cluster.scheme = "http";
    EXPECT_EQ(proxy_of(cluster), "") << "HTTPS_PROXY is for https";
}

TEST(wire_options, take_the_proxy_of_the_kubeconfig_before_all_others) {
    cluster_config cluster = cluster_at("127.0.0.1", 6443);
    cluster.https_proxy = "http://proxy.example.com:3128";
    EXPECT_EQ(proxy_of(cluster), "") << "loopback goes direct";
    cluster.proxy_url = "http://user:secret@own.example.com";
    cluster.no_proxy = "*";
    EXPECT_EQ(proxy_of(cluster), "own.example.com:80");
    EXPECT_EQ(options_of(cluster)->connect.via->authorization, "Basic dXNlcjpzZWNyZXQ=");
}

TEST(wire_options, name_where_a_proxy_that_cannot_be_used_comes_from) {
    cluster_config cluster = cluster_at("api.example.com", 6443);
    cluster.https_proxy = "socks5://proxy.example.com";
    EXPECT_EQ(proxy_of(cluster), "HTTPS_PROXY: proxy URL: SOCKS proxies are not supported; give an http:// one");
    cluster.proxy_url = "https://proxy.example.com";
    EXPECT_TRUE(proxy_of(cluster).starts_with("proxy-url: proxy URL: https:// proxies are not supported"));
}

TEST(wire_options, verify_the_name_that_the_kubeconfig_wants) {
    cluster_config cluster = cluster_at("10.0.0.1", 443);
    EXPECT_EQ(options_of(cluster)->server_name, "");
    EXPECT_TRUE(options_of(cluster)->tls->verifies());
    cluster.tls_server_name = "kubernetes.default.svc";
    cluster.insecure = true;
    EXPECT_EQ(options_of(cluster)->server_name, "kubernetes.default.svc");
    EXPECT_FALSE(options_of(cluster)->tls->verifies());
    cluster.scheme = "http";
    EXPECT_EQ(options_of(cluster)->tls, nullptr);
}

}  // namespace
}  // namespace cotrain::kube
