// `cotrain explain` and `cotrain diff` beside a running operator on a real API server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "integration/control.hpp"
#include "integration/operator_scene.hpp"
#include "integration/operator_sim_child.hpp"
#include "support/temp_dir.hpp"

namespace cotrain::test {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

finished cotrain_anywhere(const operator_scene& s, const std::string& words) {
    return run_shell("exec '" + std::string(COTRAIN_BINARY) + "' " + words + " --kubeconfig '" + s.kubeconfig +
                     "' 2>&1");
}
finished cotrain(const operator_scene& s, const std::string& words) {
    return cotrain_anywhere(s, words + " -n " + s.ns);
}

awaitable<void> explain_one(operator_scene* s) {
    co_await s->create_many("job-", 1,
                            R"({"runtimeRef":{"name":"mpi","kind":"TrainingRuntime"},"trainer":{"numNodes":2,
                            "image":"registry.example.com/train:1"},"suspend":true})");
    EXPECT_TRUE(co_await s->until_count(kinds::job_set, 1));
    const auto labelled =
        co_await s->api->merge_patch(kinds::job_set, {.ns = s->ns, .name = "job-0"},
                                     R"({"metadata":{"labels":{"team":"a"}}})", {.field_manager = "somebody"});
    EXPECT_TRUE(labelled) << labelled.error().message;
    const finished said = cotrain(*s, "explain trainjob job-0");
    EXPECT_EQ(said.code, 0) << said.output;
    EXPECT_THAT(said.output, HasSubstr("TrainJob " + s->ns + "/job-0\n"));
    EXPECT_THAT(said.output, HasSubstr("TrainingRuntime mpi, as it was when the job was made\n"));
    EXPECT_THAT(said.output, HasSubstr("  Suspended=True"));
    for (const char* child : {"  ConfigMap job-0-runtime-snapshot\n", "  Secret job-0-mpi-ssh-auth\n",
                              "  JobSet.jobset.x-k8s.io job-0\n", "  trainer  Apply at "})
        EXPECT_THAT(said.output, HasSubstr(child));
    EXPECT_THAT(said.output, ContainsRegex("image: registry.example.com/train:1 +# spec.trainer.image\n"));
    EXPECT_THAT(said.output, ContainsRegex("parallelism: 2 +# spec.trainer.numNodes\n"));
    EXPECT_THAT(said.output, ContainsRegex("team: a +# manager somebody\n"));
    EXPECT_THAT(said.output, Not(HasSubstr("planned:"))) << "all else is as it is planned";
    EXPECT_THAT(cotrain(*s, "explain trainjob/job-0 -o json").output,
                HasSubstr(R"("path": "metadata.labels.team", "value": "a", "layer": "manager somebody")"));
    const finished none = cotrain(*s, "explain tj nobody");
    EXPECT_EQ(none.code, 1);
    EXPECT_EQ(none.output, "error: TrainJob " + s->ns + "/nobody is not there\n");
}

TEST(operator_commands, explain_says_of_a_job_set_which_layer_set_each_field) {
    operator_scene scene("operator-explain-command");
    scene.play(+[](operator_scene& s) -> awaitable<void> {
        EXPECT_TRUE(co_await s.start_operator());
        co_await explain_one(&s);
    });
}

awaitable<void> explain_many(operator_scene* s) {
    co_await s->create_many("job-", 3, R"({"runtimeRef":{"name":"torch","kind":"TrainingRuntime"}})");
    EXPECT_TRUE(co_await s->until_count(kinds::job_set, 3));
    for (const char* name : {"job-0", "job-2"}) {
        const auto labelled = co_await s->api->merge_patch(kinds::train_job, {.ns = s->ns, .name = name},
                                                           R"({"metadata":{"labels":{"team":"a"}}})");
        EXPECT_TRUE(labelled) << labelled.error().message;
    }
    const auto heading = [s](const std::string& name) { return HasSubstr("TrainJob " + s->ns + "/" + name + "\n"); };
    const finished chosen = cotrain(*s, "explain trainjobs -l team=a");
    EXPECT_EQ(chosen.code, 0) << chosen.output;
    EXPECT_THAT(chosen.output, testing::AllOf(heading("job-0"), heading("job-2"), Not(heading("job-1"))));
    EXPECT_THAT(cotrain_anywhere(*s, "explain tj --all-namespaces -l 'team!=a'").output, heading("job-1"));
    const finished none = cotrain(*s, "explain tj -l team=b");
    EXPECT_EQ(none.code, 0);
    EXPECT_EQ(none.output, "no TrainJobs found\n");
    EXPECT_EQ(cotrain(*s, "explain tj -l ,,=").code, 1) << "the API server knows no such selector";
    for (const char* wrong :
         {"explain tj", "explain tj job-0 -A", "explain tj job-0 -l a=b", "explain tj -l a=b -o json"})
        EXPECT_EQ(cotrain_anywhere(*s, wrong).code, 2) << wrong;
    EXPECT_EQ(cotrain(*s, "explain tj -A").code, 2);
    EXPECT_EQ(cotrain(*s, "hand-back -A").code, 2);
    EXPECT_EQ(cotrain_anywhere(*s, "hand-back -A --dry-run").code, 0);
}

TEST(operator_commands, explain_takes_labels_and_namespaces_as_kubectl_does) {
    operator_scene scene("operator-explain-many");
    scene.play(+[](operator_scene& s) -> awaitable<void> {
        EXPECT_TRUE(co_await s.start_operator());
        co_await explain_many(&s);
    });
}

std::string job_text(std::string_view zone) {
    return "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: job-0}\nspec:\n"
           "  runtimeRef: {name: mpi, kind: TrainingRuntime}\n  suspend: true\n  trainer: {numNodes: 2}\n"
           "  podTemplateOverrides:\n  - {targetJobs: [{name: node}], spec: {nodeSelector: {zone: " +
           std::string(zone) + "}}}\n";
}

awaitable<void> compare_one(operator_scene* s, const temp_dir* dir) {
    const std::string kubectl =
        test_variable("COTRAIN_TEST_KUBECTL") + " --kubeconfig '" + s->kubeconfig + "' -n " + s->ns + " ";
    const std::string file = dir->write("job.yaml", job_text("north"));
    const finished fresh = cotrain(*s, "diff -f " + file);
    EXPECT_EQ(fresh.code, 1) << fresh.output;
    EXPECT_THAT(fresh.output, HasSubstr("+++ applied/JobSet.jobset.x-k8s.io " + s->ns + "/job-0\n@@ -0,0 "));
    EXPECT_EQ(co_await s->count(kinds::train_job), 0) << "nothing is written";

    EXPECT_EQ(run_shell(kubectl + "apply -f " + file).code, 0);
    EXPECT_TRUE(co_await s->until_count(kinds::job_set, 1));
    const finished same = cotrain(*s, "diff -f " + file);
    EXPECT_EQ(same.code, 0) << same.output;
    EXPECT_EQ(same.output, "");

    // What it says comes true.
    static_cast<void>(dir->write("job.yaml", job_text("south")));
    const finished changed = cotrain(*s, "diff -f " + file);
    EXPECT_EQ(changed.code, 1) << changed.output;
    EXPECT_THAT(changed.output, ContainsRegex("-  *zone: north\n\\+  *zone: south\n"));
    EXPECT_THAT(changed.output, HasSubstr("+++ applied/JobSet.jobset.x-k8s.io " + s->ns + "/job-0\n"));
    EXPECT_EQ(run_shell(kubectl + "apply -f " + file).code, 0);
    EXPECT_TRUE(
        co_await s->until(kinds::job_set, [](const std::string& all) { return all.contains(R"("zone":"south")"); }));
    EXPECT_EQ(cotrain(*s, "diff -f " + file).code, 0);

    static_cast<void>(dir->write("job.yaml", job_text("south") + "  numNodes: 3\n"));
    const finished wrong = cotrain(*s, "diff -f " + file);
    EXPECT_EQ(wrong.code, 2);
    EXPECT_THAT(wrong.output, HasSubstr("job.yaml:10: unknown field \"spec.numNodes\""));
}

TEST(operator_commands, diff_says_what_kubectl_and_the_operator_then_do) {
    operator_scene scene("operator-diff");
    scene.play(+[](operator_scene& s) -> awaitable<void> {
        const temp_dir dir;
        EXPECT_TRUE(co_await s.start_operator());
        co_await compare_one(&s, &dir);
    });
}

}  // namespace
}  // namespace cotrain::test
