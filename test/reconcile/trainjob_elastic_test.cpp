// Elastic jobs: their JobSet is scaled while it runs, by one apply of its counts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainjob_case.hpp"

namespace cotrain::reconcile {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr std::string_view elastic_runtime = R"(
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata: {name: rt, namespace: ns}
spec:
  mlPolicy: {torch: {elasticPolicy: {minNodes: 1, maxNodes: 8}}}
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec: {template: {spec: {containers: [{name: node, image: i}]}}}
)";

struct trainjob_elastic : trainjob_case {
    trainjob_elastic() {
        w.keeps_templates = true;
        open();
    }
    void open(bool gate = true) {
        w.tune = [gate](trainjob_options& o) {
            o.elastic = gate;
            o.normal_events = true;
        };
        w.restart();
    }
    void scale(int nodes) {
        w.taken();
        w.patch(job, R"({"spec":{"trainer":{"numNodes":)" + std::to_string(nodes) + "}}}");
        w.settle();
    }
    void suspend(bool wanted) {
        w.patch(job, std::string(R"({"spec":{"suspend":)") + (wanted ? "true}}" : "false}}"));
        w.settle();
    }
    void ready(int jobs, int active = 1) {
        w.patch(set, R"({"status":{"restarts":0,"replicatedJobsStatus":[{"name":"node","ready":)" +
                         std::to_string(jobs) + R"(,"succeeded":0,"failed":0,"suspended":0,"active":)" +
                         std::to_string(active) + "}]}}");
        w.settle();
    }
    [[nodiscard]] int nodes() const {
        doc::arena memory;
        const doc::ref spec = w.object(memory, set).get({"spec", "replicatedJobs"}).at(0).get({"template", "spec"});
        EXPECT_TRUE(equal(spec.get("parallelism"), spec.get("completions")));
        return static_cast<int>(spec.get("parallelism").as_int(0));
    }
    [[nodiscard]] std::string state() const {
        doc::arena memory;
        const doc::ref s = w.object(memory, job).get("status");
        return std::string(s.get("state").as_string()) + " " + std::string(s.get({"nodes", "summary"}).as_string()) +
               ": " + std::string(s.get("message").as_string());
    }
    [[nodiscard]] std::string pods() const {
        doc::arena memory;
        return doc::to_json(
            w.object(memory, set).get({"spec", "replicatedJobs"}).at(0).get({"template", "spec", "template"}));
    }
    [[nodiscard]] std::vector<std::string> applies() {
        std::vector<std::string> out = w.taken();
        std::erase_if(out, [](const std::string& r) { return !r.starts_with("apply"); });
        return out;
    }
};

TEST_F(trainjob_elastic, a_change_of_nodes_is_one_apply) {
    begin(elastic_runtime);
    ready(1);
    EXPECT_EQ(state(), "Running 2/2: all 2 nodes are ready");
    const std::string before = pods();
    for (const int wanted : {4, 3, 8, 1}) {
        scale(wanted);
        EXPECT_THAT(applies(), ElementsAre("apply JobSet ns/job"));
        EXPECT_EQ(nodes(), wanted);
        EXPECT_EQ(pods(), before);
        EXPECT_EQ(w.condition("ResourcesReady"), "-");
    }
    EXPECT_THAT(w.events, Contains("Scaled: JobSet goes from 2 to 4 nodes"));
    EXPECT_THAT(w.events, Contains("Scaled: JobSet goes from 4 to 3 nodes: ranks from 3 on end"));
    scale(1);
    EXPECT_THAT(w.taken(), ElementsAre()) << "nothing is left to do";
}

TEST_F(trainjob_elastic, a_change_of_a_thousand_nodes_is_one_apply) {
    w.apply_yaml(torch_runtime);
    w.apply_yaml(R"(
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: job, namespace: ns, annotations: {trainer.kubeflow.org/elastic: '2:1000'}}
spec: {runtimeRef: {name: rt, kind: TrainingRuntime}, trainer: {numNodes: 1000}}
)");
    w.settle();
    ready(1);
    for (const int wanted : {999, 2, 1000}) {
        scale(wanted);
        EXPECT_THAT(applies(), ElementsAre("apply JobSet ns/job"));
        EXPECT_EQ(nodes(), wanted);
    }
}

TEST_F(trainjob_elastic, another_process_goes_on_with_it) {
    begin(elastic_runtime);
    ready(1);
    w.restart();
    w.settle();
    scale(4);
    EXPECT_EQ(nodes(), 4);
    w.restart();
    w.taken();
    w.settle();
    EXPECT_THAT(applies(), ElementsAre());
    EXPECT_EQ(nodes(), 4);
}

TEST_F(trainjob_elastic, a_job_that_cannot_grow_goes_on_and_says_so) {
    begin(elastic_runtime);
    ready(1);
    scale(6);
    EXPECT_EQ(state(), "Running 2/6: 2 of 6 nodes are ready") << "JobSet has not looked yet";
    ready(0);
    EXPECT_EQ(state(), "Running 2/6: 2 of 6 nodes: waits for the Pods of node");
    ready(1);
    EXPECT_EQ(state(), "Running 6/6: all 6 nodes are ready");
    scale(8);
    ready(0);
    EXPECT_EQ(state(), "Running 6/8: 6 of 8 nodes: waits for the Pods of node");
    scale(7);
    EXPECT_EQ(state(), "Running 6/7: 6 of 7 nodes: waits for the Pods of node");
    scale(5);
    ready(1);
    EXPECT_EQ(state(), "Running 5/5: all 5 nodes are ready");
    scale(3);
    EXPECT_EQ(state(), "Running 3/3: all 3 nodes are ready");
    scale(5);
    ready(0);
    ready(1);
    ready(0);
    EXPECT_EQ(state(), "Running 4/5: 4 of 5 nodes: waits for the Pods of node") << "one was lost";
}

TEST_F(trainjob_elastic, by_its_own_annotation) {
    w.apply_yaml(torch_runtime);
    w.apply_yaml(R"(
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: job
  namespace: ns
  annotations: {trainer.kubeflow.org/elastic: '2:4', trainer.kubeflow.org/num-proc-per-node: gpu}
spec: {runtimeRef: {name: rt, kind: TrainingRuntime}, trainer: {numNodes: 2}}
)");
    w.settle();
    ready(1);
    EXPECT_THAT(pods(),
                HasSubstr(R"x({"name":"PET_NNODES","value":"2:4"},{"name":"PET_NPROC_PER_NODE","value":"gpu"})x"));
    scale(4);
    EXPECT_EQ(nodes(), 4);
    scale(5);
    EXPECT_EQ(nodes(), 4);
}

TEST_F(trainjob_elastic, the_status_says_which_pods_train) {
    begin(elastic_runtime);
    ready(1);
    EXPECT_THAT(w.objects[job], HasSubstr(R"x("selector":"jobset.sigs.k8s.io/jobset-name=job,)x"
                                          R"x(jobset.sigs.k8s.io/replicatedjob-name in (node)")x"));
}

TEST_F(trainjob_elastic, jobset_without_its_gate_is_named) {
    begin(elastic_runtime);
    ready(1);
    w.scales = false;
    scale(4);
    EXPECT_EQ(nodes(), 2);
    EXPECT_EQ(w.condition("ResourcesReady", "reason"), "ElasticJobSetNeeded");
    EXPECT_THAT(state(), HasSubstr("Running 2/2: its JobSet stays at 2 nodes: JobSet's controller lets no JobSet that "
                                   "runs be scaled without its feature gate ElasticJobSet"));
    EXPECT_THAT(w.events, Contains(HasSubstr("ElasticJobSet")));
    EXPECT_THAT(w.taken(), Not(Contains(HasSubstr("delete"))));
    w.scales = true;
    EXPECT_TRUE(trainjob_world::rests(w.run_job()));
    w.settle();
    EXPECT_EQ(nodes(), 4);
    EXPECT_EQ(w.condition("ResourcesReady"), "-");
}

TEST_F(trainjob_elastic, a_size_outside_of_the_range_is_not_applied) {
    begin(elastic_runtime);
    ready(1);
    scale(9);
    EXPECT_EQ(nodes(), 2);
    EXPECT_THAT(state(), HasSubstr("Running 2/2"));
    EXPECT_THAT(state(), HasSubstr("9 is not within 1:8"));
    scale(3);
    EXPECT_EQ(nodes(), 3);
    EXPECT_EQ(w.condition("ResourcesReady"), "-");
}

TEST_F(trainjob_elastic, a_suspended_job_gets_any_size) {
    begin(elastic_runtime);
    ready(1);
    scale(4);
    suspend(true);
    ready(0, 0);
    scale(6);
    suspend(false);
    EXPECT_EQ(nodes(), 6);
    scale(2);
    EXPECT_EQ(nodes(), 2);
}

TEST_F(trainjob_elastic, what_others_make_of_the_size_is_undone) {
    begin(elastic_runtime);
    ready(1);
    scale(4);
    std::string other = w.objects.at(set);
    for (const std::string_view member : {"parallelism", "completions"})
        other.replace(other.find(member) + member.size() + 2, 1, "3");
    w.patch(set, other);
    w.settle();
    EXPECT_EQ(nodes(), 4);
}

TEST_F(trainjob_elastic, without_the_gate_a_jobset_that_runs_is_left_alone) {
    open(false);
    begin(elastic_runtime);
    ready(1);
    scale(4);
    EXPECT_EQ(nodes(), 2);
    EXPECT_THAT(applies(), ElementsAre());
    EXPECT_THAT(w.objects[job], Not(HasSubstr("selector")));
}

TEST_F(trainjob_elastic, other_jobs_are_left_alone) {
    begin();
    ready(1);
    scale(4);
    EXPECT_EQ(nodes(), 2);
    EXPECT_THAT(applies(), ElementsAre());
}

}  // namespace
}  // namespace cotrain::reconcile
