// Sorts and counts.
#include "app/bench_figures.hpp"

#include <algorithm>
#include <cmath>

namespace cotrain::app {

namespace {

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

double middle_of(std::span<const double> sorted) {
    const std::size_t n = sorted.size();
    return n % 2 == 1 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

}  // namespace

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

}  // namespace cotrain::app
