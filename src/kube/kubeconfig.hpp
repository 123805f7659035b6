// kubeconfig files as kubectl reads them: several texts are merged, one context is resolved; no I/O here.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "kube/config.hpp"

namespace cotrain::kube {

inline constexpr std::size_t kubeconfig_bytes_max = 4U << 20U;  // one file
inline constexpr std::size_t kubeconfig_files_max = 100;
inline constexpr std::size_t kubeconfig_entries_max = 10'000;  // clusters, contexts or users of one file

// The words of a file, paths made absolute, base64 not decoded yet. `field` is the path of an entry ("users[2]").
struct kubeconfig_entry {
    std::string name;
    std::string file;
    std::string field;
};

struct kubeconfig_cluster : kubeconfig_entry {
    std::string server;
    std::string certificate_authority;
    std::string certificate_authority_data;
    bool insecure_skip_tls_verify = false;
    std::string tls_server_name;
    std::string proxy_url;
    std::string exec_extension_json;  // extensions["client.authentication.k8s.io/exec"]
};

struct kubeconfig_user : kubeconfig_entry {
    std::string client_certificate;
    std::string client_certificate_data;
    std::string client_key;
    std::string client_key_data;
    std::string token;
    std::string token_file;
    std::string username;
    std::string password;
    std::optional<exec_plugin> exec;
    std::string exec_interactive_mode;
    std::string auth_provider;  // its name; "?" if it has none
    impersonation as;
};

struct kubeconfig_context : kubeconfig_entry {
    std::string cluster;
    std::string user;
    std::string ns;
};

struct kubeconfig {
    std::vector<std::string> files;  // in order of precedence
    std::string current_context;
    // Deques: an entry is large beside its text, and a vector that grows holds all of them twice.
    std::deque<kubeconfig_cluster> clusters;
    std::deque<kubeconfig_context> contexts;
    std::deque<kubeconfig_user> users;
};

// All errors here are one line: "kubeconfig <file>: <field>: what is wrong: the cure".
// Relative paths are relative to the folder of `file`. Unknown fields are ignored, as kubectl does.
[[nodiscard]] base::result<kubeconfig> parse_kubeconfig(std::string_view text, std::string_view file);
// The first file to name a cluster, context, user or the current context wins; entries are never mixed.
[[nodiscard]] kubeconfig merge_kubeconfigs(std::vector<kubeconfig> files);
// One context, the current one unless `context` names another.
[[nodiscard]] base::result<cluster_config> resolve_kubeconfig(const kubeconfig& merged, std::string_view context = {});

}  // namespace cotrain::kube
