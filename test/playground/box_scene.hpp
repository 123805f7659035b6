// A box with our operator in it, and TrainJobs for it.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>

#include "doc/json.hpp"
#include "doc/yaml.hpp"
#include "playground/box.hpp"
#include "support/run.hpp"

namespace cotrain::test {

inline constexpr std::string_view box_runtime = R"(
metadata: {name: torch}
spec:
  mlPolicy: {numNodes: 2, torch: {}}
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec: {template: {spec: {containers: [{name: node, image: i}]}}}
)";

// All that runs shares one loop. The body ends the scene by returning.
class box_scene {
   public:
    explicit box_scene(playground::box_options options, base::logger& log = base::null_logger())
        : at(loop, std::move(options), base::null_logger()), ours(loop, at, log) {}

    void play(std::function<awaitable<void>(box_scene&)> body) { run(loop, perform(std::move(body))); }

    // Written into the cluster itself: faults of the wire do not concern it.
    bool make(std::string_view plural, std::string_view yaml) {
        doc::arena memory;
        const auto document = doc::parse_yaml(memory, yaml);
        if (!document) return false;
        const auto done = at.objects().create(
            {at.objects().types().find("trainer.kubeflow.org", "v1alpha1", plural), "default"}, *document,
            {.manager = "test"}, std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()));
        EXPECT_TRUE(done) << done.error().message;
        at.changed();
        return done.has_value();
    }
    bool make_jobs(int count) {
        bool fine = make("trainingruntimes", box_runtime);
        for (int i = 0; fine && i < count; ++i) {
            fine = make("trainjobs", "metadata: {name: job-" + std::to_string(i) +
                                         "}\nspec: {runtimeRef: {name: torch, kind: TrainingRuntime}}");
        }
        return fine;
    }
    [[nodiscard]] std::size_t count(std::string_view group, std::string_view version, std::string_view plural,
                                    std::string_view text = {}) {
        const sim::kind& of = *at.objects().types().find(group, version, plural);
        const auto all = at.objects().objects().list(
            of, {.version = at.objects().objects().version(),
                 .takes = [&](const sim::record& each) { return each.json.find(text) != std::string::npos; }});
        return all.size();
    }
    [[nodiscard]] std::size_t complete() {
        return count("trainer.kubeflow.org", "v1alpha1", "trainjobs", R"("type":"Complete")");
    }
    // Until so many TrainJobs are Complete; false when that takes a minute.
    awaitable<bool> until_complete(std::size_t wanted) {
        co_return co_await until([this, wanted] { return complete() >= wanted; });
    }
    awaitable<bool> until(std::function<bool()> is_so) {
        asio::steady_timer timer(loop);
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        while (!is_so() && std::chrono::steady_clock::now() < end) {
            timer.expires_after(std::chrono::milliseconds(10));
            co_await timer.async_wait(use_tuple);
        }
        co_return is_so();
    }

    asio::io_context loop{1};
    playground::box at;
    playground::box_operator ours;

   private:
    awaitable<void> perform(std::function<awaitable<void>(box_scene&)> body) {
        const auto up = at.start();
        EXPECT_TRUE(up) << up.error().message;
        const auto begun = ours.start();
        EXPECT_TRUE(begun) << begun.error().message;
        co_await body(*this);
        co_await ours.stop();
        co_await at.stop();
    }
};

}  // namespace cotrain::test
