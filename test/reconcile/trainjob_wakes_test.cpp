// Which jobs an event wakes that is no event of theirs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "trainjob_case.hpp"

namespace cotrain::reconcile {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

std::string runtime_of_class(std::string_view head, std::string_view runtime_class) {
    std::string text = "apiVersion: trainer.kubeflow.org/v1alpha1\n";
    text.append(head).append(R"(
spec:
  mlPolicy: {numNodes: 1, torch: {}}
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec: {template: {spec: {containers: [{name: node, image: i}], runtimeClassName: )");
    return text.append(runtime_class).append("}}}\n");
}

struct trainjob_wakes_test : testing::Test {
    trainjob_world w;

    void add_job(std::string_view ns, std::string_view name, bool suspended,
                 std::string_view runtime = "kind: TrainingRuntime, name: rt") {
        std::string text = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: ";
        text.append(name).append(", namespace: ").append(ns).append("}\nspec: {runtimeRef: {").append(runtime);
        w.apply_yaml(text.append("}, suspend: ").append(suspended ? "true" : "false").append("}\n"));
    }
    // Who is woken by what comes in; each of them plans again.
    std::vector<std::string> woken() {
        w.deliver();
        std::vector<std::string> out;
        const std::uint64_t quiet = w.reconciler->counts().quiet;
        for (const key k : std::exchange(w.queue, {})) {
            out.emplace_back(w.texts.view(k.name));
            static_cast<void>(w.run_once(k));
        }
        EXPECT_EQ(w.reconciler->counts().quiet, quiet) << "a job that is woken for that has something to do";
        w.queue.clear();
        return out;
    }
};

constexpr auto limits =
    "apiVersion: v1\nkind: LimitRange\nmetadata: {name: limits, namespace: ns}\nspec: {limits: []}\n";

TEST_F(trainjob_wakes_test, a_limit_range_concerns_the_suspended_jobs_of_its_namespace) {
    w.apply_yaml(torch_runtime);
    add_job("ns", "waiting", true);
    add_job("ns", "running", false);
    add_job("ns-2", "elsewhere", true);
    add_job("ns", "ended", true);
    w.patch("TrainJob ns/ended", R"({"status":{"conditions":[{"type":"Complete","status":"True","reason":"R",
        "message":"m","lastTransitionTime":"2026-01-01T00:00:00Z"}]}})");
    w.settle();
    w.apply_yaml(limits);
    EXPECT_THAT(woken(), ElementsAre("ns/waiting"));
    w.patch("LimitRange ns/limits", R"({"spec":{"limits":[{"type":"Container","default":{"cpu":"2"}}]}})");
    EXPECT_THAT(woken(), ElementsAre("ns/waiting"));
    w.erase("LimitRange ns/limits");
    EXPECT_THAT(woken(), ElementsAre("ns/waiting"));
    w.waker->synced(watch::kind::limit_range);
    EXPECT_THAT(woken(), IsEmpty());
}

TEST_F(trainjob_wakes_test, whom_an_exception_kept_from_being_woken_is_woken_by_the_next_relist_with_all_others) {
    add_job("ns", "one", false);
    add_job("ns", "two", false);
    w.deliver();
    bool fails = true;
    std::vector<std::string> woken;
    event_handlers touchy(
        *w.known, *w.reconciler,
        [&](key k, work) {
            if (std::exchange(fails, false)) throw std::bad_alloc();
            woken.emplace_back(w.texts.view(k.name));
        },
        [](key, work) {});
    for (const watch::kind k : watch::all_kinds()) touchy.synced(k);
    EXPECT_THROW(touchy.enqueue_all(), std::bad_alloc) << "what begins a term is tried again as a whole";
    touchy.enqueue_all();
    woken.clear();
    fails = true;
    const auto* const one = w.known->find(watch::kind::train_job, "ns", "one");
    ASSERT_NE(one, nullptr);
    EXPECT_THROW(touchy.removed(watch::kind::train_job, *one), std::bad_alloc);
    touchy.synced(watch::kind::limit_range);
    EXPECT_THAT(woken, UnorderedElementsAre("ns/one", "ns/two"));
    woken.clear();
    touchy.synced(watch::kind::limit_range);
    EXPECT_THAT(woken, IsEmpty());
}

TEST_F(trainjob_wakes_test, an_answer_that_comes_before_its_event_wakes_those_whom_the_event_would_have_woken) {
    add_job("ns", "waiting", false);
    add_job("ns", "of-another", false, "kind: TrainingRuntime, name: other");
    w.settle();
    w.apply_yaml(torch_runtime);
    w.known->note(watch::kind::training_runtime, w.objects.at("TrainingRuntime ns/rt"));
    ASSERT_EQ(w.queue.size(), 1U);
    EXPECT_EQ(w.texts.view(w.queue.front().name), "ns/waiting");
    w.queue.clear();
    w.deliver();
    EXPECT_TRUE(w.queue.empty()) << "its event brings nothing new";
}

TEST_F(trainjob_wakes_test, a_runtime_class_concerns_the_suspended_jobs_of_the_runtimes_that_name_it) {
    w.apply_yaml(torch_runtime);
    w.apply_yaml(runtime_of_class("kind: TrainingRuntime\nmetadata: {name: boxed, namespace: ns}", "kata"));
    w.apply_yaml(runtime_of_class("kind: TrainingRuntime\nmetadata: {name: other, namespace: ns}", "gvisor"));
    w.apply_yaml(runtime_of_class("kind: ClusterTrainingRuntime\nmetadata: {name: boxed}", "kata"));
    add_job("ns", "waiting", true, "kind: TrainingRuntime, name: boxed");
    add_job("ns", "running", false, "kind: TrainingRuntime, name: boxed");
    add_job("ns", "of-another-class", true, "kind: TrainingRuntime, name: other");
    add_job("ns", "of-no-class", true);
    add_job("ns-2", "of-the-cluster", true, "kind: ClusterTrainingRuntime, name: boxed");
    w.settle();
    w.apply_yaml(
        "apiVersion: node.k8s.io/v1\nkind: RuntimeClass\nmetadata: {name: kata}\noverhead: {podFixed: {cpu: 1}}\n");
    EXPECT_THAT(woken(), UnorderedElementsAre("ns/waiting", "ns-2/of-the-cluster"));
    w.patch("RuntimeClass /kata", R"({"overhead":{"podFixed":{"cpu":"2"}}})");
    EXPECT_THAT(woken(), UnorderedElementsAre("ns/waiting", "ns-2/of-the-cluster"));
    w.erase("RuntimeClass /kata");
    EXPECT_THAT(woken(), UnorderedElementsAre("ns/waiting", "ns-2/of-the-cluster"));
}

TEST_F(trainjob_wakes_test, who_does_not_lead_wakes_nobody_for_them) {
    w.restart(false);
    w.apply_yaml(torch_runtime);
    add_job("ns", "waiting", true);
    w.apply_yaml(limits);
    EXPECT_THAT(woken(), IsEmpty());
}

// Suffixes are of files alone: a JobSet called like one has its job's name.
TEST_F(trainjob_wakes_test, what_is_in_the_way_concerns_the_job_that_needs_its_name) {
    w.apply_yaml(torch_runtime);
    add_job("ns", "a", false);
    add_job("ns", "a-tls-config", false);
    w.settle();
    w.apply_yaml("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a-tls-config, namespace: ns}\n");
    w.deliver();
    ASSERT_EQ(w.queue.size(), 1U);
    EXPECT_EQ(w.texts.view(w.queue.front().name), "ns/a");
    w.queue.clear();
    w.erase("JobSet ns/a-tls-config");
    w.deliver();
    w.queue.clear();
    for (const bool gone : {false, true}) {
        if (gone) {
            w.erase("JobSet ns/a-tls-config");
        } else {
            w.apply_yaml(
                "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\n"
                "metadata: {name: a-tls-config, namespace: ns}\nspec: {}\n");
        }
        w.deliver();
        ASSERT_EQ(w.queue.size(), 1U);
        EXPECT_EQ(w.texts.view(w.queue.front().name), "ns/a-tls-config");
        w.queue.clear();
    }
}

}  // namespace
}  // namespace cotrain::reconcile
