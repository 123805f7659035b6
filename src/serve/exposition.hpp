// Metrics: the text format, those of the process, and answers to scrapes.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "serve/reply.hpp"

namespace cotrain::serve {

enum class text_format : std::uint8_t { prometheus, openmetrics };
enum class metric_type : std::uint8_t { counter, gauge, histogram, summary };

using label = std::pair<std::string_view, std::string_view>;
using labels = std::span<const label>;

// Families one after the other, each with all its samples. Names of counters end in _total.
class exposition {
   public:
    explicit exposition(text_format format) : format_(format) {}

    void family(std::string_view name, metric_type type, std::string_view help);
    void sample(labels with, double value);
    void sample(std::initializer_list<label> with, double value) { sample(labels(with), value); }
    // `counts` has one entry more than `bounds`: what is above the last.
    void histogram(labels with, std::span<const double> bounds, std::span<const std::uint64_t> counts, double sum);
    void histogram(std::initializer_list<label> with, std::span<const double> bounds,
                   std::span<const std::uint64_t> counts, double sum) {
        histogram(labels(with), bounds, counts, sum);
    }
    // A summary without quantiles.
    void summary(labels with, double sum, std::uint64_t count);
    // A family of one sample without labels.
    void single(std::string_view name, metric_type type, std::string_view help, double value) {
        family(name, type, help);
        sample({}, value);
    }

    // The whole text; the exposition is used up.
    [[nodiscard]] std::string finish();

   private:
    void line(std::string_view suffix, labels with, std::string_view bound, double value);
    void number(double value, bool as_bound);

    text_format format_;
    std::string text_;
    std::string name_;  // of the family, as its samples carry it
};

// "text/plain; version=0.0.4; …"
[[nodiscard]] std::string_view content_type(text_format format);

// Counts of observations in buckets; the bounds must outlive it.
class histogram {
   public:
    explicit histogram(std::span<const double> bounds) : bounds_(bounds), counts_(bounds.size() + 1) {}

    void observe(double value) {
        std::size_t i = 0;
        while (i < bounds_.size() && value > bounds_[i]) ++i;
        ++counts_[i];
        sum_ += value;
    }
    void write(exposition& to, labels with) const { to.histogram(with, bounds_, counts_, sum_); }
    void write(exposition& to, std::initializer_list<label> with) const { write(to, labels(with)); }

   private:
    std::span<const double> bounds_;
    std::vector<std::uint64_t> counts_;
    double sum_ = 0;
};

// The client libraries' usual buckets, in seconds.
inline constexpr double default_bounds[] = {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10};

// What the kernel says about this process, under the names every client library uses.

void write_process_metrics(exposition& to);

// Text into gzip (RFC 1952).

[[nodiscard]] std::string gzip(std::string_view text);

// The metrics endpoint: gathers what others count, in the form the scraper asks for.

// Adds whole families.
using metrics_source = std::function<void(exposition&)>;

// Answers GET /metrics: OpenMetrics and gzip on request.
[[nodiscard]] reply scrape(const std::vector<metrics_source>& sources, const net::h2::head& head);

}  // namespace cotrain::serve
