// The page: tables, and what they are medians of as curves.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/bench_plot.hpp"
#include "app/bench_report.hpp"

namespace cotrain::app {

namespace {

constexpr std::string_view style =
    "body{margin:2rem auto;max-width:64rem;padding:0 1rem;font:15px/1.5 "
    "system-ui,sans-serif;color:#1c2126;background:#f6f7f9}"
    "h1{font-size:1.5rem;margin:0}p{margin:.3rem 0 1.2rem;color:#46505a}"
    "section{background:#fff;border:1px solid #e4e7eb;border-radius:8px;padding:1rem;margin:0 0 1rem;overflow-x:auto}"
    "svg{display:block;max-width:100%;height:auto;margin:auto}"
    "table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}"
    "th,td{padding:.3rem .7rem;border-bottom:1px solid #e4e7eb;text-align:right;white-space:nowrap}"
    "th:first-child,td:first-child{text-align:left}thead th{border-bottom:2px solid #ced4da}"
    ".worse{color:#c92a2a;font-weight:600}.better{color:#2b8a3e}code{font-size:.85em;word-break:break-all}";

constexpr double nines_of(double share) { return share >= 1 ? 9 : -std::log10(1 - share); }

std::string latency_plot(const bench_result& result) {
    plot out{.title = "From a TrainJob to its JobSet: how many were there by when",
             .x = {.label = "milliseconds since the job was due", .log = true},
             .y = {.label = "share of all jobs",
                   .ticks = {{0, "0 %"}, {nines_of(.5), "50 %"}, {1, "90 %"}, {2, "99 %"}, {3, "99.9 %"}}}};
    double most = 0;
    for (const controller_result& each : result.controllers) {
        plot_series line{.name = each.name};
        for (const auto& [share, value] : each.curve) {
            line.points.emplace_back(std::max(value, 1e-3), nines_of(share));
            most = std::max(most, nines_of(share));
        }
        out.series.push_back(std::move(line));
    }
    if (most > 3.2) out.y.ticks.emplace_back(4, "99.99 %");
    if (most > 4.2) out.y.ticks.emplace_back(5, "99.999 %");
    return draw(out);
}

template <class Point>
std::string sample_plot(const bench_result& result, plot out, Point point) {
    for (const controller_result& each : result.controllers) {
        plot_series line{.name = each.name};
        for (std::size_t i = 0; i < each.samples.size(); ++i)
            if (const auto made = point(each.samples, i)) line.points.push_back(*made);
        out.series.push_back(std::move(line));
    }
    return draw(out);
}

using maybe_point = std::optional<std::pair<double, double>>;

maybe_point memory_by_time(const std::vector<bench_sample>& all, std::size_t i) {
    return std::pair{all[i].seconds, all[i].resident_mib};
}

maybe_point memory_by_jobs(const std::vector<bench_sample>& all, std::size_t i) {
    return std::pair{static_cast<double>(all[i].jobs), all[i].resident_mib};
}

// Over a tenth of all jobs at a time: the system's clock ticks in steps of 10 ms.
maybe_point cpu_by_jobs(const std::vector<bench_sample>& all, std::size_t i) {
    const std::uint64_t window = std::max<std::uint64_t>(all.back().jobs / 10, 1);
    // What comes after the last JobSet belongs to all jobs, not to the last ones.
    if (i > 0 && all[i].jobs == all[i - 1].jobs) return std::nullopt;
    std::size_t from = i;
    while (from > 0 && all[i].jobs - all[from].jobs < window) --from;
    const std::uint64_t jobs = all[i].jobs - all[from].jobs;
    if (jobs < window || jobs == 0) return std::nullopt;
    return std::pair{static_cast<double>(all[i].jobs),
                     (all[i].cpu_seconds - all[from].cpu_seconds) * 1e3 / static_cast<double>(jobs)};
}

std::string metric_table(const bench_result& result) {
    std::string out = "<table><thead><tr><th>median of the repetitions (interval)</th>";
    for (const controller_result& each : result.controllers) out += "<th>" + escaped(each.name) + "</th>";
    out += "</tr></thead>\n";
    for (const bench_metric& metric : bench_metrics()) {
        std::string row;
        bool any = false;
        for (const controller_result& each : result.controllers) {
            const auto* const values = each.find(metric.key);
            any = any || values != nullptr;
            row += "<td>" + (values == nullptr ? std::string("–") : figure(*values)) + "</td>";
        }
        const std::string unit = metric.unit.empty() ? "" : fmt::format(", {}", metric.unit);
        if (any) out += fmt::format("<tr><td>{}{}</td>{}</tr>\n", escaped(metric.label), unit, row);
    }
    return out + "</table>\n";
}

std::string traffic_table(const bench_result& result) {
    std::string out;
    for (const controller_result& each : result.controllers) {
        if (each.traffic.empty()) continue;
        out += fmt::format(
            "<section><table><thead><tr><th>{}: for each job</th><th>requests</th><th>bytes sent</th>"
            "<th>bytes received</th></tr></thead>\n",
            escaped(each.name));
        const double jobs = std::max(1.0, static_cast<double>(each.traffic_jobs));
        for (const auto& [what, row] : each.traffic)
            out += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n", escaped(what),
                               figure(static_cast<double>(row.requests) / jobs),
                               figure(static_cast<double>(row.bytes_sent) / jobs),
                               figure(static_cast<double>(row.bytes_received) / jobs));
        out += "</table></section>\n";
    }
    return out;
}

std::string comparison_table(const bench_comparison& from) {
    std::string out = fmt::format(
        "<section><table><thead><tr><th>against {}</th><th>controller</th><th>worse by</th><th>95 % interval</th>"
        "<th>verdict</th></tr></thead>\n",
        escaped(from.against));
    for (const bench_change& each : from.changes) {
        const auto percent = [](double value) { return fmt::format("{:+.1f} %", (value - 1) * 100); };
        const char* const kind = each.verdict == bench_verdict::worse    ? "worse"
                                 : each.verdict == bench_verdict::better ? "better"
                                                                         : "";
        out += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{} to {}</td><td class=\"{}\">{}</td></tr>\n",
                           escaped(each.metric.label), escaped(each.controller), percent(each.ratio.middle),
                           percent(each.ratio.low), percent(each.ratio.high), kind, to_string(each.verdict));
    }
    return out + "</table></section>\n";
}

}  // namespace

std::string bench_page(const bench_result& result, const maybe_comparison& comparison) {
    std::string out = fmt::format(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
        "content=\"width=device-width\"><title>cotrain bench</title><style>{}</style></head><body>\n"
        "<h1>cotrain bench</h1>\n<p>{}. API server: {}. Bench of cotrain {}.</p>\n",
        style, escaped(result.load), escaped(result.server), escaped(result.version));
    if (comparison) out += comparison_table(*comparison);
    out += "<section>" + latency_plot(result) + "</section>\n<section>" + metric_table(result) + "</section>\n";
    out += "<section>" +
           sample_plot(result,
                       {.title = "Resident memory over time",
                        .x = {.label = "seconds since the first job", .from_zero = true},
                        .y = {.label = "MiB", .from_zero = true}},
                       memory_by_time) +
           "</section>\n<section>" +
           sample_plot(result,
                       {.title = "Resident memory by jobs",
                        .x = {.label = "jobs that have their JobSet", .from_zero = true},
                        .y = {.label = "MiB", .from_zero = true}},
                       memory_by_jobs) +
           "</section>\n<section>" +
           sample_plot(result,
                       {.title = "CPU of the controller for each job, as jobs grow in number",
                        .x = {.label = "jobs that have their JobSet", .from_zero = true},
                        .y = {.label = "milliseconds a job", .from_zero = true}},
                       cpu_by_jobs) +
           "</section>\n" + traffic_table(result);
    for (const controller_result& each : result.controllers)
        out += fmt::format("<p>{}: <code>{}</code></p>\n", escaped(each.name),
                           escaped(each.command.empty() ? "cotrain operator" : each.command));
    return out + "</body></html>\n";
}

}  // namespace cotrain::app
