#include "app/config/flags.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "app/command.hpp"
#include "app/config/config.hpp"
#include "base/read_file.hpp"

namespace cotrain::app {

namespace {

struct gate {
    std::string_view name;
    bool feature_gates::* state;
    bool ours = true;  // the reference does not know it
};

constexpr std::array gates{
    gate{"ElasticTrainJob", &feature_gates::elastic},
    gate{"MutableWhileSuspended", &feature_gates::mutable_while_suspended},
    gate{"TrainJobLifecycleConditions", &feature_gates::lifecycle_conditions},
    gate{"TrainJobStatus", &feature_gates::train_job_status, false},
    gate{"TrainJobTTL", &feature_gates::train_job_ttl},
    gate{"TrainJobWorkloadAwareScheduling", &feature_gates::workload_aware},
};

constexpr std::string_view all_alpha = "AllAlpha";
constexpr std::string_view all_beta = "AllBeta";

std::optional<bool> last_choice(const gate_choices& choices, std::string_view name) {
    const auto found =
        std::ranges::find_if(choices.rbegin(), choices.rend(), [name](const auto& each) { return each.first == name; });
    if (found == choices.rend()) return std::nullopt;
    return found->second;
}

std::string_view trim(std::string_view text) {
    const auto first = text.find_first_not_of(" \t");
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

struct flag {
    std::string_view name;
    std::string_view help;
    // Nothing, or what is allowed.
    std::optional<std::string> (*set)(operator_flags& out, std::string_view value);
    bool boolean = false;  // may stand without a value
};

using outcome = std::optional<std::string>;

outcome one_of(std::string_view value, std::initializer_list<std::string_view> allowed) {
    std::string lower(value);
    std::ranges::transform(lower, lower.begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    if (std::ranges::find(allowed, lower) != allowed.end()) return std::nullopt;
    std::string list;
    for (const std::string_view each : allowed) list.append(list.empty() ? "" : ", ").append(each);
    return list;
}

outcome set_config(operator_flags& out, std::string_view value) {
    out.config_file = value;
    return std::nullopt;
}

outcome set_gates(operator_flags& out, std::string_view value) {
    auto choices = parse_gates(value);
    if (!choices) return choices.error().message;
    out.gates.insert(out.gates.end(), choices->begin(), choices->end());
    return std::nullopt;
}

outcome set_kubeconfig(operator_flags& out, std::string_view value) {
    out.kubeconfig = value;
    return std::nullopt;
}

outcome set_cert_dir(operator_flags& out, std::string_view value) {
    out.webhook_cert_dir = value;
    return std::nullopt;
}

// Numbers above 0 are zap's levels below debug: we have none below it.
outcome set_level(operator_flags& out, std::string_view value) {
    std::int64_t number = 0;
    const std::string_view digits = value.starts_with('+') ? value.substr(1) : value;
    const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (code == std::errc{} && end == digits.data() + digits.size() && number > 0) {
        out.log_level = base::level::debug;
        return std::nullopt;
    }
    if (auto wrong = one_of(value, {"debug", "info", "error", "panic"}))
        return *wrong + ", or a number above 0 for more than info";
    const char first = value.front();
    if (first == 'd' || first == 'D') out.log_level = base::level::debug;
    if (first == 'i' || first == 'I') out.log_level = base::level::info;
    if (first == 'e' || first == 'E' || first == 'p' || first == 'P') out.log_level = base::level::error;
    return std::nullopt;
}

outcome set_devel(operator_flags& out, std::string_view value) {
    const auto on = parse_go_bool(value);
    if (!on) return "true or false";
    if (*on) out.log_level = base::level::debug;
    return std::nullopt;
}

outcome take_encoder(operator_flags&, std::string_view value) { return one_of(value, {"json", "console"}); }
outcome take_stacktrace(operator_flags&, std::string_view value) { return one_of(value, {"info", "error", "panic"}); }
outcome take_time(operator_flags&, std::string_view value) {
    // The reference's help says nano, and it takes nanos.
    return one_of(value, {"epoch", "millis", "nano", "nanos", "iso8601", "rfc3339", "rfc3339nano"});
}

constexpr std::array flags{
    flag{"--config", "FILE of kind Configuration; without it, defaults", set_config},
    flag{"--feature-gates", "NAME=true,NAME=false: wins over the file's featureGates", set_gates},
    flag{"--kubeconfig", "FILE; without it KUBECONFIG, the Pod's service account, ~/.kube/config", set_kubeconfig},
    flag{"--webhook-cert-dir", "DIR with tls.crt and tls.key, used with certManagement.enable: false", set_cert_dir},
    flag{"--zap-log-level", "debug, info, error, or a number above 0 for more than info", set_level},
    flag{"--zap-devel", "as --zap-log-level=debug", set_devel, true},
    flag{"--zap-encoder", "taken for compatibility: the log is JSON lines", take_encoder},
    flag{"--zap-stacktrace-level", "taken for compatibility", take_stacktrace},
    flag{"--zap-time-encoding", "taken for compatibility: times are RFC 3339", take_time},
};

}  // namespace

std::string gate_names() {
    std::string names;
    for (const gate& each : gates) names.append(each.name).append(", ");
    return names.append(all_alpha).append(", ").append(all_beta);
}

bool is_gate(std::string_view name) {
    return name == all_alpha || name == all_beta ||
           std::ranges::any_of(gates, [name](const gate& each) { return each.name == name; });
}

bool is_gate_of_reference(std::string_view name) {
    return std::ranges::any_of(gates, [name](const gate& each) { return each.name == name && !each.ours; });
}

feature_gates effective(const gate_choices& choices) {
    feature_gates out;
    const bool alpha = last_choice(choices, all_alpha).value_or(false);
    for (const gate& each : gates) out.*each.state = last_choice(choices, each.name).value_or(alpha);
    return out;
}

admission::gates to_admission(const feature_gates& states) {
    return {.mutable_while_suspended = states.mutable_while_suspended,
            .ttl = states.train_job_ttl,
            .elastic = states.elastic};
}

gate_choices to_choices(const feature_gates& states) {
    gate_choices out;
    for (const gate& each : gates) out.emplace_back(each.name, states.*each.state);
    return out;
}

std::vector<std::string> open_gates(const feature_gates& states) {
    std::vector<std::string> out;
    for (const gate& each : gates)
        if (states.*each.state) out.emplace_back(each.name);
    return out;
}

base::result<gate_choices> parse_gates(std::string_view text) {
    gate_choices out;
    while (!text.empty()) {
        const auto comma = text.find(',');
        const auto word = trim(text.substr(0, comma));
        text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
        if (word.empty()) continue;
        const auto equals = word.find('=');
        const std::string name(trim(word.substr(0, equals)));
        if (!is_gate(name)) {
            return base::fail(base::errc::invalid,
                              base::one_line(name, 80) + ": no such gate, allowed: " + gate_names());
        }
        const auto choice =
            equals == std::string_view::npos ? std::nullopt : parse_go_bool(trim(word.substr(equals + 1)));
        if (!choice) {
            return base::fail(base::errc::invalid,
                              name + ": needs a value, allowed: " + name + "=true or " + name + "=false");
        }
        out.emplace_back(name, *choice);
    }
    return out;
}

std::vector<option_word> operator_words() {
    std::vector<option_word> out;
    for (const flag& each : flags) out.push_back({std::string(each.name), !each.boolean});
    return out;
}

base::result<operator_flags> read_flags(arguments words) {
    operator_flags out;
    std::vector<option> known;
    for (const flag& each : flags) {
        const auto take = [&out, &each](std::string_view value) -> base::result<> {
            const outcome allowed = each.set(out, value);
            if (!allowed) return {};
            return base::fail(base::errc::invalid,
                              "'" + base::one_line(value, 80) + "' cannot be used, allowed: " + *allowed);
        };
        known.push_back({each.name, take, each.boolean ? "true" : ""});
    }
    if (auto read = read_options(words, known); !read) return base::fail(std::move(read.error()));
    return out;
}

std::string flag_help() {
    std::string text;
    for (const flag& each : flags) {
        std::string name = "  " + std::string(each.name);
        name.resize(std::max(name.size() + 1, std::size_t{26}), ' ');
        text.append(name).append(each.help).append("\n");
    }
    return text;
}

base::result<configuration> load_configuration(const operator_flags& flags_given) {
    configuration out;
    if (!flags_given.config_file.empty()) {
        const auto text = base::read_file(flags_given.config_file, config_bytes_max);
        if (!text) return std::unexpected(text.error());
        auto read = read_configuration(*text);
        if (!read) return base::fail(std::move(read.error()).during(flags_given.config_file));
        out = std::move(*read);
    }
    out.gates.insert(out.gates.end(), flags_given.gates.begin(), flags_given.gates.end());
    return out;
}

std::string default_cert_dir() {
    const char* const temporary = std::getenv("TMPDIR");
    return std::string(temporary != nullptr && *temporary != '\0' ? temporary : "/tmp") +
           "/k8s-webhook-server/serving-certs";
}

int run_config(arguments words) {
    if (asks_for_help(words)) {
        std::printf("usage: cotrain config [flags of the operator]\n\n%s", flag_help().c_str());
        return 0;
    }
    const auto given = read_flags(words);
    if (!given) return used_wrongly("config: " + given.error().message);
    const auto config = load_configuration(*given);
    if (!config) return used_wrongly("config: " + config.error().message);
    for (const std::string& warning : config->warnings)
        std::fprintf(stderr, "cotrain config: warning: %s\n", warning.c_str());
    std::fputs(to_yaml(*config).c_str(), stdout);
    return 0;
}

}  // namespace cotrain::app
