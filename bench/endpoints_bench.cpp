// Goals 11 and 12: endpoints as a range, and the hostfiles written from it; time an endpoint, and what is asked of the
// heap for one file.
#include <benchmark/benchmark.h>

#include <cstring>
#include <string>

#include "../test/support/counted_memory.cpp"  // bench programs see the rooms, not the tests' library
#include "runtime/endpoints.hpp"

namespace {

using cotrain::runtime::endpoints;

constexpr std::string_view suffix = " slots=8\n";

endpoints hosts_of(std::int64_t pods) { return {"trainjob", "node", "trainjob", 1, static_cast<std::uint32_t>(pods)}; }

// Begun after the preparations, ended after the loop.
class account {
   public:
    explicit account(benchmark::State& state)
        : state_(state), allocations_(cotrain::test::allocations()), bytes_(cotrain::test::allocated_bytes()) {}
    ~account() {
        const auto rounds = static_cast<double>(state_.iterations());
        state_.counters["allocations"] = static_cast<double>(cotrain::test::allocations() - allocations_) / rounds;
        state_.counters["heap_bytes"] = static_cast<double>(cotrain::test::allocated_bytes() - bytes_) / rounds;
        state_.counters["per_endpoint"] = benchmark::Counter(static_cast<double>(state_.range(0)) * rounds,
                                                             benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
    }
    account(const account&) = delete;
    account& operator=(const account&) = delete;

   private:
    benchmark::State& state_;
    std::size_t allocations_;
    std::size_t bytes_;
};

// Names only, into memory that is there already.
void endpoints_of_a_range(benchmark::State& state) {
    const endpoints hosts = hosts_of(state.range(0));
    std::string buffer(hosts.bytes(1), '\0');
    const account counts(state);
    for (auto _ : state) {
        char* out = buffer.data();
        for (auto host : hosts) {
            out = host.write(out);
            *out++ = '\n';
        }
        benchmark::DoNotOptimize(out);
    }
}

void memcpy_of_endpoints(benchmark::State& state) {
    const endpoints hosts = hosts_of(state.range(0));
    std::string source;
    (void)hosts.append_lines(source, "\n", SIZE_MAX);
    std::string buffer(source.size(), '\0');
    const account counts(state);
    for (auto _ : state) {
        std::memcpy(buffer.data(), source.data(), source.size());
        benchmark::ClobberMemory();
    }
}

void hostfile_into_fresh_memory(benchmark::State& state) {
    const endpoints hosts = hosts_of(state.range(0));
    const account counts(state);
    for (auto _ : state) {
        std::string file;
        (void)hosts.append_lines(file, suffix, SIZE_MAX);
        benchmark::DoNotOptimize(file.data());
    }
}

BENCHMARK(endpoints_of_a_range)->RangeMultiplier(10)->Range(1, 1'000'000);
BENCHMARK(memcpy_of_endpoints)->Arg(10'000)->Arg(100'000)->Arg(1'000'000);
BENCHMARK(hostfile_into_fresh_memory)->Arg(30'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

}  // namespace
