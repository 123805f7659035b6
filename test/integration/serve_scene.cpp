// What a cluster's administrator would set up around the operator.
#include "integration/serve_scene.hpp"

#include <gtest/gtest.h>

#include <boost/asio/ip/tcp.hpp>

#include "base/encoding.hpp"
#include "doc/json.hpp"
#include "net/tls/context.hpp"

namespace cotrain::test {

namespace {

using clock = std::chrono::steady_clock;

std::string webhook(std::string_view name, std::string_view resources, const std::string& url, const std::string& ns) {
    std::string out = R"({"name":")";
    out.append(name).append(R"(","admissionReviewVersions":["v1"],"sideEffects":"None","failurePolicy":"Fail",)");
    out.append(R"("clientConfig":{"url":")")
        .append(url)
        .append(R"("},"rules":[{"apiGroups":["trainer.kubeflow.org"],)");
    out.append(R"("apiVersions":["v1alpha1"],"operations":["CREATE","UPDATE"],"resources":[")").append(resources);
    out.append(R"("]}],"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":")").append(ns);
    return out.append(R"("}}})");
}

std::string configuration(std::string_view kind, std::string_view name, const std::string& webhooks) {
    std::string out = R"({"apiVersion":"admissionregistration.k8s.io/v1","kind":")";
    out.append(kind).append(R"(","metadata":{"name":")").append(name).append(R"("},"webhooks":[)").append(webhooks);
    return out.append("]}");
}

}  // namespace

std::uint16_t free_port() {
    asio::io_context loop(1);
    const asio::ip::tcp::acceptor any(loop, {asio::ip::address_v4::loopback(), 0});
    return any.local_endpoint().port();
}

awaitable<void> serve_scene::prepare() {
    const std::string space =
        R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":")" + std::string(operator_ns) + "\"}}";
    const auto made = co_await in_.api->create(kinds::ns, "", space);
    EXPECT_TRUE(made || made.error().http_status == 409);
    static_cast<void>(co_await in_.api->remove(kinds::secret, {.ns = operator_ns, .name = certificate_secret}));
}

awaitable<void> serve_scene::install_webhooks() {
    const std::string url = "https://127.0.0.1:" + std::to_string(webhook_port);
    const auto at = [&](std::string_view what, std::string_view resources, std::string_view path) {
        return webhook(what, resources, url + std::string(path), in_.ns);
    };
    const auto first = co_await in_.api->create(
        kinds::validating, "",
        configuration("ValidatingWebhookConfiguration", validating_name,
                      at("validator.trainjob.trainer.kubeflow.org", R"(trainjobs","trainjobs/scale)",
                         "/validate-trainer-kubeflow-org-v1alpha1-trainjob") +
                          "," +
                          at("validator.trainingruntime.trainer.kubeflow.org", "trainingruntimes",
                             "/validate-trainer-kubeflow-org-v1alpha1-trainingruntime")));
    EXPECT_TRUE(first) << (first ? "" : first.error().message);
    const auto second =
        co_await in_.api->create(kinds::mutating, "",
                                 configuration("MutatingWebhookConfiguration", mutating_name,
                                               at("defaulter.trainjob.trainer.kubeflow.org", "trainjobs",
                                                  "/mutate-trainer-kubeflow-org-v1alpha1-trainjob")));
    EXPECT_TRUE(second) << (second ? "" : second.error().message);
}

awaitable<void> serve_scene::remove_webhooks() {
    static_cast<void>(co_await in_.api->remove(kinds::validating, {.name = validating_name}));
    static_cast<void>(co_await in_.api->remove(kinds::mutating, {.name = mutating_name}));
}

std::string serve_scene::config(std::string more) const {
    return "apiVersion: config.trainer.kubeflow.org/v1alpha1\nkind: Configuration\ncertManagement: {enable: true}\n"
           "webhook: {host: 127.0.0.1, port: " +
           std::to_string(webhook_port) + "}\n" + more;
}

awaitable<bool> serve_scene::create_job(std::string name, std::string spec) {
    const auto done = co_await in_.api->create(
        kinds::train_job, in_.ns,
        R"({"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob","metadata":{"name":")" + name +
            R"("},"spec":)" + spec + "}");
    said = done ? done->body : done.error().message;
    co_return done.has_value();
}

awaitable<bool> serve_scene::created_within(std::string prefix, std::chrono::seconds within) {
    const auto due = clock::now() + within;
    asio::steady_timer timer(in_.loop);
    for (int i = 0; !co_await create_job(prefix + std::to_string(i),
                                         R"({"runtimeRef":{"name":"torch","kind":"TrainingRuntime"}})");
         ++i) {
        if (clock::now() > due) co_return false;
        timer.expires_after(std::chrono::milliseconds(100));
        co_await timer.async_wait(asio::use_awaitable);
    }
    co_return true;
}

awaitable<std::string> serve_scene::token(std::string ns, std::string account, std::string audience, std::string pod) {
    static_cast<void>(co_await in_.api->create(
        kinds::service_account, ns,
        R"({"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":")" + account + "\"}}"));
    std::string bound;
    if (!pod.empty()) {
        static_cast<void>(co_await in_.api->create(
            kinds::pod, ns,
            R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + pod + R"("},"spec":{"serviceAccountName":")" +
                account + R"(","containers":[{"name":"node","image":"example.com/node"}]}})"));
        bound = R"(,"boundObjectRef":{"apiVersion":"v1","kind":"Pod","name":")" + pod + "\"}";
    }
    kube::call what;
    what.attempt = "make a token";
    what.http.method = "POST";
    what.http.path = "/api/v1/namespaces/" + ns + "/serviceaccounts/" + account + "/token";
    what.http.headers = {{"content-type", "application/json"}};
    what.http.body = R"({"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{"audiences":[)" +
                     (audience.empty() ? std::string() : "\"" + audience + "\"") + R"(],"expirationSeconds":600)" +
                     bound + "}}";
    const auto made = co_await in_.api->perform(std::move(what));
    EXPECT_TRUE(made) << (made ? "" : made.error().message);
    if (!made) co_return "";
    doc::arena memory;
    const auto document = doc::parse_json(memory, made->body);
    co_return std::string(document ? document->get({"status", "token"}).as_string() : "");
}

awaitable<net::response> serve_scene::ask(std::uint16_t port, net::request what) {
    const auto secret = co_await in_.api->get(kinds::secret, {.ns = operator_ns, .name = certificate_secret});
    if (!secret) {
        said = secret.error().message;
        co_return net::response{};
    }
    doc::arena memory;
    const auto document = doc::parse_json(memory, secret->body);
    const auto ca = base::decode_base64(document->get({"data", "ca.crt"}).as_string());
    const auto keys = net::tls::context::for_client({.ca_pem = ca.value_or("")});
    if (!keys) {
        said = keys.error().message;
        co_return net::response{};
    }
    net::client_options with;
    with.peer = {"127.0.0.1", port};
    with.server_name = "kubeflow-trainer-controller-manager." + std::string(operator_ns) + ".svc";
    with.tls = *keys;
    net::client client(in_.loop.get_executor(), std::move(with), base::null_logger());
    auto answer = co_await client.send(std::move(what));
    said = answer ? answer->body : answer.error().message;
    co_await client.stop();
    co_return answer ? std::move(*answer) : net::response{};
}

}  // namespace cotrain::test
