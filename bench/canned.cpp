// A controller without logic, to compare with: what is left of a bench when nothing is decided. It watches what a real
// one watches, and for each TrainJob it sends the same two applies, for each JobSet that completes the same patch of a
// status, prepared as text.
//   cotrain bench --controller cotrain --controller 'canned=build/bench/bench/canned {kubeconfig}'
// With a number it computes for so many microseconds before it answers a TrainJob: a slower one (bench/verdict.sh).
#include <fmt/format.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/task_group.hpp"
#include "doc/json.hpp"
#include "kube/client.hpp"
#include "kube/config.hpp"

namespace {

using namespace cotrain;

constexpr kube::resource train_jobs{"trainer.kubeflow.org", "v1alpha1", "trainjobs", "TrainJob"};
constexpr kube::resource job_sets{"jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet"};
constexpr kube::resource config_maps{"", "v1", "configmaps", "ConfigMap"};
constexpr kube::resource secrets{"", "v1", "secrets", "Secret"};
constexpr kube::resource runtimes{"trainer.kubeflow.org", "v1alpha1", "trainingruntimes", "TrainingRuntime"};

constexpr std::string_view owner_text =
    R"("ownerReferences":[{{"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob","name":"{0}","uid":"{1}",)"
    R"("controller":true,"blockOwnerDeletion":true}}])";
// What the operator sends for a job of `cotrain bench` without --nodes, but for a line or two of the runtime's
// metadata.
constexpr std::string_view snapshot_text =
    R"({{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{0}-runtime-snapshot","namespace":"{3}",{2}})"
    R"(},"data":{{"runtime":"apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainingRuntime\nmetadata:\n  lab)"
    R"(els:\n    trainer.kubeflow.org/framework: torch\n  name: rt\n  namespace: default\nspec:\n  mlPolicy:\n )"
    R"(   numNodes: 1\n    torch: {{}}\n  template:\n    spec:\n      replicatedJobs:\n      - groupName: defau)"
    R"(lt\n        name: node\n        replicas: 1\n        template:\n          metadata:\n            labels:)"
    R"(\n              trainer.kubeflow.org/trainjob-ancestor-step: trainer\n          spec:\n            templ)"
    R"(ate:\n              spec:\n                containers:\n                - image: registry.example.com/te)"
    R"(am/train:v1\n                  name: node\n"}}}})";
constexpr std::string_view job_set_text =
    R"({{"apiVersion":"jobset.x-k8s.io/v1alpha2","kind":"JobSet","metadata":{{"name":"{0}","namespace":"{3}",{2)"
    R"(}}},"spec":{{"replicatedJobs":[{{"name":"node","template":{{"metadata":{{"labels":{{"trainer.kubeflow.or)"
    R"(g/trainjob-ancestor-step":"trainer"}}}},"spec":{{"template":{{"spec":{{"containers":[{{"name":"node","im)"
    R"(age":"registry.example.com/team/train:v1","env":[{{"name":"PET_NNODES","value":"4"}},{{"name":"PET_NPROC)"
    R"(_PER_NODE","value":"1"}},{{"name":"PET_NODE_RANK","valueFrom":{{"fieldRef":{{"fieldPath":"metadata.annot)"
    R"(ations['batch.kubernetes.io/job-completion-index']"}}}}}},{{"name":"PET_MASTER_ADDR","value":"{0}-node-0)"
    R"(-0.{0}"}},{{"name":"PET_MASTER_PORT","value":"29500"}}],"ports":[{{"containerPort":29500}}],"command":[")"
    R"(torchrun","train.py"]}}]}}}},"parallelism":4,"completions":4}}}},"groupName":"default","replicas":1}}],")"
    R"(suspend":false}}}})";

constexpr std::string_view status_text =
    R"({"status":{"conditions":[{"type":"Complete","status":"True","reason":"AllJobsCompleted","message":"jobset completed )"
    R"(successfully","lastTransitionTime":"2026-01-01T00:00:00Z"}],"jobsStatus":[{"name":"node","ready":0,"succeeded":1,)"
    R"("failed":0,"active":0,"suspended":0}]}})";

struct canned {
    explicit canned(asio::io_context& loop) : tasks(loop.get_executor()) {}
    std::unique_ptr<kube::client> api;
    base::task_group tasks;
    std::chrono::microseconds work{0};
    int code = 1;
};

awaitable<void> answer(canned* of, std::string ns, std::string name, std::string uid) {
    const auto end = std::chrono::steady_clock::now() + of->work;
    while (std::chrono::steady_clock::now() < end) {
    }
    const std::string owner = fmt::format(owner_text, name, uid);
    const kube::write_options as{.field_manager = "trainer"};
    const std::string snapshot_name = name + "-runtime-snapshot";
    auto done = co_await of->api->apply(config_maps, {ns, snapshot_name},
                                        fmt::format(snapshot_text, name, uid, owner, ns), true, as);
    if (done)
        done = co_await of->api->apply(job_sets, {ns, name}, fmt::format(job_set_text, name, uid, owner, ns), true, as);
    if (!done) std::fprintf(stderr, "canned: %s\n", done.error().message.c_str());
}

awaitable<void> finish(canned* of, std::string ns, std::string name) {
    const auto done = co_await of->api->merge_patch(train_jobs, {ns, name}, std::string(status_text),
                                                    {.field_manager = "cotrain", .sub_resource = "status"});
    if (!done) std::fprintf(stderr, "canned: %s\n", done.error().message.c_str());
}

// Told from the line itself, as cheaply as can be.
bool says_something(const kube::resource* what, std::string_view line) {
    if (what == &train_jobs) return line.starts_with(R"({"type":"ADDED")");
    return what == &job_sets && line.starts_with(R"({"type":"MODIFIED")") && line.contains(R"("type":"Completed")");
}

std::string_view version_in(std::string_view line) {
    constexpr std::string_view before = R"("resourceVersion":")";
    const std::size_t at = line.find(before);
    if (at == std::string_view::npos) return {};
    line.remove_prefix(at + before.size());
    return line.substr(0, line.find('"'));
}

awaitable<void> watch(canned* of, const kube::resource* what) {
    std::string version;  // the API server closes watches that it finds slow
    for (;;) {
        auto stream =
            co_await of->api->watch(*what, "", {.resource_version = version, .send_initial_events = version.empty()});
        if (!stream) {
            std::fprintf(stderr, "canned: %s\n", stream.error().message.c_str());
            co_return;
        }
        while (const auto line = co_await stream->next()) {
            if (!*line) break;
            if ((*line)->starts_with(R"({"type":"ERROR")")) {
                std::fprintf(stderr, "canned: %.*s\n", static_cast<int>((*line)->size()), (*line)->data());
                co_return;
            }
            version = version_in(**line);
            if (!says_something(what, **line)) continue;
            doc::arena memory;
            const auto event = doc::parse_json(memory, **line);
            if (!event) continue;
            const doc::ref meta = event->get({"object", "metadata"});
            std::string ns(meta.get("namespace").as_string()), name(meta.get("name").as_string());
            if (what == &train_jobs)
                of->tasks.spawn("answer",
                                answer(of, std::move(ns), std::move(name), std::string(meta.get("uid").as_string())));
            else
                of->tasks.spawn("finish", finish(of, std::move(ns), std::move(name)));
        }
    }
}

awaitable<void> play(canned* of) {
    for (const kube::resource* each : {&train_jobs, &job_sets, &config_maps, &secrets, &runtimes})
        of->tasks.spawn("watch", watch(of, each));
    co_await of->tasks.join();
    co_await of->api->stop();
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2 && argc != 3) {
        std::fputs("usage: canned KUBECONFIG [MICROSECONDS]\n", stderr);
        return 2;
    }
    const auto cluster = kube::find_config(kube::environment::of_process(), argv[1]);
    if (!cluster) {
        std::fprintf(stderr, "canned: %s\n", cluster.error().message.c_str());
        return 1;
    }
    asio::io_context loop(1);
    canned it(loop);
    if (argc == 3) it.work = std::chrono::microseconds(std::strtol(argv[2], nullptr, 10));
    auto made = kube::client::make(loop.get_executor(), *cluster, {.user_agent = "canned"}, base::stderr_logger());
    if (!made) {
        std::fprintf(stderr, "canned: %s\n", made.error().message.c_str());
        return 1;
    }
    it.api = std::move(*made);
    asio::co_spawn(loop, play(&it), asio::detached);
    loop.run();
    return 1;
}
