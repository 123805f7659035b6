// Whether results got worse than a baseline's, and how sure that is. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/bench_figures.hpp"
#include "app/bench_result.hpp"

namespace cotrain::app {

enum class bench_verdict : std::uint8_t { same, better, worse, unsure };
[[nodiscard]] std::string_view to_string(bench_verdict verdict);

struct bench_change {
    std::string controller;
    bench_metric metric{};
    interval ratio{};  // above 1: worse, whichever way the metric counts
    // worse, better: the whole interval is beyond `fail_over`. same: the whole interval is within it.
    bench_verdict verdict = bench_verdict::unsure;
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

}  // namespace cotrain::app
