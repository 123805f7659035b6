// Webhooks that answer the API server alone: it shows a client certificate, as docs/install.md tells it to.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "integration/control.hpp"
#include "integration/operator_side_plane.hpp"
#include "integration/serve_scene.hpp"
#include "support/certificates.hpp"
#include "support/run.hpp"
#include "support/temp_dir.hpp"

namespace cotrain::test {
namespace {

using testing::HasSubstr;

// Where things are; a test's body takes the scene alone.
std::string authority_file;

std::string admission_configuration(const temp_dir& place) {
    const auto plugin = [&](const std::string& name) {
        return "- name: " + name +
               "\n  configuration:\n    apiVersion: apiserver.config.k8s.io/v1\n    kind: "
               "WebhookAdmissionConfiguration\n"
               "    kubeConfigFile: " +
               place.path("kubeconfig") + "\n";
    };
    return "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins:\n" +
           plugin("MutatingAdmissionWebhook") + plugin("ValidatingAdmissionWebhook");
}

awaitable<void> reviewed(operator_scene& s) {
    serve_scene web(s);
    co_await web.prepare();
    co_await web.install_webhooks();
    std::string config = web.config("");
    const std::string port = "port: " + std::to_string(web.webhook_port);
    config.replace(config.find(port), port.size(), port + ", clientCA: " + authority_file);
    EXPECT_TRUE(co_await s.start_operator(config));
    EXPECT_TRUE(co_await web.created_within("reviewed", std::chrono::seconds(60))) << web.said;
    // The API server got a verdict, not only through.
    EXPECT_FALSE(co_await web.create_job("none", R"({"runtimeRef":{"name":"none","kind":"TrainingRuntime"}})"));
    EXPECT_THAT(web.said, HasSubstr("spec.runtimeRef: Invalid value"));
    // Anybody else is not even told that there are webhooks.
    net::request review{.method = "POST", .path = "/validate-trainer-kubeflow-org-v1alpha1-trainjob", .body = "{}"};
    review.headers = {{"content-type", "application/json"}};
    review.deadline = std::chrono::seconds(10);
    EXPECT_EQ((co_await web.ask(web.webhook_port, std::move(review))).status, 0) << web.said;
    co_await web.remove_webhooks();
}

TEST(operator_client_ca, webhooks_answer_the_api_server_alone) {
    const temp_dir place;
    const authority clients("API servers");
    const certificate shown = clients.issue({.common_name = "kube-apiserver", .for_server = false});
    authority_file = place.write("ca.crt", clients.pem());
    place.write("client.crt", shown.certificate_pem);
    place.write("client.key", shown.key_pem);
    place.write("kubeconfig", "apiVersion: v1\nkind: Config\nusers:\n- name: '*'\n  user: {client-certificate: " +
                                  place.path("client.crt") + ", client-key: " + place.path("client.key") + "}\n");
    place.write("admission.yaml", admission_configuration(place));
    const side_plane plane(plane::bare, {"--crds", test_variable("COTRAIN_TEST_CRDS") + "/jobset.yaml", "--arg",
                                         "apiserver=--admission-control-config-file=" + place.path("admission.yaml")});
    operator_scene scene("operator-client-ca", plane.kubeconfig());
    scene.play(reviewed);
}

}  // namespace
}  // namespace cotrain::test
