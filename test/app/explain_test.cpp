// Which layer set each field of a JobSet.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "app/explain/layers.hpp"
#include "app/explain/live.hpp"
#include "app/explain/print.hpp"
#include "doc/json.hpp"
#include "doc/yaml.hpp"
#include "render_run.hpp"
#include "runtime/normalise.hpp"

namespace cotrain::app {
namespace {

using testing::HasSubstr;

constexpr std::string_view runtime_text = R"(
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: rt}
spec:
  mlPolicy: {numNodes: 3, torch: {}}
  podGroupPolicy: {coscheduling: {scheduleTimeoutSeconds: 100}}
  template:
    metadata: {labels: {team: a}}
    spec:
      replicatedJobs:
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec:
            template:
              spec:
                containers: [{name: node, image: base, env: [{name: OWN, value: kept}]}]
)";

const std::string pod = "spec.replicatedJobs[node].template.spec.template.spec.";
const std::string container = pod + "containers[node].";

class explained_job {
   public:
    explicit explained_job(const std::string& spec) {
        const auto runtime = runtime::compiled_runtime::compile(*doc::parse_yaml(memory_, runtime_text));
        EXPECT_TRUE(runtime) << runtime.error().message;
        const std::string text =
            "{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, metadata: {name: job, "
            "namespace: ns}, spec: {runtimeRef: {name: rt}" +
            std::string(spec.empty() ? "" : ", ") + spec + "}}";
        const auto document = doc::parse_yaml(memory_, memory_.copy(text));
        EXPECT_TRUE(document) << document.error().message;
        const auto job = api::decode_train_job(runtime::with_defaults(memory_, *document));
        EXPECT_TRUE(job) << job.error().message;
        auto made = explain_layers(memory_, *job, **runtime);
        EXPECT_TRUE(made) << made.error().message;
        said_ = std::move(*made);
    }
    [[nodiscard]] std::string layer(const std::string& path) const {
        const auto found = said_.layers.find(path);
        return found == said_.layers.end() ? "nothing at " + path : found->second;
    }
    [[nodiscard]] const explained& said() const { return said_; }

   private:
    doc::arena memory_;
    explained said_;
};

TEST(explain, tells_the_runtime_from_what_the_job_says) {
    const explained_job plain("");
    EXPECT_EQ(plain.layer(container + "image"), "runtime");
    EXPECT_EQ(plain.layer("metadata.labels.team"), "runtime");
    EXPECT_EQ(plain.layer("spec.replicatedJobs[node].template.spec.parallelism"), "runtime's spec.mlPolicy.numNodes");
    EXPECT_EQ(plain.layer(container + "env[PET_NNODES].value"), "plugin Torch (runtime's spec.mlPolicy.numNodes)");
    EXPECT_EQ(plain.layer(container + "env[PET_MASTER_PORT].value"), "plugin Torch");
    EXPECT_THAT(plain.layer("spec.replicatedJobs[node].template.spec.template.metadata.labels.scheduling.x-k8s.io/"
                            "pod-group"),
                HasSubstr("podGroupPolicy"));
    const explained_job own(
        "trainer: {image: mine, numNodes: 5, command: [run], env: [{name: A, value: b}], resourcesPerNode: {limits: "
        "{cpu: 2}}}, suspend: true");
    EXPECT_EQ(own.layer(container + "image"), "spec.trainer.image");
    EXPECT_EQ(own.layer(container + "command"), "spec.trainer.command");
    EXPECT_EQ(own.layer(container + "env[A].value"), "spec.trainer.env");
    EXPECT_EQ(own.layer(container + "env[OWN].value"), "runtime");
    EXPECT_EQ(own.layer(container + "resources.limits.cpu"), "spec.trainer.resourcesPerNode");
    EXPECT_EQ(own.layer("spec.replicatedJobs[node].template.spec.parallelism"), "spec.trainer.numNodes");
    EXPECT_EQ(own.layer(container + "env[PET_NNODES].value"), "plugin Torch (spec.trainer.numNodes)");
    EXPECT_EQ(own.layer("spec.suspend"), "spec.suspend");
}

// What says the same as the runtime still is what counts: another value would show.
TEST(explain, names_the_job_where_it_says_what_the_runtime_says) {
    const explained_job same("trainer: {numNodes: 3}");
    EXPECT_EQ(same.layer("spec.replicatedJobs[node].template.spec.parallelism"), "spec.trainer.numNodes");
}

TEST(explain, names_the_manager_of_each_patch_and_each_override) {
    const explained_job patched(
        "runtimePatches: [{manager: queue.example.com/a, trainingRuntimeSpec: {template: {spec: {replicatedJobs: "
        "[{name: "
        "node, template: {spec: {template: {spec: {nodeSelector: {zone: x, disk: ssd}}}}}}]}}}}, {manager: "
        "b.example.com/b, trainingRuntimeSpec: {template: {metadata: {labels: {added: 'yes'}}, spec: {replicatedJobs: "
        "[{name: node, template: {spec: {template: {spec: {nodeSelector: {zone: z}}}}}}]}}}}], podTemplateOverrides: "
        "[{targetJobs: [{name: node}], spec: {serviceAccountName: robot}}]");
    EXPECT_EQ(patched.layer(pod + "nodeSelector.disk"), "patch of queue.example.com/a");
    EXPECT_EQ(patched.layer(pod + "nodeSelector.zone"), "patch of b.example.com/b") << "the last one counts";
    EXPECT_EQ(patched.layer("metadata.labels.added"), "patch of b.example.com/b");
    EXPECT_EQ(patched.layer(pod + "serviceAccountName"), "spec.podTemplateOverrides[0]");
    EXPECT_EQ(patched.layer(container + "image"), "runtime");
}

// For every example: each field of what is rendered has a layer, and the values are those that are rendered.
TEST(explain, explains_just_what_is_rendered) {
    for (const auto& entry : std::filesystem::directory_iterator(COTRAIN_EXAMPLES_DIR)) {
        if (entry.path().extension() != ".yaml") continue;
        const auto rendered = run({"-f", entry.path(), "-o", "yaml"});
        const auto told = run({"-f", entry.path(), "-o", "explain"});
        if (rendered.code != 0) continue;  // needs others
        EXPECT_EQ(told.code, 0) << entry.path();
        doc::arena memory;
        const auto objects = doc::parse_yaml_stream(memory, rendered.out);
        const auto sets = doc::parse_yaml_stream(memory, told.out);
        ASSERT_TRUE(objects && sets) << entry.path() << told.out;
        std::vector<doc::ref> wanted;
        for (const auto& each : *objects)
            if (each.value.get("kind").as_string() == "JobSet") wanted.push_back(each.value);
        ASSERT_EQ(sets->size(), wanted.size()) << entry.path();
        for (std::size_t i = 0; i < wanted.size(); ++i)
            EXPECT_TRUE(doc::equal((*sets)[i].value.get("spec"), wanted[i].get("spec"))) << told.out;
        // A line with a value has its layer behind it, unless it goes on below.
        EXPECT_THAT(told.out, HasSubstr("# runtime"));
    }
}

TEST(explain, of_a_job_set_that_is_there_names_other_managers_and_defaults) {
    const explained_job planned("trainer: {image: mine}");
    doc::arena memory;
    const std::string text = doc::to_json(planned.said().job_set);
    const auto document = doc::parse_json(memory, text);
    ASSERT_TRUE(document);
    doc::editor live = doc::editor::of(memory, doc::deep_copy(memory, *document));
    doc::editor spec = live.child("spec");
    spec.ensure_object("network").set("enableDNSHostnames", true);
    doc::editor job = spec.child("replicatedJobs").child(0);
    job.child({"template", "spec"}).set("parallelism", 9);
    job.ensure_object({"template", "spec", "template", "spec"}).ensure_object("nodeSelector").set("zone", "x");
    live.ensure_object("metadata")
        .set("managedFields",
             *doc::parse_json_copy(memory,
                                   R"([{"manager":"trainer","operation":"Apply","fieldsV1":{"f:spec":{"f:suspend":{}}}},
            {"manager":"kueue","operation":"Update","fieldsV1":{"f:spec":{"f:replicatedJobs":{"k:{\"name\":\"node\"}":
            {"f:name":{},"f:template":{"f:spec":{"f:parallelism":{},"f:template":{"f:spec":{"f:nodeSelector":
            {"f:zone":{}}}}}}}}}}}])"));
    const layer_map layers = live_layers(doc::freeze(memory, live), planned.said());
    const auto layer = [&](const std::string& path) {
        const auto found = layers.find(path);
        return found == layers.end() ? "nothing at " + path : found->second;
    };
    EXPECT_EQ(layer(container + "image"), "spec.trainer.image");
    EXPECT_EQ(layer("spec.network.enableDNSHostnames"), "default");
    EXPECT_EQ(layer(pod + "nodeSelector.zone"), "manager kueue");
    EXPECT_EQ(layer("spec.replicatedJobs[node].template.spec.parallelism"),
              "manager kueue; planned: 3 (runtime's spec.mlPolicy.numNodes)");
}

TEST(explain, says_what_a_job_waits_for_or_why_it_failed) {
    doc::arena memory;
    const auto job = doc::parse_yaml(memory, R"(
metadata: {name: job, namespace: ns}
spec: {managedBy: kueue.x-k8s.io/multikueue}
status:
  state: Failed
  message: "Pod job-node-0-1 was killed"
  nodes: {desired: 4, ready: 3}
  restarts: 2
  conditions: [{type: Failed, status: "True", reason: R, message: "two\nlines"}]
  failures: [{pod: job-node-0-1, rank: 1, exitCode: 137, reason: OOMKilled}]
)");
    ASSERT_TRUE(job);
    EXPECT_EQ(describe_job(*job, "ClusterTrainingRuntime rt"),
              "TrainJob ns/job\nruntime:    ClusterTrainingRuntime rt\nstate:      Failed\n"
              "message:    Pod job-node-0-1 was killed\nnodes:      3 of 4 ready\nrestarts:   2\n"
              "managed by: kueue.x-k8s.io/multikueue\nconditions:\n  Failed=True  R: two lines\nfailures:\n"
              "  pod: job-node-0-1, rank: 1, exitCode: 137, reason: OOMKilled\n");
    const auto bare = doc::parse_yaml(memory,
                                      "{metadata: {name: a, namespace: b}, spec: {managedBy: "
                                      "trainer.kubeflow.org/trainjob-controller}}");
    EXPECT_EQ(describe_job(*bare, "rt"), "TrainJob b/a\nruntime:    rt\n") << "what is not there is not told";
}

TEST(explain, prints_yaml_that_reads_back_and_json) {
    doc::arena memory;
    const auto document = doc::parse_yaml(memory,
                                          "a: [{name: x, v: 1}, {name: z, t: \"two\\nlines\\n\"}]\nb: {}\nc: [1, 2]\n"
                                          "d: [[1], {e: 2}]\n'quoted key': 3\n");
    ASSERT_TRUE(document) << document.error().message;
    layer_map layers;
    for (const auto& [path, value] : fields_of(*document)) layers.emplace(path, "from " + path);
    const std::string text = to_explained_yaml(*document, layers);
    const auto back = doc::parse_yaml(memory, memory.copy(text));
    ASSERT_TRUE(back) << text;
    EXPECT_TRUE(doc::equal(*back, *document)) << text;
    EXPECT_THAT(text, HasSubstr("  v: 1"));
    EXPECT_THAT(text, HasSubstr("# from a[x].v"));
    const std::string json = to_explained_json(*document, layers);
    const auto list = doc::parse_json(memory, json);
    ASSERT_TRUE(list) << json;
    EXPECT_EQ(list->size(), layers.size());
    EXPECT_EQ(list->at(0).get("path").as_string(), "a[x].name");
    EXPECT_EQ(list->at(0).get("value").as_string(), "x");
}

}  // namespace
}  // namespace cotrain::app
