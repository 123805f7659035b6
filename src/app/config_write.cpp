// The effective configuration as a file.
#include <charconv>

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

void write_servers(editor& root, const configuration& c) {
    root.ensure_object("webhook")
        .set("enabled", c.webhook.enabled)
        .set("port", c.webhook.port)
        .set("host", c.webhook.host)
        .set("clientCA", c.webhook.client_ca);
    root.ensure_object("metrics")
        .set("bindAddress", to_text(c.metrics.bind))
        .set("secureServing", c.metrics.secure)
        .set("authentication", c.metrics.authentication);
    root.ensure_object("health")
        .set("healthProbeBindAddress", to_text(c.health.bind))
        .set("readinessEndpointName", c.health.readiness)
        .set("livenessEndpointName", c.health.liveness);
    editor status = root.ensure_object("statusServer");
    status.set("port", c.status_server.port).set("burst", c.status_server.rate.burst);
    set_number(status, "qps", c.status_server.rate.qps);
    editor tls = root.ensure_object("tls");
    tls.set("minVersion", c.tls.min_version);
    for (const std::string& name : c.tls.cipher_suites) tls.ensure_array("cipherSuites").append(name);
    for (const std::string& name : c.tls.next_protos) tls.ensure_array("nextProtos").append(name);
}

}  // namespace

std::string to_yaml(const configuration& c) {
    api::arena memory;
    editor root = editor::object(memory);
    root.set("apiVersion", config_api_version).set("kind", config_kind);
    for (const std::string& ns : c.namespaces) root.ensure_array("namespaces").append(ns);
    write_servers(root, c);
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
    set_number(client, "qps", c.client.qps);
    editor gates = root.ensure_object("featureGates");
    for (const auto& [name, on] : to_choices(c.effective_gates())) gates.set(name, on);
    root.ensure_object("events").set("normal", c.events.normal);
    return api::to_yaml(root);
}

}  // namespace cotrain::app
