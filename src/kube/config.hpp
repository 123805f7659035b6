// How one API server is reached and who we are to it: what kubeconfigs and the in-cluster files come down to.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace cotrain::kube {

// PEM text at hand, or the file it is read from and read again when it changes. The text wins where both are set.
struct pem_source {
    std::string pem;
    std::string file;

    [[nodiscard]] bool empty() const { return pem.empty() && file.empty(); }
};

// A program that prints an ExecCredential (client.authentication.k8s.io).
struct exec_plugin {
    std::string command;  // a path, or a name that is looked up in PATH; empty: there is no plugin
    std::vector<std::string> arguments;
    std::vector<std::pair<std::string, std::string>> environment;  // added to ours
    std::string api_version;
    std::string install_hint;
    bool provide_cluster_info = false;
    std::string cluster_config_json;  // the cluster's extension for plugins, as JSON; empty: none
};

// Acting as somebody else (Impersonate-* headers).
struct impersonation {
    std::string user;
    std::string uid;
    std::vector<std::string> groups;
    std::vector<std::pair<std::string, std::string>> extra;  // a key may come more than once
};

struct identity {
    pem_source certificate;
    pem_source key;
    std::string token;
    std::string token_file;  // what it holds wins over `token`
    std::string username;
    std::string password;
    exec_plugin exec;
    impersonation as;
};

struct cluster_config {
    std::string server;  // as it was written, for messages
    std::string scheme = "https";
    std::string host;
    std::uint16_t port = 443;
    std::string base_path;  // "/k8s/clusters/c-1": comes before every path; empty or without a slash at the end
    pem_source ca;          // empty: the system's authorities
    bool insecure = false;  // certificates are not verified
    std::string tls_server_name;
    std::string proxy_url;    // wins over the next two
    std::string https_proxy;  // the environment's HTTPS_PROXY …
    std::string no_proxy;     // … and NO_PROXY
    identity user;
    std::string ns;      // the default namespace; may be empty
    std::string origin;  // "kubeconfig /x/config, context prod", for messages
};

struct server_url {
    std::string scheme;
    std::string host;  // without brackets
    std::uint16_t port = 0;
    std::string base_path;
};

// "https://host[:port][/path]"; without a scheme it is https if `tls_by_default`, else http. The error is a few words
// that say what is wrong, to be put behind the name of the field.
[[nodiscard]] base::result<server_url> parse_server_url(std::string_view text, bool tls_by_default);

// What may be in a header: the one check that keeps credentials from files out of other headers.

// Printable ASCII without spaces: tokens, host names.
[[nodiscard]] inline bool visible_ascii(std::string_view text) {
    return std::ranges::all_of(text, [](unsigned char c) { return c > 0x20 && c < 0x7f; });
}

// Anything but control bytes: values of headers.
[[nodiscard]] inline bool header_text(std::string_view text) {
    return std::ranges::all_of(text, [](unsigned char c) { return c >= 0x20 && c != 0x7f; });
}

// Where the configuration comes from: a file that was named, KUBECONFIG, the Pod's service account, ~/.kube/config.

// What the environment says; a value, so that tests can say something else.
struct environment {
    std::string kubeconfig;    // KUBECONFIG: files separated by colons
    std::string home;          // HOME
    std::string service_host;  // KUBERNETES_SERVICE_HOST
    std::string service_port;  // KUBERNETES_SERVICE_PORT
    std::string https_proxy;   // HTTPS_PROXY or https_proxy
    std::string no_proxy;      // NO_PROXY or no_proxy
    std::string service_account_dir = "/var/run/secrets/kubernetes.io/serviceaccount";

    [[nodiscard]] static environment of_process();
};

// `list` as in KUBECONFIG. Missing files are skipped, but not all of them. Proxies of the environment are not asked.
[[nodiscard]] base::result<cluster_config> load_kubeconfig(const std::string& list, const std::string& context = {});
// What kubelet mounts into a Pod; token and ca.crt are read again when they change.
[[nodiscard]] base::result<cluster_config> in_cluster_config(const environment& env);
// The first that applies: `file` (must exist), KUBECONFIG, in-cluster, ~/.kube/config. A context given in a Pod
// means a kubeconfig is wanted.
[[nodiscard]] base::result<cluster_config> find_config(const environment& env, const std::string& file = {},
                                                       const std::string& context = {});

}  // namespace cotrain::kube
