// Goal 4: a reconcile of a running Torch job that changes nothing: time, allocations, requests. And another number of
// nodes.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <stdexcept>
#include <string>

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

// An elastic job goes from 1,000 nodes to 999, or back: all reconciles that follow from it, and one apply.
void scale_1000_nodes(benchmark::State& state) {
    trainjob_world w;
    w.keeps_templates = true;
    w.tune = [](trainjob_options& o) { o.elastic = true; };
    w.restart();
    settle_running_job(w, R"(metadata: {name: job, namespace: ns, annotations: {trainer.kubeflow.org/elastic: "2:1000"}}
spec: {runtimeRef: {name: rt, kind: TrainingRuntime}, trainer: {numNodes: 1000}}
)");
    int nodes = 1000;
    for (auto _ : state) {
        state.PauseTiming();
        nodes = 1999 - nodes;
        w.patch("TrainJob ns/job", R"({"spec":{"trainer":{"numNodes":)" + std::to_string(nodes) + "}}}");
        state.ResumeTiming();
        w.settle();
        state.PauseTiming();
        const auto requests = w.taken();
        if (std::ranges::count(requests, "apply JobSet ns/job") != 1) throw std::runtime_error("not one apply");
        state.ResumeTiming();
    }
}

BENCHMARK(scale_1000_nodes);

}  // namespace
