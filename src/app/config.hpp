// The operator's configuration: the file of kind Configuration with its defaults, as a plain value.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "app/config_gates.hpp"
#include "app/config_values.hpp"
#include "base/error.hpp"

namespace cotrain::app {

inline constexpr std::string_view config_api_version = "config.trainer.kubeflow.org/v1alpha1";
inline constexpr std::string_view config_kind = "Configuration";
inline constexpr std::size_t config_bytes_max = 1U << 20U;

struct webhook_config {
    bool enabled = true;
    std::uint16_t port = 9443;
    std::string host{};       // an address; empty: all interfaces
    std::string client_ca{};  // a file: only who shows a certificate of these authorities is answered; empty: everybody
    bool operator==(const webhook_config&) const = default;
};

struct election_config {
    bool enabled = false;  // no section, or none with leaderElect: no election
    std::string lease_name = "trainer.kubeflow.org";
    std::string ns{};  // empty: the operator's own
    std::chrono::milliseconds lease{15'000};
    std::chrono::milliseconds renew{10'000};
    std::chrono::milliseconds retry{2'000};
    bool operator==(const election_config&) const = default;
};

struct metrics_config {
    listen_address bind{.enabled = true, .host = {}, .port = 8443};
    bool secure = true;
    bool authentication = false;  // TokenReview and SubjectAccessReview
    bool operator==(const metrics_config&) const = default;
};

struct health_config {
    listen_address bind{.enabled = true, .host = {}, .port = 8081};
    std::string readiness = "readyz";
    std::string liveness = "healthz";
    bool operator==(const health_config&) const = default;
};

// Reconciles in flight, by kind.
struct concurrency_config {
    std::int32_t train_job = 32;
    std::int32_t training_runtime = 32;
    std::int32_t cluster_training_runtime = 32;
    bool operator==(const concurrency_config&) const = default;
};

struct certificate_config {
    bool managed = true;  // ours, in the secret; otherwise read from a directory
    std::string service = "kubeflow-trainer-controller-manager";
    std::string secret = "kubeflow-trainer-webhook-cert";
    bool operator==(const certificate_config&) const = default;
};

// Of requests to the API server; `qps` below 0: unlimited. 0 means what it means to Go's client: 5, and 10 for bursts.
struct rate_config {
    double qps = -1;
    std::int32_t burst = 100;
    bool operator==(const rate_config&) const = default;

    [[nodiscard]] double effective_qps() const { return qps == 0 ? 5 : qps; }
    [[nodiscard]] double effective_burst() const { return burst == 0 ? 10 : burst; }
};

struct status_server_config {
    std::uint16_t port = 10443;
    rate_config rate{.qps = 5, .burst = 10};
    bool operator==(const status_server_config&) const = default;
};

struct tls_config {
    std::string min_version = "1.2";           // 1.0 and 1.1 are taken and mean 1.2
    std::vector<std::string> cipher_suites{};  // Go's names; empty: a sane default
    std::vector<std::string> next_protos = {"h2", "http/1.1"};
    bool operator==(const tls_config&) const = default;
};

struct events_config {
    bool normal = false;  // JobSetCreated, Suspended, … beside the warnings
    bool operator==(const events_config&) const = default;
};

// Each namespace has a watch of its own for each kind, and all watches share a connection with the writes.
inline constexpr std::size_t namespaces_max = 8;

struct configuration {
    std::vector<std::string> namespaces{};  // that are looked at; empty: all
    webhook_config webhook{};
    election_config election{};
    metrics_config metrics{};
    health_config health{};
    concurrency_config concurrency{};
    certificate_config certificates{};
    rate_config client{};
    status_server_config status_server{};
    tls_config tls{};
    events_config events{};
    gate_choices gates{};               // as written; see effective()
    std::vector<std::string> warnings;  // what is taken, but not to the letter; for the log

    [[nodiscard]] feature_gates effective_gates() const { return effective(gates); }
};

// YAML or JSON. The error is one line, "path: what is wrong, what is allowed".
[[nodiscard]] base::result<configuration> read_configuration(std::string_view text);
// The effective configuration, as a file that reads as the same. What Kubeflow Trainer v2.3.0 does not start with is in
// it only where it is not the default; a comment at the top lists it.
[[nodiscard]] std::string to_yaml(const configuration& config);

}  // namespace cotrain::app
