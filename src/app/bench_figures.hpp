// What the bench says of many measurements: quantiles, medians and how sure they are. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace cotrain::app {

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

// A distribution's curve in so few points that they can be drawn and kept: (share, value).
[[nodiscard]] std::vector<std::pair<double, double>> distribution_curve(std::vector<double> values);

}  // namespace cotrain::app
