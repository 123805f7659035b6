// Printing of findings.
#include "app/doctor_findings.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/json_text.hpp"

namespace cotrain::app {

namespace {

constexpr std::size_t line_bytes_max = 1000;  // of a text that came from the cluster

std::string_view name_of(verdict v) {
    switch (v) {
        case verdict::fine: return "fine";
        case verdict::unknown: return "unknown";
        case verdict::advice: return "advice";
        case verdict::problem: return "problem";
    }
    return "";
}

std::size_t count(const findings& all, verdict v) {
    return static_cast<std::size_t>(std::ranges::count(all, v, &finding::how));
}

}  // namespace

std::string to_text(const findings& all) {
    std::string out;
    for (const finding& each : all) {
        out += fmt::format("{:8} {:12} {}\n", name_of(each.how), each.area, base::one_line(each.what, line_bytes_max));
        if (!each.remedy.empty()) out += fmt::format("{:21} do: {}\n", "", base::one_line(each.remedy, line_bytes_max));
    }
    out += fmt::format("{} problems, {} pieces of advice, {} things that could not be looked at\n",
                       count(all, verdict::problem), count(all, verdict::advice), count(all, verdict::unknown));
    return out;
}

std::string to_json(const findings& all) {
    std::string out = fmt::format(R"({{"problems": {}, "unknown": {}, "findings": [)", count(all, verdict::problem),
                                  count(all, verdict::unknown));
    for (const finding& each : all) {
        out += out.back() == '[' ? "\n" : ",\n";
        out += fmt::format(R"(  {{"verdict": "{}", "area": "{}", "what": )", name_of(each.how), each.area);
        base::append_json_string(out, base::one_line(each.what, line_bytes_max));
        out += R"(, "remedy": )";
        base::append_json_string(out, base::one_line(each.remedy, line_bytes_max));
        out += '}';
    }
    out += "\n]}\n";
    return out;
}

int exit_code(const findings& all) { return count(all, verdict::problem) == 0 ? 0 : 1; }

}  // namespace cotrain::app
