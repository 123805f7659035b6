// What the bench found: metrics by name, a value for each repetition. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace cotrain::app {

// One metric: how it is called in files, and for people.
struct bench_metric {
    std::string_view key;
    std::string_view label;
    std::string_view unit;
    bool more_is_better = false;
    bool compared = false;  // with a baseline; the others are for people
};
[[nodiscard]] std::span<const bench_metric> bench_metrics();

struct bench_sample {
    double seconds = 0;  // since the first job that counts
    double cpu_seconds = 0;
    double resident_mib = 0;
    std::uint64_t jobs = 0;  // that have their JobSet
};

struct bench_traffic {
    std::uint64_t requests = 0;
    std::uint64_t bytes_sent = 0;      // bodies
    std::uint64_t bytes_received = 0;  // bodies; of watches all that they brought
};

struct controller_result {
    std::string name;
    std::string command;
    std::map<std::string, std::vector<double>, std::less<>> metrics{};
    std::vector<std::pair<double, double>> curve{};  // share of all jobs, milliseconds
    std::vector<bench_sample> samples{};             // of the last repetition
    std::map<std::string, bench_traffic> traffic{};  // "patch jobsets"; of the last repetition
    std::uint64_t traffic_jobs = 0;                  // of these jobs

    [[nodiscard]] const std::vector<double>* find(std::string_view key) const;
};

struct bench_result {
    std::string load;    // as describe() has it
    std::string server;  // "embedded", or where the real one is
    std::string version;
    std::vector<controller_result> controllers{};

    [[nodiscard]] const controller_result* find(std::string_view name) const;
};

[[nodiscard]] std::string to_json(const bench_result& result);
// What to_json() wrote.
[[nodiscard]] base::result<bench_result> read_bench_result(std::string_view json);

}  // namespace cotrain::app
