#include "bench/figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/json_text.hpp"
#include "doc/json.hpp"

namespace cotrain::bench {

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
        list(out, std::array{row.requests, row.bytes_sent, row.bytes_received, row.unchanged, row.conflicts},
             [&](std::uint64_t value) { out += std::to_string(value); });
    }
    out += "}}";
}

double at(doc::ref list, std::size_t index) { return list.at(index).as_double().value_or(0); }

std::uint64_t count_at(doc::ref list, std::size_t index) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(0, list.at(index).as_int(0)));
}

controller_result read_controller(doc::ref from) {
    controller_result out;
    out.name = from.get("name").as_string();
    out.command = from.get("command").as_string();
    for (const auto& each : from.get("metrics").members())
        for (const doc::ref value : each.value.items())
            out.metrics[std::string(each.key())].push_back(value.as_double().value_or(0));
    for (const doc::ref each : from.get("curve").items()) out.curve.emplace_back(at(each, 0), at(each, 1));
    for (const doc::ref each : from.get("samples").items())
        out.samples.push_back({at(each, 0), at(each, 1), at(each, 2), count_at(each, 3)});
    for (const auto& each : from.get("traffic").members())
        out.traffic[std::string(each.key())] = {count_at(each.value, 0), count_at(each.value, 1),
                                                count_at(each.value, 2), count_at(each.value, 3),
                                                count_at(each.value, 4)};
    out.traffic_jobs = static_cast<std::uint64_t>(std::max<std::int64_t>(0, from.get("trafficJobs").as_int(0)));
    return out;
}

// How many of all orders of n and m values have that U, as shares, up to u_max.
std::vector<double> mann_whitney(std::size_t n, std::size_t m) {
    // ways[i][u]: i of the first sample placed, by the recurrence over the largest value.
    const std::size_t u_max = n * m;
    std::vector<std::vector<double>> ways(n + 1, std::vector<double>(u_max + 1, 0));
    for (std::size_t i = 0; i <= n; ++i) ways[i][0] = 1;
    for (std::size_t j = 1; j <= m; ++j) {
        std::vector<std::vector<double>> next(n + 1, std::vector<double>(u_max + 1, 0));
        next[0][0] = 1;
        for (std::size_t i = 1; i <= n; ++i)
            for (std::size_t u = 0; u <= i * j; ++u) next[i][u] = ways[i][u] + (u >= j ? next[i - 1][u - j] : 0);
        ways = std::move(next);
    }
    double all = 0;
    for (const double each : ways[n]) all += each;
    for (double& each : ways[n]) each /= all;
    return ways[n];
}

// How many of the sorted values lie outside of the interval on either side; nothing if even all of them do not do.
template <class Share>
std::optional<std::size_t> cut(std::size_t count, Share share_of) {
    double below = 0;
    std::size_t k = 0;
    while (k < count && below + share_of(k) <= interval_doubt / 2) below += share_of(k++);
    if (k == 0) return std::nullopt;
    return k - 1;
}

// Above so many pairs the exact distribution takes long, and gigabytes, and the normal one is as good.
constexpr std::size_t exact_pairs_max = 2'500;

// The same for Mann-Whitney's U of n and m values.
std::optional<std::size_t> cut_pairs(std::size_t n, std::size_t m) {
    if (n * m <= exact_pairs_max) {
        const std::vector<double> shares = mann_whitney(n, m);
        return cut(shares.size() / 2, [&](std::size_t i) { return shares[i]; });
    }
    constexpr double quantile_of_doubt = 1.959964;  // of the normal distribution, at interval_doubt / 2
    static_assert(interval_doubt == 0.05);
    const auto pairs = static_cast<double>(n * m);
    const double below = pairs / 2 - quantile_of_doubt * std::sqrt(pairs * static_cast<double>(n + m + 1) / 12);
    if (below < 1) return std::nullopt;
    return static_cast<std::size_t>(below) - 1;
}

// How many of the sums of ranks 1 to n that signs make by chance are so large, as shares.
std::vector<double> signed_ranks(std::size_t n) {
    std::vector<double> shares(n * (n + 1) / 2 + 1, 0);
    shares[0] = 1;
    for (std::size_t rank = 1; rank <= n; ++rank) {
        std::vector<double> next(shares.size(), 0);
        for (std::size_t sum = 0; sum < shares.size(); ++sum)
            next[sum] = (shares[sum] + (sum >= rank ? shares[sum - rank] : 0)) / 2;
        shares = std::move(next);
    }
    return shares;
}

// Above so many pairs the distribution takes long; the last ones do.
constexpr std::size_t paired_max = 100;

double middle_of(std::span<const double> sorted) {
    const std::size_t n = sorted.size();
    return n % 2 == 1 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

// Of what is counted: timing decides how often two changes become one request.
constexpr double count_floor = 0.01;
// Times below this are the machine's, whatever is measured.
constexpr double time_noise_ms = 0.2;

bool is_noise(const bench_metric& metric, const std::vector<double>& base, const std::vector<double>& head) {
    return metric.unit == "ms" && std::abs(median(head) - median(base)) < time_noise_ms &&
           metric.key != "cpu_ms_per_job";
}

bench_verdict judge(const interval& ratio, double fail_over) {
    if (ratio.low > 1 + fail_over) return bench_verdict::worse;
    if (ratio.high < 1 / (1 + fail_over)) return bench_verdict::better;
    if (ratio.high <= 1 + fail_over && ratio.low >= 1 / (1 + fail_over)) return bench_verdict::same;
    return bench_verdict::not_told_apart;
}

// Where there was nothing, anything is more by any factor.
std::optional<interval> count_ratio(const std::vector<double>& base, const std::vector<double>& head) {
    const auto none = [](const std::vector<double>& all) {
        return std::ranges::all_of(all, [](double each) { return each == 0; });
    };
    const bool before = !none(base), now = !none(head);
    constexpr double more = std::numeric_limits<double>::infinity();
    if (base.size() < 4 || head.size() < 4 || (!before && !now)) return std::nullopt;
    if (!before && std::ranges::min(head) > 0) return interval{more, more, more};
    if (!now && std::ranges::min(base) > 0) return interval{0, 0, 0};
    return ratio_interval(base, head);
}

// How many values could be compared, at least.
std::size_t compare(const controller_result& base, const controller_result& head, double fail_over, bool paired,
                    std::vector<bench_change>& into) {
    std::size_t compared = 0;
    for (const bench_metric& metric : bench_metrics()) {
        const auto* const before = base.find(metric.key);
        const auto* const now = head.find(metric.key);
        if (!metric.compared || before == nullptr || now == nullptr) continue;
        const auto& from = metric.more_is_better ? *now : *before;
        const auto& to = metric.more_is_better ? *before : *now;
        auto ratio = paired && !metric.counted ? paired_ratio_interval(from, to) : std::nullopt;
        if (!ratio) ratio = metric.counted ? count_ratio(from, to) : ratio_interval(from, to);
        if (!ratio) continue;
        ++compared;
        const double floor = metric.counted ? std::min(fail_over, count_floor) : fail_over;
        bench_change change{head.name, metric, *ratio, judge(*ratio, floor)};
        if (change.verdict == bench_verdict::worse && is_noise(metric, *before, *now))
            change.verdict = bench_verdict::same;
        into.push_back(std::move(change));
    }
    return compared;
}

// What changed comes first.
void sort_changes(std::vector<bench_change>& all) {
    using enum bench_verdict;
    std::ranges::stable_sort(all, {}, [](const bench_change& each) {
        return each.verdict == worse ? 0 : each.verdict == better ? 1 : each.verdict == not_told_apart ? 2 : 3;
    });
}

std::unexpected<base::error> too_few(const controller_result& base, const controller_result& head) {
    const auto repetitions = [](const controller_result& of) {
        return of.metrics.empty() ? std::size_t{0} : of.metrics.begin()->second.size();
    };
    return base::fail(base::errc::invalid,
                      fmt::format("{} and {} repetitions are too few to compare: 4 of each are the least",
                                  repetitions(base), repetitions(head)));
}

}  // namespace

std::span<const bench_metric> bench_metrics() {
    static constexpr std::array all{
        bench_metric{"p50_ms", "create → done, p50", "ms", false, true},
        bench_metric{"p90_ms", "create → done, p90", "ms", false, true},
        bench_metric{"p99_ms", "create → done, p99", "ms", false, true},
        bench_metric{"p999_ms", "create → done, p99.9", "ms", false, false},
        bench_metric{"own_p50_ms", "of it not in the server, p50", "ms", false, true},
        bench_metric{"own_p99_ms", "of it not in the server, p99", "ms", false, true},
        bench_metric{"update_p50_ms", "update → done, p50", "ms", false, true},
        bench_metric{"update_p99_ms", "update → done, p99", "ms", false, true},
        bench_metric{"remove_p50_ms", "delete → gone, p50", "ms", false, true},
        bench_metric{"remove_p99_ms", "delete → gone, p99", "ms", false, true},
        bench_metric{"jobs_per_second", "objects a second", "", true, true},
        bench_metric{"cpu_ms_per_job", "CPU an object", "ms", false, true},
        bench_metric{"resident_idle_mib", "resident memory, idle", "MiB", false, true},
        bench_metric{"resident_peak_mib", "resident memory, peak", "MiB", false, true},
        bench_metric{"requests_per_job", "requests an object", "", false, true, true},
        bench_metric{"bytes_sent_per_job", "bytes sent an object", "B", false, true, true},
        bench_metric{"bytes_received_per_job", "bytes received an object", "B", false, true, true},
        bench_metric{"unchanged_per_job", "writes an object that changed nothing", "", false, true, true},
        bench_metric{"conflicts_per_job", "conflicts an object", "", false, false},
        bench_metric{"first_apply_ms", "exec → first write", "ms", false, true},
        bench_metric{"start_ms", "exec → first one done", "ms", false, true},
        bench_metric{"restart_ms", "exec → one more done, beside all objects", "ms", false, true},
        bench_metric{"bench_cpu_ms_per_job", "CPU an object of server and load", "ms", false, false},
    };
    return all;
}

bench_traffic& bench_traffic::operator+=(const bench_traffic& more) {
    requests += more.requests;
    bytes_sent += more.bytes_sent;
    bytes_received += more.bytes_received;
    unchanged += more.unchanged;
    conflicts += more.conflicts;
    return *this;
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
    out += ",\n";
    text(out, "commit", result.commit);
    out += ",\n";
    text(out, "machine", result.machine);
    out += ",\n";
    text(out, "date", result.date);
    out += ",\n\"words\":";
    list(out, result.words, [&](const std::string& each) { base::append_json_string(out, each); });
    out += ",\n\"controllers\":";
    list(out, result.controllers, [&](const controller_result& each) { append(out, each); });
    return out + "}\n";
}

base::result<bench_result> read_bench_result(std::string_view json) {
    doc::arena memory;
    const auto read = doc::parse_json(memory, json);
    if (!read) return base::fail(read.error());
    if (read->get("format").as_string() != format_name)
        return base::fail(base::errc::invalid, "this is no result of cotrain bench --json");
    bench_result out;
    out.load = read->get("load").as_string();
    out.server = read->get("server").as_string();
    out.version = read->get("version").as_string();
    out.commit = read->get("commit").as_string();
    out.machine = read->get("machine").as_string();
    out.date = read->get("date").as_string();
    for (const doc::ref each : read->get("words").items()) out.words.emplace_back(each.as_string());
    for (const doc::ref each : read->get("controllers").items()) out.controllers.push_back(read_controller(each));
    return out;
}

double quantile(std::span<const double> sorted, double share) {
    const double rank = std::ceil(share * static_cast<double>(sorted.size()));
    const auto at = static_cast<std::size_t>(std::max(rank, 1.0)) - 1;
    return sorted[std::min(at, sorted.size() - 1)];
}

double median(std::vector<double> values) {
    std::ranges::sort(values);
    return middle_of(values);
}

interval median_interval(std::vector<double> values) {
    std::ranges::sort(values);
    const auto n = values.size();
    double term = std::pow(0.5, static_cast<double>(n));
    std::vector<double> shares;
    for (std::size_t k = 0; k <= n; ++k) {
        shares.push_back(term);
        term *= static_cast<double>(n - k) / static_cast<double>(k + 1);
    }
    const std::size_t k = cut(n / 2, [&](std::size_t i) { return shares[i]; }).value_or(0);
    return {values[k], middle_of(values), values[n - 1 - k]};
}

std::optional<interval> ratio_interval(std::span<const double> base, std::span<const double> head) {
    const auto positive = [](double each) { return each > 0 && std::isfinite(each); };
    if (base.empty() || head.empty() || !std::ranges::all_of(base, positive) || !std::ranges::all_of(head, positive))
        return std::nullopt;
    const auto k = cut_pairs(base.size(), head.size());
    if (!k) return std::nullopt;
    std::vector<double> ratios;
    ratios.reserve(base.size() * head.size());
    for (const double b : base)
        for (const double h : head) ratios.push_back(h / b);
    std::ranges::sort(ratios);
    return interval{ratios[*k], middle_of(ratios), ratios[ratios.size() - 1 - *k]};
}

std::optional<interval> paired_ratio_interval(std::span<const double> base, std::span<const double> head) {
    const auto positive = [](double each) { return each > 0 && std::isfinite(each); };
    if (base.size() != head.size() || !std::ranges::all_of(base, positive) || !std::ranges::all_of(head, positive))
        return std::nullopt;
    const std::size_t n = std::min(base.size(), paired_max);
    const std::vector<double> shares = signed_ranks(n);
    const auto k = cut(shares.size() / 2, [&](std::size_t i) { return shares[i]; });
    if (!k) return std::nullopt;
    std::vector<double> logs;
    for (std::size_t i = base.size() - n; i < base.size(); ++i) logs.push_back(std::log(head[i] / base[i]));
    std::vector<double> means;
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = i; j < n; ++j) means.push_back((logs[i] + logs[j]) / 2);
    std::ranges::sort(means);
    return interval{std::exp(means[*k]), std::exp(middle_of(means)), std::exp(means[means.size() - 1 - *k])};
}

std::vector<std::pair<double, double>> distribution_curve(std::vector<double> values) {
    std::vector<std::pair<double, double>> out;
    if (values.empty()) return out;
    std::ranges::sort(values);
    for (int percent = 0; percent < 100; percent += 2)
        out.emplace_back(percent / 100.0, quantile(values, percent / 100.0));
    // From there in equal steps of the number of nines, as far as there are values to tell them apart.
    const double nines_max = std::log10(static_cast<double>(values.size()));
    for (double nines = 2; nines <= nines_max + 1e-9; nines += 0.1) {
        const double share = 1 - std::pow(10, -nines);
        out.emplace_back(share, quantile(values, share));
    }
    return out;
}

std::string_view to_string(bench_verdict verdict) {
    switch (verdict) {
        case bench_verdict::same: return "same";
        case bench_verdict::better: return "better";
        case bench_verdict::worse: return "WORSE";
        case bench_verdict::not_told_apart: return "not told apart";
    }
    return "";
}

bool bench_comparison::worse() const {
    return std::ranges::any_of(changes, [](const auto& each) { return each.verdict == bench_verdict::worse; });
}

base::result<bench_comparison> compare_within(const bench_result& run, std::string_view with, double fail_over) {
    const controller_result* const base = run.find(with);
    if (base == nullptr) return base::fail(base::errc::invalid, fmt::format("no controller is called '{}'", with));
    bench_comparison out{fmt::format("{} of this run", with), fail_over, {}};
    for (const controller_result& each : run.controllers) {
        if (&each == base) continue;
        if (compare(*base, each, fail_over, true, out.changes) == 0) return too_few(*base, each);
    }
    sort_changes(out.changes);
    return out;
}

base::result<bench_comparison> compare_with(const bench_result& run, const bench_result& before, double fail_over) {
    if (run.load != before.load || run.server != before.server) {
        return base::fail(base::errc::invalid,
                          fmt::format("the baseline is of something else: {}, {}; this run: {}, {}", before.load,
                                      before.server, run.load, run.server));
    }
    bench_comparison out{fmt::format("the baseline ({})", before.version), fail_over, {}};
    const bool single = run.controllers.size() == 1 && before.controllers.size() == 1;
    bool any = false;
    for (const controller_result& each : run.controllers) {
        const controller_result* const base = single ? &before.controllers.front() : before.find(each.name);
        if (base == nullptr) continue;
        any = true;
        if (compare(*base, each, fail_over, false, out.changes) == 0) return too_few(*base, each);
    }
    if (!any) return base::fail(base::errc::invalid, "the baseline has none of this run's controllers");
    sort_changes(out.changes);
    return out;
}

}  // namespace cotrain::bench
