// Results as JSON and back.
#include "app/bench_result.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "api/json.hpp"
#include "base/json_text.hpp"

namespace cotrain::app {

namespace {

constexpr std::string_view format_name = "cotrain-bench/1";

void text(std::string& out, std::string_view key, std::string_view value) {
    base::append_json_string(out, key);
    out += ':';
    base::append_json_string(out, value);
}

void number(std::string& out, double value) {
    // Nobody reads a tenth of a percent of a thousandth.
    const double scale = value == 0 ? 1 : std::pow(10, 5 - std::ceil(std::log10(std::abs(value))));
    base::append_json_number(out, std::round(value * scale) / scale);
}

template <class Range, class Write>
void list(std::string& out, const Range& all, Write write) {
    out += '[';
    bool first = true;
    for (const auto& each : all) {
        if (!std::exchange(first, false)) out += ',';
        write(each);
    }
    out += ']';
}

void append(std::string& out, const controller_result& from) {
    out += '{';
    text(out, "name", from.name);
    out += ',';
    text(out, "command", from.command);
    out += ",\n\"metrics\":{";
    bool first = true;
    for (const auto& [key, values] : from.metrics) {
        if (!std::exchange(first, false)) out += ",\n";
        base::append_json_string(out, key);
        out += ':';
        list(out, values, [&](double each) { number(out, each); });
    }
    out += "},\n\"curve\":";
    list(out, from.curve, [&](const auto& each) {
        out += '[';
        base::append_json_number(out, each.first);
        out += ',';
        number(out, each.second);
        out += ']';
    });
    out += ",\n\"samples\":";
    list(out, from.samples, [&](const bench_sample& each) {
        list(out, std::array{each.seconds, each.cpu_seconds, each.resident_mib, static_cast<double>(each.jobs)},
             [&](double value) { number(out, value); });
    });
    out += ",\n\"trafficJobs\":" + std::to_string(from.traffic_jobs) + ",\"traffic\":{";
    first = true;
    for (const auto& [what, row] : from.traffic) {
        if (!std::exchange(first, false)) out += ",\n";
        base::append_json_string(out, what);
        out += ':';
        list(out, std::array{row.requests, row.bytes_sent, row.bytes_received},
             [&](std::uint64_t value) { out += std::to_string(value); });
    }
    out += "}}";
}

double at(api::ref list, std::size_t index) { return list.at(index).as_double().value_or(0); }

std::uint64_t count_at(api::ref list, std::size_t index) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(0, list.at(index).as_int(0)));
}

controller_result read_controller(api::ref from) {
    controller_result out;
    out.name = from.get("name").as_string();
    out.command = from.get("command").as_string();
    for (const auto& each : from.get("metrics").members())
        for (const api::ref value : each.value.items())
            out.metrics[std::string(each.key())].push_back(value.as_double().value_or(0));
    for (const api::ref each : from.get("curve").items()) out.curve.emplace_back(at(each, 0), at(each, 1));
    for (const api::ref each : from.get("samples").items())
        out.samples.push_back({at(each, 0), at(each, 1), at(each, 2), count_at(each, 3)});
    for (const auto& each : from.get("traffic").members())
        out.traffic[std::string(each.key())] = {count_at(each.value, 0), count_at(each.value, 1),
                                                count_at(each.value, 2)};
    out.traffic_jobs = static_cast<std::uint64_t>(std::max<std::int64_t>(0, from.get("trafficJobs").as_int(0)));
    return out;
}

}  // namespace

std::span<const bench_metric> bench_metrics() {
    static constexpr std::array all{
        bench_metric{"p50_ms", "create → JobSet, p50", "ms", false, true},
        bench_metric{"p90_ms", "p90", "ms", false, true},
        bench_metric{"p99_ms", "p99", "ms", false, true},
        bench_metric{"p999_ms", "p99.9", "ms", false, false},
        bench_metric{"own_p50_ms", "of it not in the server, p50", "ms", false, true},
        bench_metric{"own_p99_ms", "of it not in the server, p99", "ms", false, true},
        bench_metric{"jobs_per_second", "jobs a second", "", true, true},
        bench_metric{"cpu_ms_per_job", "CPU a job", "ms", false, true},
        bench_metric{"resident_idle_mib", "resident memory, idle", "MiB", false, true},
        bench_metric{"resident_peak_mib", "resident memory, peak", "MiB", false, true},
        bench_metric{"requests_per_job", "requests a job", "", false, true},
        bench_metric{"bytes_sent_per_job", "bytes sent a job", "B", false, true},
        bench_metric{"bytes_received_per_job", "bytes received a job", "B", false, true},
        bench_metric{"first_apply_ms", "exec → first apply", "ms", false, true},
        bench_metric{"start_ms", "exec → first JobSet", "ms", false, true},
        bench_metric{"bench_cpu_ms_per_job", "CPU a job of server and load", "ms", false, false},
    };
    return all;
}

const std::vector<double>* controller_result::find(std::string_view key) const {
    const auto found = metrics.find(key);
    return found == metrics.end() || found->second.empty() ? nullptr : &found->second;
}

const controller_result* bench_result::find(std::string_view name) const {
    const auto found = std::ranges::find(controllers, name, &controller_result::name);
    return found == controllers.end() ? nullptr : &*found;
}

std::string to_json(const bench_result& result) {
    std::string out = "{";
    text(out, "format", format_name);
    out += ",\n";
    text(out, "load", result.load);
    out += ",\n";
    text(out, "server", result.server);
    out += ",\n";
    text(out, "version", result.version);
    out += ",\n\"controllers\":";
    list(out, result.controllers, [&](const controller_result& each) { append(out, each); });
    return out + "}\n";
}

base::result<bench_result> read_bench_result(std::string_view json) {
    api::arena memory;
    const auto read = api::parse_json(memory, json);
    if (!read) return base::fail(read.error());
    if (read->get("format").as_string() != format_name)
        return base::fail(base::errc::invalid, "this is no result of cotrain bench --json");
    bench_result out;
    out.load = read->get("load").as_string();
    out.server = read->get("server").as_string();
    out.version = read->get("version").as_string();
    for (const api::ref each : read->get("controllers").items()) out.controllers.push_back(read_controller(each));
    return out;
}

}  // namespace cotrain::app
