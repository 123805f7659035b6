// The finalizer that earlier operators put on runtimes: taken off both kinds, whoever uses them, and nothing else.
#include "reconcile/runtime_reconciler.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "reconcile/trainjob_case.hpp"

namespace cotrain::reconcile {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using watch::kind;

constexpr auto of_team = "TrainingRuntime ns/rt";
constexpr auto of_cluster = "ClusterTrainingRuntime /rt";
constexpr auto both =
    R"({"metadata":{"finalizers":["a.test/first","trainer.kubeflow.org/resource-in-use","b.test/last"]}})";
constexpr auto ours_only = R"({"metadata":{"finalizers":["trainer.kubeflow.org/resource-in-use"]}})";

std::string cluster_runtime() {
    std::string text(torch_runtime);
    text.replace(text.find("TrainingRuntime"), 15, "ClusterTrainingRuntime");
    const std::string ns = ", namespace: ns";
    return text.erase(text.find(ns), ns.size());
}

struct runtime_case : trainjob_case {
    runtime_reconciler tend{*w.known, w, base::null_logger()};
    std::vector<key> woken;

    runtime_case() {
        w.waker = std::make_unique<event_handlers>(
            *w.known, *w.reconciler, [](key, work) {}, [this](key k, work) { woken.push_back(k); });
        w.waker->enqueue_all();
        w.apply_yaml(torch_runtime);
        w.apply_yaml(cluster_runtime());
        w.deliver();
    }
    key of(kind k) {
        return {.name = w.texts.find(k == kind::training_runtime ? "ns/rt" : "/rt"),
                .kind = static_cast<std::uint32_t>(k)};
    }
    outcome run(kind k) {
        w.taken();
        asio::io_context loop;
        return test::run(loop, tend.reconcile(of(k), {}));
    }
    [[nodiscard]] std::string finalizers(const std::string& label) const {
        doc::arena memory;
        return doc::to_json(w.object(memory, label).get({"metadata", "finalizers"}));
    }
};

TEST_F(runtime_case, takes_the_old_finalizer_off_both_kinds_and_leaves_others) {
    for (const auto& [label, k] :
         {std::pair(of_team, kind::training_runtime), std::pair(of_cluster, kind::cluster_training_runtime)}) {
        w.patch(label, both);
        w.deliver();
        ASSERT_EQ(woken, (std::vector<key>{of(k)})) << label;
        EXPECT_EQ(run(k).kind, outcome::what::done);
        EXPECT_THAT(w.taken(), ElementsAre(std::string("patch ") + label));
        EXPECT_EQ(finalizers(label), R"(["a.test/first","b.test/last"])");
        // The answer is known before its event comes, and wakes nobody.
        EXPECT_EQ(run(k).kind, outcome::what::done);
        EXPECT_THAT(w.taken(), IsEmpty());
        woken.clear();
        w.deliver();
        EXPECT_THAT(woken, IsEmpty());
    }
}

TEST_F(runtime_case, nobody_is_woken_for_a_runtime_without_it) {
    w.patch(of_team, R"({"metadata":{"finalizers":["a.test/first"]}})");
    w.deliver();
    w.waker->enqueue_all();
    EXPECT_THAT(woken, IsEmpty());
    EXPECT_EQ(run(kind::training_runtime).kind, outcome::what::done);
    EXPECT_THAT(w.taken(), IsEmpty());
}

// It is the old controllers' mark of use; with us nothing holds a runtime back, since a job has its snapshot.
TEST_F(runtime_case, takes_it_off_while_a_job_uses_the_runtime_and_when_it_is_in_deletion) {
    w.apply_yaml(train_job());
    w.deliver();
    w.patch(of_team, ours_only);
    w.patch(of_team, R"({"metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z"}})");
    w.deliver();
    EXPECT_EQ(run(kind::training_runtime).kind, outcome::what::done);
    EXPECT_EQ(finalizers(of_team), "[]");
    EXPECT_TRUE(w.rests(w.run_job()));
    w.settle();
    EXPECT_EQ(finalizers(of_team), "[]") << "nothing puts it back";
}

TEST_F(runtime_case, a_start_finds_those_of_before) {
    w.patch(of_team, ours_only);
    w.patch(of_cluster, ours_only);
    w.deliver();
    woken.clear();
    w.waker->enqueue_all();
    EXPECT_THAT(woken, testing::UnorderedElementsAre(of(kind::training_runtime), of(kind::cluster_training_runtime)));
}

// Somebody adds a finalizer of their own between our look and our patch: the patch names what it saw, and is refused.
TEST_F(runtime_case, does_not_write_over_a_list_that_changed_meanwhile) {
    w.patch(of_team, ours_only);
    w.deliver();
    w.on_patch = [this] {
        w.on_patch = {};
        w.patch(of_team, both);
    };
    EXPECT_EQ(run(kind::training_runtime).kind, outcome::what::failed) << "it comes back";
    EXPECT_THAT(finalizers(of_team), testing::HasSubstr("b.test/last"));
    w.deliver();
    EXPECT_EQ(run(kind::training_runtime).kind, outcome::what::done);
    EXPECT_EQ(finalizers(of_team), R"(["a.test/first","b.test/last"])");
}

// A label changes meanwhile: the version that is known is an old one, and the patch says so.
TEST_F(runtime_case, any_other_version_is_refused) {
    w.patch(of_cluster, ours_only);
    w.deliver();
    w.patch(of_cluster, R"({"metadata":{"labels":{"a":"b"}}})");
    w.hold_back(of_cluster);
    EXPECT_EQ(run(kind::cluster_training_runtime).kind, outcome::what::failed);
    EXPECT_THAT(finalizers(of_cluster), testing::HasSubstr("resource-in-use"));
}

TEST_F(runtime_case, a_refusal_comes_back_and_a_runtime_that_went_does_not) {
    w.patch(of_team, ours_only);
    w.deliver();
    for (const int status : {403, 409, 500}) {
        w.refusals[std::string("patch ") + of_team] = refused(status).error();
        EXPECT_EQ(run(kind::training_runtime).kind, outcome::what::failed) << status;
    }
    w.refusals.clear();
    w.objects.erase(of_team);
    EXPECT_EQ(run(kind::training_runtime).kind, outcome::what::done) << "404";
    EXPECT_THAT(w.taken(), ElementsAre(std::string("patch ") + of_team));
}

TEST_F(runtime_case, nothing_is_written_without_the_lease) {
    w.patch(of_team, ours_only);
    w.deliver();
    w.leads = false;
    EXPECT_EQ(run(kind::training_runtime).kind, outcome::what::done);
    EXPECT_THAT(w.taken(), IsEmpty());
    EXPECT_THAT(finalizers(of_team), testing::HasSubstr("resource-in-use"));
}

}  // namespace
}  // namespace cotrain::reconcile
