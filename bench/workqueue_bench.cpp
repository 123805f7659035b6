// The work queue and the controller's decisions: what one key costs on its way through.
#include <benchmark/benchmark.h>

#include <chrono>

#include "reconcile/controller_core.hpp"

namespace {

using namespace cotrain::reconcile;

// A storm of `keys` keys: each is added, taken and finished.
void storm(benchmark::State& state) {
    const auto keys = static_cast<std::uint32_t>(state.range(0));
    const moment now{std::chrono::hours(1)};
    controller_core core;
    for (auto _ : state) {
        for (std::uint32_t n = 0; n < keys; ++n) core.add({n, 0}, work::backlog, now);
        while (const auto run = core.start(now)) core.finish(run->id, outcome::done(), now);
    }
    state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * keys);
}

// One key that comes and goes while others wait: the steady state.
void one_key(benchmark::State& state) {
    const moment now{std::chrono::hours(1)};
    controller_core core;
    core.add({1'000'000, 0}, work::fresh, now);
    const auto held = core.start(now);
    for (auto _ : state) {
        core.add({7, 0}, work::fresh, now);
        const auto run = core.start(now);
        core.finish(run->id, outcome::done(), now);
    }
    core.finish(held->id, outcome::done(), now);
    state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()));
}

// Failing keys go through the heap of moments.
void failures(benchmark::State& state) {
    moment now{std::chrono::hours(1)};
    controller_limits limits;
    limits.retry.qps = 0;
    controller_core core(limits);
    for (std::uint32_t n = 0; n < 10'000; ++n) core.add({n, 0}, work::backlog, now);
    for (auto _ : state) {
        if (!core.ready()) {
            now = *core.next_due();
            core.tick(now);
        }
        const auto run = core.start(now);
        core.finish(run->id, outcome::failed(), now);
    }
    state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()));
}

BENCHMARK(storm)->Arg(100)->Arg(10'000)->Arg(100'000);
BENCHMARK(one_key);
BENCHMARK(failures);

}  // namespace
