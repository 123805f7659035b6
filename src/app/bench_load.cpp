// The objects of a bench.
#include <fmt/format.h>

#include <charconv>

#include "app/bench_target.hpp"

namespace cotrain::app {

namespace {

constexpr std::string_view prefix = "bench-";

// A trainer whose Pods want an image and a command, and nothing else.
constexpr std::string_view containers =
    R"("spec":{"template":{"spec":{"containers":[{"name":"node","image":"registry.example.com/team/train:v1"}]}}})";
constexpr std::string_view trainer =
    R"("metadata":{"labels":{"trainer.kubeflow.org/trainjob-ancestor-step":"trainer"}})";

}  // namespace

std::string bench_runtime(const bench_load& load) {
    const bool mpi = load.policy == bench_policy::mpi;
    const std::string policy =
        mpi ? R"("mpi":{"numProcPerNode":1,"mpiImplementation":"OpenMPI","sshAuthMountPath":"/home/mpiuser/.ssh"})"
        : load.policy == bench_policy::torch ? R"("torch":{})"
                                             : "";
    const std::string jobs =
        mpi ? fmt::format(R"({{"name":"launcher","template":{{{0},{1}}}}},{{"name":"node","template":{{{1}}}}})",
                          trainer, containers)
            : fmt::format(R"({{"name":"node","template":{{{},{}}}}})", trainer, containers);
    return fmt::format(
        R"({{"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainingRuntime","metadata":{{"name":"{}",)"
        R"("labels":{{"trainer.kubeflow.org/framework":"{}"}}}},"spec":{{"mlPolicy":{{"numNodes":1{}{}}},)"
        R"("template":{{"spec":{{{}"replicatedJobs":[{}]}}}}}}}})",
        bench_runtime_name, to_string(load.policy), policy.empty() ? "" : ",", policy,
        mpi ? R"("network":{"publishNotReadyAddresses":true},"successPolicy":{"operator":"All","targetReplicatedJobs":["launcher"]},)"
            : "",
        jobs);
}

std::string bench_job_name(std::int64_t number) { return fmt::format("{}{}", prefix, number); }

std::string bench_job(const bench_load& load, std::int64_t number) {
    return fmt::format(
        R"({{"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob","metadata":{{"name":"{}"}},)"
        R"("spec":{{"runtimeRef":{{"apiGroup":"trainer.kubeflow.org","kind":"TrainingRuntime","name":"{}"}},)"
        R"("trainer":{{"numNodes":{},"command":["torchrun","train.py"]}}}}}})",
        bench_job_name(number), bench_runtime_name, load.nodes);
}

std::int64_t bench_job_number(std::string_view name) {
    std::int64_t out = -1;
    if (!name.starts_with(prefix)) return -1;
    name.remove_prefix(prefix.size());
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), out);
    return error == std::errc{} && end == name.data() + name.size() ? out : -1;
}

std::int64_t bench_job_of_path(std::string_view path) {
    path = path.substr(0, path.find('?'));
    const std::size_t at = path.rfind(fmt::format("/{}", prefix));
    if (at == std::string_view::npos) return -1;
    path.remove_prefix(at + 1);
    return bench_job_number(path.substr(0, path.find_first_not_of("0123456789", prefix.size())));
}

}  // namespace cotrain::app
