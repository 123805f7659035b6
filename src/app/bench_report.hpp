// How results are shown: on a terminal, in a comment, as a page. Pure.
#pragma once

#include <optional>
#include <string>

#include "app/bench_compare.hpp"
#include "app/bench_result.hpp"

namespace cotrain::app {

using maybe_comparison = std::optional<bench_comparison>;

// "3.42", "1,234": three digits that count.
[[nodiscard]] std::string figure(double value);
// "3.42 (3.1 to 4.0)", the median over the repetitions and its interval.
[[nodiscard]] std::string figure(const std::vector<double>& values);

[[nodiscard]] std::string bench_table(const bench_result& result, const maybe_comparison& comparison);
[[nodiscard]] std::string bench_markdown(const bench_result& result, const maybe_comparison& comparison);
// Needs nothing but itself.
[[nodiscard]] std::string bench_page(const bench_result& result, const maybe_comparison& comparison);

}  // namespace cotrain::app
