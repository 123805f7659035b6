// The strict configuration file: what is taken, what it means, and how mistakes are named.
#include "app/config/config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace cotrain::app {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* head = "apiVersion: config.trainer.kubeflow.org/v1alpha1\nkind: Configuration\n";

std::string mistake(const std::string& body) {
    const auto read = read_configuration(head + body);
    return read ? "taken" : read.error().message;
}

configuration taken(const std::string& body) {
    auto read = read_configuration(head + body);
    EXPECT_TRUE(read) << read.error().message;
    return read ? *read : configuration{};
}

TEST(config, defaults_are_those_of_the_ecosystem) {
    const configuration c = taken("");
    EXPECT_EQ(c.webhook.port, 9443);
    EXPECT_EQ(to_text(c.metrics.bind), ":8443");
    EXPECT_TRUE(c.metrics.secure);
    EXPECT_FALSE(c.metrics.authentication);
    EXPECT_EQ(to_text(c.health.bind), ":8081");
    EXPECT_FALSE(c.election.enabled);
    EXPECT_EQ(c.concurrency.train_job, 32);
    EXPECT_TRUE(c.certificates.managed);
    EXPECT_EQ(c.certificates.secret, "kubeflow-trainer-webhook-cert");
    EXPECT_LT(c.client.qps, 0);
    EXPECT_EQ(c.status_server.port, 10443);
    EXPECT_EQ(c.status_server.rate.qps, 5);
    EXPECT_EQ(c.status_server.rate.burst, 10);
    EXPECT_THAT(c.tls.next_protos, ElementsAre("h2", "http/1.1"));
    EXPECT_EQ(c.effective_gates(), feature_gates{});
}

TEST(config, the_ecosystems_own_file_is_taken) {
    const configuration c = taken(
        "health: {healthProbeBindAddress: ':8081', readinessEndpointName: readyz, livenessEndpointName: healthz}\n"
        "metrics: {bindAddress: ':8443', secureServing: true}\n"
        "webhook: {port: 9443, host: ''}\n"
        "leaderElection:\n"
        "  leaderElect: true\n"
        "  resourceName: trainer.kubeflow.org\n"
        "  resourceNamespace: ''\n"
        "  leaseDuration: 15s\n"
        "  renewDeadline: 10s\n"
        "  retryPeriod: 2s\n"
        "controller:\n"
        "  groupKindConcurrency:\n"
        "    TrainJob.trainer.kubeflow.org: 5\n"
        "    TrainingRuntime.trainer.kubeflow.org: 1\n"
        "    ClusterTrainingRuntime.trainer.kubeflow.org: 1\n"
        "certManagement: {enable: true, webhookServiceName: a, webhookSecretName: b}\n"
        "clientConnection: {qps: 50, burst: 100}\n"
        "statusServer: {port: 10443, qps: 5, burst: 10}\n"
        "featureGates: {TrainJobStatus: true}\n");
    EXPECT_TRUE(c.election.enabled);
    EXPECT_EQ(c.election.lease, std::chrono::seconds(15));
    EXPECT_EQ(c.concurrency, (concurrency_config{5, 1, 1}));
    EXPECT_EQ(c.certificates.service, "a");
    EXPECT_EQ(c.certificates.secret, "b");
    EXPECT_EQ(c.client.qps, 50);
    EXPECT_EQ(c.client.burst, 100);
    EXPECT_TRUE(c.effective_gates().train_job_status);
}

// As the Kubeflow Trainer after v2.3.0 calls it; charts write one of both as false beside the other one.
TEST(config, authentication_of_metrics_has_two_names) {
    for (const auto* text : {"metrics: {authentication: true}", "metrics: {auth: {enabled: true}}",
                             "metrics: {authentication: false, auth: {enabled: true}}",
                             "metrics: {authentication: true, auth: {enabled: false}}"})
        EXPECT_TRUE(taken(text).metrics.authentication) << text;
    for (const auto* text : {"metrics: {auth: {enabled: false}}", "metrics: {auth: {}}", "metrics: {auth: null}"})
        EXPECT_FALSE(taken(text).metrics.authentication) << text;
}

TEST(config, mistakes_name_path_and_what_is_allowed) {
    EXPECT_EQ(mistake("webhook: {prot: 1}"), "webhook.prot: unknown field, allowed: port, host, enabled, clientCA");
    EXPECT_THAT(mistake("webhok: {}"), StartsWith("webhok: unknown field, allowed: apiVersion, kind, webhook"));
    EXPECT_EQ(mistake("webhook: {port: 70000}"), "webhook.port: expected a port from 1 to 65535, got 70000");
    EXPECT_EQ(mistake("webhook: {port: '9443'}"), "webhook.port: expected a port from 1 to 65535, got \"9443\"");
    EXPECT_THAT(mistake("webhook: {host: not an address}"), StartsWith("webhook.host: expected an IP address"));
    EXPECT_THAT(mistake("webhook: []"), StartsWith("webhook: expected an object"));
    EXPECT_THAT(mistake("metrics: {bindAddress: '8443'}"), StartsWith("metrics.bindAddress: expected [HOST]:PORT"));
    EXPECT_THAT(mistake("metrics: {secureServing: maybe}"),
                StartsWith("metrics.secureServing: expected true or false"));
    EXPECT_THAT(mistake("metrics: {secureServing: false, authentication: true}"),
                StartsWith("metrics.authentication: needs TLS"));
    EXPECT_THAT(mistake("metrics: {secureServing: false, auth: {enabled: true}}"),
                StartsWith("metrics.auth.enabled: needs TLS"));
    EXPECT_THAT(mistake("metrics: {auth: {enable: true}}"), StartsWith("metrics.auth.enable: unknown field"));
    EXPECT_THAT(mistake("health: {livenessEndpointName: 7}"), StartsWith("health.livenessEndpointName: expected"));
    EXPECT_EQ(mistake("controller: {groupKindConcurrency: {TrainJob.trainer.kubeflow.org: 0}}"),
              "controller.groupKindConcurrency[TrainJob.trainer.kubeflow.org]: expected an integer from 1 to "
              "2147483647, got 0");
    EXPECT_THAT(mistake("controller: {groupKindConcurrency: {TrainJob: 0}}"),
                StartsWith("controller.groupKindConcurrency.TrainJob: expected an integer from 1"));
    EXPECT_THAT(mistake("clientConnection: {qps: -2}"), StartsWith("clientConnection.qps: expected a number from 0"));
    EXPECT_THAT(mistake("clientConnection: {burst: 1.5}"), StartsWith("clientConnection.burst: expected an integer"));
    EXPECT_THAT(mistake("statusServer: {port: 0}"), StartsWith("statusServer.port: expected a port"));
    EXPECT_THAT(mistake("featureGates: {Nonsense: true}"),
                StartsWith("featureGates.Nonsense: no such gate, allowed: ElasticTrainJob, "));
    EXPECT_THAT(mistake("featureGates: {TrainJobStatus: 'true'}"),
                StartsWith("featureGates.TrainJobStatus: expected true or false"));
    EXPECT_THAT(mistake("certManagement: {webhookSecretName: A_b}"),
                StartsWith("certManagement.webhookSecretName: expected a name"));
}

TEST(config, who_is_looked_at_and_who_may_ask) {
    EXPECT_TRUE(taken("").namespaces.empty());
    EXPECT_TRUE(taken("").webhook.enabled);
    EXPECT_EQ(taken("").webhook.client_ca, "");
    const configuration c = taken("namespaces: [team-a, b]\nwebhook: {enabled: false, clientCA: /etc/ca.crt}\n");
    EXPECT_THAT(c.namespaces, ElementsAre("team-a", "b"));
    EXPECT_FALSE(c.webhook.enabled);
    EXPECT_EQ(c.webhook.client_ca, "/etc/ca.crt");
    const auto again = read_configuration(to_yaml(c));
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->namespaces, c.namespaces);
    EXPECT_EQ(again->webhook, c.webhook);
    EXPECT_EQ(mistake("webhook: {clientCA: ca.crt}"), "webhook.clientCA: expected an absolute path, got \"ca.crt\"");
    EXPECT_THAT(mistake("namespaces: all"), StartsWith("namespaces: expected"));
    EXPECT_THAT(mistake("namespaces: [Team]"), StartsWith("namespaces[0]: expected a namespace"));
    EXPECT_THAT(mistake("namespaces: ['']"), StartsWith("namespaces[0]: expected a namespace"));
    EXPECT_THAT(mistake("namespaces: [a, b, a]"), StartsWith("namespaces[2]: is there twice"));
    EXPECT_THAT(mistake("namespaces: [a, b, c, d, e, f, g, h, i]"), StartsWith("namespaces: too many"));
}

// As the reference does, which starts with it.
TEST(config, what_cannot_be_used_is_left_out_with_one_warning) {
    const auto warned = [](const std::string& body) {
        const configuration c = taken(body);
        EXPECT_EQ(to_yaml(c), to_yaml(configuration{})) << body;
        EXPECT_EQ(c.warnings.size(), 1U) << body;
        return c.warnings.empty() ? "" : c.warnings[0];
    };
    EXPECT_THAT(warned("tls: {minVersion: '1.4'}"), StartsWith("tls.minVersion: \"1.4\" is no version, left out"));
    EXPECT_THAT(warned("tls: {nextProtos: [h2, h3, http/1.1]}"),
                StartsWith("tls.nextProtos[1]: \"h3\" is not served, left out"));
    EXPECT_THAT(warned("health: {livenessEndpointName: a/b}"),
                StartsWith("health.livenessEndpointName: \"a/b\" is no path segment"));
    EXPECT_THAT(warned("controller: {groupKindConcurrency: {TrainJob: 4}}"),
                StartsWith("controller.groupKindConcurrency.TrainJob: no such controller, left out"));
    EXPECT_EQ(warned("leaderElection: {leaseDuration: -1s}"),
              "leaderElection.leaseDuration: expected a duration above 0 like \"15s\" or \"1m30s\", got \"-1s\"; the "
              "section is left out, because leaderElect is not true");
    EXPECT_THAT(warned("certManagement: {enable: true, webhookSecretName: ''}\nleaderElection: {resourceLock: x}"),
                StartsWith("leaderElection.resourceLock: expected leases"));
}

TEST(config, cipher_suites_that_go_does_not_know_are_left_out) {
    const configuration some = taken("tls: {cipherSuites: [AES, TLS_AES_256_GCM_SHA384]}");
    EXPECT_THAT(some.tls.cipher_suites, ElementsAre("TLS_AES_256_GCM_SHA384"));
    EXPECT_THAT(some.warnings, ElementsAre(StartsWith("tls.cipherSuites[0]: \"AES\" is no cipher suite, left out")));
    const configuration none = taken("tls: {cipherSuites: [AES, null]}");
    EXPECT_EQ(none.tls, tls_config{});
    EXPECT_EQ(none.warnings.size(), 3U);
    EXPECT_EQ(none.warnings.back(), "tls.cipherSuites: none is left, the default ones are served");
    // Go has them, and serves TLS 1.3 beside them.
    const configuration broken = taken("tls: {cipherSuites: [TLS_RSA_WITH_RC4_128_SHA]}");
    EXPECT_EQ(to_server_options(broken.tls).version_min, 0x0304);
    EXPECT_THAT(mistake("tls: {cipherSuites: [7]}"), StartsWith("tls.cipherSuites[0]: expected a string"));
}

TEST(config, election_times_must_fit_each_other) {
    EXPECT_EQ(mistake("leaderElection: {leaderElect: true, leaseDuration: 10s}"),
              "leaderElection.leaseDuration: 10s is not longer than renewDeadline, allowed: more than 10s");
    EXPECT_THAT(mistake("leaderElection: {leaderElect: true, retryPeriod: 9s}"),
                StartsWith("leaderElection.renewDeadline: 10s is too"));
    EXPECT_THAT(mistake("leaderElection: {leaderElect: true, retryPeriod: 0s}"),
                StartsWith("leaderElection.retryPeriod: expected a dur"));
    EXPECT_THAT(mistake("leaderElection: {leaderElect: true, retryPeriod: 2}"),
                StartsWith("leaderElection.retryPeriod: expected a dur"));
    EXPECT_THAT(mistake("leaderElection: {leaderElect: true, resourceLock: endpoints}"),
                StartsWith("leaderElection.resourceLock: expected leases"));
    EXPECT_EQ(taken("leaderElection: {leaseDuration: 1m30s}").election.lease, std::chrono::seconds(90));
}

TEST(config, what_is_no_configuration_is_refused) {
    EXPECT_THAT(read_configuration("[]").error().message, HasSubstr("expected an object"));
    EXPECT_THAT(read_configuration("apiVersion: v1\nkind: Configuration").error().message,
                StartsWith("apiVersion: expected config.trainer"));
    EXPECT_THAT(read_configuration("apiVersion: config.trainer.kubeflow.org/v1alpha1\nkind: Config").error().message,
                StartsWith("kind: expected Configuration"));
    EXPECT_THAT(mistake("webhook: {port: 1}\nwebhook: {port: 2}"), HasSubstr("line 4"));
    EXPECT_THAT(read_configuration(std::string(config_bytes_max + 1, ' ')).error().message, HasSubstr("1 MiB"));
}

TEST(config, empty_texts_and_nulls_mean_defaults) {
    const configuration c = taken(
        "metrics: {bindAddress: ''}\nhealth: {healthProbeBindAddress: null, readinessEndpointName: ''}\n"
        "webhook: null\nleaderElection: {resourceName: ''}\ntls: {minVersion: ''}\n");
    EXPECT_EQ(to_yaml(c), to_yaml(configuration{}));
}

// The reference starts with an empty file.
TEST(config, api_version_and_kind_may_be_missing) {
    for (const char* text : {"", "{}", "null", "# nothing\n", "apiVersion: ''\nkind: null\n"}) {
        const auto read = read_configuration(text);
        ASSERT_TRUE(read) << text << read.error().message;
        EXPECT_EQ(to_yaml(*read), to_yaml(configuration{})) << text;
        EXPECT_THAT(read->warnings, ElementsAre("apiVersion: is missing, read as config.trainer.kubeflow.org/v1alpha1",
                                                "kind: is missing, read as Configuration"));
    }
}

TEST(config, servers_can_be_turned_off_and_bound) {
    const configuration c = taken("metrics: {bindAddress: '0'}\nhealth: {healthProbeBindAddress: '[::1]:9'}\n");
    EXPECT_FALSE(c.metrics.bind.enabled);
    EXPECT_EQ(c.health.bind, (listen_address{true, "::1", 9}));
}

TEST(config, throttles_mean_what_they_mean_to_gos_client) {
    EXPECT_EQ(taken("clientConnection: {burst: 3}").client.qps, -1);
    EXPECT_EQ(taken("clientConnection: {qps: -1}").client.effective_qps(), -1);
    EXPECT_EQ(taken("clientConnection: {qps: 0, burst: 0}").client.effective_qps(), 5);
    EXPECT_EQ(taken("clientConnection: {qps: 0, burst: 0}").client.effective_burst(), 10);
    EXPECT_EQ(taken("clientConnection: {qps: 2.5}").client.effective_qps(), 2.5);
}

TEST(config, tls_speaks_gos_names) {
    const auto all = to_server_options(taken("").tls);
    EXPECT_EQ(all.version_min, 0x0303);
    EXPECT_EQ(all.tls12_ciphers, "");
    const auto one =
        to_server_options(taken("tls: {cipherSuites: [TLS_AES_128_GCM_SHA256, TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256], "
                                "nextProtos: [http/1.1]}")
                              .tls);
    EXPECT_EQ(one.tls12_ciphers, "ECDHE-RSA-AES128-GCM-SHA256");
    EXPECT_THAT(one.alpn, ElementsAre("http/1.1"));
    // Only names of TLS 1.3: nothing is left for TLS 1.2.
    EXPECT_EQ(to_server_options(taken("tls: {cipherSuites: [TLS_AES_256_GCM_SHA384]}").tls).version_min, 0x0304);
    EXPECT_EQ(to_server_options(taken("tls: {minVersion: '1.3'}").tls).version_min, 0x0304);
    const configuration old = taken("tls: {minVersion: '1.0', cipherSuites: [TLS_RSA_WITH_AES_128_CBC_SHA]}");
    EXPECT_EQ(to_server_options(old.tls).version_min, 0x0303);
    EXPECT_THAT(old.warnings, ElementsAre(HasSubstr("tls.minVersion"), HasSubstr("tls.cipherSuites[0]")));
    EXPECT_THAT(mistake("tls: {minVersion: 1.2}"),
                StartsWith("tls.minVersion: expected \"1.2\" or \"1.3\", in quotes"));
}

TEST(config, what_is_printed_reads_as_the_same) {
    const configuration c = taken(
        "webhook: {port: 1, host: 127.0.0.1}\nmetrics: {bindAddress: '0', authentication: true, namespaceLabel: true}\n"
        "health: {livenessEndpointName: livez}\nleaderElection: {leaderElect: true, retryPeriod: 1500ms}\n"
        "controller: {groupKindConcurrency: {TrainJob.trainer.kubeflow.org: 7}}\ncertManagement: {enable: false}\n"
        "clientConnection: {qps: 0.25, burst: 3}\nstatusServer: {port: 2, qps: -1}\nevents: {normal: true}\n"
        "plugins: {disabled: [Flux, Volcano]}\n"
        "featureGates: {AllAlpha: true, TrainJobTTL: false}\n"
        "tls: {minVersion: '1.3', cipherSuites: [TLS_AES_256_GCM_SHA384], nextProtos: [http/1.1, h2]}\n");
    const std::string text = to_yaml(c);
    const auto again = read_configuration(text);
    ASSERT_TRUE(again) << again.error().message << "\n" << text;
    EXPECT_EQ(again->webhook, c.webhook);
    EXPECT_EQ(again->metrics, c.metrics);
    EXPECT_EQ(again->health, c.health);
    EXPECT_EQ(again->election, c.election);
    EXPECT_EQ(again->concurrency, c.concurrency);
    EXPECT_EQ(again->certificates, c.certificates);
    EXPECT_EQ(again->client, c.client);
    EXPECT_EQ(again->status_server, c.status_server);
    EXPECT_EQ(again->tls, c.tls);
    EXPECT_EQ(again->events, c.events);
    EXPECT_EQ(again->effective_gates(), c.effective_gates());
}

}  // namespace
}  // namespace cotrain::app
