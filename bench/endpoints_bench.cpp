// Goals 11 and 12: endpoints beside memcpy of the same bytes, and a hostfile of a million hosts.
#include <benchmark/benchmark.h>

#include <cstring>
#include <memory>
#include <string>

#include "runtime/endpoints.hpp"

namespace {

using cotrain::runtime::endpoints;

constexpr std::string_view suffix = " slots=8\n";

endpoints hosts_of(std::int64_t pods) { return {"trainjob", "node", "trainjob", 1, static_cast<std::uint32_t>(pods)}; }

void per_endpoint(benchmark::State& state, std::int64_t pods) {
    state.counters["ns_per_endpoint"] =
        benchmark::Counter(static_cast<double>(pods) * static_cast<double>(state.iterations()) * 1e-9,
                           benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

// Names only, into memory that is there already.
void endpoints_into_warm_buffer(benchmark::State& state) {
    const endpoints hosts = hosts_of(state.range(0));
    std::string buffer(hosts.bytes(1), '\0');
    for (auto _ : state) benchmark::DoNotOptimize(hosts.blocks("\n").drain(buffer.data()));
    per_endpoint(state, state.range(0));
}

void memcpy_of_endpoints(benchmark::State& state) {
    const endpoints hosts = hosts_of(state.range(0));
    std::string source;
    hosts.append_lines(source, "\n");
    std::string buffer(source.size(), '\0');
    for (auto _ : state) {
        std::memcpy(buffer.data(), source.data(), source.size());
        benchmark::ClobberMemory();
    }
    per_endpoint(state, state.range(0));
}

void hostfile_into_warm_buffer(benchmark::State& state) {
    const endpoints hosts = hosts_of(state.range(0));
    std::string buffer(hosts.bytes(suffix.size()), '\0');
    for (auto _ : state) benchmark::DoNotOptimize(hosts.blocks(suffix).drain(buffer.data()));
    per_endpoint(state, state.range(0));
}

void hostfile_into_fresh_memory(benchmark::State& state) {
    const endpoints hosts = hosts_of(state.range(0));
    for (auto _ : state) {
        std::string file;
        hosts.append_lines(file, suffix);
        benchmark::DoNotOptimize(file.data());
    }
    per_endpoint(state, state.range(0));
}

void memcpy_of_hostfile_into_fresh_memory(benchmark::State& state) {
    const endpoints hosts = hosts_of(state.range(0));
    std::string source;
    hosts.append_lines(source, suffix);
    for (auto _ : state) {
        const auto file = std::make_unique_for_overwrite<char[]>(source.size());
        std::memcpy(file.get(), source.data(), source.size());
        benchmark::DoNotOptimize(file.get());
    }
    per_endpoint(state, state.range(0));
}

void hostfile_streamed(benchmark::State& state) {
    const endpoints hosts = hosts_of(state.range(0));
    for (auto _ : state) {
        std::size_t bytes = 0;
        for (auto lines = hosts.blocks(suffix); !lines.done(); lines.next()) bytes += lines.text().size();
        benchmark::DoNotOptimize(bytes);
    }
    per_endpoint(state, state.range(0));
}

BENCHMARK(endpoints_into_warm_buffer)->Arg(10'000)->Arg(100'000)->Arg(1'000'000);
BENCHMARK(memcpy_of_endpoints)->Arg(10'000)->Arg(100'000)->Arg(1'000'000);
BENCHMARK(hostfile_into_warm_buffer)->Arg(1'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK(hostfile_into_fresh_memory)->Arg(1'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK(memcpy_of_hostfile_into_fresh_memory)->Arg(1'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK(hostfile_streamed)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

}  // namespace
