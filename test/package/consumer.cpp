// Reads a kubeconfig and names the server it would talk to, through the installed headers and libraries.
#include <cstdio>

#include "kube/client.hpp"
#include "kube/kubeconfig.hpp"

int main() {
    constexpr const char* text =
        "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
        "clusters: [{name: k, cluster: {server: 'http://127.0.0.1:1'}}]\n"
        "users: [{name: u, user: {}}]\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n";
    auto parsed = cotrain::kube::parse_kubeconfig(text, "inline");
    if (!parsed) return std::fprintf(stderr, "%s\n", parsed.error().message.c_str()), 1;
    auto config = cotrain::kube::resolve_kubeconfig(*parsed);
    if (!config) return std::fprintf(stderr, "%s\n", config.error().message.c_str()), 1;
    std::printf("%s %s:%u\n", cotrain::kube::user_agent("package").c_str(), config->host.c_str(), config->port);
    return config->port == 1 ? 0 : 1;
}
