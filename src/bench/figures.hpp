// Results of a bench: samples, figures with their intervals, and whether they got worse.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace cotrain::bench {

// What the bench found: metrics by name, a value for each repetition. Pure.

// One metric: how it is called in files, and for people.
struct bench_metric {
    std::string_view key;
    std::string_view label;
    std::string_view unit;
    bool more_is_better = false;
    bool compared = false;  // with a baseline; the others are for people
    bool counted = false;   // not measured: the machine has no part in it
};
[[nodiscard]] std::span<const bench_metric> bench_metrics();

struct bench_sample {
    double seconds = 0;  // since the first job that counts
    double cpu_seconds = 0;
    double resident_mib = 0;
    std::uint64_t jobs = 0;  // that have their JobSet
};

struct bench_traffic {
    std::uint64_t requests = 0;
    std::uint64_t bytes_sent = 0;      // bodies
    std::uint64_t bytes_received = 0;  // bodies; of watches all that they brought
    std::uint64_t unchanged = 0;       // writes that changed nothing
    std::uint64_t conflicts = 0;

    bench_traffic& operator+=(const bench_traffic& more);
};

struct controller_result {
    std::string name;
    std::string command;
    std::map<std::string, std::vector<double>, std::less<>> metrics{};
    std::vector<std::pair<double, double>> curve{};  // share of all jobs, milliseconds
    std::vector<bench_sample> samples{};             // of the last repetition
    std::map<std::string, bench_traffic> traffic{};  // "patch jobsets"; of the last repetition
    std::uint64_t traffic_jobs = 0;                  // of these jobs

    [[nodiscard]] const std::vector<double>* find(std::string_view key) const;
};

struct bench_result {
    std::string load;    // as describe() has it
    std::string server;  // "embedded", or where the real one is
    std::string version;
    std::string commit{};
    std::string machine{};             // "Linux 6.1 x86_64, 2 processors, NAME"
    std::string date{};                // when it began
    std::vector<std::string> words{};  // what the bench was called with
    std::vector<controller_result> controllers{};

    [[nodiscard]] const controller_result* find(std::string_view name) const;
};

[[nodiscard]] std::string to_json(const bench_result& result);
// What to_json() wrote.
[[nodiscard]] base::result<bench_result> read_bench_result(std::string_view json);

// What the bench says of many measurements: quantiles, medians and how sure they are. Pure.

// All intervals are of 95 %.
inline constexpr double interval_doubt = 0.05;

struct interval {
    double low = 0;
    double middle = 0;
    double high = 0;
    bool operator==(const interval&) const = default;
};

// The smallest value that so large a share does not exceed; `sorted` must not be empty.
[[nodiscard]] double quantile(std::span<const double> sorted, double share);
[[nodiscard]] double median(std::vector<double> values);

// The median and, from six values on, an interval that holds the true one whatever the distribution is (binomial law).
// With fewer values: from the smallest to the largest.
[[nodiscard]] interval median_interval(std::vector<double> values);

// By which factor values of `head` are larger than those of `base`: the median of all ratios, with the interval that
// belongs to the Mann-Whitney test. Nothing if there are too few of them (below four each) or they are not positive.
[[nodiscard]] std::optional<interval> ratio_interval(std::span<const double> base, std::span<const double> head);

// The same of two that took turns, value by value: what a slow minute does to both falls out. The interval belongs to
// the signed-rank test. Nothing below six of each.
[[nodiscard]] std::optional<interval> paired_ratio_interval(std::span<const double> base, std::span<const double> head);

// A distribution's curve in so few points that they can be drawn and kept: (share, value).
[[nodiscard]] std::vector<std::pair<double, double>> distribution_curve(std::vector<double> values);

// Whether results got worse than a baseline's, and how sure that is. Pure.

enum class bench_verdict : std::uint8_t { same, better, worse, not_told_apart };
[[nodiscard]] std::string_view to_string(bench_verdict verdict);

struct bench_change {
    std::string controller;
    bench_metric metric{};
    interval ratio{};  // above 1: worse, whichever way the metric counts
    // worse, better: the whole interval is beyond `fail_over`. same: the whole interval is within it. Of what is
    // counted any difference above a hundredth is one.
    bench_verdict verdict = bench_verdict::not_told_apart;
};

struct bench_comparison {
    std::string against;  // for people
    double fail_over = 0;
    std::vector<bench_change> changes{};
    [[nodiscard]] bool worse() const;
};

// With a controller of the same run: all others with it.
[[nodiscard]] base::result<bench_comparison> compare_within(const bench_result& run, std::string_view with,
                                                            double fail_over);
// With an earlier run: controllers of the same name, or if each has only one, these. Loads and servers must be equal.
[[nodiscard]] base::result<bench_comparison> compare_with(const bench_result& run, const bench_result& before,
                                                          double fail_over);

}  // namespace cotrain::bench
