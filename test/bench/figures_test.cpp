// Quantiles and intervals beside tables of statistics, and what is concluded from them.
#include "bench/figures.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/random.hpp"

namespace cotrain::bench {
namespace {

std::vector<double> up_to(int n) {
    std::vector<double> out(static_cast<std::size_t>(n));
    std::iota(out.begin(), out.end(), 1.0);
    return out;
}

TEST(bench_figures, quantiles_are_values_that_were_measured) {
    const auto hundred = up_to(100);
    EXPECT_EQ(quantile(hundred, 0), 1);
    EXPECT_EQ(quantile(hundred, 0.5), 50);
    EXPECT_EQ(quantile(hundred, 0.99), 99);
    EXPECT_EQ(quantile(hundred, 0.999), 100);
    EXPECT_EQ(quantile(std::vector<double>{7}, 0.5), 7);
    EXPECT_EQ(median({3, 1, 2}), 2);
    EXPECT_EQ(median({4, 1, 2, 3}), 2.5);
}

// The order statistics that tables give for the sign test.
TEST(bench_figures, intervals_of_a_median) {
    EXPECT_EQ(median_interval(up_to(5)), (interval{1, 3, 5}));
    EXPECT_EQ(median_interval(up_to(6)), (interval{1, 3.5, 6}));
    EXPECT_EQ(median_interval(up_to(9)), (interval{2, 5, 8}));
    EXPECT_EQ(median_interval(up_to(12)), (interval{3, 6.5, 10}));
    EXPECT_EQ(median_interval({8}), (interval{8, 8, 8}));
}

// Critical values of Mann-Whitney's U at 5 %, two-sided: 0 of 4 and 4, 2 of 5 and 5, 5 of 6 and 6.
TEST(bench_figures, intervals_of_a_ratio) {
    const std::vector<double> one{1, 1, 1, 1, 1, 1};
    const auto first = [&](std::size_t n) { return std::span<const double>(one).first(n); };
    EXPECT_EQ(ratio_interval(first(3), up_to(3)), std::nullopt);
    EXPECT_EQ(ratio_interval(first(4), up_to(4)), (interval{1, 2.5, 4}));
    // 25 ratios, five of each: the third smallest and the third largest.
    EXPECT_EQ(ratio_interval(first(5), up_to(5)), (interval{1, 3, 5}));
    const std::vector<double> base{1, 2, 4, 8}, head{16, 16, 16, 16};
    EXPECT_EQ(ratio_interval(base, head), (interval{2, 6, 16}));
    EXPECT_EQ(ratio_interval(std::vector<double>{0, 1, 1, 1}, base), std::nullopt);
}

TEST(bench_figures, intervals_of_many_values_are_the_same_without_counting_all_orders) {
    const auto low = [](std::size_t n) {
        const auto of = ratio_interval(std::vector<double>(n, 1), up_to(static_cast<int>(n)));
        return of ? of->low / static_cast<double>(n) : 0;
    };
    EXPECT_NEAR(low(50), low(51), 0.02);  // the first is exact
    EXPECT_NEAR(low(1000), 0.475, 0.01) << "half, and less than two standard errors of a U";
}

TEST(bench_figures, intervals_hold_the_truth_nearly_always) {
    base::random_source random(7);
    int held = 0;
    constexpr int rounds = 2000;
    for (int i = 0; i < rounds; ++i) {
        std::vector<double> base, head;
        for (int k = 0; k < 6; ++k) {
            base.push_back(1 + random.unit());
            head.push_back(2 * (1 + random.unit()));
        }
        const auto of = ratio_interval(base, head);
        ASSERT_TRUE(of);
        held += of->low <= 2 && of->high >= 2 ? 1 : 0;
    }
    EXPECT_GE(held, rounds * 95 / 100);
}

// Two that take turns on a machine whose minutes differ by a factor of two: pairs tell 15 % from nothing.
TEST(bench_figures, pairs_find_what_a_shaking_machine_hides) {
    base::random_source random(11);
    const auto noise = [&](double width) { return 1 + width * (random.unit() - 0.5); };
    int found = 0, wrong = 0, held = 0, alone = 0;
    constexpr int rounds = 500;
    for (int i = 0; i < rounds; ++i) {
        std::vector<double> base, same, slower;
        for (int k = 0; k < 12; ++k) {
            const double minute = 1 + random.unit();
            base.push_back(minute * noise(0.1));
            same.push_back(minute * noise(0.1));
            slower.push_back(minute * noise(0.1) * 1.15);
        }
        const auto none = paired_ratio_interval(base, same);
        const auto some = paired_ratio_interval(base, slower);
        ASSERT_TRUE(none && some);
        held += none->low <= 1 && none->high >= 1 ? 1 : 0;
        wrong += none->low > 1.05 ? 1 : 0;
        found += some->low > 1.05 ? 1 : 0;
        alone += ratio_interval(base, slower)->low > 1.05 ? 1 : 0;
    }
    EXPECT_GE(held, rounds * 95 / 100);
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(found, rounds);
    EXPECT_LT(alone, rounds / 10) << "without pairs";
    EXPECT_FALSE(paired_ratio_interval(std::vector<double>(5, 1), std::vector<double>(5, 2)));
}

TEST(bench_figures, curves_reach_as_far_as_there_are_values) {
    const auto curve = distribution_curve(up_to(1000));
    EXPECT_EQ(curve.front(), (std::pair<double, double>{0, 1}));
    EXPECT_NEAR(curve.back().first, 0.999, 1e-9);
    EXPECT_EQ(curve.back().second, 999);
    EXPECT_LT(curve.size(), 70U);
    EXPECT_TRUE(std::ranges::is_sorted(curve));
    EXPECT_TRUE(distribution_curve({}).empty());
}

bench_result result_of(std::vector<double> p50, std::vector<double> rate = {}) {
    bench_result out{.load = "l", .server = "embedded", .version = "1", .controllers = {{.name = "a", .command = ""}}};
    out.controllers[0].metrics["p50_ms"] = std::move(p50);
    if (!rate.empty()) out.controllers[0].metrics["jobs_per_second"] = std::move(rate);
    return out;
}

TEST(bench_compare, fails_only_when_the_whole_interval_is_beyond) {
    const bench_result before = result_of({10, 11, 12, 13});
    const auto verdict = [&](std::vector<double> now) {
        const auto made = compare_with(result_of(std::move(now)), before, 0.1);
        return made ? made->changes.at(0).verdict : bench_verdict::not_told_apart;
    };
    EXPECT_EQ(verdict({20, 21, 22, 23}), bench_verdict::worse);
    EXPECT_EQ(verdict({13, 14, 15, 16}), bench_verdict::not_told_apart);
    EXPECT_EQ(verdict({5, 6, 6, 7}), bench_verdict::better);
    const auto same = compare_with(result_of({10, 10.1, 10.2, 10.1}), result_of({10, 10.1, 10.2, 10.3}), 0.1);
    ASSERT_TRUE(same);
    EXPECT_EQ(same->changes.at(0).verdict, bench_verdict::same);
    EXPECT_FALSE(same->worse());
}

TEST(bench_compare, more_jobs_a_second_are_better) {
    const bench_result before = result_of({10, 10, 10, 10}, {100, 101, 102, 103});
    const auto slower = compare_with(result_of({10, 10, 10, 10}, {50, 51, 52, 53}), before, 0.1);
    ASSERT_TRUE(slower);
    EXPECT_TRUE(slower->worse());
    const auto faster = compare_with(result_of({10, 10, 10, 10}, {200, 201, 202, 203}), before, 0.1);
    ASSERT_TRUE(faster);
    EXPECT_FALSE(faster->worse());
}

TEST(bench_compare, the_noise_of_the_machine_is_no_regression) {
    const auto made = compare_with(result_of({.25, .26, .27, .28}), result_of({.1, .11, .12, .13}), 0.1);
    ASSERT_TRUE(made);
    EXPECT_FALSE(made->worse());
}

// A request more for every twentieth object is one, although it is below what times may differ by.
TEST(bench_compare, what_is_counted_is_judged_exactly) {
    bench_result before = result_of({10, 10, 10, 10}), now = before;
    before.controllers[0].metrics["requests_per_job"] = {3, 3, 3, 3};
    now.controllers[0].metrics["requests_per_job"] = {3.05, 3.05, 3.05, 3.05};
    EXPECT_TRUE(compare_with(now, before, 0.1)->worse());
    EXPECT_FALSE(compare_with(before, now, 0.1)->worse());
    EXPECT_FALSE(compare_with(before, before, 0.1)->worse());
    before.controllers[0].metrics["unchanged_per_job"] = {0, 0, 0, 0};
    now = before;
    now.controllers[0].metrics["unchanged_per_job"] = {1, 1, 1, 1};
    const auto hot = compare_with(now, before, 0.1);
    EXPECT_TRUE(hot->worse());
    EXPECT_EQ(hot->changes.front().metric.key, "unchanged_per_job") << "what changed comes first";
    EXPECT_FALSE(compare_with(before, now, 0.1)->worse());
}

TEST(bench_compare, refuses_what_cannot_be_compared) {
    const bench_result before = result_of({10, 11, 12, 13});
    const auto few = compare_with(result_of({1, 2, 3}), before, 0.1);
    ASSERT_FALSE(few);
    EXPECT_EQ(few.error().message, "4 and 3 repetitions are too few to compare: 4 of each are the least");
    bench_result other = before;
    other.load = "another";
    EXPECT_FALSE(compare_with(other, before, 0.1));
    const auto unknown = compare_within(before, "b", 0.1);
    ASSERT_FALSE(unknown);
    EXPECT_EQ(unknown.error().message, "no controller is called 'b'");
}

}  // namespace
}  // namespace cotrain::bench
