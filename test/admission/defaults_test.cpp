// What the mutating webhook writes: times of patches, and process counts that typed clients can read.
#include <gtest/gtest.h>

#include <string>

#include "admission/cluster.hpp"

namespace cotrain::admission {
namespace {

using doc::ref;

constexpr std::string_view now_text = "2026-03-04T05:00:00Z";

std::string job(std::string_view spec, std::string_view metadata = {}) {
    std::string text = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: job, namespace: ns";
    text.append(metadata.empty() ? "" : ", ").append(metadata);
    return text.append("}\nspec: {runtimeRef: {name: rt}").append(spec.empty() ? "" : ", ").append(spec).append("}\n");
}

class defaulter : public testing::Test {
   public:
    reply create(std::string_view spec, std::string_view metadata = {}) {
        return cluster_.create(hook::default_train_job, cluster_.load(job(spec, metadata)));
    }
    reply update(std::string_view spec, std::string_view before, std::string_view metadata = {},
                 std::string_view metadata_before = {}) {
        return cluster_.update(hook::default_train_job, cluster_.load(job(spec, metadata)),
                               cluster_.load(job(before, metadata_before)));
    }
    cluster cluster_;
};

std::string stamp(std::string_view index, std::string_view time = now_text) {
    return R"({"op":"add","path":"/spec/runtimePatches/)" + std::string(index) + R"(/time","value":")" +
           std::string(time) + R"("})";
}

TEST_F(defaulter, changes_nothing_where_nothing_is_missing) {
    EXPECT_EQ(create("trainer: {numProcPerNode: 2}").patch, "");
    EXPECT_EQ(create("").patch, "");
}

TEST_F(defaulter, stamps_new_patches_that_bring_no_time) {
    const auto r = create("runtimePatches: [{manager: a.b/c, time: '2020-02-02T02:02:02Z'}, {manager: d.e/f}]");
    EXPECT_TRUE(r.allowed) << r.message;
    EXPECT_EQ(r.patch, "[" + stamp("1") + "]");
}

TEST_F(defaulter, keeps_the_time_of_a_patch_that_asks_for_the_same) {
    constexpr std::string_view old =
        "runtimePatches: [{manager: a.b/c, time: '2020-02-02T02:02:02Z', trainingRuntimeSpec: {template: {spec: "
        "{replicatedJobs: [{name: node}]}}}}]";
    constexpr std::string_view restamped =
        "runtimePatches: [{manager: a.b/c, time: '2024-01-01T00:00:00Z', trainingRuntimeSpec: {template: {metadata: "
        "{labels: {}}, spec: {replicatedJobs: [{name: node, template: null}]}}}}]";
    EXPECT_EQ(update(restamped, old).patch, "[" + stamp("0", "2020-02-02T02:02:02Z") + "]");
    EXPECT_EQ(update(old, old).patch, "");
}

TEST_F(defaulter, stamps_a_changed_patch_anew_whatever_time_it_brings) {
    constexpr std::string_view old = "runtimePatches: [{manager: a.b/c, time: '2020-02-02T02:02:02Z'}]";
    constexpr std::string_view changed =
        "runtimePatches: [{manager: a.b/c, time: '2024-01-01T00:00:00Z', trainingRuntimeSpec: {template: {metadata: "
        "{labels: {a: b}}}}}]";
    EXPECT_EQ(update(changed, old).patch, "[" + stamp("0") + "]");
}

TEST_F(defaulter, a_new_manager_may_bring_its_own_time_on_update) {
    EXPECT_EQ(update("runtimePatches: [{manager: x.y/z, time: '2024-01-01T00:00:00Z'}]", "").patch, "");
}

TEST_F(defaulter, makes_integers_of_numbers_in_quotes) {
    EXPECT_EQ(create("trainer: {numProcPerNode: '8'}").patch,
              R"([{"op":"add","path":"/spec/trainer/numProcPerNode","value":8}])");
}

TEST_F(defaulter, drops_auto_and_moves_the_other_words_to_an_annotation) {
    EXPECT_EQ(create("trainer: {numProcPerNode: auto}").patch,
              R"([{"op":"remove","path":"/spec/trainer/numProcPerNode"}])");
    EXPECT_EQ(create("trainer: {numProcPerNode: gpu}").patch,
              R"([{"op":"remove","path":"/spec/trainer/numProcPerNode"},)"
              R"({"op":"add","path":"/metadata/annotations","value":{}},)"
              R"({"op":"add","path":"/metadata/annotations/trainer.kubeflow.org~1num-proc-per-node","value":"gpu"}])");
    EXPECT_EQ(create("trainer: {numProcPerNode: cpu}", "annotations: {a: b}").patch,
              R"([{"op":"remove","path":"/spec/trainer/numProcPerNode"},)"
              R"({"op":"add","path":"/metadata/annotations/trainer.kubeflow.org~1num-proc-per-node","value":"cpu"}])");
}

TEST_F(defaulter, auto_takes_a_word_away_that_was_copied_along) {
    EXPECT_EQ(
        create("trainer: {numProcPerNode: auto}", "annotations: {trainer.kubeflow.org/num-proc-per-node: cpu}").patch,
        R"([{"op":"remove","path":"/spec/trainer/numProcPerNode"},)"
        R"({"op":"remove","path":"/metadata/annotations/trainer.kubeflow.org~1num-proc-per-node"}])");
}

// A spec that may not change is not changed by us either: the object could never be updated again.
TEST_F(defaulter, leaves_a_text_alone_that_is_stored_already) {
    EXPECT_EQ(update("trainer: {numProcPerNode: '8'}, suspend: true", "trainer: {numProcPerNode: '8'}").patch, "");
}

TEST_F(defaulter, gives_the_word_back_to_a_client_that_lost_it) {
    constexpr std::string_view word = "annotations: {trainer.kubeflow.org/num-proc-per-node: cpu}";
    EXPECT_EQ(update("trainer: {}", "trainer: {}", "annotations: {}", word).patch,
              R"([{"op":"add","path":"/metadata/annotations/trainer.kubeflow.org~1num-proc-per-node","value":"cpu"}])");
    EXPECT_EQ(update("trainer: {}", "trainer: {}", word, word).patch, "");
}

TEST_F(defaulter, refuses_what_typed_clients_cannot_read) {
    for (const auto& [spec, path] :
         {std::pair{"trainer: {numNodes: two}", "spec.trainer.numNodes"},
          {"trainer: {numNodes: 1.5}", "spec.trainer.numNodes"},
          {"trainer: {numNodes: 2147483648}", "spec.trainer.numNodes"},
          {"trainer: {env: {A: b}}", "spec.trainer.env"},
          {"trainer: {env: [{name: 1}]}", "spec.trainer.env[0].name"},
          {"trainer: {numProcPerNode: many}", "spec.trainer.numProcPerNode"},
          {"trainer: {resourcesPerNode: {limits: {cpu: fast}}}", "spec.trainer.resourcesPerNode.limits"},
          {"runtimePatches: [{manager: a.b/c, time: noon}]", "spec.runtimePatches[0].time"},
          {"suspend: maybe", "spec.suspend"}}) {
        const auto r = create(spec);
        EXPECT_FALSE(r.allowed) << spec;
        EXPECT_EQ(r.code, 400) << spec;
        EXPECT_TRUE(r.message.contains(path)) << r.message;
    }
}

// The schema says more of these, and says it later.
TEST_F(defaulter, lets_pass_what_only_the_schema_refuses) {
    for (const auto* spec :
         {"trainer: {env: [{value: x}]}", "trainer: {image: ''}", "runtimePatches: [{manager: ''}]"}) {
        EXPECT_TRUE(create(spec).allowed) << spec;
    }
}

TEST_F(defaulter, never_keeps_an_object_from_losing_its_finalizer) {
    EXPECT_TRUE(update("trainer: {numNodes: two}", "trainer: {numNodes: two}", "", "finalizers: [a.b/c]").allowed);
    EXPECT_TRUE(update("trainer: {numProcPerNode: many}", "trainer: {numProcPerNode: many}").allowed);
}

}  // namespace
}  // namespace cotrain::admission
