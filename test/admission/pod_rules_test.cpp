// What admission says of jobs of which the API server would refuse every Pod.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "admission/cluster.hpp"

namespace cotrain::admission {
namespace {

using doc::ref;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct pod_rules : testing::Test {
    // A runtime with this container.
    void runtime(std::string_view container, std::string_view label = "trainer") {
        cluster_.add(
            "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainingRuntime\nmetadata: {name: rt}\nspec:\n"
            "  mlPolicy: {numNodes: 2, torch: {}}\n  template:\n    spec:\n      replicatedJobs:\n      - name: " +
            std::string(label == "trainer" ? "node" : "work") +
            "\n"
            "        template:\n          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: " +
            std::string(label) + "}}\n          spec: {template: {spec: {containers: [" + std::string(container) +
            "]}}}\n");
    }
    ref job(std::string_view trainer, std::string_view name = "job", std::string_view metadata = "") {
        return cluster_.load(
            "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: " + std::string(name) +
            ", namespace: ns, uid: u-1" + std::string(metadata) +
            "}\nspec: {runtimeRef: {name: rt, kind: TrainingRuntime}, trainer: {" + std::string(trainer) + "}}\n");
    }
    reply create(ref object) { return cluster_.create(hook::validate_train_job, object); }
    reply update(ref object, ref before) { return cluster_.update(hook::validate_train_job, object, before); }

    cluster cluster_;
};

struct resources_case {
    const char* resources;
    std::vector<const char*> says;
};

TEST_F(pod_rules, requests_go_with_limits_as_the_api_server_wants) {
    runtime("{name: node, image: i}");
    const std::vector<resources_case> all{
        {"{requests: {nvidia.com/gpu: 1}}",
         {"spec.trainer.resourcesPerNode.limits[nvidia.com/gpu]: no Pod can be made: a limit must be set where "
          "nvidia.com/gpu is requested"}},
        {"{requests: {nvidia.com/gpu: 1}, limits: {nvidia.com/gpu: 2}}",
         {"spec.trainer.resourcesPerNode.requests[nvidia.com/gpu]: no Pod can be made: the request must be equal to "
          "the "
          "nvidia.com/gpu limit of 2"}},
        {"{requests: {cpu: 3}, limits: {cpu: 2}}",
         {"spec.trainer.resourcesPerNode.requests[cpu]: no Pod can be made: the request must be less than or equal to "
          "the cpu limit of 2"}},
        {"{requests: {hugepages-2Mi: 4Mi}}",
         {"spec.trainer.resourcesPerNode.limits[hugepages-2Mi]: no Pod can be made: a limit must be set where "
          "hugepages-2Mi is requested"}},
        {"{requests: {nvidia.com/gpu: 2}, limits: {nvidia.com/gpu: '2000m'}}", {}},
        {"{limits: {nvidia.com/gpu: 8}}", {}},
        {"{requests: {cpu: 1500m, memory: 1Gi, ephemeral-storage: 1}}", {}},
    };
    for (const auto& c : all) {
        const reply r = create(job("resourcesPerNode: " + std::string(c.resources)));
        EXPECT_TRUE(r.allowed) << c.resources << ": " << r.message;
        EXPECT_EQ(r.warnings, std::vector<std::string>(c.says.begin(), c.says.end())) << c.resources;
    }
}

TEST_F(pod_rules, parts_of_a_device_are_refused) {
    runtime("{name: node, image: i}");
    for (const auto* resources : {"{limits: {nvidia.com/gpu: 500m}}", "{limits: {nvidia.com/gpu: 0.5}}"}) {
        const reply r = create(job("resourcesPerNode: " + std::string(resources)));
        EXPECT_FALSE(r.allowed) << resources;
        EXPECT_THAT(r.fields, ElementsAre("spec.trainer.resourcesPerNode.limits[nvidia.com/gpu]"));
        EXPECT_THAT(r.message, HasSubstr("must be an integer"));
    }
    EXPECT_TRUE(create(job("resourcesPerNode: {limits: {cpu: 500m}}")).allowed);
    runtime("{name: node, image: i, resources: {limits: {amd.com/gpu: 500m}}}");
    const reply r = create(job(""));
    EXPECT_TRUE(r.allowed) << "it is the runtime's";
    EXPECT_THAT(r.warnings, ElementsAre("runtime \"rt\", job \"node\", container \"node\": "
                                        "resources.limits[amd.com/gpu]: no Pod can be made: must be an integer"));
}

TEST_F(pod_rules, containers_need_images) {
    runtime("{name: node}");
    EXPECT_THAT(create(job("numNodes: 1")).warnings,
                ElementsAre("spec.trainer.image: no Pod can be made: an image is required"));
    EXPECT_THAT(create(job("image: mine")).warnings, IsEmpty());
    runtime("{name: node, image: i}, {name: side}");
    EXPECT_THAT(create(job("")).warnings,
                ElementsAre("runtime \"rt\", job \"node\", container \"side\": image: no Pod can be made: an image is "
                            "required"));
}

TEST_F(pod_rules, host_names_of_pods_have_63_characters) {
    runtime("{name: node, image: i}");
    const std::string longest(63 - std::string("-node-0-1").size(), 'x');
    EXPECT_THAT(create(job("", longest)).warnings, IsEmpty());
    EXPECT_THAT(create(job("numNodes: 10", longest)).warnings, IsEmpty()) << "ranks 0 to 9";
    EXPECT_THAT(create(job("numNodes: 11", longest)).warnings,
                ElementsAre("metadata.name: no Pod can be made: their host names " + longest +
                            "-node-0-10 would be 1 characters too long"));
}

TEST_F(pod_rules, a_trainer_section_that_changes_nothing_is_warned_of) {
    runtime("{name: node, image: i}", "other");
    EXPECT_THAT(create(job("image: mine")).warnings, ElementsAre(HasSubstr("spec.trainer is ignored: no job of the "
                                                                           "runtime has the label")));
    runtime("{name: main, image: i}");
    EXPECT_THAT(create(job("image: mine")).warnings,
                ElementsAre("spec.trainer changes nothing but the number of Pods: job \"node\" of the runtime has no "
                            "container \"node\""));
}

// Contract, §6: nobody's existing job is stuck.
TEST_F(pod_rules, hold_for_what_an_update_changes_and_never_for_a_job_that_is_deleted) {
    runtime("{name: node}");
    const char* const part = "resourcesPerNode: {limits: {nvidia.com/gpu: 500m}}";
    const char* const deleted = ", deletionTimestamp: '2026-01-01T00:00:00Z'";
    EXPECT_FALSE(create(job(part)).allowed);
    EXPECT_TRUE(update(job(part, "job", ", labels: {a: b}"), job(part)).allowed);
    EXPECT_THAT(update(job(part, "job", ", labels: {a: b}"), job(part)).warnings, IsEmpty());
    const reply gone = update(job(part, "job", deleted), job("numNodes: 1", "job", deleted));
    EXPECT_THAT(gone.fields, Not(testing::Contains(HasSubstr("resourcesPerNode"))));
    EXPECT_THAT(gone.warnings, IsEmpty());
}

}  // namespace
}  // namespace cotrain::admission
