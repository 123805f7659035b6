// Strict reading of the Configuration: unknown fields, wrong types and values out of range end it, with their path.
#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <limits>

#include "api/decode.hpp"
#include "api/yaml.hpp"
#include "app/config.hpp"
#include "app/config_tls.hpp"

namespace cotrain::app {

namespace {

using api::place;
using std::chrono::milliseconds;

constexpr std::size_t name_bytes_max = 253;
constexpr std::size_t endpoint_bytes_max = 63;
constexpr std::size_t label_bytes_max = 63;
constexpr std::size_t cipher_suites_max = 100;

void allow(const place& at, std::initializer_list<std::string_view> keys) {
    for (const api::member& each : at.value().members()) {
        if (std::ranges::find(keys, each.key()) != keys.end()) continue;
        std::string text = "unknown field, allowed: ";
        for (const std::string_view key : keys) text.append(key == *keys.begin() ? "" : ", ").append(key);
        return at.member(each.key()).mistake(text);
    }
}

// True when there is something to read and it is of that kind; says what was expected otherwise.
bool has_text(const place& at, std::string_view wanted) {
    if (!at) return false;
    if (!at.value().is_string()) at.expected(wanted);
    return at.value().is_string();
}

void read_port(const place& section, std::string_view key, std::uint16_t& out) {
    const place at = section.member(key);
    if (!at) return;
    const auto number = at.value().is_number() ? at.value().as_int() : std::nullopt;
    if (!number || *number < 1 || *number > 65535) return at.expected("a port from 1 to 65535");
    out = static_cast<std::uint16_t>(*number);
}

void read_bind(const place& section, std::string_view key, listen_address& out) {
    constexpr std::string_view wanted =
        "[HOST]:PORT with an IP address, localhost or nothing as host, or \"0\" for no server";
    const place at = section.member(key);
    if (!has_text(at, wanted) || at.value().text().empty()) return;  // the empty text means the default
    const auto address = parse_listen_address(at.value().text());
    if (!address) return at.expected(wanted);
    out = *address;
}

// The name of an object or Service, as far as it can be judged without asking the API server.
void read_name(const place& section, std::string_view key, std::string& out) {
    constexpr std::string_view wanted = "a name of at most 253 lower-case letters, digits, '-' and '.'";
    const place at = section.member(key);
    if (!has_text(at, wanted) || at.value().text().empty()) return;
    const auto text = at.value().text();
    const bool fits = text.size() <= name_bytes_max &&
                      text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-.") == std::string_view::npos &&
                      text.find_first_of("-.") != 0 && text.find_last_of("-.") != text.size() - 1;
    if (!fits) return at.expected(wanted);
    out = text;
}

void read_endpoint(const place& section, std::string_view key, std::string& out) {
    constexpr std::string_view wanted = "a path segment of at most 63 letters, digits, '-', '_' and '.'";
    const place at = section.member(key);
    if (!has_text(at, wanted)) return;
    auto text = at.value().text();
    if (text.starts_with('/')) text.remove_prefix(1);
    if (text.empty()) return;
    const bool fits =
        text.size() <= endpoint_bytes_max && text != "." && text != ".." && std::ranges::all_of(text, [](char c) {
            return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
                   c == '.';
        });
    if (!fits) return at.expected(wanted);
    out = text;
}

void read_duration(const place& section, std::string_view key, milliseconds& out) {
    constexpr std::string_view wanted = "a duration above 0 like \"15s\" or \"1m30s\"";
    const place at = section.member(key);
    if (!has_text(at, wanted)) return;
    const auto duration = parse_go_duration(at.value().text());
    if (!duration || duration->count() <= 0) return at.expected(wanted);
    out = *duration;
}

void read_webhook(const place& root, webhook_config& out) {
    const place section = root.object("webhook");
    allow(section, {"port", "host", "enabled", "clientCA"});
    section.read("enabled", out.enabled);
    read_port(section, "port", out.port);
    const place authority = section.member("clientCA");
    if (has_text(authority, "the path of a file")) out.client_ca = authority.value().text();
    if (!out.client_ca.empty() && !out.client_ca.starts_with('/')) authority.expected("an absolute path");
    const place host = section.member("host");
    constexpr std::string_view wanted = "an IP address, or \"\" for all interfaces";
    if (!has_text(host, wanted) || host.value().text().empty()) return;
    const auto ip = parse_ip(host.value().text());
    if (!ip) return host.expected(wanted);
    out.host = *ip;
}

void read_namespaces(const place& root, std::vector<std::string>& out) {
    const place list = root.array("namespaces");
    if (list.size() > namespaces_max) {
        return list.mistake("too many, allowed: at most " + std::to_string(namespaces_max) +
                            ", or none for all namespaces");
    }
    for (std::size_t i = 0; i < list.size(); ++i) {
        const place at = list.item(i);
        const auto name = at.value().as_string();
        const bool fits = !name.empty() && name.size() <= label_bytes_max &&
                          name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string_view::npos &&
                          name.front() != '-' && name.back() != '-';
        if (!fits) return at.expected("a namespace: at most 63 lower-case letters, digits and '-'");
        if (std::ranges::contains(out, name)) return at.mistake("is there twice");
        out.emplace_back(name);
    }
}

void read_election(const place& root, election_config& out) {
    const place section = root.object("leaderElection");
    allow(section, {"leaderElect", "leaseDuration", "renewDeadline", "retryPeriod", "resourceLock", "resourceName",
                    "resourceNamespace"});
    section.read("leaderElect", out.enabled);
    read_duration(section, "leaseDuration", out.lease);
    read_duration(section, "renewDeadline", out.renew);
    read_duration(section, "retryPeriod", out.retry);
    read_name(section, "resourceName", out.lease_name);
    read_name(section, "resourceNamespace", out.ns);
    const place lock = section.member("resourceLock");
    if (has_text(lock, "leases") && !lock.value().text().empty() && lock.value().text() != "leases")
        lock.expected("leases");
    if (!section) return;
    if (out.lease <= out.renew) {
        section.member("leaseDuration")
            .mistake(to_go_duration(out.lease) + " is not longer than renewDeadline, allowed: more than " +
                     to_go_duration(out.renew));
    }
    // The waits between attempts are up to 1.2 times as long.
    if (out.renew * 10 <= out.retry * 12) {
        section.member("renewDeadline")
            .mistake(to_go_duration(out.renew) + " is too short for retryPeriod, allowed: more than 1.2 times " +
                     to_go_duration(out.retry));
    }
}

void read_metrics(const place& root, metrics_config& out) {
    const place section = root.object("metrics");
    allow(section, {"bindAddress", "secureServing", "authentication"});
    read_bind(section, "bindAddress", out.bind);
    section.read("secureServing", out.secure);
    section.read("authentication", out.authentication);
    if (out.authentication && !out.secure)
        section.member("authentication").mistake("needs TLS, allowed: true only with secureServing: true");
}

void read_health(const place& root, health_config& out) {
    const place section = root.object("health");
    allow(section, {"healthProbeBindAddress", "readinessEndpointName", "livenessEndpointName"});
    read_bind(section, "healthProbeBindAddress", out.bind);
    read_endpoint(section, "readinessEndpointName", out.readiness);
    read_endpoint(section, "livenessEndpointName", out.liveness);
}

void read_concurrency(const place& root, concurrency_config& out) {
    struct kind {
        std::string_view key;
        std::int32_t* count;
    };
    const std::array kinds{
        kind{"TrainJob.trainer.kubeflow.org", &out.train_job},
        kind{"TrainingRuntime.trainer.kubeflow.org", &out.training_runtime},
        kind{"ClusterTrainingRuntime.trainer.kubeflow.org", &out.cluster_training_runtime},
    };
    const place section = root.object("controller");
    allow(section, {"groupKindConcurrency"});
    const place counts = section.object("groupKindConcurrency");
    allow(counts, {kinds[0].key, kinds[1].key, kinds[2].key});
    for (const kind& each : kinds) {
        const place at = counts.member(each.key);
        if (!at) continue;
        const auto number = at.value().is_number() ? at.value().as_int() : std::nullopt;
        constexpr auto most = std::numeric_limits<std::int32_t>::max();
        if (!number || *number < 1 || *number > most)
            at.expected("an integer from 1 to " + std::to_string(most));
        else
            *each.count = static_cast<std::int32_t>(*number);
    }
}

void read_certificates(const place& root, certificate_config& out) {
    const place section = root.object("certManagement");
    allow(section, {"enable", "webhookServiceName", "webhookSecretName"});
    section.read("enable", out.managed);
    read_name(section, "webhookServiceName", out.service);
    read_name(section, "webhookSecretName", out.secret);
}

void read_rate(const place& section, rate_config& out) {
    const place qps = section.member("qps");
    if (qps) {
        const auto number = qps.value().is_number() ? qps.value().as_double() : std::nullopt;
        const bool fits = number && std::isfinite(*number) && *number <= std::numeric_limits<float>::max() &&
                          (*number >= 0 || *number == -1);
        if (!fits) return qps.expected("a number from 0 up, or -1 for no limit");
        out.qps = *number;
    }
    const place burst = section.member("burst");
    if (!burst) return;
    const auto number = burst.value().is_number() ? burst.value().as_int() : std::nullopt;
    constexpr auto most = std::numeric_limits<std::int32_t>::max();
    if (!number || *number < 0 || *number > most) return burst.expected("an integer from 0 to " + std::to_string(most));
    out.burst = static_cast<std::int32_t>(*number);
}

void read_status_server(const place& root, status_server_config& out) {
    const place section = root.object("statusServer");
    allow(section, {"port", "qps", "burst"});
    read_port(section, "port", out.port);
    read_rate(section, out.rate);
}

void read_gates(const place& root, gate_choices& out) {
    const place section = root.object("featureGates");
    for (const api::member& each : section.value().members()) {
        const place at = section.member(each.key());
        if (!is_gate(each.key())) return at.mistake("no such gate, allowed: " + gate_names());
        if (!each.value.is_bool()) return at.expected("true or false");
        out.emplace_back(each.key(), *each.value.as_bool());
    }
}

void read_suites(const place& section, configuration& out) {
    const place list = section.array("cipherSuites");
    if (list.size() > cipher_suites_max) return list.mistake("too many, allowed: at most 100");
    bool any = list.size() == 0;
    for (std::size_t i = 0; i < list.size(); ++i) {
        const place at = list.item(i);
        const auto name = at.value().as_string();
        const auto standing = standing_of(name);
        if (standing == suite_standing::unknown) return at.expected("one of " + good_suites());
        if (standing == suite_standing::insecure)
            out.warnings.push_back(at.path() + ": " + std::string(name) + " is insecure");
        if (standing == suite_standing::dropped)
            out.warnings.push_back(at.path() + ": " + std::string(name) + " is broken and no longer served");
        any = any || standing != suite_standing::dropped;
        out.tls.cipher_suites.emplace_back(name);
    }
    if (!any) list.mistake("none of these can be served, allowed: " + good_suites());
}

void read_tls(const place& root, configuration& out) {
    const place section = root.object("tls");
    allow(section, {"minVersion", "cipherSuites", "nextProtos"});
    const place version = section.member("minVersion");
    if (has_text(version, "\"1.2\" or \"1.3\", in quotes") && !version.value().text().empty()) {
        const auto text = version.value().text();
        if (text == "1.0" || text == "1.1") {
            out.warnings.push_back("tls.minVersion: " + std::string(text) +
                                   " is broken; 1.2 is the least that is served");
        } else if (text == "1.2" || text == "1.3") {
            out.tls.min_version = text;
        } else {
            version.expected("\"1.2\" or \"1.3\"");
        }
    }
    read_suites(section, out);
    const place list = section.array("nextProtos");
    if (list.size() > 0) out.tls.next_protos.clear();
    for (std::size_t i = 0; i < list.size(); ++i) {
        const place at = list.item(i);
        const auto name = at.value().as_string();
        if (name != "h2" && name != "http/1.1") return at.expected("h2 or http/1.1");
        if (std::ranges::find(out.tls.next_protos, name) == out.tls.next_protos.end())
            out.tls.next_protos.emplace_back(name);
    }
}

void read_root(const place& root, configuration& out) {
    allow(root, {"apiVersion", "kind", "webhook", "leaderElection", "metrics", "health", "controller", "certManagement",
                 "clientConnection", "statusServer", "featureGates", "tls", "events", "namespaces"});
    const place version = root.member("apiVersion");
    const place kind = root.member("kind");
    if (!version) version.mistake("is required, allowed: " + std::string(config_api_version));
    if (version && version.value().as_string() != config_api_version) version.expected(config_api_version);
    if (!kind) kind.mistake("is required, allowed: " + std::string(config_kind));
    if (kind && kind.value().as_string() != config_kind) kind.expected(config_kind);
    read_namespaces(root, out.namespaces);
    read_webhook(root, out.webhook);
    read_election(root, out.election);
    read_metrics(root, out.metrics);
    read_health(root, out.health);
    read_concurrency(root, out.concurrency);
    read_certificates(root, out.certificates);
    const place client = root.object("clientConnection");
    allow(client, {"qps", "burst"});
    read_rate(client, out.client);
    read_status_server(root, out.status_server);
    read_gates(root, out.gates);
    read_tls(root, out);
    const place events = root.object("events");
    allow(events, {"normal"});
    events.read("normal", out.events.normal);
}

}  // namespace

base::result<configuration> read_configuration(std::string_view text) {
    if (text.size() > config_bytes_max) return base::fail(base::errc::invalid, "is larger than 1 MiB");
    api::arena memory;
    const auto document = api::parse_yaml(memory, text);
    if (!document) return base::fail(base::errc::invalid, document.error().message);
    if (document->is_unset())
        return base::fail(base::errc::invalid, "is empty, needed: apiVersion: " + std::string(config_api_version) +
                                                   " and kind: " + std::string(config_kind));
    api::decoding outcome("");
    const place root(outcome, *document);
    configuration out;
    if (!document->is_object()) {
        root.expected("an object");
    } else {
        read_root(root, out);
    }
    if (!outcome.ok()) return outcome.fail();
    return out;
}

}  // namespace cotrain::app
