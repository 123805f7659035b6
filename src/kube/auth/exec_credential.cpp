#include "kube/auth/exec_credential.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <glaze/json/read.hpp>

#include "base/encoding.hpp"
#include "base/json_text.hpp"
#include "base/time.hpp"
#include "kube/config.hpp"

namespace cotrain::kube::auth::wire {

struct credential_status {
    std::string token;
    std::string clientCertificateData;
    std::string clientKeyData;
    std::string expirationTimestamp;
};

struct credential {
    std::string kind;
    std::string apiVersion;
    std::optional<credential_status> status;
};

}  // namespace cotrain::kube::auth::wire

namespace cotrain::kube::auth {

namespace {

void add(std::string& out, std::string_view key, std::string_view value) {
    if (value.empty()) return;
    out += ',';
    base::append_json_string(out, key);
    out += ':';
    base::append_json_string(out, value);
}

constexpr base::strict_json<glz::opts> rules{};

std::unexpected<base::error> refuse(std::string what) {
    return base::fail(base::errc::auth, "its output " + std::move(what));
}

base::result<exec_credential> check(wire::credential_status& status) {
    exec_credential out{
        std::move(status.token), std::move(status.clientCertificateData), std::move(status.clientKeyData), {}};
    if (out.certificate_pem.empty() != out.key_pem.empty())
        return refuse("has only one of clientCertificateData and clientKeyData");
    if (out.token.empty() && out.certificate_pem.empty())
        return refuse("has neither a token nor a client certificate in its status");
    if (!visible_ascii(out.token)) return refuse("has a token with bytes that no token has");
    if (const std::string& when = status.expirationTimestamp; !when.empty()) {
        out.expires = base::parse_time_seconds(when);
        if (!out.expires)
            return refuse(fmt::format("has an expirationTimestamp that is no time: {}", base::one_line(when, 64)));
    }
    return out;
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
        add(out, "certificate-authority-data", base::encode_base64(ca_pem));
        add(out, "proxy-url", cluster.proxy_url);
        if (!plugin.cluster_config_json.empty()) out.append(R"(,"config":)").append(plugin.cluster_config_json);
        out += '}';
    }
    out += "}}";
    return out;
}

base::result<exec_credential> read_exec_credential(std::string_view body, std::string_view api_version) {
    wire::credential wire;
    if (const auto fault = glz::read<rules>(wire, body)) {
        // What failed to decode may hold a token: it is not quoted.
        return refuse(fmt::format("is not an ExecCredential in JSON ({} bytes)", body.size()));
    }
    if (wire.kind != "ExecCredential") return refuse("is not of kind ExecCredential");
    if (wire.apiVersion != api_version)
        return refuse(fmt::format("is of apiVersion {}, but the kubeconfig asks for {}",
                                  base::one_line(wire.apiVersion, 80), api_version));
    if (!wire.status) return refuse("has no status");
    return check(*wire.status);
}

exec_schedule::need exec_schedule::at(time_point now) const {
    if (!usable_ || (now_at_ && now >= *now_at_)) return need::now;
    return soon_at_ && now >= *soon_at_ ? need::soon : need::none;
}

void exec_schedule::succeeded(time_point now, std::optional<std::chrono::seconds> life) {
    using std::chrono::milliseconds;
    usable_ = true;
    ended_ = now;
    soon_at_.reset();
    now_at_.reset();
    if (!life) return;
    const milliseconds whole = std::clamp<std::chrono::seconds>(*life, std::chrono::seconds(0), std::chrono::years(10));
    soon_at_ = now + whole - std::min<milliseconds>(whole / 5, policy_.early_max);
    now_at_ = now + whole - std::min<milliseconds>(whole / 20, policy_.margin_max);
}

}  // namespace cotrain::kube::auth
