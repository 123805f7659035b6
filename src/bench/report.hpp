// Results for people: text, Markdown, and a page with plots.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/figures.hpp"

namespace cotrain::bench {

// Line charts as SVG, with nothing but numbers to begin with. Pure.

struct plot_series {
    std::string name;
    std::vector<std::pair<double, double>> points{};
};

struct plot_axis {
    std::string label;
    bool log = false;
    bool from_zero = false;
    std::vector<std::pair<double, std::string>> ticks{};  // empty: round numbers
};

struct plot {
    std::string title;
    plot_axis x{}, y{};
    std::vector<plot_series> series{};
};

// As part of a page, or in a file of its own.
[[nodiscard]] std::string draw(const plot& what);
// `text` for XML and HTML.
[[nodiscard]] std::string escaped(std::string_view text);

// How results are shown: on a terminal, in a comment, as a page. Pure.

using maybe_comparison = std::optional<bench_comparison>;

// "3.42", "1,234": three digits that count.
[[nodiscard]] std::string figure(double value);
// "3.42 (3.1 to 4.0)", the median over the repetitions and its interval.
[[nodiscard]] std::string figure(const std::vector<double>& values);

[[nodiscard]] std::string bench_table(const bench_result& result, const maybe_comparison& comparison);
[[nodiscard]] std::string bench_markdown(const bench_result& result, const maybe_comparison& comparison);
// Needs nothing but itself.
[[nodiscard]] std::string bench_page(const bench_result& result, const maybe_comparison& comparison);

}  // namespace cotrain::bench
