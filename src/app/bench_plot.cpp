// Draws.
#include "app/bench_plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace cotrain::app {

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

}  // namespace cotrain::app
