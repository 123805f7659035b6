#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "app/config/config.hpp"
#include "base/json_text.hpp"
#include "doc/edit.hpp"
#include "doc/yaml.hpp"

namespace cotrain::app {

namespace {

struct suite {
    std::string_view go_name;
    std::string_view openssl_name;  // empty: TLS 1.3's, which are always on
    suite_standing standing;
};

constexpr auto good = suite_standing::good;
constexpr auto insecure = suite_standing::insecure;
constexpr auto dropped = suite_standing::dropped;

constexpr std::array suites{
    suite{"TLS_AES_128_GCM_SHA256", "", good},
    suite{"TLS_AES_256_GCM_SHA384", "", good},
    suite{"TLS_CHACHA20_POLY1305_SHA256", "", good},
    suite{"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "ECDHE-ECDSA-AES128-GCM-SHA256", good},
    suite{"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "ECDHE-RSA-AES128-GCM-SHA256", good},
    suite{"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "ECDHE-ECDSA-AES256-GCM-SHA384", good},
    suite{"TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "ECDHE-RSA-AES256-GCM-SHA384", good},
    suite{"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305", good},
    suite{"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-RSA-CHACHA20-POLY1305", good},
    // Go's older names of the two above.
    suite{"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305", "ECDHE-ECDSA-CHACHA20-POLY1305", good},
    suite{"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305", "ECDHE-RSA-CHACHA20-POLY1305", good},
    suite{"TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA", "ECDHE-ECDSA-AES128-SHA", good},
    suite{"TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", "ECDHE-RSA-AES128-SHA", good},
    suite{"TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA", "ECDHE-ECDSA-AES256-SHA", good},
    suite{"TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA", "ECDHE-RSA-AES256-SHA", good},
    suite{"TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256", "ECDHE-ECDSA-AES128-SHA256", insecure},
    suite{"TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256", "ECDHE-RSA-AES128-SHA256", insecure},
    suite{"TLS_RSA_WITH_AES_128_GCM_SHA256", "AES128-GCM-SHA256", insecure},
    suite{"TLS_RSA_WITH_AES_256_GCM_SHA384", "AES256-GCM-SHA384", insecure},
    suite{"TLS_RSA_WITH_AES_128_CBC_SHA256", "AES128-SHA256", insecure},
    suite{"TLS_RSA_WITH_AES_128_CBC_SHA", "AES128-SHA", insecure},
    suite{"TLS_RSA_WITH_AES_256_CBC_SHA", "AES256-SHA", insecure},
    suite{"TLS_RSA_WITH_RC4_128_SHA", "", dropped},
    suite{"TLS_RSA_WITH_3DES_EDE_CBC_SHA", "", dropped},
    suite{"TLS_ECDHE_ECDSA_WITH_RC4_128_SHA", "", dropped},
    suite{"TLS_ECDHE_RSA_WITH_RC4_128_SHA", "", dropped},
    suite{"TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA", "", dropped},
};

const suite* find(std::string_view go_name) {
    const auto found = std::ranges::find(suites, go_name, &suite::go_name);
    return found == suites.end() ? nullptr : &*found;
}

constexpr int tls_1_2 = 0x0303;
constexpr int tls_1_3 = 0x0304;

using doc::editor;

void set_number(editor& to, std::string_view key, double number) {
    std::string digits;
    base::append_json_number(digits, number);
    to.set(key, doc::ref::make_number(to.memory().copy(digits)));
}

// What the reference does not start with: keys of ours, and values that it refuses. They are printed only where they
// are not the default, and then a comment lists them.
class ours {
   public:
    void found(std::string_view path) { paths_.append(paths_.empty() ? "" : ", ").append(path); }
    template <class Value>
    void set(editor& root, std::string_view section, std::string_view key, const Value& is, const Value& otherwise) {
        if (is == otherwise) return;
        root.ensure_object(section).set(key, is);
        found(std::string(section) + "." + std::string(key));
    }
    [[nodiscard]] std::string comment() const {
        return paths_.empty() ? paths_ : "# Kubeflow Trainer v2.3.0 does not start with: " + paths_ + "\n";
    }

   private:
    std::string paths_;
};

void write_servers(editor& root, const configuration& c, ours& own) {
    const configuration defaults;
    root.ensure_object("webhook").set("port", c.webhook.port).set("host", c.webhook.host);
    own.set(root, "webhook", "enabled", c.webhook.enabled, defaults.webhook.enabled);
    own.set(root, "webhook", "clientCA", c.webhook.client_ca, defaults.webhook.client_ca);
    root.ensure_object("metrics").set("bindAddress", to_text(c.metrics.bind)).set("secureServing", c.metrics.secure);
    own.set(root, "metrics", "authentication", c.metrics.authentication, defaults.metrics.authentication);
    own.set(root, "metrics", "namespaceLabel", c.metrics.by_namespace, defaults.metrics.by_namespace);
    root.ensure_object("health")
        .set("healthProbeBindAddress", to_text(c.health.bind))
        .set("readinessEndpointName", c.health.readiness)
        .set("livenessEndpointName", c.health.liveness);
    editor status = root.ensure_object("statusServer");
    status.set("port", c.status_server.port).set("burst", c.status_server.rate.burst);
    set_number(status, "qps", c.status_server.rate.qps);
    if (c.status_server.rate.qps < 0) own.found("statusServer.qps");
    editor tls = root.ensure_object("tls");
    tls.set("minVersion", c.tls.min_version);
    for (const std::string& name : c.tls.cipher_suites) tls.ensure_array("cipherSuites").append(name);
    for (const std::string& name : c.tls.next_protos) tls.ensure_array("nextProtos").append(name);
}

void write_gates(editor& root, const configuration& c, ours& own) {
    const auto defaults = to_choices(feature_gates{});
    for (const auto& [name, on] : to_choices(c.effective_gates())) {
        if (is_gate_of_reference(name))
            root.ensure_object("featureGates").set(name, on);
        else
            own.set(root, "featureGates", name, on, std::ranges::contains(defaults, std::pair(name, true)));
    }
}

}  // namespace

suite_standing standing_of(std::string_view go_name) {
    const suite* const found = find(go_name);
    return found == nullptr ? suite_standing::unknown : found->standing;
}

std::string good_suites() {
    std::string names;
    for (const suite& each : suites) {
        if (each.standing != good || each.go_name.ends_with("_POLY1305")) continue;
        if (!names.empty()) names += ", ";
        names += each.go_name;
    }
    return names;
}

net::tls::server_options to_server_options(const tls_config& config) {
    net::tls::server_options out;
    out.alpn = config.next_protos;
    out.version_min = config.min_version == "1.3" ? tls_1_3 : tls_1_2;
    for (const std::string& name : config.cipher_suites) {
        const suite* const found = find(name);
        if (found == nullptr || found->openssl_name.empty()) continue;
        if (!out.tls12_ciphers.empty()) out.tls12_ciphers += ':';
        out.tls12_ciphers += found->openssl_name;
    }
    // A list without any suite for TLS 1.2 leaves TLS 1.3 alone.
    if (!config.cipher_suites.empty() && out.tls12_ciphers.empty()) out.version_min = tls_1_3;
    return out;
}

std::string to_yaml(const configuration& c) {
    doc::arena memory;
    ours own;
    editor root = editor::object(memory);
    root.set("apiVersion", config_api_version).set("kind", config_kind);
    for (const std::string& ns : c.namespaces) root.ensure_array("namespaces").append(ns);
    if (!c.namespaces.empty()) own.found("namespaces");
    write_servers(root, c, own);
    root.ensure_object("leaderElection")
        .set("leaderElect", c.election.enabled)
        .set("resourceLock", "leases")
        .set("resourceName", c.election.lease_name)
        .set("resourceNamespace", c.election.ns)
        .set("leaseDuration", to_go_duration(c.election.lease))
        .set("renewDeadline", to_go_duration(c.election.renew))
        .set("retryPeriod", to_go_duration(c.election.retry));
    root.ensure_object({"controller", "groupKindConcurrency"})
        .set("TrainJob.trainer.kubeflow.org", c.concurrency.train_job)
        .set("TrainingRuntime.trainer.kubeflow.org", c.concurrency.training_runtime)
        .set("ClusterTrainingRuntime.trainer.kubeflow.org", c.concurrency.cluster_training_runtime);
    root.ensure_object("certManagement")
        .set("enable", c.certificates.managed)
        .set("webhookServiceName", c.certificates.service)
        .set("webhookSecretName", c.certificates.secret);
    editor client = root.ensure_object("clientConnection");
    client.set("burst", c.client.burst);
    if (c.client.qps >= 0)
        set_number(client, "qps", c.client.qps);  // the default, no limit, is a value that it refuses
    write_gates(root, c, own);
    own.set(root, "events", "normal", c.events.normal, configuration{}.events.normal);
    for (const std::string& name : c.disabled_plugins)
        root.ensure_object("plugins").ensure_array("disabled").append(name);
    if (!c.disabled_plugins.empty()) own.found("plugins.disabled");
    return own.comment() + doc::to_yaml(root);
}

}  // namespace cotrain::app
