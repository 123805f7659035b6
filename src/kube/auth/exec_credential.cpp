// Writing of KUBERNETES_EXEC_INFO.
#include "kube/auth/exec_credential.hpp"

#include "base/json_text.hpp"
#include "kube/base64.hpp"

namespace cotrain::kube::auth {

namespace {

void add(std::string& out, std::string_view key, std::string_view value) {
    if (value.empty()) return;
    out += ',';
    base::append_json_string(out, key);
    out += ':';
    base::append_json_string(out, value);
}

}  // namespace

std::string write_exec_info(const exec_plugin& plugin, const cluster_config& cluster, std::string_view ca_pem) {
    std::string out = R"({"kind":"ExecCredential","apiVersion":)";
    base::append_json_string(out, plugin.api_version);
    out += R"(,"spec":{"interactive":false)";
    if (plugin.provide_cluster_info) {
        out += R"(,"cluster":{"server":)";
        base::append_json_string(out, cluster.server);
        add(out, "tls-server-name", cluster.tls_server_name);
        if (cluster.insecure) out += R"(,"insecure-skip-tls-verify":true)";
        add(out, "certificate-authority-data", encode_base64(ca_pem));
        add(out, "proxy-url", cluster.proxy_url);
        if (!plugin.cluster_config_json.empty()) out.append(R"(,"config":)").append(plugin.cluster_config_json);
        out += '}';
    }
    out += "}}";
    return out;
}

}  // namespace cotrain::kube::auth
