// What `cotrain doctor` has to say: findings with what to do about them, for people and for scripts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cotrain::app {

enum class verdict : std::uint8_t {
    fine,
    unknown,  // could not be looked at
    advice,   // works, but something is missing or will go wrong
    problem
};

struct finding {
    verdict how = verdict::fine;
    std::string_view area;  // "connection", "definitions", …
    std::string what;
    std::string remedy{};  // empty where nothing is to be done
    bool operator==(const finding&) const = default;
};

using findings = std::vector<finding>;

// A line for each, its remedy below, then a line of sums.
[[nodiscard]] std::string to_text(const findings& all);
// {"problems": 1, "unknown": 0, "findings": [{"verdict": …, "area": …, "what": …, "remedy": …}]}
[[nodiscard]] std::string to_json(const findings& all);
// 1 if there is a problem, else 0.
[[nodiscard]] int exit_code(const findings& all);

}  // namespace cotrain::app
