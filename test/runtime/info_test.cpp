// The info of a job: patches and overrides merged, pods counted, containers found; and snapshots of runtimes.
#include "runtime/info.hpp"

#include <gtest/gtest.h>

#include "api/names.hpp"
#include "doc/json.hpp"
#include "doc/yaml.hpp"
#include "runtime/compiled_runtime.hpp"
#include "runtime/guards.hpp"

namespace cotrain::runtime {
namespace {

constexpr std::string_view runtime_yaml = R"(
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata: {name: rt, namespace: ns, managedFields: [{manager: x}], labels: {l: '1'}}
spec:
  mlPolicy: {numNodes: 2}
  template:
    metadata: {labels: {a: '1', b: '1'}, annotations: {c: '1'}}
    spec:
      replicatedJobs:
      - name: first
        replicas: 2
        template: {spec: {parallelism: 3, template: {spec: {containers: [{name: node}]}}}}
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec:
            parallelism: 7
            template:
              spec:
                nodeSelector: {disk: ssd}
                serviceAccountName: old
                volumes: [{name: v, emptyDir: {}}]
                initContainers: [{name: pre}]
                containers: [{name: node, image: i, resources: {limits: {cpu: '1'}}}, {name: side, env: [{name: S, value: '1'}]}]
)";

class infos : public testing::Test {
   protected:
    doc::ref yaml(std::string_view text) {
        const auto parsed = doc::parse_yaml(memory, memory.copy(text));
        EXPECT_TRUE(parsed) << parsed.error().message;
        return parsed ? *parsed : doc::ref{};
    }
    std::shared_ptr<const compiled_runtime> compile(std::string_view text) {
        auto done = compiled_runtime::compile(yaml(text));
        EXPECT_TRUE(done) << done.error().message;
        return done ? *done : nullptr;
    }
    api::train_job& decode(std::string_view spec) {
        std::string text =
            "metadata: {name: job, namespace: ns, uid: u}\nspec: {runtimeRef: {name: rt, kind: "
            "TrainingRuntime, apiGroup: trainer.kubeflow.org}";
        text.append(spec.empty() ? "" : ", ").append(spec).append("}\n");
        auto decoded = api::decode_train_job(yaml(text));
        EXPECT_TRUE(decoded) << decoded.error().message;
        job = std::move(*decoded);
        return job;
    }
    info make(std::string_view spec, std::string_view runtime = runtime_yaml) {
        compiled = compile(runtime);
        auto made = info::make(memory, *compiled, decode(spec));
        EXPECT_TRUE(made) << made.error().message;
        return std::move(*made);
    }

    doc::arena memory;
    api::train_job job;
    std::shared_ptr<const compiled_runtime> compiled;
};

TEST_F(infos, count_pods) {
    const info i = make("");
    ASSERT_EQ(i.pod_sets().size(), 2U);
    EXPECT_EQ(i.find("first")->count, 3);
    EXPECT_EQ(i.find("first")->replicas, 2);
    EXPECT_EQ(i.trainer()->name, "node");
    EXPECT_EQ(i.trainer()->count, 2) << "numNodes, not parallelism";
    EXPECT_EQ(i.trainer()->replicas, 1);
    EXPECT_EQ(i.pods(), 8);
}

TEST_F(infos, find_the_trainer_of_the_earlier_dialect) {  // difference 27
    const info i = make("", R"(
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata: {name: rt}
spec:
  mlPolicy: {numNodes: 4}
  template: {spec: {replicatedJobs: [{name: node, replicas: 5, template: {spec: {template: {spec: {containers: [{name: node}]}}}}}]}}
)");
    ASSERT_NE(i.trainer(), nullptr);
    EXPECT_EQ(i.trainer()->count, 4);
    EXPECT_EQ(i.trainer()->replicas, 5);
    EXPECT_EQ(i.master().text(), "job-node-0-0.job");
}

TEST_F(infos, lose_no_pods_of_an_unlabelled_node) {  // difference 27
    for (const auto* policy : {"{}", "{torch: {}}", "{mpi: {}}", "{mpi: {runLauncherAsNode: true}}"}) {
        const info i = make("", std::string(R"(
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata: {name: rt}
spec:
  mlPolicy: )") + policy + R"(
  template: {spec: {replicatedJobs: [{name: node, replicas: 3, template: {spec: {parallelism: 2, template: {spec: {containers: [{name: node}]}}}}}]}}
)");
        EXPECT_EQ(i.trainer()->replicas, 3) << policy;
        EXPECT_EQ(i.pods(), 6) << policy;
    }
}

// Difference 36.
TEST_F(infos, keep_a_trainer_that_a_patch_relabels) {
    const info i = make(
        "runtimePatches: [{manager: a.b/1, trainingRuntimeSpec: {template: {spec: {replicatedJobs: [{name: node, "
        "template: {metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: other}}}}]}}}}]");
    ASSERT_NE(i.trainer(), nullptr);
    EXPECT_EQ(i.trainer()->name, "node");
    EXPECT_EQ(i.trainer()->count, 2);
}

TEST_F(infos, take_patches_then_overrides) {
    const info i = make(R"(
runtimePatches: [
  {manager: a.b/1, trainingRuntimeSpec: {template: {metadata: {labels: {b: '2'}}, spec: {replicatedJobs: [
    {name: node, template: {spec: {template: {spec: {nodeSelector: {zone: a}, serviceAccountName: ''}}}}}]}}}},
  {manager: a.b/2, trainingRuntimeSpec: {template: {metadata: {annotations: {d: '2'}}, spec: {replicatedJobs: [
    {name: node, template: {spec: {template: {spec: {nodeSelector: {zone: b}, volumes: [{name: v, hostPath: {path: /h}}]}}}}}]}}}}],
podTemplateOverrides: [
  {targetJobs: [{name: node}], metadata: {labels: {x: '1'}}, spec: {nodeSelector: {zone: c}, containers: [
    {name: side, env: [{name: S, value: '2'}]}]}},
  {targetJobs: [{name: node}], spec: {tolerations: [{key: k}]}}])");
    EXPECT_EQ(i.labels().get("a").as_string(), "1");
    EXPECT_EQ(i.labels().get("b").as_string(), "2");
    EXPECT_EQ(i.annotations().get("d").as_string(), "2");
    const doc::ref pods = i.pod_spec_view(*i.find("node"));
    EXPECT_EQ(pods.get({"nodeSelector", "zone"}).as_string(), "c");
    EXPECT_EQ(pods.get({"nodeSelector", "disk"}).as_string(), "ssd");
    EXPECT_FALSE(pods.get("serviceAccountName"));
    EXPECT_FALSE(pods.get("volumes").at(0).contains("emptyDir"));
    EXPECT_EQ(pods.get("tolerations").size(), 1U);
    EXPECT_EQ(i.container_view(*i.find("node"), "side").get("env").at(0).get("value").as_string(), "2");
    EXPECT_EQ(i.spec()
                  .get("replicatedJobs")
                  .at(1)
                  .get({"template", "spec", "template", "metadata", "labels", "x"})
                  .as_string(),
              "1");
    EXPECT_FALSE(i.pod_spec_view(*i.find("first")).contains("tolerations"));
}

TEST_F(infos, take_an_account_away_by_an_empty_name) {
    const auto account = [this](std::string_view rest) {
        const info i = make("podTemplateOverrides: [{targetJobs: [{name: node}], spec: {serviceAccountName: me}}" +
                            std::string(rest) + "]");
        return std::string(i.pod_spec_view(*i.find("node")).get("serviceAccountName").as_string());
    };
    EXPECT_EQ(account(""), "me");
    EXPECT_EQ(account(", {targetJobs: [{name: node}], spec: {serviceAccountName: ''}}"), "");
}

TEST_F(infos, keep_the_runtimes_order_of_jobs) {
    const info i = make(
        "runtimePatches: [{manager: a.b/1, trainingRuntimeSpec: {template: {spec: {replicatedJobs: ["
        "{name: node}, {name: new}, {name: first}]}}}}]");
    ASSERT_EQ(i.pod_sets().size(), 3U);
    EXPECT_EQ(i.pod_sets()[0].name, "first");
    EXPECT_EQ(i.pod_sets()[1].name, "node");
    EXPECT_EQ(i.pod_sets()[2].name, "new");
}

TEST_F(infos, say_where_a_patch_is_wrong) {
    compiled = compile(runtime_yaml);
    const auto made = info::make(
        memory, *compiled,
        decode(
            "runtimePatches: [{manager: a.b/1}, {manager: a.b/2, "
            "trainingRuntimeSpec: {template: {spec: {replicatedJobs: [{name: node, template: {spec: {template: {spec: "
            "{volumes: [{name: v, emptyDir: {sizeLimit: big}}]}}}}}]}}}}]"));
    ASSERT_FALSE(made);
    EXPECT_NE(made.error().message.find("spec.runtimePatches[1].trainingRuntimeSpec.template.spec.replicatedJobs[0]"
                                        ".template.spec.template.spec.volumes[0].emptyDir.sizeLimit"),
              std::string::npos)
        << made.error().message;
}

TEST_F(infos, do_not_touch_the_compiled_runtime) {
    compiled = compile(runtime_yaml);
    const std::string before = doc::to_json(compiled->spec());
    auto i = info::make(memory, *compiled, decode("trainer: {numNodes: 3, resourcesPerNode: {limits: {cpu: '9'}}}"));
    ASSERT_TRUE(i);
    i->trainer_container().put_env("X", "1");
    EXPECT_EQ(i->trainer_resources().get({"limits", "cpu"}).as_string(), "9");
    EXPECT_EQ(doc::to_json(compiled->spec()), before);
}

TEST_F(infos, refuse_gangs_that_no_pod_group_counts) {
    const info i = make("", R"(
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata: {name: rt}
spec:
  template: {spec: {replicatedJobs: [{name: a, replicas: 2147483647, template: {spec: {parallelism: 2147483647}}}]}}
)");
    EXPECT_FALSE(gang_of(i));
}

class snapshots : public infos {
   protected:
    doc::ref made() {
        compiled = compile(runtime_yaml);
        const object o = make_snapshot(memory, decode(""), *compiled);
        EXPECT_EQ(o.name, "job-runtime-snapshot");
        return doc::parse_json_copy(memory, o.json).value();
    }
    // The snapshot with its data replaced.
    std::string refusal(std::string_view data) {
        doc::editor changed = doc::editor::of(memory, made());
        changed.set("data", yaml(data));
        const auto read = read_snapshot(job, changed);
        return read ? "" : read.error().message;
    }
};

TEST_F(snapshots, bring_the_runtime_back) {
    const doc::ref map = made();
    const auto read = read_snapshot(job, map);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_TRUE(equal((*read)->spec(), compiled->spec()));
    EXPECT_EQ((*read)->ml()->num_nodes, 2);
    EXPECT_FALSE((*read)->runtime().document.get({"metadata", "managedFields"}));
    EXPECT_EQ((*read)->runtime().meta.label("l"), "1");
}

TEST_F(snapshots, of_others_are_refused) {
    const doc::ref map = made();
    job.meta.uid = "another";
    const auto read = read_snapshot(job, map);
    ASSERT_FALSE(read);
    EXPECT_NE(read.error().message.find("does not control it"), std::string::npos) << read.error().message;
}

TEST_F(snapshots, that_do_not_fit_are_refused) {
    EXPECT_NE(refusal("{}").find("no key \"runtime\""), std::string::npos);
    EXPECT_NE(refusal("{runtime: '{{nope'}").find("line 1"), std::string::npos);
    EXPECT_NE(refusal("{runtime: 'x: y'}").find("it holds"), std::string::npos);
    EXPECT_NE(refusal("{runtime: '{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainingRuntime, metadata: {name: "
                      "other}}'}")
                  .find("\"other\""),
              std::string::npos);
}

}  // namespace
}  // namespace cotrain::runtime
