// kubeconfigs as kubectl reads them: every field, merging, choosing a context.
#include "kube/kubeconfig.hpp"

#include <gtest/gtest.h>

#include "base/encoding.hpp"

namespace cotrain::kube {
namespace {

const std::string pem = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";

base::result<cluster_config> load(std::string_view text, std::string_view context = {}) {
    auto one = parse_kubeconfig(text, "/etc/k/config");
    if (!one) return base::fail(std::move(one).error());
    std::vector<kubeconfig> files;
    files.push_back(std::move(*one));
    return resolve_kubeconfig(merge_kubeconfigs(std::move(files)), context);
}

// A whole file with the given lines in its cluster and its user.
std::string with(const std::string& cluster, const std::string& user) {
    return "clusters:\n- name: c\n  cluster: {" + cluster + "}\nusers:\n- name: u\n  user: {" + user +
           "}\ncontexts:\n- name: x\n  context: {cluster: c, user: u}\ncurrent-context: x\n";
}

TEST(kubeconfig, reads_every_field) {
    const std::string text = R"(
apiVersion: v1
kind: Config
preferences: {colors: true}
current-context: prod
clusters:
- name: other
  cluster: {server: "http://other"}
- name: main
  cluster:
    server: https://api.example:6443/base/
    certificate-authority: certs/ca.crt
    tls-server-name: kube
    proxy-url: http://proxy:3128
    disable-compression: true
    extensions:
    - name: client.authentication.k8s.io/exec
      extension: {audience: "a\tb", n: [1, true, null]}
contexts:
- name: prod
  context: {cluster: main, user: me, namespace: team, extensions: []}
users:
- name: me
  user:
    client-certificate: /abs/me.crt
    client-key: me.key
    tokenFile: ../token
    as: other
    as-uid: "7"
    as-groups: [a, b]
    as-user-extra: {scope: [x, z]}
    unknown-field: {whatever: [1]}
)";
    const auto made = load(text);
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(made->server, "https://api.example:6443/base/");
    EXPECT_EQ(made->scheme, "https");
    EXPECT_EQ(made->host, "api.example");
    EXPECT_EQ(made->port, 6443);
    EXPECT_EQ(made->base_path, "/base");
    EXPECT_EQ(made->ca.file, "/etc/k/certs/ca.crt");
    EXPECT_FALSE(made->insecure);
    EXPECT_EQ(made->tls_server_name, "kube");
    EXPECT_EQ(made->proxy_url, "http://proxy:3128");
    EXPECT_EQ(made->ns, "team");
    EXPECT_EQ(made->user.certificate.file, "/abs/me.crt");
    EXPECT_EQ(made->user.key.file, "/etc/k/me.key");
    EXPECT_EQ(made->user.token_file, "/etc/k/../token");
    EXPECT_EQ(made->user.as.user, "other");
    EXPECT_EQ(made->user.as.uid, "7");
    EXPECT_EQ(made->user.as.groups, (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(made->user.as.extra, (std::vector<std::pair<std::string, std::string>>{{"scope", "x"}, {"scope", "z"}}));
    EXPECT_EQ(made->origin, "kubeconfig /etc/k/config, context prod");
}

TEST(kubeconfig, takes_data_with_line_breaks) {
    std::string data = base::encode_base64(pem);
    data.insert(10, "\n      ");
    const std::string text =
        "clusters:\n- name: c\n  cluster:\n    server: https://x\n    certificate-authority-data: |\n      " + data +
        "\nusers:\n- name: u\n  user:\n    client-certificate-data: " + base::encode_base64(pem) +
        "\n    client-key-data: '" + base::encode_base64(pem) +
        "'\ncontexts: [{name: x, context: {cluster: c, user: u}}]\ncurrent-context: x\n";
    const auto made = load(text);
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(made->ca.pem, pem);
    EXPECT_EQ(made->user.certificate.pem, pem);
    EXPECT_EQ(made->user.key.pem, pem);
}

TEST(kubeconfig, is_json_too) {
    const auto made = load(
        R"({"clusters":[{"name":"c","cluster":{"server":"https://x","insecure-skip-tls-verify":true}}],
"contexts":[{"name":"x","context":{"cluster":"c"}}],"current-context":"x"})");
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_TRUE(made->insecure);
    EXPECT_TRUE(made->user.token.empty());
}

TEST(kubeconfig, tolerates_byte_order_mark_windows_lines_and_nulls) {
    std::string text =
        with("server: https://x, certificate-authority: null, insecure-skip-tls-verify: ~", "token: abc");
    for (std::size_t i = text.find('\n'); i != std::string::npos; i = text.find('\n', i + 2)) text.insert(i, "\r");
    const auto made = load("\xEF\xBB\xBF" + text);
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(made->user.token, "abc");
    EXPECT_TRUE(made->ca.empty());
}

TEST(kubeconfig, reads_an_exec_plugin) {
    const auto made = load(with(
        R"(server: "https://x", extensions: [{name: client.authentication.k8s.io/exec, extension: {a: "b\u0001"}}])",
        R"(exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: bin/plug, args: ["-a", "b c"],
   env: [{name: A, value: "1"}, {name: B}], provideClusterInfo: true, installHint: "get it"})"));
    ASSERT_TRUE(made) << made.error().message;
    const exec_plugin& plugin = made->user.exec;
    EXPECT_EQ(plugin.command, "/etc/k/bin/plug");
    EXPECT_EQ(plugin.arguments, (std::vector<std::string>{"-a", "b c"}));
    EXPECT_EQ(plugin.environment, (std::vector<std::pair<std::string, std::string>>{{"A", "1"}, {"B", ""}}));
    EXPECT_TRUE(plugin.provide_cluster_info);
    EXPECT_EQ(plugin.install_hint, "get it");
    EXPECT_EQ(plugin.cluster_config_json, R"({"a":"b\u0001"})");
}

TEST(kubeconfig, a_command_without_slash_is_left_to_the_path) {
    const auto made =
        load(with("server: https://x",
                  "exec: {apiVersion: client.authentication.k8s.io/v1, command: plug, interactiveMode: Never}"));
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(made->user.exec.command, "plug");
    EXPECT_EQ(made->user.exec.cluster_config_json, "");
}

TEST(kubeconfig, a_token_wins_over_a_plugin) {
    const auto made = load(with("server: https://x", "token: t, exec: {command: plug}"));
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(made->user.token, "t");
    EXPECT_EQ(made->user.exec.command, "");
}

TEST(kubeconfig, plain_words_are_booleans_as_in_kubectl) {
    EXPECT_TRUE(load(with("server: 'https://x', insecure-skip-tls-verify: yes", "token: t"))->insecure);
    EXPECT_FALSE(load(with("server: 'https://x', insecure-skip-tls-verify: off", "token: t"))->insecure);
}

TEST(kubeconfig, of_several_documents_the_first_counts) {
    EXPECT_EQ(load(with("server: 'https://a'", "token: t") + "---\n" + with("server: 'https://b'", "token: t"))->host,
              "a");
}

TEST(kubeconfig, without_scheme_certificates_decide) {
    EXPECT_EQ(load(with("server: 'x:1', insecure-skip-tls-verify: true", "token: t"))->scheme, "https");
    EXPECT_EQ(load(with("server: 'x:1'", "token: t"))->scheme, "http");
}

TEST(kubeconfig, a_context_can_be_named) {
    const std::string text = R"(
clusters: [{name: a, cluster: {server: "https://a"}}, {name: b, cluster: {server: "https://b"}}]
contexts: [{name: a, context: {cluster: a}}, {name: b, context: {cluster: b}}]
current-context: a
)";
    EXPECT_EQ(load(text)->host, "a");
    EXPECT_EQ(load(text, "b")->host, "b");
    EXPECT_EQ(load(text, "c").error().message, "kubeconfig /etc/k/config: context \"c\": no such context; have: a, b");
}

TEST(kubeconfig, the_first_file_wins_entry_by_entry) {
    auto one = parse_kubeconfig(R"(
users: [{name: red, user: {username: first}}]
contexts: [{name: x, context: {cluster: c, user: red}}]
)",
                                "/one/config");
    auto two = parse_kubeconfig(R"(
current-context: x
clusters: [{name: c, cluster: {server: "https://two", certificate-authority: ca.crt}}]
users: [{name: red, user: {username: second, password: secret}}]
)",
                                "/two/config");
    auto three = parse_kubeconfig(R"(
current-context: z
clusters: [{name: c, cluster: {server: "https://three"}}]
)",
                                  "/three/config");
    ASSERT_TRUE(one && two && three);
    std::vector<kubeconfig> files;
    files.push_back(std::move(*one));
    files.push_back(std::move(*two));
    files.push_back(std::move(*three));
    const auto made = resolve_kubeconfig(merge_kubeconfigs(std::move(files)));
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(made->host, "two");
    EXPECT_EQ(made->ca.file, "/two/ca.crt");
    EXPECT_EQ(made->user.username, "first");
    EXPECT_EQ(made->user.password, "");
    EXPECT_EQ(made->origin, "kubeconfig /one/config, context x");
}

TEST(kubeconfig, an_empty_file_adds_nothing) {
    for (const char* text : {"", "\n", "---\n", "# only a comment\n", "null\n"}) {
        const auto one = parse_kubeconfig(text, "f");
        ASSERT_TRUE(one) << one.error().message;
        EXPECT_TRUE(one->contexts.empty());
    }
}

}  // namespace
}  // namespace cotrain::kube
