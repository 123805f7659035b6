// Watch decoding in bytes a second, managedFields included: from the line to what the store takes in.
#include <benchmark/benchmark.h>

#include <stdexcept>
#include <string>

#include "../test/support/watch_samples.cpp"  // bench programs see the rooms, not the tests' library
#include "watch/decode.hpp"

namespace {

using namespace cotrain;

void count(benchmark::State& state, std::size_t bytes) {
    state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * bytes));
    state.counters["GB_per_s"] =
        benchmark::Counter(static_cast<double>(state.iterations() * bytes) / 1e9, benchmark::Counter::kIsRate);
    state.counters["event_bytes"] = static_cast<double>(bytes);
}

void train_job(benchmark::State& state, const std::string& object) {
    const std::string line = test::watch_line("MODIFIED", object);
    watch::train_job_parts parts;
    for (auto _ : state) {
        watch::event_view event;
        if (!watch::decode_event(line, event, &parts) || parts.failure) throw std::runtime_error("not decoded");
        benchmark::DoNotOptimize(parts);
    }
    count(state, line.size());
}

void new_train_job(benchmark::State& state) { train_job(state, test::new_train_job({})); }
void running_train_job(benchmark::State& state) { train_job(state, test::running_train_job({})); }

void job_set(benchmark::State& state) {
    const std::string line = test::watch_line("MODIFIED", test::job_set_of({}, "u", "7"));
    watch::job_set_parts parts;
    for (auto _ : state) {
        watch::event_view event;
        if (!watch::decode_event(line, event, &parts) || parts.failure) throw std::runtime_error("not decoded");
        benchmark::DoNotOptimize(parts);
    }
    count(state, line.size());
}

// A foreign object of 10 KB, of which only metadata counts.
void foreign_config_map(benchmark::State& state) {
    std::string object = R"({"metadata":{"name":"c","namespace":"n","uid":"u","resourceVersion":"5"},"data":{"k":")";
    object.append(10'000, 'x').append(R"("}})");
    const std::string line = test::watch_line("ADDED", object);
    for (auto _ : state) {
        watch::event_view event;
        if (!watch::decode_event(line, event)) throw std::runtime_error("not decoded");
        benchmark::DoNotOptimize(event);
    }
    count(state, line.size());
}

BENCHMARK(new_train_job);
BENCHMARK(running_train_job);
BENCHMARK(job_set);
BENCHMARK(foreign_config_map);

}  // namespace
