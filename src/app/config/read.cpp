#include <algorithm>
#include <array>
#include <boost/asio/ip/address.hpp>
#include <charconv>
#include <cmath>
#include <initializer_list>
#include <limits>

#include "app/config/config.hpp"
#include "base/encoding.hpp"
#include "doc/decode.hpp"
#include "doc/yaml.hpp"

namespace cotrain::app {

namespace {

using std::chrono::milliseconds;

constexpr double duration_ms_max = 1000.0 * 3600 * 24 * 365;

struct unit {
    std::string_view name;
    double ms;
};
// Longer names first: "ms" before "m".
constexpr std::array units{unit{"ns", 1e-6}, unit{"us", 1e-3},  unit{"µs", 1e-3},    unit{"μs", 1e-3},
                           unit{"ms", 1},    unit{"s", 1000.0}, unit{"m", 60'000.0}, unit{"h", 3'600'000.0}};

const unit* take_unit(std::string_view& text) {
    for (const unit& each : units) {
        if (!text.starts_with(each.name)) continue;
        text.remove_prefix(each.name.size());
        return &each;
    }
    return nullptr;
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
    std::uint16_t port = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), port);
    if (code != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return port;
}

using doc::place;
using std::chrono::milliseconds;
using warnings = std::vector<std::string>;

constexpr std::size_t name_bytes_max = 253;
constexpr std::size_t endpoint_bytes_max = 63;
constexpr std::size_t label_bytes_max = 63;
constexpr std::size_t shown_bytes_max = 80;

std::string shown(std::string_view text) { return "\"" + base::one_line(text, shown_bytes_max) + "\""; }

void allow(const place& at, std::initializer_list<std::string_view> keys) {
    for (const doc::member& each : at.value().members()) {
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

// The reference serves /healthz and /readyz whatever these names are.
void read_endpoint(const place& section, std::string_view key, std::string& out, warnings& told) {
    const place at = section.member(key);
    if (!has_text(at, "a path segment")) return;
    auto text = at.value().text();
    if (text.starts_with('/')) text.remove_prefix(1);
    if (text.empty()) return;
    const bool fits =
        text.size() <= endpoint_bytes_max && text != "." && text != ".." && std::ranges::all_of(text, [](char c) {
            return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
                   c == '.';
        });
    if (fits)
        out = text;
    else
        told.push_back(at.path() + ": " + shown(text) + " is no path segment of at most 63 letters, digits, '-', '_' " +
                       "and '.': " + out + " is served");
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

// Values that nobody uses end no start: a section with a wrong one is left out.
template <class Section>
void read_unused(const place& root, std::string_view key, Section& out, void (*read)(const place&, Section&),
                 std::string_view why, warnings& told) {
    doc::decoding outcome("");
    const place again(outcome, root.value());
    Section given = out;
    read(again.object(key), given);
    if (outcome.ok())
        out = given;
    else
        told.push_back(outcome.fail().error().message + "; the section is left out, because " + std::string(why));
}

void read_election_values(const place& section, election_config& out) {
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

void read_election(const place& root, election_config& out, warnings& told) {
    const place section = root.object("leaderElection");
    allow(section, {"leaderElect", "leaseDuration", "renewDeadline", "retryPeriod", "resourceLock", "resourceName",
                    "resourceNamespace"});
    section.read("leaderElect", out.enabled);
    if (out.enabled) return read_election_values(section, out);
    for (const doc::member& each : section.value().members())
        if (each.key() != "leaderElect") (void)has_text(section.member(each.key()), "a text");
    read_unused(root, "leaderElection", out, read_election_values, "leaderElect is not true", told);
}

void read_metrics(const place& root, metrics_config& out) {
    const place section = root.object("metrics");
    allow(section, {"bindAddress", "secureServing", "authentication", "auth", "namespaceLabel"});
    read_bind(section, "bindAddress", out.bind);
    section.read("secureServing", out.secure);
    section.read("authentication", out.authentication);
    section.read("namespaceLabel", out.by_namespace);
    // The next Kubeflow Trainer's name for it. Charts print one of both as false beside the other one.
    const place auth = section.object("auth");
    allow(auth, {"enabled"});
    bool enabled = false;
    auth.read("enabled", enabled);
    for (const place& chosen : {section.member("authentication"), auth.member("enabled")})
        if (!out.secure && chosen.value().as_bool().value_or(false))
            chosen.mistake("needs TLS, allowed: true only with secureServing: true");
    out.authentication = out.authentication || enabled;
}

void read_health(const place& root, health_config& out, warnings& told) {
    const place section = root.object("health");
    allow(section, {"healthProbeBindAddress", "readinessEndpointName", "livenessEndpointName"});
    read_bind(section, "healthProbeBindAddress", out.bind);
    read_endpoint(section, "readinessEndpointName", out.readiness, told);
    read_endpoint(section, "livenessEndpointName", out.liveness, told);
}

// The keys are no fields: the reference takes any.
void read_concurrency(const place& root, concurrency_config& out, warnings& told) {
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
    for (const doc::member& each : counts.value().members()) {
        const place at = counts.member(each.key());
        const auto number = at.value().is_number() ? at.value().as_int() : std::nullopt;
        constexpr auto most = std::numeric_limits<std::int32_t>::max();
        if (!number || *number < 1 || *number > most)
            return at.expected("an integer from 1 to " + std::to_string(most));
        const auto known = std::ranges::find(kinds, each.key(), &kind::key);
        if (known != kinds.end())
            *known->count = static_cast<std::int32_t>(*number);
        else
            told.push_back(at.path() + ": no such controller, left out; there are " + std::string(kinds[0].key) + ", " +
                           std::string(kinds[1].key) + " and " + std::string(kinds[2].key));
    }
}

void read_certificate_names(const place& section, certificate_config& out) {
    read_name(section, "webhookServiceName", out.service);
    read_name(section, "webhookSecretName", out.secret);
}

void read_certificates(const place& root, certificate_config& out, warnings& told) {
    const place section = root.object("certManagement");
    allow(section, {"enable", "webhookServiceName", "webhookSecretName"});
    section.read("enable", out.managed);
    if (out.managed) return read_certificate_names(section, out);
    for (const std::string_view key : {"webhookServiceName", "webhookSecretName"})
        (void)has_text(section.member(key), "a name");
    read_unused(root, "certManagement", out, read_certificate_names, "enable is false", told);
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
    for (const doc::member& each : section.value().members()) {
        const place at = section.member(each.key());
        if (!is_gate(each.key())) return at.mistake("no such gate, allowed: " + gate_names());
        if (!each.value.is_bool() && !each.value.is_null()) return at.expected("true or false");
        out.emplace_back(each.key(), each.value.as_bool(false));  // as Go reads null
    }
}

// The texts of a list; as Go reads null, the empty one.
std::vector<std::string_view> read_names(const place& list) {
    std::vector<std::string_view> out;
    for (std::size_t i = 0; i < list.size(); ++i) {
        const place at = list.item(i);
        if (at && !at.value().is_string()) at.expected("a string");
        out.push_back(at.value().as_string());
    }
    return out;
}

// Which names there are the list of plugins knows, and says at the start.
void read_plugins(const place& root, std::vector<std::string>& out) {
    const place section = root.object("plugins");
    allow(section, {"disabled"});
    const place list = section.array("disabled");
    for (const std::string_view name : read_names(list)) {
        if (name.empty()) return list.expected("names of plugins");
        if (!std::ranges::contains(out, name)) out.emplace_back(name);
    }
}

void read_suites(const place& section, configuration& out) {
    const place list = section.array("cipherSuites");
    const auto names = read_names(list);
    for (std::size_t i = 0; i < names.size(); ++i) {
        const std::string path = list.item(i).path() + ": ";
        const std::string name(names[i]);
        const auto standing = standing_of(name);
        if (standing == suite_standing::unknown) {
            out.warnings.push_back(path + shown(name) + " is no cipher suite, left out; there are " + good_suites());
            continue;
        }
        if (standing == suite_standing::insecure) out.warnings.push_back(path + name + " is insecure");
        if (standing == suite_standing::dropped)
            out.warnings.push_back(path + name + " is broken and no longer served");
        out.tls.cipher_suites.push_back(name);
    }
    if (!names.empty() && out.tls.cipher_suites.empty())
        out.warnings.push_back(list.path() + ": none is left, the default ones are served");
}

void read_version(const place& section, configuration& out) {
    const place version = section.member("minVersion");
    if (!has_text(version, "\"1.2\" or \"1.3\", in quotes") || version.value().text().empty()) return;
    const auto text = version.value().text();
    if (text == "1.2" || text == "1.3")
        out.tls.min_version = text;
    else if (text == "1.0" || text == "1.1")
        out.warnings.push_back("tls.minVersion: " + std::string(text) + " is broken; 1.2 is the least that is served");
    else
        out.warnings.push_back("tls.minVersion: " + shown(text) + " is no version, left out: " + out.tls.min_version +
                               " is the least that is served; there are \"1.2\" and \"1.3\"");
}

void read_protocols(const place& section, configuration& out) {
    const place list = section.array("nextProtos");
    const auto names = read_names(list);
    std::vector<std::string> known;
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (names[i] != "h2" && names[i] != "http/1.1") {
            out.warnings.push_back(list.item(i).path() + ": " + shown(names[i]) +
                                   " is not served, left out; there are h2 and http/1.1");
        } else if (std::ranges::find(known, names[i]) == known.end()) {
            known.emplace_back(names[i]);
        }
    }
    if (!known.empty())
        out.tls.next_protos = std::move(known);
    else if (!names.empty())
        out.warnings.push_back(list.path() + ": none is left, the default ones are served");
}

void read_tls(const place& root, configuration& out) {
    const place section = root.object("tls");
    allow(section, {"minVersion", "cipherSuites", "nextProtos"});
    read_version(section, out);
    read_suites(section, out);
    read_protocols(section, out);
}

// The reference knows what it reads without them.
void read_type(const place& root, std::string_view key, std::string_view wanted, warnings& told) {
    const place at = root.member(key);
    if (!at || at.value().as_string("-").empty())
        told.push_back(std::string(key) + ": is missing, read as " + std::string(wanted));
    else if (at.value().as_string() != wanted)
        at.expected(wanted);
}

void read_root(const place& root, configuration& out) {
    allow(root, {"apiVersion", "kind", "webhook", "leaderElection", "metrics", "health", "controller", "certManagement",
                 "clientConnection", "statusServer", "featureGates", "tls", "events", "namespaces", "plugins"});
    read_type(root, "apiVersion", config_api_version, out.warnings);
    read_type(root, "kind", config_kind, out.warnings);
    read_namespaces(root, out.namespaces);
    read_webhook(root, out.webhook);
    read_election(root, out.election, out.warnings);
    read_metrics(root, out.metrics);
    read_health(root, out.health, out.warnings);
    read_concurrency(root, out.concurrency, out.warnings);
    read_certificates(root, out.certificates, out.warnings);
    const place client = root.object("clientConnection");
    allow(client, {"qps", "burst"});
    read_rate(client, out.client);
    read_status_server(root, out.status_server);
    read_gates(root, out.gates);
    read_tls(root, out);
    const place events = root.object("events");
    allow(events, {"normal"});
    events.read("normal", out.events.normal);
    read_plugins(root, out.disabled_plugins);
}

}  // namespace

std::optional<milliseconds> parse_go_duration(std::string_view text) {
    if (text == "0") return milliseconds(0);
    if (text.starts_with('+')) text.remove_prefix(1);
    if (text.empty()) return std::nullopt;
    double total = 0;
    while (!text.empty()) {
        const auto digits = text.find_first_not_of("0123456789.");
        const auto number = text.substr(0, digits);
        double value = 0;
        const auto [end, code] = base::from_chars(number.data(), number.data() + number.size(), value);
        if (code != std::errc{} || end != number.data() + number.size()) return std::nullopt;
        text.remove_prefix(number.size());
        const unit* const of = take_unit(text);
        if (of == nullptr) return std::nullopt;
        total += value * of->ms;
    }
    if (!(total <= duration_ms_max)) return std::nullopt;
    return milliseconds(std::llround(total));
}

std::string to_go_duration(milliseconds duration) {
    if (duration.count() % 1000 != 0) return std::to_string(duration.count()) + "ms";
    return std::to_string(duration.count() / 1000) + "s";
}

std::optional<bool> parse_go_bool(std::string_view text) {
    for (const std::string_view yes : {"1", "t", "T", "true", "TRUE", "True"})
        if (text == yes) return true;
    for (const std::string_view no : {"0", "f", "F", "false", "FALSE", "False"})
        if (text == no) return false;
    return std::nullopt;
}

std::optional<std::string> parse_ip(std::string_view text) {
    if (text == "localhost") return "127.0.0.1";
    boost::system::error_code error;
    boost::asio::ip::make_address(std::string(text), error);
    if (error) return std::nullopt;
    return std::string(text);
}

std::optional<listen_address> parse_listen_address(std::string_view text) {
    if (text == "0") return listen_address{.enabled = false, .host = {}, .port = 0};
    const auto colon = text.rfind(':');
    if (colon == std::string_view::npos) return std::nullopt;
    const auto port = parse_port(text.substr(colon + 1));
    std::string_view host = text.substr(0, colon);
    if (!port) return std::nullopt;
    if (host.empty()) return listen_address{.enabled = true, .host = {}, .port = *port};
    const bool brackets = host.size() > 2 && host.starts_with('[') && host.ends_with(']');
    if (brackets) host = host.substr(1, host.size() - 2);
    if (brackets != (host.find(':') != std::string_view::npos)) return std::nullopt;
    const auto ip = parse_ip(host);
    if (!ip) return std::nullopt;
    return listen_address{.enabled = true, .host = *ip, .port = *port};
}

std::string to_text(const listen_address& address) {
    if (!address.enabled) return "0";
    const bool v6 = address.host.find(':') != std::string::npos;
    return (v6 ? "[" + address.host + "]" : address.host) + ":" + std::to_string(address.port);
}

base::result<configuration> read_configuration(std::string_view text) {
    if (text.size() > config_bytes_max) return base::fail(base::errc::invalid, "is larger than 1 MiB");
    doc::arena memory;
    const auto document = doc::parse_yaml(memory, text);
    if (!document) return base::fail(base::errc::invalid, document.error().message);
    doc::decoding outcome("");
    const place root(outcome, document->is_unset() ? doc::ref::empty_object() : *document);
    configuration out;
    if (!root.value().is_object()) {
        root.expected("an object");
    } else {
        read_root(root, out);
    }
    if (!outcome.ok()) return outcome.fail();
    return out;
}

}  // namespace cotrain::app
