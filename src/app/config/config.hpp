// The configuration of kind Configuration with gates and single values: what it means, how it is read and printed.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "admission/gates.hpp"
#include "base/error.hpp"
#include "net/tls/context.hpp"

namespace cotrain::app {

// Single values as Go programs spell them in configurations and flags: durations, booleans, listen addresses.

// Where a server listens.
struct listen_address {
    bool enabled = true;
    std::string host{};  // an IP address without brackets; empty: all interfaces
    std::uint16_t port = 0;
    bool operator==(const listen_address&) const = default;
};

// "1h2m3.5s", "300ms": to whole milliseconds. Nothing for anything else, negative and unbelievably long ones.
[[nodiscard]] std::optional<std::chrono::milliseconds> parse_go_duration(std::string_view text);
[[nodiscard]] std::string to_go_duration(std::chrono::milliseconds duration);

// true, TRUE, True, t, T, 1 and their opposites.
[[nodiscard]] std::optional<bool> parse_go_bool(std::string_view text);

// "[HOST]:PORT" with an IP address or localhost, IPv6 in brackets; "0" is a server that is turned off.
[[nodiscard]] std::optional<listen_address> parse_listen_address(std::string_view text);
[[nodiscard]] std::string to_text(const listen_address& address);
// An IP address without brackets; `localhost` becomes 127.0.0.1.
[[nodiscard]] std::optional<std::string> parse_ip(std::string_view text);

// Feature gates: their names, what is chosen in file and flag, and what that comes to.

// All are alpha and off by default.
struct feature_gates {
    bool train_job_status = false;      // progress reports
    bool lifecycle_conditions = false;  // Pending, Running, Ready
    bool mutable_while_suspended = false;
    bool train_job_ttl = false;
    bool workload_aware = false;  // runtimes have spec.scheduling
    bool elastic = false;         // TrainJobs change their number of nodes while they run
    bool operator==(const feature_gates&) const = default;
};

// Names and choices in the order they were made; of the same name the last counts.
using gate_choices = std::vector<std::pair<std::string, bool>>;

// "TrainJobStatus, … and AllAlpha, AllBeta": for messages.
[[nodiscard]] std::string gate_names();
[[nodiscard]] bool is_gate(std::string_view name);
[[nodiscard]] bool is_gate_of_reference(std::string_view name);
// A gate's own choice counts before AllAlpha's.
[[nodiscard]] feature_gates effective(const gate_choices& choices);
// Those that change what admission allows.
[[nodiscard]] admission::gates to_admission(const feature_gates& states);
// Every gate by name with its state.
[[nodiscard]] gate_choices to_choices(const feature_gates& gates);
// The names of those that are on.
[[nodiscard]] std::vector<std::string> open_gates(const feature_gates& gates);
// "A=true,B=false", as in --feature-gates. Errors name the gate and what is allowed.
[[nodiscard]] base::result<gate_choices> parse_gates(std::string_view text);

// The operator's configuration: the file of kind Configuration with its defaults, as a plain value.

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
    bool by_namespace = false;    // TrainJobs are counted by namespace, too
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
    bool normal = true;  // Created, Started, Suspended, … beside the warnings
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
    std::vector<std::string> disabled_plugins{};  // names, which the list of plugins checks
    gate_choices gates{};                         // as written; see effective()
    std::vector<std::string> warnings;            // what is taken, but not to the letter; for the log

    [[nodiscard]] feature_gates effective_gates() const { return effective(gates); }
};

// YAML or JSON. The error is one line, "path: what is wrong, what is allowed".
[[nodiscard]] base::result<configuration> read_configuration(std::string_view text);
// The effective configuration, as a file that reads as the same. What Kubeflow Trainer v2.3.0 does not start with is in
// it only where it is not the default; a comment at the top lists it.
[[nodiscard]] std::string to_yaml(const configuration& config);

// The configuration's TLS choices, in Go's names, as our servers need them.

enum class suite_standing : std::uint8_t { unknown, dropped, insecure, good };

// What we make of a cipher suite by Go's name. `dropped`: Go has it, our TLS library no longer.
[[nodiscard]] suite_standing standing_of(std::string_view go_name);
// The names that are good, for messages.
[[nodiscard]] std::string good_suites();

// Everything but certificates; `config` must have been read by read_configuration().
[[nodiscard]] net::tls::server_options to_server_options(const tls_config& config);

}  // namespace cotrain::app
