// Feature gates: their names, what is chosen in file and flag, and what that comes to.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace cotrain::app {

// All are alpha and off by default.
struct feature_gates {
    bool train_job_status = false;      // progress reports
    bool lifecycle_conditions = false;  // Pending, Running, Ready
    bool mutable_while_suspended = false;
    bool train_job_ttl = false;
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
// Every gate by name with its state.
[[nodiscard]] gate_choices to_choices(const feature_gates& gates);
// "A=true,B=false", as in --feature-gates. Errors name the gate and what is allowed.
[[nodiscard]] base::result<gate_choices> parse_gates(std::string_view text);

}  // namespace cotrain::app
