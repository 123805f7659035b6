// Two configurations with four webhooks.
#include "parity/parity_admission.hpp"

#include <chrono>

#include "integration/operator_scene.hpp"
#include "integration/serve_scene.hpp"

namespace cotrain::parity {

namespace {

constexpr std::string_view probe_ns = "parity-probe";

std::string configuration(std::string_view kind, std::string_view name, const std::string& hooks) {
    std::string out = R"({"apiVersion":"admissionregistration.k8s.io/v1","kind":")";
    out.append(kind).append(R"(","metadata":{"name":")").append(name).append(R"("},"webhooks":[)").append(hooks);
    return out.append("]}");
}

std::string labelled_namespace(std::string_view name) {
    std::string out = R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":")";
    return out.append(name).append(R"(","labels":{")").append(case_label).append(R"(":"yes"}}})");
}

}  // namespace

admission::admission(kube::client& api) : api_(api), port_(test::free_port()) {}

std::string admission::config() const {
    return "apiVersion: config.trainer.kubeflow.org/v1alpha1\nkind: Configuration\ncertManagement: {enable: true}\n"
           "metrics: {bindAddress: '0'}\nhealth: {healthProbeBindAddress: '0'}\nwebhook: {host: 127.0.0.1, port: " +
           std::to_string(port_) + "}\n";
}

std::string admission::hook(std::string name, std::string resources, std::string path) const {
    std::string out = R"({"name":")" + name + R"(","admissionReviewVersions":["v1"],"sideEffects":"None",)";
    out +=
        R"("failurePolicy":"Fail","clientConfig":{"url":"https://127.0.0.1:)" + std::to_string(port_) + path + "\"},";
    out += R"("rules":[{"apiGroups":["trainer.kubeflow.org"],"apiVersions":["v1alpha1"],)";
    out += R"("operations":["CREATE","UPDATE"],"resources":[")" + resources + R"("]}],)";
    out += std::string(R"("namespaceSelector":{"matchLabels":{")") + case_label + R"(":"yes"}})";
    if (resources != "trainjobs") {
        out += R"(,"objectSelector":{"matchExpressions":[{"key":"trainer.kubeflow.org/webhook-validation",)"
               R"("operator":"NotIn","values":["disabled"]}]})";
    }
    return out + "}";
}

awaitable<bool> admission::install() {
    const std::string base = "trainer-kubeflow-org-v1alpha1-";
    const std::string validating =
        hook("validator.trainjob.trainer.kubeflow.org", "trainjobs", "/validate-" + base + "trainjob") + "," +
        hook("validator.trainingruntime.trainer.kubeflow.org", "trainingruntimes",
             "/validate-" + base + "trainingruntime") +
        "," +
        hook("validator.clustertrainingruntime.trainer.kubeflow.org", "clustertrainingruntimes",
             "/validate-" + base + "clustertrainingruntime");
    const std::string mutating =
        hook("defaulter.trainjob.trainer.kubeflow.org", "trainjobs", "/mutate-" + base + "trainjob");
    static_cast<void>(co_await api_.create(
        test::kinds::ns, "",
        R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":")" + std::string(test::operator_ns) + "\"}}"));
    static_cast<void>(
        co_await api_.remove(test::kinds::secret, {.ns = test::operator_ns, .name = test::certificate_secret}));
    if (!co_await api_.create(test::kinds::ns, "", labelled_namespace(probe_ns))) co_return false;
    const auto first =
        co_await api_.create(test::kinds::validating, "",
                             configuration("ValidatingWebhookConfiguration", test::validating_name, validating));
    const auto second = co_await api_.create(
        test::kinds::mutating, "", configuration("MutatingWebhookConfiguration", test::mutating_name, mutating));
    co_return first.has_value() && second.has_value();
}

// Both configurations have the authority, and the API server knows it: a job without a runtime is refused by us.
awaitable<bool> admission::serves() {
    const auto due = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    const std::string job = R"({"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob","metadata":)"
                            R"({"name":"probe"},"spec":{"runtimeRef":{"name":"none"}}})";
    while (std::chrono::steady_clock::now() < due) {
        const auto answer = co_await api_.create(test::kinds::train_job, probe_ns, job, {.dry_run = true});
        if (!answer && answer.error().http_status == 403 && answer.error().message.contains("denied the request"))
            co_return true;
    }
    co_return false;
}

awaitable<void> admission::remove() {
    static_cast<void>(co_await api_.remove(test::kinds::validating, {.name = test::validating_name}));
    static_cast<void>(co_await api_.remove(test::kinds::mutating, {.name = test::mutating_name}));
    static_cast<void>(co_await api_.remove(test::kinds::ns, {.name = probe_ns}));
}

}  // namespace cotrain::parity
