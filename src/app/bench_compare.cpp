// Compares repetition by repetition.
#include "app/bench_compare.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace cotrain::app {

namespace {

// Times below this are the machine's, whoever is measured.
constexpr double time_noise_ms = 0.2;

bool is_noise(const bench_metric& metric, const std::vector<double>& base, const std::vector<double>& head) {
    return metric.unit == "ms" && std::abs(median(head) - median(base)) < time_noise_ms &&
           metric.key != "cpu_ms_per_job";
}

bench_verdict judge(const interval& ratio, double fail_over) {
    if (ratio.low > 1 + fail_over) return bench_verdict::worse;
    if (ratio.high < 1 / (1 + fail_over)) return bench_verdict::better;
    if (ratio.high <= 1 + fail_over && ratio.low >= 1 / (1 + fail_over)) return bench_verdict::same;
    return bench_verdict::unsure;
}

// How many values could be compared, at least.
std::size_t compare(const controller_result& base, const controller_result& head, double fail_over,
                    std::vector<bench_change>& into) {
    std::size_t compared = 0;
    for (const bench_metric& metric : bench_metrics()) {
        const auto* const before = base.find(metric.key);
        const auto* const now = head.find(metric.key);
        if (!metric.compared || before == nullptr || now == nullptr) continue;
        const auto ratio = metric.more_is_better ? ratio_interval(*now, *before) : ratio_interval(*before, *now);
        if (!ratio) continue;
        ++compared;
        bench_change change{head.name, metric, *ratio, judge(*ratio, fail_over)};
        if (change.verdict == bench_verdict::worse && is_noise(metric, *before, *now))
            change.verdict = bench_verdict::same;
        into.push_back(std::move(change));
    }
    return compared;
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

std::string_view to_string(bench_verdict verdict) {
    switch (verdict) {
        case bench_verdict::same: return "same";
        case bench_verdict::better: return "better";
        case bench_verdict::worse: return "WORSE";
        case bench_verdict::unsure: return "unsure";
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
        if (compare(*base, each, fail_over, out.changes) == 0) return too_few(*base, each);
    }
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
        if (compare(*base, each, fail_over, out.changes) == 0) return too_few(*base, each);
    }
    if (!any) return base::fail(base::errc::invalid, "the baseline has none of this run's controllers");
    return out;
}

}  // namespace cotrain::app
