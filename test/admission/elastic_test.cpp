// Gate ElasticTrainJob: which changes of numNodes pass, by an update and by the sub-resource scale.
#include <gtest/gtest.h>

#include <string>

#include "admission/cluster.hpp"

namespace cotrain::admission {
namespace {

using doc::ref;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view range = "annotations: {trainer.kubeflow.org/elastic: '2:8'}";

struct elastic_admission : testing::Test {
    elastic_admission() {
        cluster_.open.elastic = true;
        cluster_.framework.get<plugins::torch>().elastic = true;
        add_runtime("torch: {}");
    }
    void add_runtime(std::string_view framework) {
        cluster_.add(
            "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainingRuntime\nmetadata: {name: rt}\nspec:\n"
            "  mlPolicy: {numNodes: 2, " +
            std::string(framework) +
            "}\n  template: {spec: {replicatedJobs: [{name: node, template: {metadata: {labels: "
            "{trainer.kubeflow.org/trainjob-ancestor-step: trainer}}, spec: {template: {spec: {containers: "
            "[{name: node, image: i}]}}}}}]}}\n");
    }
    ref job(std::string_view spec, std::string_view metadata = range) {
        std::string text =
            "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: job, namespace: "
            "ns, uid: u-1";
        text.append(metadata.empty() ? "" : ", ").append(metadata);
        text.append("}\nspec: {runtimeRef: {name: rt, kind: TrainingRuntime}").append(spec.empty() ? "" : ", ");
        return cluster_.load(text.append(spec).append("}\n"));
    }
    reply update(ref object, ref before) { return cluster_.update(hook::validate_train_job, object, before); }
    // As `kubectl scale` asks.
    reply scale(int from, int to) {
        const auto side = [](int nodes) {
            return R"({"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"job","namespace":"ns"},)"
                   R"("spec":{"replicas":)" +
                   std::to_string(nodes) + "}}";
        };
        return cluster_.send(hook::validate_train_job,
                             R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"r",)"
                             R"("kind":{"group":"autoscaling","version":"v1","kind":"Scale"},"subResource":"scale",)"
                             R"("name":"job","namespace":"ns","operation":"UPDATE","object":)" +
                                 side(to) + R"(,"oldObject":)" + side(from) + "}}");
    }
    cluster cluster_;
};

TEST_F(elastic_admission, nodes_change_within_the_range_while_the_job_runs) {
    const ref four = job("trainer: {numNodes: 4, image: i}");
    EXPECT_TRUE(update(job("trainer: {numNodes: 8, image: i}"), four).allowed);
    EXPECT_TRUE(update(job("trainer: {numNodes: 2, image: i}"), four).allowed);
    const reply many = update(job("trainer: {numNodes: 9, image: i}"), four);
    EXPECT_THAT(many.fields, ElementsAre("spec.trainer.numNodes"));
    EXPECT_EQ(many.message,
              "spec.trainer.numNodes: Invalid value: 9: 9 is not within 2:8, the number of nodes that the TrainJob may "
              "have");
    EXPECT_FALSE(update(job("trainer: {numNodes: 8, image: j}"), four).allowed) << "nothing else does";
    EXPECT_FALSE(update(job("trainer: {image: i}"), four).allowed);
    EXPECT_TRUE(update(job("trainer: {numNodes: 8, image: i}, suspend: true"), four).allowed);
}

TEST_F(elastic_admission, other_jobs_keep_their_nodes) {
    EXPECT_THAT(update(job("trainer: {numNodes: 8}", ""), job("trainer: {numNodes: 4}", "")).fields,
                ElementsAre("spec.trainer"));
    cluster_.open.elastic = false;
    cluster_.framework.get<plugins::torch>().elastic = false;
    const reply closed = update(job("trainer: {numNodes: 8}"), job("trainer: {numNodes: 4}"));
    EXPECT_THAT(closed.fields, ElementsAre("spec.trainer"));
    EXPECT_THAT(closed.warnings, ElementsAre(HasSubstr("feature gate ElasticTrainJob is off")));
}

TEST_F(elastic_admission, by_the_runtimes_policy) {
    add_runtime("torch: {elasticPolicy: {minNodes: 1, maxNodes: 3}}");
    const ref two = job("trainer: {numNodes: 2}", "");
    EXPECT_TRUE(update(job("trainer: {numNodes: 3}", ""), two).allowed);
    EXPECT_FALSE(update(job("trainer: {numNodes: 4}", ""), two).allowed);
}

TEST_F(elastic_admission, of_other_frameworks_none_is_elastic) {
    add_runtime("jax: {}");
    EXPECT_THAT(cluster_.create(hook::validate_train_job, job("trainer: {numNodes: 2}")).message,
                HasSubstr("only jobs of a runtime with mlPolicy.torch are elastic"));
}

TEST_F(elastic_admission, the_range_stays) {
    const reply r = update(job("", "annotations: {trainer.kubeflow.org/elastic: '1:9'}"), job(""));
    EXPECT_THAT(r.message, HasSubstr("field is immutable: Pods are made for these numbers of nodes"));
}

TEST_F(elastic_admission, a_queue_of_kueue_keeps_the_size) {
    const std::string queued = std::string(range) + ", labels: {kueue.x-k8s.io/queue-name: q}";
    EXPECT_THAT(update(job("trainer: {numNodes: 6}", queued), job("trainer: {numNodes: 4}", queued)).message,
                HasSubstr("keeps its size unless annotation kueue.x-k8s.io/elastic-job is true"));
    constexpr std::string_view agreed =
        "annotations: {trainer.kubeflow.org/elastic: '2:8', kueue.x-k8s.io/elastic-job: 'true'}, labels: "
        "{kueue.x-k8s.io/queue-name: q}";
    EXPECT_TRUE(update(job("trainer: {numNodes: 6}", agreed), job("trainer: {numNodes: 4}", agreed)).allowed);
}

TEST_F(elastic_admission, scale_is_judged_as_an_update) {
    cluster_.put(job("trainer: {numNodes: 4}"));
    EXPECT_TRUE(scale(4, 8).allowed);
    EXPECT_THAT(cluster_.asked, testing::Contains("TrainJob job"));
    EXPECT_THAT(scale(4, 9).message, HasSubstr("9 is not within 2:8"));
    EXPECT_FALSE(scale(4, 0).allowed);
    cluster_.put(job("trainer: {numNodes: 4}", ""));
    EXPECT_THAT(scale(4, 8).fields, ElementsAre("spec.trainer"));
    EXPECT_TRUE(scale(4, 4).allowed);
    cluster_.put(job("", ""));
    EXPECT_THAT(scale(0, 8).message, HasSubstr("the TrainJob is not elastic"));
}

// The operator looks at sizes itself before it applies them.
TEST_F(elastic_admission, scale_of_what_is_not_known_passes) {
    EXPECT_TRUE(scale(4, 9).allowed);
    cluster_.know_of("TrainJob", "job");
    EXPECT_TRUE(scale(4, 9).allowed);
    cluster_.hide("TrainJob");
    EXPECT_TRUE(scale(4, 9).allowed);
}

}  // namespace
}  // namespace cotrain::admission
