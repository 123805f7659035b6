// Goal 4: a reconcile of a running Torch job that changes nothing: time, allocations, requests.
#include <benchmark/benchmark.h>

#include <stdexcept>

#include "../test/reconcile/trainjob_running.hpp"
#include "../test/support/counted_memory.cpp"  // bench programs see the rooms, not the tests' library
#include "reconcile/trainjob/reconciler.hpp"

namespace {

using namespace cotrain;
using namespace cotrain::reconcile;

// Frames are recycled within a coroutine's thread, so all rounds run in one.
awaitable<bool> rounds(benchmark::State* state, trainjob_world* w, key of) {
    for (int i = 0; i < 3; ++i) static_cast<void>(co_await w->reconciler->reconcile(of, {}));
    const auto before = test::allocations();
    for (auto _ : *state) benchmark::DoNotOptimize(co_await w->reconciler->reconcile(of, {}));
    state->counters["allocations"] =
        static_cast<double>(test::allocations() - before) / static_cast<double>(state->iterations());
    co_return w->taken().empty();
}

void reconcile_unchanged(benchmark::State& state) {
    trainjob_world w;
    const key job = settle_running_job(w);
    asio::io_context loop;
    if (!test::run(loop, rounds(&state, &w, job))) throw std::runtime_error("a request was made");
}

BENCHMARK(reconcile_unchanged);

}  // namespace
