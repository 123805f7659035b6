#include "playground/status_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace cotrain::playground {

namespace {

constexpr std::size_t cells_max = 20;
constexpr std::size_t cells_min = 4;

std::string bar(const job_progress& of, std::size_t cells) {
    const std::size_t full =
        of.pods <= 0 ? 0
                     : static_cast<std::size_t>(std::clamp<std::int64_t>(
                           of.ready * static_cast<std::int64_t>(cells) / of.pods, 0, static_cast<std::int64_t>(cells)));
    std::string out;
    for (std::size_t i = 0; i < cells; ++i) out += i < full ? "█" : "░";
    return out;
}

}  // namespace

std::string status_line(std::span<const job_progress> jobs, std::size_t columns) {
    std::vector<std::string> behind;
    std::size_t texts = 0;
    for (const job_progress& each : jobs) {
        behind.push_back(fmt::format(" {}/{} pods{}{}", each.ready, each.pods, each.end.empty() ? "" : " ", each.end));
        texts += (texts == 0 ? 2 : 4) + each.name.size() + behind.back().size();
    }
    // The last column stays free: some terminals wrap when it is written.
    const std::size_t room = columns > 0 ? columns - 1 : 0;
    const std::size_t left = room > texts + jobs.size() ? room - texts - jobs.size() : 0;
    const std::size_t cells = jobs.empty() ? 0 : std::min(cells_max, left / jobs.size());
    std::string out;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        out += i == 0 ? "  " : "    ";
        out += jobs[i].name;
        if (cells >= cells_min) out += " " + bar(jobs[i], cells);
        out += behind[i];
    }
    // Without bars a byte is a column.
    return cells >= cells_min || out.size() <= room ? out : out.substr(0, room);
}

}  // namespace cotrain::playground
