// Bad kubeconfigs: one line that names the file, the field and the cure, whatever is wrong.
#include <gtest/gtest.h>

#include <ctime>

#include "base/encoding.hpp"
#include "kube/kubeconfig.hpp"

namespace cotrain::kube {
namespace {

std::string complaint(std::string_view text, std::string_view context = {}) {
    auto one = parse_kubeconfig(text, "/k");
    base::result<cluster_config> made;
    if (!one) {
        made = base::fail(std::move(one).error());
    } else {
        std::vector<kubeconfig> files;
        files.push_back(std::move(*one));
        made = resolve_kubeconfig(merge_kubeconfigs(std::move(files)), context);
    }
    if (made) return "no error";
    EXPECT_EQ(made.error().code, base::errc::invalid);
    EXPECT_EQ(made.error().message.find('\n'), std::string::npos);
    EXPECT_LE(made.error().message.size(), 600U);
    EXPECT_TRUE(made.error().message.starts_with("kubeconfig /k: ")) << made.error().message;
    return made.error().message.substr(std::string_view("kubeconfig /k: ").size());
}

std::string with(const std::string& cluster, const std::string& user) {
    return "clusters:\n- name: c\n  cluster: {" + cluster + "}\nusers:\n- name: u\n  user: {" + user +
           "}\ncontexts:\n- name: x\n  context: {cluster: c, user: u}\ncurrent-context: x\n";
}

TEST(kubeconfig_errors, of_contexts) {
    const std::string head =
        "clusters: [{name: a, cluster: {server: 'https://a'}}, {name: b, cluster: {server: 'https://a'}}]\n";
    EXPECT_EQ(complaint(head), "current-context: is not set: set it or name a context; have: none");
    EXPECT_EQ(complaint(head + "current-context: prod\ncontexts: [{name: dev}]"),
              "current-context: \"prod\": no such context; have: dev");
    EXPECT_EQ(
        complaint(head + "current-context: x\ncontexts: [{name: dev}, {name: z}, {name: x, context: {cluster: prod}}]"),
        "contexts[2].context.cluster: \"prod\": no such cluster in this or the merged files; have: a, b");
    EXPECT_EQ(complaint(head + "current-context: x\ncontexts: [{name: x, context: {}}]"),
              "contexts[0].context.cluster: is not set: name one; have: a, b");
    EXPECT_EQ(complaint(head + "current-context: x\ncontexts: [{name: x, context: {cluster: a, user: me}}]"),
              "contexts[0].context.user: \"me\": no such user in this or the merged files; have: none");
}

TEST(kubeconfig_errors, of_wrong_types) {
    EXPECT_EQ(complaint("[1]"), "the document: is a list, must be an object with clusters, contexts and users");
    EXPECT_EQ(complaint("kind: Pod"), "kind: is \"Pod\", must be Config: this is no kubeconfig");
    EXPECT_EQ(complaint("clusters: {a: b}"), "clusters: expected a list, got an object");
    EXPECT_EQ(complaint("clusters: [7]"), "clusters[0]: expected an object, got a number");
    EXPECT_EQ(complaint("users: [{name: 12345}]"), "users[0].name: expected a string, got a number: put it in quotes");
    EXPECT_EQ(complaint("users: [{name: u, user: [x]}]"), "users[0].user: expected an object, got a list");
    EXPECT_EQ(complaint("users: [{name: u, user: {token: 1e3}}]"),
              "users[0].user.token: expected a string, got a number: put it in quotes");
    EXPECT_EQ(complaint("clusters: [{name: c, cluster: {insecure-skip-tls-verify: maybe}}]"),
              "clusters[0].cluster.insecure-skip-tls-verify: expected true or false, got a string");
    EXPECT_EQ(complaint("users: [{name: u, user: {exec: {args: [a, 2]}}}]"),
              "users[0].user.exec.args[1]: expected a string, got a number: put it in quotes");
    EXPECT_EQ(complaint("users: [{name: u, user: {exec: {env: [{value: x}]}}}]"),
              "users[0].user.exec.env[0].name: must be the name of a variable");
    EXPECT_EQ(complaint("users: [{name: u, user: {as-user-extra: {k: v}}}]"),
              "users[0].user.as-user-extra.k: expected a list, got a string");
    EXPECT_EQ(complaint("clusters: [{name: c}, {name: c}]"),
              "clusters[1].name: \"c\" occurs twice in this file: keep one");
}

TEST(kubeconfig_errors, of_clusters) {
    const std::string data = base::encode_base64("-----BEGIN CERTIFICATE-----\n");
    EXPECT_EQ(complaint(with("", "")), "clusters[0].cluster.server: is not set: write https://host:port");
    EXPECT_EQ(complaint(with("server: 'ftp://x'", "")),
              "clusters[0].cluster.server: \"ftp://x\" has a scheme that is neither https nor http");
    EXPECT_EQ(complaint(with("server: 'https://x', certificate-authority: a, certificate-authority-data: " + data, "")),
              "clusters[0].cluster.certificate-authority-data: is set beside certificate-authority: keep one of them");
    EXPECT_EQ(complaint(with("server: 'https://x', certificate-authority-data: '!!'", "")),
              "clusters[0].cluster.certificate-authority-data: is not base64: copy it again from where it came");
    EXPECT_EQ(
        complaint(with("server: 'https://x', certificate-authority-data: " + base::encode_base64("hello"), "")),
        "clusters[0].cluster.certificate-authority-data: holds no PEM text once decoded: it must be the base64 of "
        "a PEM file");
    EXPECT_EQ(complaint(with("server: 'https://x', insecure-skip-tls-verify: true, certificate-authority: a", "")),
              "clusters[0].cluster.insecure-skip-tls-verify: is set beside a certificate-authority: keep one of them");
    EXPECT_TRUE(complaint(with("server: 'https://x', proxy-url: 'socks5://p'", ""))
                    .starts_with("clusters[0].cluster.proxy-url: "));
    EXPECT_EQ(complaint(with("server: 'https://x', tls-server-name: 'a b'", "")),
              "clusters[0].cluster.tls-server-name: is no host name");
}

TEST(kubeconfig_errors, of_users) {
    const std::string server = "server: 'https://x'";
    EXPECT_EQ(complaint(with(server, "auth-provider: {name: gcp}")),
              "users[0].user.auth-provider: \"gcp\" is not supported, nor by kubectl since 1.26: use an exec plugin");
    EXPECT_EQ(complaint(with(server, "token: t, username: u")),
              "users[0].user.username: is set beside a token or tokenFile: keep one of them");
    EXPECT_EQ(complaint(with(server, "password: p")), "users[0].user.username: is not set, but password is");
    EXPECT_EQ(complaint(with(server, "token: \"a\\r\\nX-Evil: 1\"")),
              "users[0].user.token: contains a space, a line break or a byte that no token has: copy it again");
    EXPECT_EQ(
        complaint(with(server, "client-certificate: a")),
        "users[0].user.client-key-data: is not set, nor is client-key, but there is a client certificate: add its "
        "key");
    EXPECT_EQ(
        complaint(with(server, "client-key: a")),
        "users[0].user.client-certificate-data: is not set, nor is client-certificate, but there is a client key: "
        "add its certificate");
    EXPECT_EQ(complaint(with(server, "as-groups: [a]")),
              "users[0].user.as: is not set, but as-uid, as-groups or as-user-extra is: set it");
    EXPECT_EQ(complaint(with(server, "as: \"a\\nb\"")), "users[0].user.as: contains a control character");
}

TEST(kubeconfig_errors, of_plugins) {
    const std::string server = "server: 'https://x'";
    const std::string v1 = "apiVersion: client.authentication.k8s.io/v1";
    EXPECT_EQ(complaint(with(server, "exec: {" + v1 + "}")),
              "users[0].user.exec.command: is not set: name the program to run");
    EXPECT_TRUE(complaint(with(server, "exec: {command: x}"))
                    .starts_with("users[0].user.exec.apiVersion: is not set, must be "));
    EXPECT_TRUE(
        complaint(with(server, "exec: {command: x, apiVersion: client.authentication.k8s.io/v1alpha1}"))
            .starts_with("users[0].user.exec.apiVersion: is \"client.authentication.k8s.io/v1alpha1\", must be "));
    EXPECT_EQ(complaint(with(server, "exec: {command: x, " + v1 + "}")),
              "users[0].user.exec.interactiveMode: is not set: use Never or IfAvailable");
    EXPECT_EQ(complaint(with(server, "exec: {command: x, interactiveMode: Always, " + v1 + "}")),
              "users[0].user.exec.interactiveMode: is Always, but there is no terminal here: use Never or IfAvailable");
    EXPECT_EQ(complaint(with(server, "exec: {command: x, interactiveMode: x, " + v1 + "}")),
              "users[0].user.exec.interactiveMode: is \"x\", must be Never or IfAvailable");
}

TEST(kubeconfig_errors, of_text_that_is_no_yaml) {
    EXPECT_TRUE(complaint("clusters:\n- name: [x\n").starts_with("line "));
    EXPECT_TRUE(complaint("a: b\n\tc: d\n").starts_with("line 2, column "));
    EXPECT_TRUE(complaint("a: 'b\n").starts_with("line "));
    EXPECT_EQ(complaint(std::string_view("a: b\nc: d\0e\n", 12)),
              "line 2, column 5: control characters are not allowed");
}

TEST(kubeconfig_errors, bound_size_depth_entries_and_aliases) {
    EXPECT_EQ(complaint(std::string(kubeconfig_bytes_max + 1, '#')),
              "is larger than 4 MiB: split it and list the files in KUBECONFIG");
    EXPECT_NE(complaint("a: " + std::string(100'000, '[')).find("nested"), std::string::npos);
    EXPECT_NE(complaint("a: " + std::string(100'000, '{')).find("line 1, column "), std::string::npos);
    std::string many = "users:\n";
    for (std::size_t i = 0; i <= kubeconfig_entries_max; ++i) many += "- name: u" + std::to_string(i) + "\n";
    EXPECT_EQ(complaint(many), "users: has more than 10000 entries");
    std::string bomb = "a: &a0 [x, x, x, x, x, x, x, x, x]\n";
    for (int i = 1; i < 12; ++i) {
        const std::string before = "*a" + std::to_string(i - 1);
        bomb += "b" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
        for (int k = 0; k < 9; ++k) bomb += (k == 0 ? "" : ", ") + before;
        bomb += "]\n";
    }
    const std::clock_t start = std::clock();
    EXPECT_NE(complaint(bomb), "no error");
    EXPECT_LT(std::clock() - start, 5 * CLOCKS_PER_SEC);
}

TEST(kubeconfig_errors, long_texts_and_long_lists_stay_short) {
    std::string text = "current-context: " + std::string(10'000, 'x') + "\ncontexts:\n";
    for (int i = 0; i < 1000; ++i) text += "- name: " + std::string(100, 'n') + std::to_string(i) + "\n";
    EXPECT_NE(complaint(text).find("no such context; have: "), std::string::npos);
}

}  // namespace
}  // namespace cotrain::kube
