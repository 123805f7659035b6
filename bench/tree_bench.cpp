// Documents at the size of a JobSet: reading, copy-on-write edits, writing; bytes a second and allocations each.
#include <benchmark/benchmark.h>

#include <string>

#include "../test/support/counted_memory.cpp"  // bench programs see the rooms, not the tests' library
#include "api/quantity.hpp"
#include "doc/edit.hpp"
#include "doc/json.hpp"
#include "doc/yaml.hpp"

namespace {

using namespace cotrain::doc;
using cotrain::api::quantity;

// A JobSet of about 4 KB: two jobs, sidecars, volumes, resources.
std::string job_set_json() {
    constexpr std::string_view container =
        R"("image":"registry.example/library/pytorch:2.7.1-cuda12","command":["torchrun","--nnodes","4"],"env":[)"
        R"({"name":"NCCL_DEBUG","value":"INFO"},{"name":"POD_IP","valueFrom":{"fieldRef":{"fieldPath":"status.podIP"}}},)"
        R"({"name":"HF_HOME","value":"/workspace/cache"}],"resources":{"limits":{"cpu":"16","memory":"64Gi",)"
        R"("nvidia.com/gpu":"8"},"requests":{"cpu":"8","memory":"32Gi"}},"volumeMounts":[{"name":"shm","mountPath":)"
        R"("/dev/shm"},{"name":"data","mountPath":"/workspace/dataset","readOnly":true}],"securityContext":)"
        R"({"allowPrivilegeEscalation":false,"capabilities":{"add":["IPC_LOCK"]}})";
    const auto job = [&](const std::string& name) {
        return R"({"name":")" + name +
               R"(","replicas":1,"template":{"metadata":{"labels":{"trainer.kubeflow.org/trainjob-ancestor-step":"trainer"}},)"
               R"("spec":{"backoffLimit":0,"parallelism":1,"completions":1,"template":{"metadata":{"annotations":)"
               R"({"sidecar.istio.io/inject":"false"}},"spec":{"containers":[{"name":"node",)" +
               std::string(container) + R"(},{"name":"sidecar",)" + std::string(container) +
               R"(}],"volumes":[{"name":"shm","emptyDir":{"medium":"Memory"}},{"name":"data","persistentVolumeClaim":)"
               R"({"claimName":"dataset"}}],"tolerations":[{"key":"nvidia.com/gpu","operator":"Exists"}],)"
               R"("nodeSelector":{"node.kubernetes.io/instance-type":"p5.48xlarge"}}}}}})";
    };
    return R"({"apiVersion":"jobset.x-k8s.io/v1alpha2","kind":"JobSet","metadata":{"name":"job","namespace":"team"},)"
           R"("spec":{"network":{"enableDNSHostnames":true},"replicatedJobs":[)" +
           job("launcher") + "," + job("node") + "]}}";
}

void report(benchmark::State& state, std::size_t before, std::size_t bytes) {
    state.SetBytesProcessed(static_cast<std::int64_t>(bytes) * state.iterations());
    state.counters["allocs"] =
        static_cast<double>(cotrain::test::allocations() - before) / static_cast<double>(state.iterations());
    state.counters["bytes"] = static_cast<double>(bytes);
}

void read_json(benchmark::State& state) {
    const std::string text = job_set_json();
    arena memory;
    const std::size_t before = cotrain::test::allocations();
    for (auto _ : state) {
        benchmark::DoNotOptimize(parse_json(memory, text));
        memory.clear();
    }
    report(state, before, text.size());
}

void read_yaml(benchmark::State& state) {
    arena kept;
    const std::string text = to_yaml(*parse_json_copy(kept, job_set_json()));
    arena memory;
    const std::size_t before = cotrain::test::allocations();
    for (auto _ : state) {
        benchmark::DoNotOptimize(parse_yaml(memory, text));
        memory.clear();
    }
    report(state, before, text.size());
}

// Without kept text: every value is printed.
void write_json(benchmark::State& state) {
    arena memory;
    const ref document = deep_copy(memory, *parse_json_copy(memory, job_set_json()));
    std::string out;
    append_json(out, document);
    const std::size_t before = cotrain::test::allocations();
    for (auto _ : state) {
        out.clear();
        append_json(out, document);
        benchmark::DoNotOptimize(out.data());
    }
    report(state, before, out.size());
}

void write_yaml(benchmark::State& state) {
    arena memory;
    const ref document = *parse_json_copy(memory, job_set_json());
    std::string out;
    append_yaml(out, document);
    const std::size_t before = cotrain::test::allocations();
    for (auto _ : state) {
        out.clear();
        append_yaml(out, document);
        benchmark::DoNotOptimize(out.data());
    }
    report(state, before, out.size());
}

// What a plan does: a name, counts and five variables into a frozen JobSet, then its bytes.
void edit_and_write(benchmark::State& state) {
    arena runtime;
    const ref frozen = freeze(runtime, *parse_json_copy(runtime, job_set_json()));
    arena job;
    std::string out;
    const auto once = [&] {
        editor e = editor::of(job, frozen);
        e.ensure_object("metadata").set("name", "job-7");
        editor spec = e.child({"spec"}).child("replicatedJobs").entry("name", "node").child({"template", "spec"});
        spec.set("parallelism", 8).set("completions", 8);
        editor env = spec.child({"template", "spec", "containers"}).entry("name", "node").child("env");
        env.ensure_entry("name", "PET_NNODES").set("value", "8");
        env.ensure_entry("name", "PET_NPROC_PER_NODE").set("value", "auto");
        env.ensure_entry("name", "PET_NODE_RANK")
            .ensure_object({"valueFrom", "fieldRef"})
            .set("fieldPath", "metadata.annotations['batch.kubernetes.io/job-completion-index']");
        env.ensure_entry("name", "PET_MASTER_ADDR").set("value", "job-7-node-0-0.job-7");
        env.ensure_entry("name", "PET_MASTER_PORT").set("value", "29500");
        out.clear();
        append_json(out, e);
        job.clear();
    };
    once();
    const std::size_t before = cotrain::test::allocations();
    for (auto _ : state) {
        once();
        benchmark::DoNotOptimize(out.data());
    }
    report(state, before, out.size());
}

void freeze_document(benchmark::State& state) {
    arena source;
    const ref document = *parse_json_copy(source, job_set_json());
    arena memory;
    const std::size_t before = cotrain::test::allocations();
    for (auto _ : state) {
        benchmark::DoNotOptimize(freeze(memory, deep_copy(memory, document)));
        memory.clear();
    }
    report(state, before, to_json(document).size());
}

void compare(benchmark::State& state) {
    arena memory;
    const ref a = deep_copy(memory, *parse_json_copy(memory, job_set_json()));
    const ref b = deep_copy(memory, a);
    const std::size_t before = cotrain::test::allocations();
    for (auto _ : state) benchmark::DoNotOptimize(equal(a, b));
    report(state, before, to_json(a).size());
}

void quantity_parse_and_add(benchmark::State& state) {
    const std::size_t before = cotrain::test::allocations();
    for (auto _ : state) {
        quantity sum;
        for (const std::string_view text : {"16", "64Gi", "500m", "1.5Gi"}) sum += *quantity::parse(text) * 8;
        benchmark::DoNotOptimize(sum);
    }
    report(state, before, 0);
}

BENCHMARK(read_json);
BENCHMARK(read_yaml);
BENCHMARK(write_json);
BENCHMARK(write_yaml);
BENCHMARK(edit_and_write);
BENCHMARK(freeze_document);
BENCHMARK(compare);
BENCHMARK(quantity_parse_and_add);

}  // namespace
