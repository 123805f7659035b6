// Plans of elastic jobs: environment, gangs, and the counts of a JobSet that runs.
#include <gmock/gmock.h>

#include "plan.hpp"

namespace cotrain::plugins {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::string_view policy =
    "mlPolicy: {numNodes: 4, torch: {elasticPolicy: {minNodes: 2, maxNodes: 8, maxRestarts: 3}}}";

struct elastic_plan : plan {
    explicit elastic_plan(std::string_view runtime = policy, std::string_view spec = {}, bool gate = true)
        : plan(runtime_text(runtime), job_text(spec)) {
        framework.get<torch>().elastic = gate;
    }
    void annotate(const std::string& range) {
        job.meta.annotations = load("{trainer.kubeflow.org/elastic: '" + range + "'}");
    }
    // As the JobSet that is there, and runs.
    void run(std::string_view spec) {
        there.meta.owner_references.push_back(
            {.api_version = {}, .kind = {}, .name = {}, .uid = job.meta.uid, .controller = true});
        there.spec = load(spec);
        seen.job_set = &there;
    }
    api::job_set there;
};

std::string running(int nodes, std::string_view made_for = "2:8") {
    const std::string count = std::to_string(nodes);
    return "{replicatedJobs: [{name: node, replicas: 1, template: {metadata: {labels: "
           "{trainer.kubeflow.org/trainjob-ancestor-step: trainer}}, spec: {parallelism: " +
           count + ", completions: " + count +
           ", template: {spec: {containers: [{name: node, image: i, env: [{name: PET_NNODES, value: '" +
           std::string(made_for) + "'}]}]}}}}}]}";
}

std::vector<std::string> variables(plan& p) {
    std::vector<std::string> out;
    for (const doc::ref v : p.container().get("env").items())
        out.push_back(std::string(v.get("name").as_string()) + "=" + std::string(v.get("value").as_string("<field>")));
    return out;
}

TEST(elastic, nodes_meet_by_themselves) {
    elastic_plan p;
    EXPECT_THAT(variables(p), ElementsAre("PET_NNODES=2:8", "PET_NPROC_PER_NODE=1", "PET_RDZV_BACKEND=c10d",
                                          "PET_RDZV_ENDPOINT=job-node-0-0.job:29500", "PET_RDZV_ID=u-1",
                                          "PET_MAX_RESTARTS=3", "TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1"));
    const doc::ref node = p.object("JobSet").get({"spec", "replicatedJobs"}).at(0).get({"template", "spec"});
    EXPECT_EQ(node.get("parallelism").as_int(), 4);
    EXPECT_EQ(node.get("completions").as_int(), 4);
}

TEST(elastic, templates_do_not_depend_on_the_size) {
    elastic_plan four(policy, "trainer: {numNodes: 4}");
    elastic_plan eight(policy, "trainer: {numNodes: 8}");
    EXPECT_TRUE(equal(four.pod_spec(), eight.pod_spec()));
}

TEST(elastic, containers_that_start_again_do_not_end_the_job) {
    const auto limit = [](elastic_plan p) {
        return p.object("JobSet")
            .get({"spec", "replicatedJobs"})
            .at(0)
            .get({"template", "spec", "backoffLimit"})
            .as_int(-1);
    };
    EXPECT_EQ(limit(elastic_plan()), 24) << "8 nodes, 3 restarts";
    EXPECT_EQ(limit(elastic_plan("mlPolicy: {numNodes: 2, torch: {elasticPolicy: {minNodes: 2, maxNodes: 8}}}")), 80);
    EXPECT_EQ(limit(elastic_plan(policy, {}, false)), -1);
}

TEST(elastic, is_nothing_without_the_gate) {
    elastic_plan closed(policy, "trainer: {numNodes: 9}", false);
    closed.annotate("3:4");
    elastic_plan plain("mlPolicy: {numNodes: 4, torch: {}}", "trainer: {numNodes: 9}");
    EXPECT_TRUE(equal(closed.object("JobSet"), plain.object("JobSet")));
    closed.run(running(4));
    EXPECT_THAT(closed.make()->size(), 1U) << "the snapshot alone";
}

TEST(elastic, the_annotation_wins_over_the_runtime) {
    elastic_plan p;
    p.annotate("3:4");
    EXPECT_EQ(p.env("PET_NNODES"), "3:4");
    EXPECT_EQ(p.env("PET_MAX_RESTARTS"), "3");
    elastic_plan plain("mlPolicy: {numNodes: 4, torch: {}}");
    plain.annotate("1:4");
    EXPECT_EQ(plain.env("PET_NNODES"), "1:4");
    EXPECT_EQ(plain.env("PET_MAX_RESTARTS"), "10") << "a node that leaves costs one";
}

TEST(elastic, a_jobs_own_restarts_count_where_the_policy_names_none) {
    elastic_plan p("mlPolicy: {numNodes: 2, torch: {elasticPolicy: {minNodes: 2, maxNodes: 8}}}",
                   "trainer: {env: [{name: PET_MAX_RESTARTS, value: '99'}]}");
    EXPECT_EQ(p.env("PET_MAX_RESTARTS"), "99");
    elastic_plan own("mlPolicy: {torch: {elasticPolicy: {minNodes: 1, maxNodes: 8}}}",
                     "trainer: {env: [{name: TORCH_DISABLE_SHARE_RDZV_TCP_STORE, value: '0'}]}");
    EXPECT_EQ(own.env("TORCH_DISABLE_SHARE_RDZV_TCP_STORE"), "0");
}

TEST(elastic, gangs_count_the_fewest_nodes) {
    elastic_plan p(std::string(policy) + "\n  podGroupPolicy: {coscheduling: {}}", "trainer: {numNodes: 6}");
    EXPECT_EQ(p.object("PodGroup").get({"spec", "minMember"}).as_int(), 2);
}

struct refusal {
    const char* name;
    const char* runtime;
    const char* spec;
    const char* annotation;
    const char* expected;
};
void PrintTo(const refusal& c, std::ostream* out) { *out << c.name; }

class elastic_refusals : public testing::TestWithParam<refusal> {};

TEST_P(elastic_refusals, by_plan_and_admission) {
    const refusal& c = GetParam();
    elastic_plan p(c.runtime, c.spec);
    if (*c.annotation != 0) p.annotate(c.annotation);
    const runtime::verdict found = p.review();
    EXPECT_THAT(found.message(), HasSubstr(c.expected));
    const bool of_torch = std::string_view(c.runtime).contains("torch");
    if (of_torch) EXPECT_THAT(p.error(), HasSubstr(c.expected));
}

INSTANTIATE_TEST_SUITE_P(
    all, elastic_refusals,
    testing::Values(refusal{"too_many", policy.data(), "trainer: {numNodes: 9}", "", "9 is not within 2:8"},
                    refusal{"too_few", policy.data(), "trainer: {numNodes: 1}", "", "1 is not within 2:8"},
                    refusal{"the_runtimes_number", policy.data(), "", "5:8", "4 is not within 5:8"},
                    refusal{"min_above_max", policy.data(), "", "8:2", "must be MIN:MAX"},
                    refusal{"no_range", policy.data(), "", "2", "must be MIN:MAX"},
                    refusal{"none", policy.data(), "", "0:2", "must be MIN:MAX"},
                    refusal{"mpi", "mlPolicy: {mpi: {}}", "", "1:2", "only jobs of a runtime with mlPolicy.torch"},
                    refusal{"jax", "mlPolicy: {jax: {}}", "", "1:2", "only jobs of a runtime with mlPolicy.torch"},
                    refusal{"torchtune", policy.data(), "trainer: {command: [tune, run]}", "", "starts with torchrun"}),
    [](const auto& i) { return i.param.name; });

TEST(elastic, admission_takes_what_is_within_the_range) {
    elastic_plan p(policy, "trainer: {numNodes: 8}");
    EXPECT_THAT(p.review().errors, IsEmpty());
    EXPECT_THAT(p.review().warnings, IsEmpty());
    elastic_plan unnamed;
    EXPECT_THAT(unnamed.review().errors, IsEmpty());
    EXPECT_THAT(unnamed.review().warnings, ElementsAre(HasSubstr("autoscalers")));
    elastic_plan reserved(policy, "trainer: {numNodes: 8, env: [{name: PET_RDZV_ID, value: x}]}");
    EXPECT_EQ(reserved.review().errors.size(), 1U);
}

TEST(elastic, a_jobset_that_runs_gets_other_counts_and_nothing_else) {
    elastic_plan p(policy, "trainer: {numNodes: 6}");
    p.run(running(4));
    const auto objects = p.make();
    ASSERT_TRUE(objects) << objects.error().message;
    ASSERT_EQ(objects->size(), 2U) << "the snapshot, too";
    const runtime::object& counts = objects->back();
    EXPECT_EQ(counts.manager, "trainer-scale");
    EXPECT_EQ(counts.json,
              R"({"apiVersion":"jobset.x-k8s.io/v1alpha2","kind":"JobSet","metadata":{"name":"job","namespace":"ns"},)"
              R"("spec":{"replicatedJobs":[{"name":"node","template":{"spec":{"parallelism":6,"completions":6}}}]}})");
}

TEST(elastic, a_jobset_of_that_size_is_left_alone) {
    elastic_plan p;
    p.run(running(4));
    EXPECT_EQ(p.make()->size(), 1U);
}

TEST(elastic, a_jobset_that_was_made_before_is_not_scaled) {
    elastic_plan p(policy, "trainer: {numNodes: 6}");
    p.run(running(4, "4"));
    EXPECT_THAT(p.error(), HasSubstr("suspend the TrainJob and resume it"));
}

}  // namespace
}  // namespace cotrain::plugins
