// Results for other programs: benchstat, and github-action-benchmark. Pure.
#pragma once

#include <string>

#include "bench/figures.hpp"

namespace cotrain::bench {

// Go's format of benchmark results, a line for each repetition: benchstat -col /controller.
[[nodiscard]] std::string to_benchstat(const bench_result& result);
// "customSmallerIsBetter" of github-action-benchmark: what is better when it is less.
[[nodiscard]] std::string to_github_benchmark(const bench_result& result);

}  // namespace cotrain::bench
