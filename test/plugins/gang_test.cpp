// PodGroups of both schedulers: how large, when made, when left alone.
#include "plan.hpp"

namespace cotrain::plugins {
namespace {

constexpr std::string_view two_jobs = R"(
      replicatedJobs:
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec:
            template:
              spec:
                priorityClassName: high
                containers: [{name: node, image: i, resources: {requests: {cpu: 500m}, limits: {cpu: '2', memory: 1Gi}}}]
      - name: servers
        replicas: 3
        template:
          spec:
            parallelism: 2
            template: {spec: {containers: [{name: s, image: i, resources: {requests: {cpu: '1'}}}]}}
)";

TEST(gangs, count_replicas_and_limits) {  // difference 9
    plan p(runtime_text("podGroupPolicy: {coscheduling: {scheduleTimeoutSeconds: 300}}\n  mlPolicy: {numNodes: 4}",
                        two_jobs),
           job_text());
    const doc::ref spec = p.object("PodGroup").get("spec");
    EXPECT_EQ(spec.get("minMember").as_int(), 4 + 3 * 2);
    EXPECT_EQ(spec.get({"minResources", "cpu"}).as_string(), "8");
    EXPECT_EQ(spec.get({"minResources", "memory"}).as_string(), "4Gi");
    EXPECT_EQ(spec.get("scheduleTimeoutSeconds").as_int(), 300);
    for (const doc::ref job : p.object("JobSet").get({"spec", "replicatedJobs"}).items()) {
        const doc::ref labels = job.get({"template", "spec", "template", "metadata", "labels"});
        EXPECT_EQ(labels.get("scheduling.x-k8s.io/pod-group").as_string(), "job");
    }
}

TEST(gangs, are_left_alone_while_the_job_runs) {
    for (const auto* policy : {"coscheduling", "volcano"}) {
        plan p(runtime_text("podGroupPolicy: {" + std::string(policy) + ": {}}", two_jobs), job_text());
        ASSERT_TRUE(p.object("PodGroup")) << policy;
        const auto& type =
            std::string_view(policy) == "volcano" ? api::names::volcano_pod_group : api::names::coscheduling_pod_group;
        runtime::observed_child have{&type, "job", runtime::child_state::ours};
        p.seen.children = {&have, 1};
        EXPECT_TRUE(p.object("PodGroup")) << policy << ": a JobSet is yet to be made";
        api::job_set running;
        running.meta.owner_references.push_back({.uid = "u-1", .controller = true});
        p.seen.job_set = &running;
        EXPECT_FALSE(p.object("PodGroup")) << policy;
        p.job.spec.suspend = true;
        EXPECT_TRUE(p.object("PodGroup")) << policy;
        have.state = runtime::child_state::foreign;
        EXPECT_NE(p.error().find("PodGroup job exists and is not controlled by this TrainJob"), std::string::npos);
    }
}

TEST(gangs, of_volcano_carry_queue_priority_and_topology) {
    plan p(runtime_text("podGroupPolicy: {volcano: {networkTopology: {mode: soft}}}", two_jobs),
           job_text("runtimePatches: [{manager: a.b/c, trainingRuntimeSpec: {template: {metadata: {annotations: "
                    "{scheduling.volcano.sh/queue-name: gold}}}}}]"));
    const doc::ref spec = p.object("PodGroup").get("spec");
    EXPECT_EQ(spec.get("queue").as_string(), "gold");
    EXPECT_EQ(spec.get("priorityClassName").as_string(), "high");
    EXPECT_EQ(spec.get({"networkTopology", "mode"}).as_string(), "soft");
    EXPECT_EQ(spec.get({"networkTopology", "highestTierAllowed"}).as_int(), 1);
    const doc::ref pods =
        p.object("JobSet").get({"spec", "replicatedJobs"}).at(0).get({"template", "spec", "template", "metadata"});
    EXPECT_EQ(pods.get({"annotations", "scheduling.k8s.io/group-name"}).as_string(), "job");
}

TEST(gangs, of_two_schedulers_are_refused) {  // difference 4
    plan p(runtime_text("podGroupPolicy: {volcano: {}, coscheduling: {}}", two_jobs), job_text());
    ASSERT_EQ(p.review().errors.size(), 1U);
    EXPECT_EQ(p.review().errors[0].path, "spec.runtimeRef");
    EXPECT_TRUE(p.review(&p.job).accepted()) << "an existing job must not get stuck";
}

TEST(gangs, check_every_class_that_is_known_to_be_missing) {  // difference 26
    plan p(runtime_text("podGroupPolicy: {volcano: {}}", two_jobs), job_text());
    const auto compiled =
        runtime::compiled_runtime::compile(p.load(runtime_text("podGroupPolicy: {volcano: {}}", two_jobs)));
    const auto info = runtime::info::make(p.memory, **compiled, p.job);
    EXPECT_EQ(volcano::priority_classes(*info), std::vector<std::string>{"high"});
    const auto verdict = [&](runtime::presence state) {
        const runtime::known_class known{"high", state};
        return p.framework.validate_objects(p.memory, {.job = p.job, .priority_classes = {&known, 1}}, **compiled);
    };
    EXPECT_FALSE(verdict(runtime::presence::missing).accepted());
    EXPECT_TRUE(verdict(runtime::presence::exists).accepted());
    EXPECT_EQ(verdict(runtime::presence::unreadable).warnings.size(), 1U);
    EXPECT_TRUE(verdict(runtime::presence::unreadable).accepted());
}

TEST(gangs, without_a_policy_there_are_none) {
    plan p(runtime_text("mlPolicy: {}", two_jobs), job_text());
    EXPECT_FALSE(p.object("PodGroup"));
}

}  // namespace
}  // namespace cotrain::plugins
