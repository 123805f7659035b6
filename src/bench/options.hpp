// What `cotrain bench` is asked to do: the load, the controllers under it, and where its results go.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "app/command.hpp"
#include "base/error.hpp"
#include "sim/player.hpp"

namespace cotrain::bench {

inline constexpr std::int64_t bench_jobs_max = 1'000'000;
inline constexpr std::int64_t bench_nodes_max = 1'000'000;
inline constexpr std::int64_t bench_repetitions_max = 1'000;
inline constexpr std::size_t bench_controllers_max = 8;

enum class bench_policy : std::uint8_t { torch, mpi, plain };
[[nodiscard]] std::string_view to_string(bench_policy policy);

struct bench_load {
    std::int64_t jobs = 1'000;  // of each repetition
    std::int64_t nodes = 4;
    bench_policy policy = bench_policy::torch;
    double rate = 100;               // jobs a second, whether or not those before are done; 0: a burst
    std::int64_t in_flight = 64;     // of a burst: jobs without JobSet at a time
    std::int64_t churn_percent = 0;  // of jobs are deleted when their JobSet is there
    std::int64_t warm_up = 50;       // jobs before those that count
    bool operator==(const bench_load&) const = default;
};

// "1000 torch jobs of 4 nodes, 100 a second": what has to be equal for results to be compared.
[[nodiscard]] std::string describe(const bench_load& load, std::string_view title);

struct bench_controller {
    std::string name;
    std::string command;  // for sh; {kubeconfig} and {dir} are replaced. Empty: our operator
};

struct bench_options {
    bench_load load{};
    std::vector<bench_controller> controllers{};
    std::int64_t repetitions = 6;
    sim::player_script script{.start = std::chrono::milliseconds(50),
                              .ready = std::chrono::milliseconds(100),
                              .run = std::chrono::milliseconds(500),
                              .end = sim::player_script::ending::succeed,
                              .pods = false};
    std::string scenario{};           // a file; empty: TrainJobs
    std::vector<std::string> crds{};  // files or folders with more definitions for it
    std::string kubeconfig{};         // of a real API server; empty: the embedded one
    bool complete = false;            // on a real one: ends the JobSets, as nobody there might
    std::string json{}, html{}, markdown{}, benchstat{}, github{};
    std::vector<std::string> words{};  // as they were given
    std::string baseline{};            // a file, or a controller of this run
    double fail_over = 0.10;
    bool help = false;
};

// Errors name the option and what it takes.
[[nodiscard]] base::result<bench_options> read_bench_options(app::arguments words);
[[nodiscard]] std::string_view bench_help();

// `cotrain bench`.
int run_bench(app::arguments words);
[[nodiscard]] std::vector<app::option_word> option_words();

}  // namespace cotrain::bench
