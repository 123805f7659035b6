#include "bench/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace cotrain::bench {

namespace {

constexpr double width = 760, height = 380;
constexpr double left = 76, right = 20, top = 64, bottom = 52;
constexpr std::array<std::string_view, 8> colours{"#1f6fd0", "#d9480f", "#2b8a3e", "#9c36b5",
                                                  "#0b7285", "#a61e4d", "#5f3dc4", "#495057"};

using ticks = std::vector<std::pair<double, std::string>>;

std::string short_number(double value) {
    if (value == 0) return "0";
    if (std::abs(value) >= 1e6) return fmt::format("{:g}M", value / 1e6);
    if (std::abs(value) >= 1e4) return fmt::format("{:g}k", value / 1e3);
    return fmt::format("{:g}", std::round(value * 1e6) / 1e6);
}

class scale {
   public:
    scale(const plot_axis& axis, std::vector<double> values, double at_low, double at_high)
        : log_(axis.log), at_low_(at_low), at_high_(at_high) {
        for (const auto& [value, text] : axis.ticks) values.push_back(value);
        if (log_) std::erase_if(values, [](double each) { return each <= 0; });
        if (values.empty()) values = {log_ ? 1.0 : 0.0};
        low_ = std::ranges::min(values);
        high_ = std::ranges::max(values);
        if (axis.from_zero && !log_) low_ = std::min(low_, 0.0);
        ticks_ = axis.ticks;
        if (log_) {
            low_ = std::pow(10, std::floor(std::log10(low_) + 1e-9));
            high_ = std::pow(10, std::max(std::ceil(std::log10(high_) - 1e-9), std::log10(low_) + 1));
            if (ticks_.empty())
                for (double at = low_; at <= high_ * 1.001; at *= 10) ticks_.emplace_back(at, short_number(at));
        } else if (ticks_.empty()) {
            round_ends();
        }
        if (high_ <= low_) high_ = low_ + 1;
    }

    [[nodiscard]] double at(double value) const {
        const double part =
            log_ ? (std::log(std::max(value, low_)) - std::log(low_)) / (std::log(high_) - std::log(low_))
                 : (value - low_) / (high_ - low_);
        return at_low_ + part * (at_high_ - at_low_);
    }
    [[nodiscard]] const ticks& marks() const { return ticks_; }

   private:
    void round_ends() {
        const double span = std::max(high_ - low_, std::max(std::abs(high_) * 0.01, 1e-9));
        const double power = std::pow(10, std::floor(std::log10(span / 5)));
        double step = power;
        for (const double factor : {1.0, 2.0, 5.0, 10.0})
            if (span / (step = factor * power) <= 6) break;
        low_ = std::floor(low_ / step + 1e-9) * step;
        high_ = std::ceil(high_ / step - 1e-9) * step;
        const auto count = static_cast<int>(std::lround((high_ - low_) / step));
        for (int i = 0; i <= count; ++i) ticks_.emplace_back(low_ + i * step, short_number(low_ + i * step));
    }

    bool log_;
    double at_low_, at_high_;
    double low_ = 0, high_ = 1;
    ticks ticks_;
};

std::vector<double> values_of(const plot& what, bool x) {
    std::vector<double> out;
    for (const plot_series& each : what.series)
        for (const auto& point : each.points) out.push_back(x ? point.first : point.second);
    return out;
}

std::string grid(const scale& x, const scale& y) {
    std::string out;
    for (const auto& [value, text] : x.marks())
        out += fmt::format(
            "<path d=\"M{0:.1f} {1}V{2}\" stroke=\"#e4e7eb\"/><text x=\"{0:.1f}\" y=\"{3}\" "
            "text-anchor=\"middle\">{4}</text>\n",
            x.at(value), top, height - bottom, height - bottom + 17, escaped(text));
    for (const auto& [value, text] : y.marks())
        out += fmt::format(
            "<path d=\"M{0} {1:.1f}H{2}\" stroke=\"#e4e7eb\"/><text x=\"{3}\" y=\"{4:.1f}\" "
            "text-anchor=\"end\">{5}</text>\n",
            left, y.at(value), width - right, left - 8, y.at(value) + 4, escaped(text));
    return out;
}

constexpr std::string_view style =
    "body{margin:2rem auto;max-width:64rem;padding:0 1rem;font:15px/1.5 "
    "system-ui,sans-serif;color:#1c2126;background:#f6f7f9}"
    "h1{font-size:1.5rem;margin:0}p{margin:.3rem 0 1.2rem;color:#46505a}"
    "section{background:#fff;border:1px solid #e4e7eb;border-radius:8px;padding:1rem;margin:0 0 1rem;overflow-x:auto}"
    "svg{display:block;max-width:100%;height:auto;margin:auto}"
    "table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}"
    "th,td{padding:.3rem .7rem;border-bottom:1px solid #e4e7eb;text-align:right;white-space:nowrap}"
    "th:first-child,td:first-child{text-align:left}thead th{border-bottom:2px solid #ced4da}"
    "@media(max-width:40rem){body{margin:1rem auto}section{padding:.5rem}"
    "th,td{padding:.3rem;font-size:.8rem;white-space:normal}svg{min-width:32rem}}"
    ".worse{color:#c92a2a;font-weight:600}.better{color:#2b8a3e}code{font-size:.85em;word-break:break-all}"
    "@media(prefers-color-scheme:dark){body{color:#dee2e6;background:#101418}p{color:#adb5bd}"
    "section{background:#1a1f25;border-color:#343a40}th,td{border-color:#343a40}thead th{border-color:#495057}"
    "svg rect{fill:#1a1f25}svg text{fill:#ced4da}svg path[stroke='#e4e7eb']{stroke:#343a40}"
    ".worse{color:#ff8787}.better{color:#69db7c}}";

constexpr double nines_of(double share) { return share >= 1 ? 9 : -std::log10(1 - share); }

std::string latency_plot(const bench_result& result) {
    plot out{.title = "From create to done: how many were there by when",
             .x = {.label = "milliseconds since the object was due", .log = true},
             .y = {.label = "share of all objects",
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

// "; 1.20 changed nothing; 0.10 conflicts"
std::string waste(const bench_traffic& row, double objects) {
    std::string out;
    if (row.unchanged > 0)
        out += fmt::format("; {} changed nothing", figure(static_cast<double>(row.unchanged) / objects));
    if (row.conflicts > 0) out += fmt::format("; {} conflicts", figure(static_cast<double>(row.conflicts) / objects));
    return out;
}

std::string traffic_table(const bench_result& result) {
    std::string out;
    for (const controller_result& each : result.controllers) {
        if (each.traffic.empty()) continue;
        out += fmt::format(
            "<section><table><thead><tr><th>{}: for each object</th><th>requests</th><th>bytes sent</th>"
            "<th>bytes received</th></tr></thead>\n",
            escaped(each.name));
        const double jobs = std::max(1.0, static_cast<double>(each.traffic_jobs));
        for (const auto& [what, row] : each.traffic)
            out += fmt::format("<tr><td>{}{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n", escaped(what),
                               waste(row, jobs), figure(static_cast<double>(row.requests) / jobs),
                               figure(static_cast<double>(row.bytes_sent) / jobs),
                               figure(static_cast<double>(row.bytes_received) / jobs));
        out += "</table></section>\n";
    }
    return out;
}

// A factor as people compare it: above 1 it got worse.
std::string change_text(const interval& ratio) {
    return fmt::format("× {:.3g} ({:.3g} to {:.3g})", ratio.middle, ratio.low, ratio.high);
}

std::string verdict_of(const bench_comparison& from) {
    return fmt::format("{} than {} by more than {:.4g} %{}.", from.worse() ? "Worse" : "Nothing is worse", from.against,
                       from.fail_over * 100, from.worse() ? "" : ", as far as 95 % can tell");
}

std::string comparison_table(const bench_comparison& from) {
    std::string out = fmt::format(
        "<section><table><thead><tr><th>against {}; floor {:.4g} %</th><th>controller</th><th>worse by (95 % "
        "interval)</th>"
        "<th>verdict</th></tr></thead>\n",
        escaped(from.against), from.fail_over * 100);
    for (const bench_change& each : from.changes) {
        const char* const kind = each.verdict == bench_verdict::worse    ? "worse"
                                 : each.verdict == bench_verdict::better ? "better"
                                                                         : "";
        out += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td class=\"{}\">{}</td></tr>\n",
                           escaped(each.metric.label), escaped(each.controller), change_text(each.ratio), kind,
                           to_string(each.verdict));
    }
    return out + "</table></section>\n";
}

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
    cells out{{"requests an object (bytes sent, received)"}};
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
                              : fmt::format("{} ({}, {}){}", share(found->second.requests),
                                            share(found->second.bytes_sent), share(found->second.bytes_received),
                                            waste(found->second, jobs)));
        }
        out.push_back(std::move(row));
    }
    if (out.size() == 1) out.clear();
    return out;
}

cells comparison_rows(const bench_comparison& comparison) {
    cells out{{fmt::format("against {}; floor {:.4g} %", comparison.against, comparison.fail_over * 100), "controller",
               "worse by (95 % interval)", "verdict"}};
    for (const bench_change& each : comparison.changes)
        out.push_back({std::string(each.metric.label), each.controller, change_text(each.ratio),
                       std::string(to_string(each.verdict))});
    return out;
}

// As many as are seen: UTF-8 counts its first bytes.
std::size_t columns_of(std::string_view text) {
    return static_cast<std::size_t>(
        std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

std::string as_text(const cells& rows) {
    std::vector<std::size_t> widths;
    for (const auto& row : rows) {
        widths.resize(std::max(widths.size(), row.size()), 0);
        for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], columns_of(row[i]));
    }
    std::string out;
    for (const auto& row : rows) {
        for (std::size_t i = 0; i < row.size(); ++i) {
            const std::string gap(widths[i] - columns_of(row[i]), ' ');
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

std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '&') {
            out += "&amp;";
        } else if (c == '<') {
            out += "&lt;";
        } else if (c == '>') {
            out += "&gt;";
        } else if (c == '"') {
            out += "&quot;";
        } else {
            out += c;
        }
    }
    return out;
}

std::string draw(const plot& what) {
    const scale x(what.x, values_of(what, true), left, width - right);
    const scale y(what.y, values_of(what, false), height - bottom, top);
    std::string out = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\" "
        "aria-label=\"{2}\" font-family=\"system-ui, sans-serif\" font-size=\"12\" fill=\"#46505a\">\n"
        "<rect width=\"{0}\" height=\"{1}\" fill=\"#fff\"/>\n"
        "<text x=\"16\" y=\"24\" font-size=\"15\" font-weight=\"600\" fill=\"#1c2126\">{2}</text>\n",
        width, height, escaped(what.title));
    out += grid(x, y);
    double legend = left;
    for (std::size_t i = 0; i < what.series.size(); ++i) {
        const std::string_view colour = colours[i % colours.size()];
        std::string line;
        for (const auto& [px, py] : what.series[i].points)
            line += fmt::format("{}{:.1f} {:.1f}", line.empty() ? "M" : "L", x.at(px), y.at(py));
        if (!line.empty())
            out += fmt::format(
                "<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\" stroke-linejoin=\"round\"/>\n", line,
                colour);
        out += fmt::format(
            "<path d=\"M{0:.0f} 44h18\" stroke=\"{1}\" stroke-width=\"3\"/><text x=\"{2:.0f}\" y=\"48\">{3}</text>\n",
            legend, colour, legend + 24, escaped(what.series[i].name));
        legend += 44 + 7.0 * static_cast<double>(what.series[i].name.size());
    }
    out += fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"middle\">{}</text>\n", (left + width - right) / 2,
                       height - 12, escaped(what.x.label));
    out +=
        fmt::format("<text transform=\"translate(16 {:.0f}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n</svg>\n",
                    (top + height - bottom) / 2, escaped(what.y.label));
    return out;
}

std::string bench_page(const bench_result& result, const maybe_comparison& comparison) {
    std::string out = fmt::format(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
        "content=\"width=device-width\"><title>cotrain bench</title><style>{}</style></head><body>\n"
        "<h1>cotrain bench</h1>\n<p>{}. API server: {}. Bench of cotrain {}. {}. {}.</p>\n",
        style, escaped(result.load), escaped(result.server), escaped(result.version), escaped(result.machine),
        escaped(result.date));
    if (comparison)
        out += fmt::format("<p><strong class=\"{}\">{}</strong></p>\n", comparison->worse() ? "worse" : "better",
                           escaped(verdict_of(*comparison))) +
               comparison_table(*comparison);
    out += "<section>" + latency_plot(result) + "</section>\n<section>" + metric_table(result) + "</section>\n";
    out += "<section>" +
           sample_plot(result,
                       {.title = "Resident memory over time",
                        .x = {.label = "seconds since the first job", .from_zero = true},
                        .y = {.label = "MiB", .from_zero = true}},
                       memory_by_time) +
           "</section>\n<section>" +
           sample_plot(result,
                       {.title = "Resident memory by objects",
                        .x = {.label = "objects that are done", .from_zero = true},
                        .y = {.label = "MiB", .from_zero = true}},
                       memory_by_jobs) +
           "</section>\n<section>" +
           sample_plot(result,
                       {.title = "CPU of the controller for each object, as they grow in number",
                        .x = {.label = "objects that are done", .from_zero = true},
                        .y = {.label = "milliseconds an object", .from_zero = true}},
                       cpu_by_jobs) +
           "</section>\n" + traffic_table(result);
    for (const controller_result& each : result.controllers)
        out += fmt::format("<p>{}: <code>{}</code></p>\n", escaped(each.name),
                           escaped(each.command.empty() ? "cotrain operator" : each.command));
    return out + "</body></html>\n";
}

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
        const std::string says = verdict_of(*comparison);
        out += comparison->worse() ? "**Worse**" + says.substr(says.find(' ')) : says;
        out += "\n\n" + as_markdown(comparison_rows(*comparison)) + "\n";
    }
    out += fmt::format("{}; API server: {}; {}\n\n{}", result.load, result.server, how_many(result),
                       as_markdown(metric_rows(result)));
    if (const cells traffic = traffic_rows(result); !traffic.empty())
        out += "\n<details><summary>Requests</summary>\n\n" + as_markdown(traffic) + "\n</details>\n";
    return out;
}

}  // namespace cotrain::bench
