// The effective configuration as a file.
#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

#include "api/edit.hpp"
#include "api/yaml.hpp"
#include "app/config.hpp"

namespace cotrain::app {

namespace {

using api::editor;

void set_number(editor& to, std::string_view key, double number) {
    char digits[32];
    const auto [end, code] = std::to_chars(digits, digits + sizeof digits, number);
    const auto text = to.memory().copy(std::string_view(digits, static_cast<std::size_t>(end - digits)));
    static_cast<void>(code);  // 32 bytes hold every double
    to.set(key, api::ref::make_number(text));
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

std::string to_yaml(const configuration& c) {
    api::arena memory;
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
    return own.comment() + api::to_yaml(root);
}

}  // namespace cotrain::app
