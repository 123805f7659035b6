// The JobSet: what is spliced in, when it is left alone, what admission demands, how progress comes back.
#include "plugins/builtin.hpp"

#include "plan.hpp"

namespace cotrain::plugins {
namespace {

constexpr std::string_view with_initializer = R"(
      replicatedJobs:
      - name: dataset-initializer
        replicas: 3
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: dataset-initializer}}
          spec:
            template:
              spec:
                initContainers: [{name: prepare, image: p}]
                containers:
                - {name: dataset-initializer, image: d, volumeMounts: [{name: initializer, mountPath: /w}]}
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec: {template: {spec: {containers: [{name: node, image: i, command: [c], args: [a]}, {name: side}]}}}
)";

api::job_set job_set(plan& p, std::string_view text) {
    const auto decoded = api::decode_job_set(p.load(text));
    EXPECT_TRUE(decoded);
    return decoded ? *decoded : api::job_set{};
}

constexpr std::string_view owned =
    "ownerReferences: [{apiVersion: v, kind: TrainJob, name: job, uid: u-1, controller: true}]";

TEST(jobset, gets_what_the_job_brings) {
    plan p(runtime_text("mlPolicy: {numNodes: 2}", with_initializer),
           job_text("trainer: {image: mine, args: [], env: [{name: A, value: '1'}, {name: F, valueFrom: {fieldRef: "
                    "{fieldPath: x, apiVersion: v1}}}, {name: NOVEL, valueFrom: {novel: {deep: 1}}}, {name: CPU, "
                    "valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: 1}}}]}, initializer: "
                    "{dataset: {storageUri: s3://b, secretRef: {name: s}}}"));
    const doc::ref jobs = p.object("JobSet").get({"spec", "replicatedJobs"});
    EXPECT_EQ(jobs.at(0).get("replicas").as_int(), 1);
    EXPECT_EQ(p.env("STORAGE_URI", "dataset-initializer", "dataset-initializer"), "s3://b");
    EXPECT_EQ(p.container("dataset-initializer", "dataset-initializer")
                  .get("envFrom")
                  .at(0)
                  .get({"secretRef", "name"})
                  .as_string(),
              "s");
    const doc::ref node = p.container();
    EXPECT_EQ(node.get("image").as_string(), "mine");
    EXPECT_EQ(node.get("command").size(), 1U);
    EXPECT_FALSE(node.get("args"));
    EXPECT_FALSE(node.get("env").at(1).get({"valueFrom", "fieldRef", "apiVersion"}));
    EXPECT_EQ(node.get("env").at(2).get({"valueFrom", "novel", "deep"}).as_int(), 1);  // difference 24
    const doc::ref divisor = node.get("env").at(3).get({"valueFrom", "resourceFieldRef", "divisor"});
    EXPECT_TRUE(divisor.is_string() && divisor.text() == "1") << doc::to_json(divisor);
    EXPECT_EQ(jobs.at(1).get({"template", "spec", "completions"}).as_int(), 2);
}

TEST(jobset, carries_owner_and_suspension) {
    plan p(runtime_text("mlPolicy: {}"), job_text("suspend: true"));
    const doc::ref set = p.object("JobSet");
    const doc::ref owner = set.get({"metadata", "ownerReferences"}).at(0);
    EXPECT_EQ(owner.get("uid").as_string(), "u-1");
    EXPECT_TRUE(owner.get("controller").as_bool(false));
    EXPECT_TRUE(owner.get("blockOwnerDeletion").as_bool(false));
    EXPECT_TRUE(set.get({"spec", "suspend"}).as_bool(false));
}

TEST(jobset, is_left_alone_while_it_runs) {
    plan p(runtime_text("mlPolicy: {}"), job_text());
    const auto running = job_set(p, "{metadata: {name: job, " + std::string(owned) + "}, spec: {suspend: false}}");
    const auto suspended = job_set(p, "{metadata: {name: job, " + std::string(owned) + "}, spec: {suspend: true}}");
    p.seen.job_set = &running;
    EXPECT_FALSE(p.object("JobSet"));
    p.seen.job_set = &suspended;
    EXPECT_TRUE(p.object("JobSet"));
    p.job.spec.suspend = true;
    p.seen.job_set = &running;
    EXPECT_TRUE(p.object("JobSet"));
}

TEST(jobset, of_somebody_else_is_never_touched) {  // difference 21
    plan p(runtime_text("mlPolicy: {}"), job_text());
    const auto foreign = job_set(p, "{metadata: {name: job}, spec: {suspend: true}}");
    p.seen.job_set = &foreign;
    EXPECT_EQ(p.error(),
              "JobSet job exists and is not controlled by this TrainJob: delete it, or give the "
              "TrainJob another name");
}

TEST(jobset, lays_resources_without_a_policy_too) {  // difference 17
    plan p(runtime_text("podGroupPolicy: {}"), job_text("trainer: {resourcesPerNode: {limits: {cpu: 0.5}}}"));
    EXPECT_EQ(p.container().get({"resources", "limits", "cpu"}).as_string(), "500m");
}

struct verdict_case {
    const char* name;
    const char* spec;
    const char* path;  // empty: accepted

    friend void PrintTo(const verdict_case& c, std::ostream* out) { *out << c.name; }
};

class demands : public testing::TestWithParam<verdict_case> {};

TEST_P(demands, of_admission) {
    plan p(runtime_text("mlPolicy: {}", with_initializer), job_text(GetParam().spec));
    const auto verdict = p.review();
    if (std::string_view(GetParam().path).empty()) {
        EXPECT_TRUE(verdict.accepted()) << verdict.message();
        return;
    }
    ASSERT_EQ(verdict.errors.size(), 1U) << verdict.message();
    EXPECT_EQ(verdict.errors[0].path, GetParam().path);
}

#define PATCH(jobs) \
    "runtimePatches: [{manager: a.b/c, trainingRuntimeSpec: {template: {spec: {replicatedJobs: [" jobs "]}}}}]"

INSTANTIATE_TEST_SUITE_P(
    all, demands,
    testing::Values(
        verdict_case{"nothing_special", "trainer: {}", ""},
        verdict_case{"an_initializer_that_is_there", "initializer: {dataset: {}}", ""},
        verdict_case{"an_initializer_that_is_not", "initializer: {model: {}}", "spec.runtimeRef"},
        verdict_case{"no_nodes", "trainer: {numNodes: 0}", ""},
        verdict_case{"fewer_nodes_than_none", "trainer: {numNodes: -1}", "spec.trainer.numNodes"},
        verdict_case{"a_node_of_no_processes", "trainer: {numProcPerNode: 0}", "spec.trainer.numProcPerNode"},
        verdict_case{"fewer_processes_than_none", "trainer: {numProcPerNode: -1}", "spec.trainer.numProcPerNode"},
        verdict_case{"a_manager_without_a_domain", "runtimePatches: [{manager: me}]", "spec.runtimePatches.manager"},
        verdict_case{"a_patch_of_a_sidecar",
                     PATCH("{name: node, template: {spec: {template: {spec: {containers: [{name: side, env: [{name: "
                           "A}]}]}}}}}"),
                     ""},
        verdict_case{"a_patch_of_no_job", PATCH("{name: gone}"), "spec.runtimePatches"},
        verdict_case{"a_patch_of_no_container",
                     PATCH("{name: node, template: {spec: {template: {spec: {containers: [{name: gone}]}}}}}"),
                     "spec.runtimePatches"},
        verdict_case{"a_patch_of_no_init_container",
                     PATCH("{name: node, template: {spec: {template: {spec: {initContainers: [{name: gone}]}}}}}"),
                     "spec.runtimePatches"},
        verdict_case{"a_container_patched_as_init_container",
                     PATCH("{name: node, template: {spec: {template: {spec: {initContainers: [{name: side}]}}}}}"),
                     "spec.runtimePatches"},
        verdict_case{"an_init_container_patched_as_container",
                     PATCH("{name: dataset-initializer, template: {spec: {template: {spec: {containers: [{name: prepare"
                           "}]}}}}}"),
                     "spec.runtimePatches"},
        verdict_case{"env_of_a_reserved_container",
                     PATCH("{name: node, template: {spec: {template: {spec: {containers: [{name: node, env: [{name: "
                           "A}]}]}}}}}"),
                     "spec.runtimePatches"},
        verdict_case{"an_override",
                     "podTemplateOverrides: [{targetJobs: [{name: node}], spec: {nodeSelector: {a: b}}}]", ""},
        verdict_case{"an_override_of_no_job",
                     "podTemplateOverrides: [{targetJobs: [{name: node}, {name: gone}], spec: {}}]",
                     "spec.podTemplateOverrides[0].targetJobs[1].name"},
        verdict_case{"an_override_of_a_reserved_container",
                     "podTemplateOverrides: [{targetJobs: [{name: node}], spec: {containers: [{name: node, env: "
                     "[{name: A}]}]}}]",
                     "spec.podTemplateOverrides[0].spec.containers[0]"}),
    [](const auto& i) { return i.param.name; });

TEST(jobset, lets_patches_change_only_while_nothing_runs) {
    plan old(runtime_text("mlPolicy: {}", with_initializer), job_text());
    for (const auto* member : {"runtimePatches: [{manager: a.b/c}]",
                               "podTemplateOverrides: [{targetJobs: [{name: node}], spec: {nodeSelector: {a: b}}}]"}) {
        plan p(runtime_text("mlPolicy: {}", with_initializer), job_text(member));
        const auto verdict = p.review(&old.job);
        ASSERT_EQ(verdict.errors.size(), 1U) << member;
        EXPECT_EQ(verdict.errors[0].what, runtime::fault::forbidden);
        p.job.spec.suspend = true;
        EXPECT_TRUE(p.review(&old.job).accepted());
    }
}

TEST(jobset, keeps_rules_we_added_away_from_existing_jobs) {
    plan old(runtime_text("mlPolicy: {}", with_initializer), job_text("trainer: {numNodes: 0}"));
    plan same(runtime_text("mlPolicy: {}", with_initializer), job_text("trainer: {numNodes: 0}"));
    EXPECT_TRUE(same.review(&old.job).accepted());
    same.job.meta.deletion_time = base::seconds_time{};
    EXPECT_TRUE(same.review().accepted());
}

TEST(jobset, reports_its_progress) {
    plan p(runtime_text("mlPolicy: {}"), job_text());
    const auto set = job_set(p, R"(
metadata: {name: job}
status:
  conditions: [{type: Completed, status: 'True', reason: R, message: M, lastTransitionTime: '2031-02-03T04:05:06Z'}]
  replicatedJobsStatus: [{name: node, ready: 1, succeeded: 2, failed: 3, active: 4, suspended: 5}]
)");
    api::train_job_status status;
    jobset{}.report_status(status, set, {});
    ASSERT_EQ(status.conditions.size(), 1U);
    EXPECT_EQ(status.conditions[0].type, "Complete");
    EXPECT_EQ(status.conditions[0].reason, "R");
    EXPECT_EQ(base::format_time(status.conditions[0].last_transition_time), "2031-02-03T04:05:06Z");
    EXPECT_EQ(status.jobs, (std::vector<api::job_status>{{"node", 1, 2, 3, 4, 5}}));
}

}  // namespace
}  // namespace cotrain::plugins
