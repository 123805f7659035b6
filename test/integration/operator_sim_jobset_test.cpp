// What the operator makes on the embedded API server is taken as it is by a real one.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <fstream>
#include <string>

#include "doc/edit.hpp"
#include "doc/json.hpp"
#include "integration/control.hpp"
#include "integration/operator_child.hpp"
#include "integration/operator_scene.hpp"
#include "integration/operator_sim_child.hpp"
#include "support/run.hpp"
#include "support/temp_dir.hpp"

namespace cotrain {
namespace {

// Without what the server itself writes.
std::string as_sent(doc::arena& memory, doc::ref object) {
    doc::editor out = doc::editor::of(memory, object);
    out.remove("status");
    doc::editor metadata = out.ensure_object("metadata");
    for (const char* own : {"managedFields", "uid", "resourceVersion", "creationTimestamp", "generation"})
        metadata.remove(own);
    return doc::to_json(out);
}

awaitable<void> offer(asio::io_context* loop, std::string name, std::string json) {
    auto real = kube::client::make(loop->get_executor(), test::real_cluster(), {}, base::null_logger());
    EXPECT_TRUE(real) << real.error().message;
    doc::arena memory;
    const auto sent = doc::parse_json(memory, json);
    const auto taken = co_await (*real)->apply(test::kinds::job_set, {"default", name}, json, true,
                                               {.field_manager = "trainer", .dry_run = true});
    EXPECT_TRUE(taken) << taken.error().message;
    if (taken) {
        const auto read = doc::parse_json(memory, taken->body);
        EXPECT_TRUE(equal(read->get("spec"), sent->get("spec")))
            << name << "\nsent:  " << doc::to_json(sent->get("spec")) << "\ntaken: " << doc::to_json(read->get("spec"));
        EXPECT_TRUE(equal(read->get({"metadata", "labels"}), sent->get({"metadata", "labels"})));
    }
    co_await (*real)->stop();
}

TEST(sim_jobsets, are_accepted_unchanged_by_the_real_api_server) {
    test::playground_child child({"--no-page", "--script", "never"});
    for (const std::string file : {"torch", "mpi"}) {
        const std::string job = file == "torch" ? "torch-two" : "mpi-pi";
        const test::finished made = run_shell(child, "kubectl apply --server-side -f examples/" + file +
                                                         ".yaml >/dev/null && kubectl wait --for=create jobset/" + job +
                                                         " --timeout=60s >/dev/null && kubectl get --raw "
                                                         "/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets/" +
                                                         job);
        ASSERT_EQ(made.code, 0) << made.output;
        doc::arena memory;
        const auto read = doc::parse_json(memory, made.output);
        ASSERT_TRUE(read) << made.output;
        asio::io_context loop(1);
        test::run(loop, offer(&loop, job, as_sent(memory, *read)));
    }
    EXPECT_EQ(child.stop(), 0);
}

// Operator and API server as two processes.
TEST(sim_processes, an_operator_of_its_own_brings_jobs_to_complete) {
    test::playground_child child({"--no-page", "--no-operator", "--script", "start 20ms, ready 20ms, run 100ms"});
    asio::io_context loop(1);
    test::operator_child ours(loop, "apiVersion: config.trainer.kubeflow.org/v1alpha1\nkind: Configuration\n",
                              child.kubeconfig());
    const test::finished done = run_shell(child,
                                          "kubectl apply -f examples/torch.yaml -f examples/mpi.yaml && kubectl wait "
                                          "--for=condition=Complete trainjob/torch-two trainjob/mpi-pi --timeout=60s");
    EXPECT_EQ(done.code, 0) << done.output << ours.log();
    EXPECT_EQ(child.stop(), 0);
}

TEST(sim_processes, demo_ends_with_complete_within_five_seconds) {
    const test::finished shown = test::run_shell("exec " + std::string(COTRAIN_BINARY) + " demo");
    EXPECT_EQ(shown.code, 0) << shown.output;
    EXPECT_LT(shown.took, std::chrono::seconds(5)) << shown.output;
    for (const char* text : {"torch-two  condition Complete=True", "mpi-pi     condition Complete=True",
                             "mpi-pi-node-0-2.mpi-pi slots=2", "PET_NODE_RANK=1", "patch jobsets"})
        EXPECT_NE(shown.output.find(text), std::string::npos) << text << "\n" << shown.output;
    EXPECT_EQ(shown.output.find('\x1b'), std::string::npos) << "plain lines where there is no terminal";
}

TEST(sim_processes, wrong_words_are_told_with_code_2) {
    const test::temp_dir tmp;
    const std::string mine = tmp.path("config");
    std::ofstream(mine) << "apiVersion: v1\nkind: Config\ncurrent-context: work\n";
    std::ofstream(tmp.path("snapshot")) << "no snapshot\n";
    for (const std::string& words : {std::string("demo now"),
                                     std::string("playground --port x"),
                                     std::string("playground --faults jump"),
                                     std::string("playground --what"),
                                     std::string("playground --kubeconfig /nowhere/at/all"),
                                     std::string("playground --snapshot /nowhere/at/all"),
                                     std::string("playground --snapshot /"),
                                     "playground --kubeconfig " + mine,
                                     "playground --snapshot " + tmp.path("snapshot"),
                                     std::string("config --config /nowhere"),
                                     std::string("config --what"),
                                     std::string("probe --what x"),
                                     std::string("probe --kubeconfig"),
                                     std::string("probe --kubeconfig=/nowhere"),
                                     std::string("operator --kubeconfig=/nowhere"),
                                     std::string("operator --config=/nowhere"),
                                     std::string("doctor --what"),
                                     std::string("doctor -o xml"),
                                     std::string("render"),
                                     std::string("render -f /nowhere"),
                                     std::string("render -f " + mine + " -o text"),
                                     std::string("validate -f /nowhere"),
                                     "playground --kubeconfig " + tmp.path("both") + " --snapshot " + tmp.path("both"),
                                     std::string("bench --rate fast"),
                                     std::string("bench --html /"),
                                     "bench --json " + tmp.path("new") + " --html " + tmp.path("./new"),
                                     std::string("bench --kubeconfig " + tmp.path("snapshot")),
                                     std::string("jump")}) {
        const test::finished said = test::run_shell(std::string(COTRAIN_BINARY) + " " + words);
        EXPECT_EQ(said.code, 2) << words;
        EXPECT_EQ(std::count(said.output.begin(), said.output.end(), '\n'), 1) << words << "\n" << said.output;
    }
    std::string kept;
    std::getline(std::ifstream(mine), kept);
    EXPECT_EQ(kept, "apiVersion: v1") << "somebody's kubeconfig is not replaced";
}

TEST(sim_processes, every_command_has_help) {
    for (const char* word :
         {"bench", "config", "demo", "doctor", "operator", "playground", "probe", "render", "validate"}) {
        const test::finished said = test::run_shell(std::string(COTRAIN_BINARY) + " " + word + " --help");
        EXPECT_EQ(said.code, 0) << word;
        EXPECT_TRUE(said.output.starts_with(std::string("usage: cotrain ") + word)) << said.output;
    }
}

// While the operator inside is not ready yet, too.
TEST(sim_processes, whoever_is_impatient_with_a_playground_leaves_nothing_behind) {
    for (const char* signal : {"INT", "TERM", "HUP"}) {
        const test::temp_dir tmp;
        const test::finished done =
            test::run_shell("cd '" + tmp.path() + "'; TMPDIR=$PWD " + COTRAIN_BINARY +
                            " playground --kubeconfig k & child=$!; until [ -s k ]; do sleep 0.002; done; kill -" +
                            signal + " $child; wait $child; code=$?; ls; exit $code");
        EXPECT_EQ(done.code, 0) << signal << done.output;
        EXPECT_FALSE(std::filesystem::exists(tmp.path("k"))) << signal << done.output;
    }
}

// The second would replace what the first has told, and take it away in the end.
TEST(sim_processes, two_playgrounds_do_not_share_a_file) {
    test::playground_child child({"--no-page", "--no-operator"});
    const test::finished second =
        run_shell(child, "cd \"$HOME\"; " + std::string(COTRAIN_BINARY) + " playground --kubeconfig ./kubeconfig");
    EXPECT_EQ(second.code, 2) << second.output;
    EXPECT_TRUE(second.output.contains("./kubeconfig is in use")) << second.output;
    EXPECT_EQ(run_shell(child, "kubectl get namespace default").code, 0) << "the first one's is still there";
    EXPECT_EQ(child.stop(), 0);
}

// What is kept of one playground is there in the next.
TEST(sim_processes, a_snapshot_carries_objects_over) {
    const std::string file =
        (std::filesystem::temp_directory_path() / ("cotrain-snap-" + std::to_string(::getpid()))).string();
    const std::string get = "kubectl get configmap kept -o jsonpath='{.metadata.uid} {.data.k}'";
    std::string before;
    {
        test::playground_child child({"--no-page", "--snapshot", file});
        before = run_shell(child, "kubectl create configmap kept --from-literal=k=v >/dev/null; " + get).output;
        EXPECT_EQ(child.stop(), 0);
    }
    EXPECT_NE(before.find(" v"), std::string::npos) << before;
    test::playground_child child({"--no-page", "--snapshot", file});
    EXPECT_EQ(run_shell(child, get).output, before);
    EXPECT_EQ(child.stop(), 0);
    std::filesystem::remove(file);
}

}  // namespace
}  // namespace cotrain
