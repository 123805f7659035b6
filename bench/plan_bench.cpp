// Goal 5, and the plan's growth: from the bytes of a TrainJob to the bytes that are applied, with a runtime that was
// compiled before; time, allocations, memory and bytes per plan.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "../test/support/counted_memory.cpp"  // bench programs see the rooms, not the tests' library
#include "api/trainjob.hpp"
#include "doc/json.hpp"
#include "doc/yaml.hpp"
#include "plugins/builtin.hpp"
#include "runtime/normalise.hpp"

namespace {

using namespace cotrain;

constexpr const char* torch_runtime = R"(
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: torch-distributed, labels: {trainer.kubeflow.org/framework: torch}}
spec:
  mlPolicy: {numNodes: 1, torch: {}}
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec:
            template:
              spec:
                containers:
                - name: node
                  image: pytorch/pytorch:2.7.1
                  resources: {limits: {cpu: '16', memory: 64Gi, nvidia.com/gpu: 8}}
                  volumeMounts: [{name: shm, mountPath: /dev/shm}]
                volumes: [{name: shm, emptyDir: {medium: Memory}}]
)";

constexpr const char* mpi_runtime = R"(
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: mpi-distributed}
spec:
  mlPolicy: {numNodes: 1, mpi: {runLauncherAsNode: true}}
  template:
    spec:
      replicatedJobs:
      - name: launcher
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec: {template: {spec: {containers: [{name: node, image: i}]}}}
      - name: node
        template: {spec: {template: {spec: {containers: [{name: node, image: i}]}}}}
)";

std::string job_of(std::int64_t nodes) {
    return R"({"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob","metadata":{"name":"trainjob","namespace")"
           R"(:"default","uid":"8a2f9f0e-3c57-4d9c-9f5b-0d6d6f1c0001","resourceVersion":"12345","generation":1,)"
           R"("creationTimestamp":"2026-01-01T00:00:00Z","labels":{"team":"research"}},"spec":{"managedBy":)"
           R"("trainer.kubeflow.org/trainjob-controller","runtimeRef":{"apiGroup":"trainer.kubeflow.org","kind":)"
           R"("ClusterTrainingRuntime","name":"r"},"suspend":false,"trainer":{"image":"registry/train:2","command":)"
           R"(["torchrun","train.py"],"args":["--epochs=3"],"env":[{"name":"LR","value":"0.1"},{"name":"SEED",)"
           R"("value":"7"}],"resourcesPerNode":{"limits":{"memory":"128Gi"}},"numNodes":)" +
           std::to_string(nodes) + "}}}";
}

std::shared_ptr<const runtime::compiled_runtime> compile(const char* text) {
    doc::arena memory;
    return runtime::compiled_runtime::compile(runtime::with_defaults(memory, doc::parse_yaml(memory, text).value()))
        .value();
}

struct key_source {
    base::result<runtime::ssh_key> operator()() const { return runtime::ssh_key{"private", "public"}; }
};

// One plan as the reconciler makes it: the arena is reused from plan to plan.
std::size_t plan(doc::arena& memory, const std::string& text, const runtime::compiled_runtime& compiled,
                 const plugins::builtin& framework, const runtime::observed& seen) {
    memory.clear();
    const auto document = doc::parse_json(memory, text);
    const auto job = api::decode_train_job(*document);
    const auto objects = framework.new_objects(memory, *job, compiled, seen);
    std::size_t bytes = 0;
    for (const auto& o : *objects) bytes += o.json.size();
    return bytes;
}

void measure(benchmark::State& state, const char* runtime_text) {
    const auto compiled = compile(runtime_text);
    const std::string text = job_of(state.range(0));
    const plugins::builtin framework;
    doc::arena memory;
    runtime::observed seen;
    seen.make_ssh_key = key_source{};
    const std::size_t untouched = test::allocated_bytes();
    std::size_t bytes = plan(memory, text, *compiled, framework, seen);
    state.counters["memory"] =
        static_cast<double>(test::allocated_bytes() - untouched);  // asked of the heap by the first
    std::vector<double> times;
    times.reserve(1'000'000);
    const std::size_t before = test::allocations();
    for (auto _ : state) {
        const auto start = std::chrono::steady_clock::now();
        bytes = plan(memory, text, *compiled, framework, seen);
        const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
        if (times.size() < times.capacity()) times.push_back(took.count());
    }
    const auto count = static_cast<double>(test::allocations() - before) / static_cast<double>(state.iterations());
    std::ranges::sort(times);
    state.counters["allocations"] = count;
    state.counters["bytes"] = static_cast<double>(bytes);
    state.counters["p50_us"] = times[times.size() / 2];
    state.counters["p99_us"] = times[times.size() * 99 / 100];
}

void plan_torch(benchmark::State& state) { measure(state, torch_runtime); }
void plan_mpi(benchmark::State& state) { measure(state, mpi_runtime); }

// By nodes; a hostfile of more than about 25,000 such hosts fits no ConfigMap.
BENCHMARK(plan_torch)->Arg(8)->RangeMultiplier(10)->Range(1, 1'000'000)->Unit(benchmark::kMicrosecond);
BENCHMARK(plan_mpi)->Arg(64)->Arg(1)->Arg(10)->Arg(100)->Arg(1'000)->Arg(10'000)->Arg(20'000)->Unit(
    benchmark::kMicrosecond);

}  // namespace
