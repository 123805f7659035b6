// Whatever configuration Kubeflow Trainer v2.3.0 starts with, ours starts with; and what ours prints of it, v2.3.0
// starts with again.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "app/config/config.hpp"
#include "base/random.hpp"
#include "doc/yaml.hpp"

namespace cotrain::app {
namespace {

using texts = std::vector<std::string_view>;

// The fields of v2.3.0's Configuration with values that it starts with; an empty one stands for no field.
const std::map<std::string_view, std::map<std::string_view, texts>> reference{
    {"webhook", {{"port", {"", "null", "1", "65535", "1e3"}}, {"host", {"", "null", "''", "localhost", "'::1'"}}}},
    {"metrics",
     {{"bindAddress", {"", "null", "''", "'0'", "':0'", "'127.0.0.1:8080'"}},
      {"secureServing", {"", "null", "true", "false"}}}},
    {"health",
     {{"healthProbeBindAddress", {"", "null", "'0'", "'[::1]:1'"}},
      {"readinessEndpointName", {"", "null", "''", "ready", "/ready", "a/b", "'ä ö'", "..", "/"}},
      {"livenessEndpointName", {"", "alive", "'a?b'"}}}},
    {"leaderElection",
     {{"leaderElect", {"", "null", "false"}},
      {"leaseDuration", {"", "15s", "1m30s", "1ns", "-3s", "1000000h", "'0'"}},
      {"renewDeadline", {"", "10s", "2h"}},
      {"retryPeriod", {"", "2s", "90s", "0s"}},
      {"resourceLock", {"", "leases", "endpoints", "''", "null"}},
      {"resourceName", {"", "a", "'A b'"}},
      {"resourceNamespace", {"", "a", "_"}}}},
    {"certManagement",
     {{"enable", {"false"}},
      {"webhookServiceName", {"", "null", "a", "'A b'"}},
      {"webhookSecretName", {"", "''", "b", "_"}}}},
    {"clientConnection",
     {{"qps", {"", "null", "0", "50", "0.25", "1e-50", "3e38", "0x10"}},
      {"burst", {"", "null", "0", "1e2", "2147483647"}}}},
    {"statusServer",
     {{"port", {"", "null", "1", "65535"}}, {"qps", {"", "null", "0", "2.5"}}, {"burst", {"", "0", "7"}}}},
    {"featureGates",
     {{"TrainJobStatus", {"", "null", "true", "false"}},
      {"AllAlpha", {"", "false", "null"}},
      {"AllBeta", {"", "true", "false"}}}},
    {"tls",
     {{"minVersion", {"", "null", "''", "'1.0'", "'1.1'", "'1.2'", "'1.3'", "'1.4'", "TLSv1.2"}},
      {"cipherSuites",
       {"", "null", "[]", "[X]", "[null]", "[X, TLS_AES_128_GCM_SHA256, ECDHE-RSA-AES128-GCM-SHA256]",
        "[TLS_RSA_WITH_RC4_128_SHA]", "[TLS_RSA_WITH_AES_128_CBC_SHA, tls_aes_128_gcm_sha256]"}},
      {"nextProtos", {"", "null", "[]", "[h3]", "[null]", "[h2, h3]", "[http/1.1, http/1.1]", "[h2c, HTTP/1.1]"}}}},
};
// The value of controller.groupKindConcurrency.
const std::map<std::string_view, texts> concurrency{
    {"TrainJob.trainer.kubeflow.org", {"", "1", "5", "2147483647"}},
    {"TrainingRuntime.trainer.kubeflow.org", {"", "3"}},
    {"JobSet.jobset.x-k8s.io", {"", "4"}},
    {"TrainJob", {"", "2"}},
};

class generator {
   public:
    explicit generator(std::uint64_t seed) : random_(seed) {}

    std::string section(const std::map<std::string_view, texts>& fields) {
        std::string out;
        for (const auto& [key, values] : fields) {
            const std::string_view value = values[random_.next() % values.size()];
            if (value.empty()) continue;
            out.append(out.empty() ? "" : ", ").append(key).append(": ").append(value);
        }
        return "{" + out + "}";
    }

    std::string configuration() {
        std::string out;
        if (random_.next() % 4 != 0) out += "apiVersion: config.trainer.kubeflow.org/v1alpha1\n";
        if (random_.next() % 4 != 0) out += "kind: Configuration\n";
        for (const auto& [key, fields] : reference) {
            const auto form = random_.next() % 4;
            if (form == 0) continue;
            out.append(key).append(": ").append(form == 1 ? "null" : section(fields)).append("\n");
        }
        if (random_.next() % 2 != 0) out += "controller: {groupKindConcurrency: " + section(concurrency) + "}\n";
        return out;
    }

   private:
    base::random_source random_;
};

// Where a printed configuration has what v2.3.0 does not know or refuses.
std::set<std::string> strange_to_reference(std::string_view yaml) {
    std::set<std::string> out;
    doc::arena memory;
    const auto document = doc::parse_yaml(memory, yaml);
    if (!document) return {"unreadable"};
    for (const auto& section : document->members()) {
        const std::string name(section.key());
        if (name == "apiVersion" || name == "kind" || name == "controller") continue;
        const auto known = reference.find(section.key());
        if (known == reference.end() && !section.value.is_object()) out.insert(name);
        for (const auto& field : section.value.members()) {
            const std::string path = name + "." + std::string(field.key());
            if (known == reference.end() || !known->second.contains(field.key())) out.insert(path);
            if (field.key() == "qps" && field.value.as_double().value_or(0) < 0) out.insert(path);
        }
    }
    return out;
}

TEST(config_way_back, what_the_reference_starts_with_is_read_and_printed_so_that_it_starts_again) {
    for (std::uint64_t seed = 0; seed < 2000; ++seed) {
        const std::string text = generator(seed).configuration();
        const auto read = read_configuration(text);
        ASSERT_TRUE(read) << read.error().message << "\n" << text;
        const std::string printed = to_yaml(*read);
        EXPECT_EQ(strange_to_reference(printed), std::set<std::string>{}) << text << "printed:\n" << printed;
        EXPECT_FALSE(printed.starts_with('#')) << printed;
        const auto again = read_configuration(printed);
        ASSERT_TRUE(again) << again.error().message << "\n" << printed;
        EXPECT_EQ(to_yaml(*again), printed);
        if (HasFailure()) return;
    }
}

TEST(config_way_back, what_is_ours_is_printed_where_it_was_chosen_and_listed) {
    const std::map<std::string_view, std::string_view> ours{
        {"namespaces: [a]\n", "namespaces"},
        {"webhook: {enabled: false}\n", "webhook.enabled"},
        {"webhook: {clientCA: /ca.crt}\n", "webhook.clientCA"},
        {"metrics: {authentication: true}\n", "metrics.authentication"},
        {"events: {normal: VALUE}\n", "events.normal"},
        {"statusServer: {qps: -1}\n", "statusServer.qps"},
        {"featureGates: {TrainJobTTL: true}\n", "featureGates.TrainJobTTL"},
        {"featureGates: {ElasticTrainJob: true}\n", "featureGates.ElasticTrainJob"},
        {"featureGates: {TrainJobWorkloadAwareScheduling: true}\n", "featureGates.TrainJobWorkloadAwareScheduling"},
        {"featureGates: {MutableWhileSuspended: VALUE}\n", "featureGates.MutableWhileSuspended"},
        {"featureGates: {TrainJobLifecycleConditions: true}\n", "featureGates.TrainJobLifecycleConditions"},
    };
    for (const auto& [line, path] : ours) {
        std::string text(line);
        // Of what may be on by default one day, the other value is the one that was chosen.
        const bool on = path == "events.normal" ? configuration{}.events.normal
                                                : configuration{}.effective_gates().mutable_while_suspended;
        if (const auto at = text.find("VALUE"); at != std::string::npos) text.replace(at, 5, on ? "false" : "true");
        const auto read = read_configuration(text);
        ASSERT_TRUE(read) << read.error().message;
        const std::string printed = to_yaml(*read);
        EXPECT_EQ(strange_to_reference(printed), std::set<std::string>{std::string(path)}) << printed;
        EXPECT_TRUE(printed.starts_with("# Kubeflow Trainer v2.3.0 does not start with: " + std::string(path) + "\n"))
            << printed;
        EXPECT_EQ(to_yaml(*read_configuration(printed)), printed);
    }
    EXPECT_EQ(strange_to_reference(to_yaml(*read_configuration("clientConnection: {qps: -1}"))),
              std::set<std::string>{});
}

}  // namespace
}  // namespace cotrain::app
