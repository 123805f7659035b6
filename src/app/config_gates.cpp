// The table of gates and the rules that Kubernetes' components share for setting them.
#include "app/config_gates.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "app/config_values.hpp"

namespace cotrain::app {

namespace {

struct gate {
    std::string_view name;
    bool feature_gates::* state;
    bool ours = true;  // the reference does not know it
};

constexpr std::array gates{
    gate{"MutableWhileSuspended", &feature_gates::mutable_while_suspended},
    gate{"TrainJobLifecycleConditions", &feature_gates::lifecycle_conditions},
    gate{"TrainJobStatus", &feature_gates::train_job_status, false},
    gate{"TrainJobTTL", &feature_gates::train_job_ttl},
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

gate_choices to_choices(const feature_gates& states) {
    gate_choices out;
    for (const gate& each : gates) out.emplace_back(each.name, states.*each.state);
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

}  // namespace cotrain::app
