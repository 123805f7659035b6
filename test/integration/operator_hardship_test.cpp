// What older definitions let in, definitions that are taken away, and an end in the middle of writes.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "integration/control.hpp"
#include "integration/operator_child.hpp"
#include "integration/operator_side_plane.hpp"
#include "integration/operator_sim_child.hpp"
#include "support/run.hpp"
#include "support/temp_dir.hpp"

namespace cotrain::test {
namespace {

constexpr auto config = "apiVersion: config.trainer.kubeflow.org/v1alpha1\nkind: Configuration\n";

constexpr auto runtime = R"(apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata: {name: torch, namespace: default}
spec:
  mlPolicy: {numNodes: 1, torch: {}}
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec: {template: {spec: {containers: [{name: node, image: i}]}}}
---
)";

std::string lax_definition(const std::string& kind, const std::string& scope) {
    std::string plural = kind + "s";
    for (char& c : plural) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    return "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: " + plural +
           ".trainer.kubeflow.org}\nspec:\n  group: trainer.kubeflow.org\n  scope: " + scope +
           "\n  names: {kind: " + kind + ", plural: " + plural +
           "}\n  versions: [{name: v1alpha1, served: true, storage: true, subresources: {status: {}}, schema: "
           "{openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]\n---\n";
}

std::string train_job(const std::string& name,
                      const std::string& spec = "{runtimeRef: {name: torch, kind: TrainingRuntime}}") {
    return "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: " + name +
           ", namespace: default}\nspec: " + spec + "\n---\n";
}

// kubectl as users have it.
class user {
   public:
    explicit user(const side_plane& plane) : kubeconfig_(plane.kubeconfig()) {}
    [[nodiscard]] finished kubectl(const std::string& words) const {
        return run_shell(test_variable("COTRAIN_TEST_KUBECTL") + " --kubeconfig " + kubeconfig_ + " " + words);
    }
    void apply(const std::string& yaml) {
        files_.write("objects.yaml", yaml);
        const finished done = kubectl("apply --server-side -f " + files_.path("objects.yaml"));
        EXPECT_EQ(done.code, 0) << done.output;
    }
    [[nodiscard]] bool waits(const std::string& words) const {
        const finished done = kubectl("wait --timeout=60s " + words);
        EXPECT_EQ(done.code, 0) << words << "\n" << done.output;
        return done.code == 0;
    }
    // kubectl refuses to wait for a definition whose conditions are still null.
    [[nodiscard]] bool definitions_are_served() const {
        const auto due = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        finished done;
        do done = kubectl("wait --timeout=60s --for=condition=Established crd --all");
        while (done.code != 0 && done.output.contains("accessor error") && std::chrono::steady_clock::now() < due);
        EXPECT_EQ(done.code, 0) << done.output;
        return done.code == 0;
    }

   private:
    std::string kubeconfig_;
    temp_dir files_;
};

awaitable<void> take_bad_input(asio::io_context* loop, user* u, std::string kubeconfig) {
    u->apply(lax_definition("TrainJob", "Namespaced") + lax_definition("TrainingRuntime", "Namespaced") +
             lax_definition("ClusterTrainingRuntime", "Cluster"));
    EXPECT_EQ(u->kubectl("apply --server-side -f " + test_variable("COTRAIN_TEST_CRDS") + "/jobset.yaml").code, 0);
    EXPECT_TRUE(u->definitions_are_served());
    operator_child child(*loop, config, kubeconfig);
    EXPECT_TRUE(co_await child.said("\"leading\""));
    const std::string long_name(240, 'l');
    const std::string broken =
        "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainingRuntime\nmetadata: {name: broken, namespace: "
        "default}\nspec: {template: 7}\n---\n";
    const std::string foreign =
        "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: foreign, namespace: default}\nspec: "
        "{suspend: true, replicatedJobs: []}\n---\n";
    u->apply(runtime + broken + foreign);
    u->apply(train_job("no-list", "{runtimeRef: {name: torch, kind: TrainingRuntime}, runtimePatches: 7}") +
             train_job("no-number", "{runtimeRef: {name: torch, kind: TrainingRuntime}, trainer: {numNodes: three}}") +
             train_job("no-runtime", "{runtimeRef: {name: none, kind: TrainingRuntime}}") +
             train_job("broken-runtime", "{runtimeRef: {name: broken, kind: TrainingRuntime}}") +
             train_job("no-spec", "[]") + train_job(long_name) + train_job("foreign") + train_job("good-one"));
    EXPECT_TRUE(u->waits("--for=create jobset/good-one"));
    for (const std::string& name :
         {std::string("no-list"), std::string("no-number"), std::string("no-runtime"), std::string("broken-runtime"),
          std::string("no-spec"), long_name, std::string("foreign")})
        EXPECT_TRUE(u->waits("--for=condition=ResourcesReady=False trainjob/" + name));
    const finished events = u->kubectl(
        "get events -o jsonpath='{range .items[*]}{.reason} {.regarding.name}"
        "{.involvedObject.name}{\"\\n\"}{end}'");
    for (const std::string& name : {std::string("no-list"), std::string("broken-runtime"), long_name})
        EXPECT_TRUE(events.output.contains("TrainJobResourcesCreationFailed " + name)) << events.output;
    EXPECT_EQ(u->kubectl("get jobset foreign -o jsonpath='{.metadata.ownerReferences}{.spec.replicatedJobs}'").output,
              "[]")
        << "it is not touched";
    // A status that nobody could have written is replaced; a runtime that goes is missed by nobody who has it.
    EXPECT_EQ(u->kubectl("patch trainjob good-one --subresource status --type merge -p "
                         "'{\"status\":{\"conditions\":{\"a\":1},\"jobsStatus\":7}}'")
                  .code,
              0);
    EXPECT_EQ(u->kubectl("delete trainingruntime torch").code, 0);
    EXPECT_EQ(u->kubectl("patch trainjob good-one --type merge -p '{\"spec\":{\"suspend\":true}}'").code, 0);
    EXPECT_TRUE(u->waits("--for=jsonpath='{.spec.suspend}'=true jobset/good-one"));
    EXPECT_TRUE(u->waits("--for=condition=Suspended trainjob/good-one"));
    u->apply(runtime + train_job("good-two"));
    EXPECT_TRUE(u->waits("--for=create jobset/good-two"));
    EXPECT_EQ(co_await child.stop(), 0) << child.log();
}

TEST(operator_hardship, bad_input_is_said_and_others_go_on) {
    const side_plane plane(plane::bare);
    user u(plane);
    asio::io_context loop(1);
    test::run(loop, take_bad_input(&loop, &u, plane.kubeconfig()));
}

// Waits until the log says it behind that place.
awaitable<bool> said_behind(const operator_child* child, asio::io_context* loop, std::size_t from, std::string text) {
    const auto due = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    asio::steady_timer timer(*loop);
    while (child->log().find(text, from) == std::string::npos) {
        if (std::chrono::steady_clock::now() > due) co_return false;
        timer.expires_after(std::chrono::milliseconds(50));
        co_await timer.async_wait(asio::use_awaitable);
    }
    co_return true;
}

awaitable<void> lose_definitions(asio::io_context* loop, user* u, std::string kubeconfig) {
    const std::string job_sets = test_variable("COTRAIN_TEST_CRDS") + "/jobset.yaml";
    const std::string ours = (std::filesystem::path(COTRAIN_SOURCE_DIR) / "deploy" / "crds").string();
    EXPECT_EQ(u->kubectl("apply --server-side -f " + ours + " -f " + job_sets).code, 0);
    EXPECT_TRUE(u->definitions_are_served());
    operator_child child(*loop, config, kubeconfig);
    EXPECT_TRUE(co_await child.said("\"leading\""));
    u->apply(runtime + train_job("before"));
    EXPECT_TRUE(u->waits("--for=create jobset/before"));
    const std::size_t from = child.log().size();
    EXPECT_EQ(u->kubectl("delete crd jobsets.jobset.x-k8s.io").code, 0);
    EXPECT_TRUE(co_await said_behind(&child, loop, from, "jobset.sigs.k8s.io/docs/installation")) << child.log();
    u->apply(train_job("during"));
    EXPECT_TRUE(u->waits("--for=condition=ResourcesReady=False trainjob/before trainjob/during"));
    EXPECT_EQ(u->kubectl("apply --server-side -f " + job_sets).code, 0);
    // A definition is served a moment after it was taken.
    const auto due = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (u->kubectl("get jobset before during").code != 0 && std::chrono::steady_clock::now() < due) {
    }
    EXPECT_TRUE(u->waits("--for=create jobset/before jobset/during"));
    EXPECT_EQ(co_await child.stop(), 0);
}

TEST(operator_hardship, definitions_that_are_taken_away_are_waited_for_again) {
    const side_plane plane(plane::bare);
    user u(plane);
    asio::io_context loop(1);
    test::run(loop, lose_definitions(&loop, &u, plane.kubeconfig()));
}

awaitable<void> stop_while_writing(asio::io_context* loop, playground_child* cluster) {
    operator_child child(*loop,
                         std::string(config) + "leaderElection: {leaderElect: true, resourceNamespace: default}\n",
                         cluster->kubeconfig());
    EXPECT_TRUE(co_await child.said("\"leading\""));
    const finished made = run_shell(*cluster,
                                    "kubectl apply -f examples/torch.yaml && kubectl wait --for=create "
                                    "configmap/torch-two-runtime-snapshot --timeout=60s");
    EXPECT_EQ(made.code, 0) << made.output;
    // The JobSet's apply is under way now, and will not be answered.
    const auto begun = std::chrono::steady_clock::now();
    EXPECT_EQ(co_await child.stop(), 0);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
    std::printf("stopped with a write under way: %.2f s\n", took.count());
    EXPECT_LT(took.count(), 5);
    EXPECT_GT(took.count(), 1.5) << "it was given time";
    // Who leads next could be overtaken by that write.
    EXPECT_NE(
        run_shell(*cluster, "kubectl get lease trainer.kubeflow.org -o jsonpath='<{.spec.holderIdentity}>'").output,
        "<>");
    EXPECT_TRUE(child.log().contains("the Lease is not released")) << child.log();
}

TEST(operator_hardship, a_stop_does_not_wait_for_writes_that_hang_but_lets_the_lease_run_out) {
    playground_child cluster({"--no-page", "--no-operator", "--script", "never", "--faults", "patch jobsets hang"});
    asio::io_context loop(1);
    test::run(loop, stop_while_writing(&loop, &cluster));
    EXPECT_EQ(cluster.stop(), 0);
}

}  // namespace
}  // namespace cotrain::test
