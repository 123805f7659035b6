// Plans of Kubernetes' own gangs: which replicated jobs share a PodGroup, and what is refused.
#include <gmock/gmock.h>

#include "plan.hpp"

namespace cotrain::plugins {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::string_view torch_gang = "mlPolicy: {numNodes: 3, torch: {}}\n  scheduling: {}";
constexpr std::string_view trains = "metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}";

// Replicated jobs in flow style, each "NAME" or "NAME after OTHER".
std::string jobs(std::initializer_list<std::pair<std::string, std::string>> all, std::string_view more = {}) {
    std::string out = "\n      " + std::string(more) + "\n      replicatedJobs:";
    for (const auto& [name, after] : all) {
        const bool initializes = name.ends_with("-initializer");
        out += "\n      - name: " + name;
        if (!after.empty()) out += "\n        dependsOn: [{name: " + after + ", status: Ready}]";
        out += "\n        template: {";
        if (name == "node" && all.size() != 2) out += std::string(trains) + ", ";
        if (name == "launcher") out += std::string(trains) + ", ";
        if (initializes) out += "metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: " + name + "}}, ";
        out += "spec: {template: {spec: {containers: [{name: " + (initializes ? name : "node") + ", image: i}]}}}}";
    }
    return out + "\n";
}

// The first of the jobs has that in its Pods' spec, too.
std::string first_has(std::string jobs, std::string_view member) {
    return jobs.insert(jobs.find("containers"), std::string(member) + ", ");
}

struct workload_plan : plan {
    explicit workload_plan(std::string_view policies = torch_gang, const std::string& set = std::string(one_node_job),
                           std::string_view spec = {})
        : plan(runtime_text(policies, set), job_text(spec)) {}
    void annotate(const std::string& label) {
        job.meta.annotations = load("{trainer.kubeflow.org/topology: '" + label + "'}");
    }
    doc::ref group(int index = 0) { return object("PodGroup", "job-group-" + std::to_string(index)); }
    std::string group_of(std::string_view job_name) {
        return std::string(pod_spec(job_name).get({"schedulingGroup", "podGroupName"}).as_string());
    }
    std::vector<std::string> order() {
        std::vector<std::string> out;
        const auto objects = make();
        EXPECT_TRUE(objects) << objects.error().message;
        if (!objects) return out;
        for (const auto& o : *objects) out.push_back(std::string(o.type->kind) + " " + o.name);
        return out;
    }
};

TEST(workload, the_whole_job_is_a_gang) {
    workload_plan p;
    EXPECT_THAT(p.order(),
                ElementsAre("ConfigMap job-runtime-snapshot", "Workload job", "PodGroup job-group-0", "JobSet job"));
    EXPECT_EQ(doc::to_json(p.object("Workload").get("spec")),
              R"({"controllerRef":{"apiGroup":"trainer.kubeflow.org","kind":"TrainJob","name":"job"},)"
              R"("podGroupTemplates":[{"name":"group-0","schedulingPolicy":{"gang":{"minCount":3}}}]})");
    EXPECT_EQ(doc::to_json(p.group().get("spec")), R"({"workloadRef":{"workloadName":"job","templateName":"group-0"},)"
                                                   R"("schedulingPolicy":{"gang":{"minCount":3}}})");
    EXPECT_EQ(p.object("Workload").get("apiVersion").as_string(), "scheduling.k8s.io/v1beta1");
    EXPECT_EQ(p.group_of("node"), "job-group-0");
    EXPECT_THAT(p.review().errors, IsEmpty());
}

TEST(workload, is_nothing_without_the_field) {
    workload_plan p("mlPolicy: {numNodes: 3, torch: {}}");
    EXPECT_THAT(p.order(), ElementsAre("ConfigMap job-runtime-snapshot", "JobSet job"));
    EXPECT_FALSE(p.pod_spec().contains("schedulingGroup"));
}

TEST(workload, initialisers_are_no_part_of_the_gang_that_waits_for_them) {
    workload_plan p(torch_gang,
                    jobs({{"dataset-initializer", ""}, {"model-initializer", ""}, {"node", "model-initializer"}}));
    EXPECT_EQ(p.group_of("node"), "job-group-0");
    EXPECT_EQ(p.group_of("dataset-initializer"), "job-group-1");
    EXPECT_EQ(p.group_of("model-initializer"), "job-group-1");
    EXPECT_EQ(p.group(0).get({"spec", "schedulingPolicy", "gang", "minCount"}).as_int(), 3);
    EXPECT_TRUE(p.group(1).get({"spec", "schedulingPolicy", "basic"}).is_object());
    EXPECT_EQ(workload_groups_of(p.compiled()), 2U);
}

TEST(workload, launcher_and_nodes_of_mpi_are_one_gang) {
    workload_plan p("mlPolicy: {numNodes: 4, mpi: {}}\n  scheduling: {}", jobs({{"launcher", ""}, {"node", ""}}));
    EXPECT_EQ(p.group().get({"spec", "schedulingPolicy", "gang", "minCount"}).as_int(), 5);
    EXPECT_EQ(p.group_of("launcher"), p.group_of("node"));
}

TEST(workload, an_elastic_job_waits_for_the_fewest_nodes) {
    workload_plan p("mlPolicy: {numNodes: 4, torch: {elasticPolicy: {minNodes: 2, maxNodes: 8}}}\n  scheduling: {}");
    p.framework.get<torch>().elastic = true;
    EXPECT_EQ(p.group().get({"spec", "schedulingPolicy", "gang", "minCount"}).as_int(), 2);
}

constexpr std::string_view two_groups =
    "mlPolicy: {numNodes: 3, torch: {}}\n  scheduling:\n    replicatedJobs:\n"
    "    - {targetReplicatedJobs: [side], schedulingPolicy: {basic: {}}}\n"
    "    - {targetReplicatedJobs: [node, other], disruptionMode: {all: {}},\n"
    "       schedulingConstraints: {topology: [{key: example.com/block}]}}";

TEST(workload, entries_are_groups_of_their_own) {
    workload_plan p(two_groups, jobs({{"side", ""}, {"node", ""}, {"other", ""}}));
    EXPECT_TRUE(p.group(0).get({"spec", "schedulingPolicy", "basic"}).is_object());
    EXPECT_EQ(p.group_of("side"), "job-group-0");
    EXPECT_EQ(p.group_of("other"), "job-group-1");
    EXPECT_EQ(doc::to_json(p.group(1).get("spec")),
              R"({"workloadRef":{"workloadName":"job","templateName":"group-1"},)"
              R"("schedulingPolicy":{"gang":{"minCount":4}},)"
              R"("schedulingConstraints":{"topology":[{"key":"example.com/block"}]},"disruptionMode":{"all":{}}})");
    p.annotate("topology.kubernetes.io/rack");
    EXPECT_FALSE(p.group(0).get("spec").contains("schedulingConstraints")) << "no gang";
    EXPECT_EQ(p.group(1).get({"spec", "schedulingConstraints", "topology"}).at(0).get("key").as_string(),
              "topology.kubernetes.io/rack");
}

TEST(workload, kubernetes_1_36_has_other_words) {
    workload_plan p(two_groups, jobs({{"side", ""}, {"node", ""}, {"other", ""}}));
    p.seen.served = [](const api::resource_type& newest) {
        return newest.kind == "Workload" ? &api::names::workload_v1alpha2 : &api::names::pod_group_v1alpha2;
    };
    EXPECT_EQ(p.object("Workload").get("apiVersion").as_string(), "scheduling.k8s.io/v1alpha2");
    EXPECT_EQ(doc::to_json(p.group(1).get("spec")),
              R"({"podGroupTemplateRef":{"workload":{"workloadName":"job","podGroupTemplateName":"group-1"}},)"
              R"("schedulingPolicy":{"gang":{"minCount":4}},)"
              R"("schedulingConstraints":{"topology":[{"key":"example.com/block"}]},"disruptionMode":"PodGroup"})");
}

TEST(workload, a_group_has_the_priority_that_all_its_pods_have) {
    workload_plan p(torch_gang, first_has(jobs({{"node", ""}}), "priorityClassName: high"));
    EXPECT_EQ(p.group().get({"spec", "priorityClassName"}).as_string(), "high");
}

TEST(workload, a_server_without_the_api_is_told_what_to_switch_on) {
    workload_plan p;
    p.seen.served = [](const api::resource_type&) -> const api::resource_type* { return nullptr; };
    EXPECT_THAT(p.error(), HasSubstr("feature gate GenericWorkload"));
}

TEST(workload, what_pods_may_be_of_stays_and_is_planned_anew_while_they_are_not_there) {
    workload_plan p(torch_gang, std::string(one_node_job), "trainer: {numNodes: 2}");
    const std::vector<runtime::observed_child> there{
        {&api::names::workload, "job", runtime::child_state::ours},
        {&api::names::pod_group, "job-group-0", runtime::child_state::ours}};
    p.seen.children = there;
    api::job_set set;
    set.meta.owner_references.push_back(
        {.api_version = {}, .kind = {}, .name = {}, .uid = p.job.meta.uid, .controller = true});
    p.seen.job_set = &set;
    EXPECT_THAT(p.order(), ElementsAre("ConfigMap job-runtime-snapshot"));
    // Resumed and made smaller at once: the gang is of the Pods to be, not of those of the JobSet.
    set.suspend = true;
    set.spec = p.load(
        "{replicatedJobs: [{name: node, replicas: 1, template: {metadata: {labels: "
        "{trainer.kubeflow.org/trainjob-ancestor-step: trainer}}, spec: {parallelism: 7, template: "
        "{spec: {containers: [{name: node, image: i}]}}}}}]}");
    EXPECT_EQ(p.group().get({"spec", "schedulingPolicy", "gang", "minCount"}).as_int(), 2);
}

struct refusal {
    const char* name;
    std::string scheduling;
    std::string jobs;
    const char* expected;
};
void PrintTo(const refusal& c, std::ostream* out) { *out << c.name; }

class workload_refusals : public testing::TestWithParam<refusal> {};

TEST_P(workload_refusals, of_the_runtime_of_the_job_and_of_the_plan) {
    const refusal& c = GetParam();
    workload_plan p("mlPolicy: {numNodes: 2, torch: {}}\n  scheduling: " + c.scheduling, c.jobs);
    EXPECT_THAT(p.error(), HasSubstr(c.expected));
    EXPECT_THAT(p.review().message(), HasSubstr(c.expected));
    runtime::verdict of_runtime;
    p.framework.validate_runtime(p.compiled().runtime(), {}, of_runtime);
    EXPECT_THAT(of_runtime.message(), HasSubstr(c.expected));
}

INSTANTIATE_TEST_SUITE_P(
    all, workload_refusals,
    testing::Values(
        refusal{"unknown", "{replicatedJobs: [{targetReplicatedJobs: [nodes]}]}", jobs({{"node", ""}}),
                "no replicated job of the template is called nodes"},
        refusal{"twice", "{replicatedJobs: [{targetReplicatedJobs: [node]}, {targetReplicatedJobs: [node]}]}",
                jobs({{"node", ""}}), "replicated job node is in a group already"},
        refusal{"left_out", "{replicatedJobs: [{targetReplicatedJobs: [node]}]}",
                jobs({{"a", ""}, {"b", ""}, {"node", ""}}), "replicated job a is in no group"},
        refusal{"after_each_other", "{}", jobs({{"a", ""}, {"b", ""}, {"node", "a"}}),
                "replicated job node starts after a: in one gang they wait for each other"},
        refusal{"by_way_of_another",
                "{replicatedJobs: [{targetReplicatedJobs: [a, node]}, {targetReplicatedJobs: [b]}]}",
                jobs({{"a", ""}, {"b", "a"}, {"node", "b"}}),
                "replicated job node starts after a: in one gang they wait for each other"},
        refusal{"priorities", "{}", first_has(jobs({{"a", ""}, {"b", ""}, {"node", ""}}), "priorityClassName: high"),
                "replicated jobs a and b have another priorityClassName"},
        refusal{"schedulers", "{}", first_has(jobs({{"a", ""}, {"b", ""}, {"node", ""}}), "schedulerName: x"),
                "replicated jobs a and b have another schedulerName"},
        refusal{"in_order", "{}",
                jobs({{"a", ""}, {"b", ""}, {"node", ""}}, "startupPolicy: {startupPolicyOrder: InOrder}"),
                "startupPolicy InOrder starts b when a is ready"}),
    [](const auto& i) { return i.param.name; });

TEST(workload, a_label_of_nodes_is_checked) {
    workload_plan bad;
    bad.annotate("rack one");
    EXPECT_THAT(bad.review().message(), HasSubstr("must be a label of Nodes"));
    workload_plan none("mlPolicy: {torch: {}}");
    none.annotate("topology.kubernetes.io/rack");
    EXPECT_THAT(none.review().message(), HasSubstr("the runtime has no spec.scheduling"));
    workload_plan moved;
    const api::train_job before = moved.job;
    moved.annotate("topology.kubernetes.io/rack");
    EXPECT_THAT(moved.review(&before).message(), HasSubstr("can only be changed while the TrainJob is suspended"));
    workload_plan key("mlPolicy: {torch: {}}\n  scheduling: {schedulingConstraints: {topology: [{key: 'a b'}]}}");
    runtime::verdict of_runtime;
    key.framework.validate_runtime(key.compiled().runtime(), {}, of_runtime);
    EXPECT_THAT(of_runtime.message(), HasSubstr("must be a label of Nodes"));
}

// Neither children nor rights are there with the gate closed, and runtimes that ask for it are refused.
TEST(workload, is_there_with_its_gate_only) {
    const auto closed = builtin::make({});
    const auto open = builtin::make({.gates = {std::string(workload::gate)}});
    ASSERT_TRUE(closed && open);
    EXPECT_EQ((*open)->children().size(), (*closed)->children().size() + workload::children.size());
    EXPECT_EQ((*open)->permissions().size(), (*closed)->permissions().size() + workload::permissions.size());
    workload_plan p;
    runtime::verdict of_runtime;
    (*closed)->validate_runtime(p.compiled().runtime(), {}, of_runtime);
    EXPECT_EQ(of_runtime.message(),
              "spec.scheduling: Forbidden: the runtime needs the operator's feature gate "
              "TrainJobWorkloadAwareScheduling, which is closed");
    runtime::verdict unchanged;
    (*closed)->validate_runtime(p.compiled().runtime(), p.compiled().runtime().document, unchanged);
    EXPECT_THAT(unchanged.errors, IsEmpty());
    EXPECT_THAT((*closed)->validate_objects(p.memory, {.job = p.job}, p.compiled()).message(),
                HasSubstr("feature gate TrainJobWorkloadAwareScheduling"));
    EXPECT_FALSE((*closed)->new_objects(p.memory, p.job, p.compiled(), p.seen));
    EXPECT_TRUE((*open)->new_objects(p.memory, p.job, p.compiled(), p.seen));
}

}  // namespace
}  // namespace cotrain::plugins
