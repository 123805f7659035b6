// Line charts as SVG, with nothing but numbers to begin with. Pure.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace cotrain::app {

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

// As it can stand in a page, or in a file of its own.
[[nodiscard]] std::string draw(const plot& what);
// `text` for XML and HTML.
[[nodiscard]] std::string escaped(std::string_view text);

}  // namespace cotrain::app
