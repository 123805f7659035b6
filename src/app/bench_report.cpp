// Tables of results, as plain text and as Markdown.
#include "app/bench_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace cotrain::app {

namespace {

std::string with_commas(std::string digits) {
    for (std::ptrdiff_t at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3)
        digits.insert(static_cast<std::size_t>(at), ",");
    return digits;
}

// Cells of a table: the first row is its head, the first column names things.
using cells = std::vector<std::vector<std::string>>;

cells metric_rows(const bench_result& result) {
    cells out{{"median of the repetitions (interval)"}};
    for (const controller_result& each : result.controllers) out[0].push_back(each.name);
    for (const bench_metric& metric : bench_metrics()) {
        std::vector<std::string> row{metric.unit.empty() ? std::string(metric.label)
                                                         : fmt::format("{}, {}", metric.label, metric.unit)};
        bool any = false;
        for (const controller_result& each : result.controllers) {
            const auto* const values = each.find(metric.key);
            any = any || values != nullptr;
            row.push_back(values == nullptr ? "–" : figure(*values));
        }
        if (any) out.push_back(std::move(row));
    }
    return out;
}

cells traffic_rows(const bench_result& result) {
    cells out{{"requests a job (bytes sent, received)"}};
    std::map<std::string, int> kinds;
    for (const controller_result& each : result.controllers) {
        out[0].push_back(each.name);
        for (const auto& [what, row] : each.traffic) kinds[what] = 0;
    }
    for (const auto& [what, unused] : kinds) {
        std::vector<std::string> row{what};
        for (const controller_result& each : result.controllers) {
            const auto found = each.traffic.find(what);
            const double jobs = std::max(1.0, static_cast<double>(each.traffic_jobs));
            const auto share = [&](std::uint64_t n) { return figure(static_cast<double>(n) / jobs); };
            row.push_back(found == each.traffic.end()
                              ? "–"
                              : fmt::format("{} ({}, {})", share(found->second.requests),
                                            share(found->second.bytes_sent), share(found->second.bytes_received)));
        }
        out.push_back(std::move(row));
    }
    if (out.size() == 1) out.clear();
    return out;
}

std::string change_text(const interval& ratio) {
    const auto percent = [](double value) { return fmt::format("{:+.1f}", (value - 1) * 100); };
    return fmt::format("{} % ({} to {})", percent(ratio.middle), percent(ratio.low), percent(ratio.high));
}

cells comparison_rows(const bench_comparison& comparison) {
    cells out{{fmt::format("against {}", comparison.against), "controller", "worse by (95 % interval)", "verdict"}};
    for (const bench_change& each : comparison.changes)
        out.push_back({std::string(each.metric.label), each.controller, change_text(each.ratio),
                       std::string(to_string(each.verdict))});
    return out;
}

// As many as are seen: UTF-8 counts its first bytes.
std::size_t width(std::string_view text) {
    return static_cast<std::size_t>(
        std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

std::string as_text(const cells& rows) {
    std::vector<std::size_t> widths;
    for (const auto& row : rows) {
        widths.resize(std::max(widths.size(), row.size()), 0);
        for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
    }
    std::string out;
    for (const auto& row : rows) {
        for (std::size_t i = 0; i < row.size(); ++i) {
            const std::string gap(widths[i] - width(row[i]), ' ');
            out += i == 0 ? row[i] + gap : "   " + gap + row[i];
        }
        out += '\n';
    }
    return out;
}

std::string as_markdown(const cells& rows) {
    std::string out;
    for (std::size_t r = 0; r < rows.size(); ++r) {
        out += '|';
        for (const std::string& cell : rows[r]) {
            out += ' ';
            for (const char c : cell) out += c == '|' ? std::string("\\|") : std::string(1, c);
            out += " |";
        }
        out += '\n';
        if (r != 0) continue;
        out += '|';
        for (std::size_t i = 0; i < rows[r].size(); ++i) out += i == 0 ? " --- |" : " ---: |";
        out += '\n';
    }
    return out;
}

std::string how_many(const bench_result& result) {
    std::size_t n = 0;
    if (!result.controllers.empty())
        if (const auto* const values = result.controllers.front().find("p50_ms")) n = values->size();
    return fmt::format("{} repetition{}; {}", n, n == 1 ? "" : "s",
                       n >= 6 ? "intervals of 95 %" : "from the smallest to the largest");
}

}  // namespace

std::string figure(double value) {
    const double size = std::abs(value);
    if (size >= 1000) return with_commas(fmt::format("{:.0f}", value));
    if (size >= 100) return fmt::format("{:.0f}", value);
    if (size >= 10) return fmt::format("{:.1f}", value);
    if (size >= 1 || size == 0) return fmt::format("{:.2f}", value);
    return fmt::format("{:.3f}", value);
}

std::string figure(const std::vector<double>& values) {
    const interval of = median_interval(values);
    if (values.size() == 1 || of.low == of.high) return figure(of.middle);
    return fmt::format("{} ({} to {})", figure(of.middle), figure(of.low), figure(of.high));
}

std::string bench_table(const bench_result& result, const maybe_comparison& comparison) {
    std::string out = fmt::format("{}\nAPI server: {}; {}\n\n", result.load, result.server, how_many(result));
    out += as_text(metric_rows(result));
    if (const cells traffic = traffic_rows(result); !traffic.empty()) out += "\n" + as_text(traffic);
    if (comparison) out += "\n" + as_text(comparison_rows(*comparison));
    return out;
}

std::string bench_markdown(const bench_result& result, const maybe_comparison& comparison) {
    std::string out = "### cotrain bench\n\n";
    if (comparison) {
        out += comparison->worse()
                   ? fmt::format("**Worse** than {} by more than {:.0f} %.\n\n", comparison->against,
                                 comparison->fail_over * 100)
                   : fmt::format("Nothing is worse than {} by more than {:.0f} %, as far as 95 % can tell.\n\n",
                                 comparison->against, comparison->fail_over * 100);
        out += as_markdown(comparison_rows(*comparison)) + "\n";
    }
    out += fmt::format("{}; API server: {}; {}\n\n{}", result.load, result.server, how_many(result),
                       as_markdown(metric_rows(result)));
    if (const cells traffic = traffic_rows(result); !traffic.empty())
        out += "\n<details><summary>Requests</summary>\n\n" + as_markdown(traffic) + "\n</details>\n";
    return out;
}

}  // namespace cotrain::app
