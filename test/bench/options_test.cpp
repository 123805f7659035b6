// The bench's options, and the objects and times that follow from them.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "bench/options.hpp"
#include "bench/run.hpp"

namespace cotrain::bench {
namespace {

base::result<bench_options> read(std::vector<std::string_view> words) { return read_bench_options(words); }

std::string refusal(std::vector<std::string_view> words) {
    const auto done = read(std::move(words));
    return done ? std::string("nothing is wrong") : done.error().message;
}

TEST(bench_options, are_read) {
    const auto all = read({"--jobs=20", "--nodes", "8", "--policy=mpi", "--rate", "2.5", "--churn=25%", "--warm-up=0",
                           "--repetitions=4", "--controller", "go=run --x=1 {kubeconfig}", "--controller=cotrain",
                           "--fail-over", "5%", "--baseline=go", "--json=a", "--html=b", "--markdown=c"});
    ASSERT_TRUE(all) << all.error().message;
    EXPECT_EQ(all->load, (bench_load{.jobs = 20,
                                     .nodes = 8,
                                     .policy = bench_policy::mpi,
                                     .rate = 2.5,
                                     .in_flight = 64,
                                     .churn_percent = 25,
                                     .warm_up = 0}));
    ASSERT_EQ(all->controllers.size(), 2U);
    EXPECT_EQ(all->controllers[0].name, "go");
    EXPECT_EQ(all->controllers[0].command, "run --x=1 {kubeconfig}");
    EXPECT_EQ(all->controllers[1].name, "cotrain");
    EXPECT_EQ(all->controllers[1].command, "");
    EXPECT_DOUBLE_EQ(all->fail_over, 0.05);
    EXPECT_EQ(all->baseline, "go");
    EXPECT_EQ(describe(all->load, "mpi jobs of 8 nodes"), "20 mpi jobs of 8 nodes, 2.5 a second, 25 % deleted again");
}

TEST(bench_options, measure_our_operator_unless_told_otherwise) {
    const auto all = read({});
    ASSERT_TRUE(all);
    ASSERT_EQ(all->controllers.size(), 1U);
    EXPECT_EQ(all->controllers[0].name, "cotrain");
    EXPECT_EQ(all->controllers[0].command, "");
}

TEST(bench_options, a_command_with_an_equals_sign_is_not_taken_for_a_name) {
    const auto all = read({"--controller", "/bin/x --a=b"});
    ASSERT_TRUE(all);
    EXPECT_EQ(all->controllers[0].name, "controller-1");
    EXPECT_EQ(all->controllers[0].command, "/bin/x --a=b");
}

TEST(bench_options, a_baseline_controller_is_compared_with) {
    const auto all = read({"--controller=head=./new", "--baseline-controller", "./old {kubeconfig}"});
    ASSERT_TRUE(all) << all.error().message;
    EXPECT_EQ(all->controllers.at(1).name, "baseline");
    EXPECT_EQ(all->controllers.at(1).command, "./old {kubeconfig}");
    EXPECT_EQ(all->baseline, "baseline");
    EXPECT_EQ(read({"--controller=a=x", "--baseline-controller=b=y"})->baseline, "b");
}

TEST(bench_options, a_duration_becomes_jobs) {
    const auto all = read({"--duration", "1m", "--rate=20"});
    ASSERT_TRUE(all);
    EXPECT_EQ(all->load.jobs, 1200);
    EXPECT_EQ(refusal({"--duration=1m", "--rate=burst"}), "--duration: a burst has none: give --jobs, or a --rate");
    EXPECT_EQ(refusal({"--duration=1m", "--jobs=3"}), "--duration: give it or --jobs, not both");
    EXPECT_EQ(refusal({"--duration=24h"}), "--duration: '24h' is not a time such as 30s or 5m");
}

TEST(bench_options, name_what_is_wrong) {
    EXPECT_EQ(refusal({"--jobs", "none"}), "--jobs: 'none' is no number from 1 to 1000000");
    EXPECT_EQ(refusal({"--jobs=0"}), "--jobs: '0' is no number from 1 to 1000000");
    EXPECT_EQ(refusal({"--jobs"}), "--jobs: needs a value");
    EXPECT_EQ(refusal({"--policy=tensor"}), "--policy: 'tensor' is none of torch, mpi, plain");
    EXPECT_EQ(refusal({"--rate=fast"}), "--rate: 'fast' is not a number of jobs a second, or 'burst'");
    EXPECT_EQ(refusal({"--rate=0"}), "--rate: 0 is out of range: 0.01 to 100000, or 'burst'");
    EXPECT_EQ(refusal({"--churn=101%"}), "--churn: at most 100%");
    EXPECT_EQ(refusal({"--fail-over=much"}), "--fail-over: 'much' is not a percentage such as 10%");
    EXPECT_EQ(refusal({"--fail-over=5%"}), "--fail-over: over what? --baseline says it");
    EXPECT_EQ(refusal({"--controller="}), "--controller: the command is empty");
    EXPECT_EQ(refusal({"--controller=a="}), "--controller: the command is empty");
    EXPECT_EQ(refusal({"--controller=a=x", "--controller=a=y"}), "--controller: two are called 'a'");
    EXPECT_EQ(refusal({"--json="}), "--json: needs the name of a file");
    EXPECT_TRUE(refusal({"--script=jump"}).starts_with("--script: script: 'jump' is unknown"));
    EXPECT_EQ(refusal({"--complete"}),
              "--complete: is for a real API server; the embedded one plays JobSets, see --script");
    EXPECT_EQ(refusal({"--scenario=x", "--policy=mpi", "--controller=y"}),
              "--policy: is for TrainJobs; a scenario says what there is");
    EXPECT_EQ(refusal({"--scenario=x"}), "--scenario: of which controller? --controller says it");
    EXPECT_EQ(refusal({"--crds=x"}), "--crds: is for a --scenario");
    EXPECT_EQ(refusal({"what"}), "unknown option 'what'; --help lists them");
}

TEST(bench_load, open_loop_does_not_wait) {
    EXPECT_EQ(due_of({.rate = 100}, 0), std::chrono::nanoseconds(0));
    EXPECT_EQ(due_of({.rate = 100}, 50), std::chrono::milliseconds(500));
    EXPECT_EQ(due_of({.rate = 0}, 50), std::chrono::nanoseconds(0));
}

TEST(bench_load, churn_is_even) {
    int taken = 0;
    for (int i = 0; i < 100; ++i) taken += churned({.churn_percent = 30}, i) ? 1 : 0;
    EXPECT_EQ(taken, 30);
    EXPECT_FALSE(churned({}, 7));
    EXPECT_TRUE(churned({.churn_percent = 100}, 7));
}

}  // namespace
}  // namespace cotrain::bench
