// Reading flags as Go's flag package does, and loading the file they name.
#include "app/config_flags.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <optional>

#include "kube/read_file.hpp"

namespace cotrain::app {

namespace {

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
    flag{"config", "FILE of kind Configuration; without it, defaults", set_config},
    flag{"feature-gates", "NAME=true,NAME=false: wins over the file's featureGates", set_gates},
    flag{"kubeconfig", "FILE; without it KUBECONFIG, the Pod's service account, ~/.kube/config", set_kubeconfig},
    flag{"webhook-cert-dir", "DIR with tls.crt and tls.key, used with certManagement.enable: false", set_cert_dir},
    flag{"zap-log-level", "debug, info, error, or a number above 0 for more than info", set_level},
    flag{"zap-devel", "as --zap-log-level=debug", set_devel, true},
    flag{"zap-encoder", "taken for compatibility: the log is JSON lines", take_encoder},
    flag{"zap-stacktrace-level", "taken for compatibility", take_stacktrace},
    flag{"zap-time-encoding", "taken for compatibility: times are RFC 3339", take_time},
};

std::string all_names() {
    std::string list;
    for (const flag& each : flags) list.append(list.empty() ? "--" : ", --").append(each.name);
    return list;
}

}  // namespace

base::result<operator_flags> read_flags(arguments words) {
    operator_flags out;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const auto wrong = [&words, i](const std::string& text) {
            return base::fail(base::errc::invalid, base::one_line(words[i], 120) + ": " + text);
        };
        std::string_view name = words[i];
        if (!name.starts_with('-')) return wrong("not a flag, allowed: " + all_names());
        name.remove_prefix(name.starts_with("--") ? 2 : 1);
        const auto equals = name.find('=');
        std::optional<std::string_view> value;
        if (equals != std::string_view::npos) value = name.substr(equals + 1);
        name = name.substr(0, equals);
        const auto found = std::ranges::find(flags, name, &flag::name);
        if (found == flags.end()) return wrong("no such flag, allowed: " + all_names());
        if (!value && found->boolean) value = "true";
        if (!value && i + 1 < words.size()) value = words[++i];
        if (!value) return wrong("needs a value: " + std::string(found->help));
        if (const auto allowed = found->set(out, *value)) {
            return base::fail(base::errc::invalid, "--" + std::string(name) + ": '" + base::one_line(*value, 80) +
                                                       "' cannot be used, allowed: " + *allowed);
        }
    }
    return out;
}

std::string flag_help() {
    std::string text;
    for (const flag& each : flags) {
        std::string name = "  --" + std::string(each.name);
        name.resize(std::max(name.size() + 1, std::size_t{26}), ' ');
        text.append(name).append(each.help).append("\n");
    }
    return text;
}

base::result<configuration> load_configuration(const operator_flags& flags_given) {
    configuration out;
    if (!flags_given.config_file.empty()) {
        const auto text = kube::read_file(flags_given.config_file, config_bytes_max);
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

}  // namespace cotrain::app
