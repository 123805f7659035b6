// Bad input for `cotrain render` and `cotrain validate`: one clear line with a path, in bounded time and memory; and
// what --observed tells.
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "doc/json.hpp"
#include "render_run.hpp"
#include "support/temp_dir.hpp"

namespace cotrain::app {
namespace {

constexpr std::string_view runtime =
    "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainingRuntime\nmetadata: {name: rt}\nspec:\n"
    "  mlPolicy: {torch: {}}\n  podGroupPolicy: {coscheduling: {}}\n"
    "  template: {spec: {replicatedJobs: [{name: node, template: {metadata: {labels: "
    "{trainer.kubeflow.org/trainjob-ancestor-step: trainer}}, spec: {template: {spec: {containers: [{name: node, "
    "image: i}]}}}}}]}}\n---\n";

std::string job(std::string_view spec, std::string_view metadata = {}) {
    std::string text = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: job";
    text.append(metadata.empty() ? "" : ", ").append(metadata).append("}\nspec: {runtimeRef: {name: rt, kind: ");
    return text.append("TrainingRuntime}").append(spec.empty() ? "" : ", ").append(spec).append("}\n");
}

// A file of its own, gone with the test.
class scratch_file {
   public:
    explicit scratch_file(const std::string& text) : path_(place_.write("input", text)) {}
    [[nodiscard]] const std::string& path() const { return path_; }

   private:
    test::temp_dir place_;
    std::string path_;
};

TEST(bad_input, is_refused_with_its_path) {
    const std::string gpus = "trainer: {resourcesPerNode: {limits: {nvidia.com/gpu: ";
    for (const auto& [spec, path] : std::vector<std::pair<std::string, std::string>>{
             {"trainer: {numNodes: -1}", "spec.trainer.numNodes"},
             {"trainer: {numNodes: 2147483648}", "spec.trainer.numNodes"},
             {"trainer: {numNodes: two}", "spec.trainer.numNodes"},
             {"trainer: {numNodes: 1.5}", "spec.trainer.numNodes"},
             {"trainer: {numProcPerNode: -1}", "spec.trainer.numProcPerNode"},
             {"trainer: {numProcPerNode: '0'}", "spec.trainer.numProcPerNode"},
             {"trainer: {numProcPerNode: all}", "spec.trainer.numProcPerNode"},
             {"trainer: [1]", "spec.trainer"},
             {"trainer: {command: run}", "spec.trainer.command"},
             {"trainer: {env: [{name: A, value: 1}]}", "spec.trainer.env[0].value"},
             {"trainer: {env: [{value: b}]}", "spec.trainer.env[0].name"},
             {gpus + "-1}}}", "spec.trainer.resourcesPerNode.limits[nvidia.com/gpu]"},
             {"trainer: {resourcesPerNode: {requests: {memory: '-5Gi'}}}",
              "spec.trainer.resourcesPerNode.requests[memory]"},
             {gpus + "many}}}", "spec.trainer.resourcesPerNode.limits.nvidia.com/gpu"},
             {gpus + "99999999999999999999}}}", "spec.trainer.resourcesPerNode.limits.nvidia.com/gpu"},
             {"activeDeadlineSeconds: -5", "spec.activeDeadlineSeconds"},
             {"suspend: 'yes'", "spec.suspend"},
             {"runtimePatches: [{manager: nobody}]", "spec.runtimePatches.manager"},
             {"runtimePatches: [{manager: a.b/c, time: noon}]", "spec.runtimePatches[0].time"},
             {"podTemplateOverrides: [{targetJobs: node}]", "spec.podTemplateOverrides[0].targetJobs"}}) {
        for (const bool verdicts_only : {false, true}) {
            const auto r = run({"-f", "-"}, std::string(runtime) + job(spec), verdicts_only);
            EXPECT_EQ(r.code, 1) << spec;
            const std::string start = "error: standard input:12: The TrainJob \"job\" is invalid: " + path + ": ";
            EXPECT_TRUE(r.err.starts_with(start)) << r.err;
            EXPECT_EQ(std::ranges::count(r.err, '\n'), 1) << r.err;
            EXPECT_EQ(r.out, verdicts_only ? "1 file, 2 documents: 1 with errors\n" : "");
        }
    }
}

// As `kubectl apply` does, with its strict validation of fields.
TEST(bad_input, that_no_definition_knows_is_refused_where_it_stands) {
    for (const auto& [spec, says] : std::vector<std::pair<std::string, std::string>>{
             {"trainer: {\n  numNode: 2}", ":13: … unknown field \"spec.trainer.numNode\"; did you mean \"numNodes\"?"},
             {"trainer: {\n\n  NumNodes: 2}", ":14: … did you mean \"numNodes\"?"},
             {"\n  numNodes: 2", ":13: … did you mean \"trainer.numNodes\"?"},
             {"trainer: {env: [\n{name: A}, \n{name: B, vlaue: c}]}",
              ":14: … unknown field \"spec.trainer.env[1].vlaue\"; did you mean \"value\"?"},
             {"\n  somethingElse: 2", ":13: … unknown field \"spec.somethingElse\"\n"}}) {
        const auto r = run({"-f", "-"}, std::string(runtime) + job(spec), true);
        EXPECT_EQ(r.code, 1) << spec;
        EXPECT_TRUE(r.err.contains("standard input" + says.substr(0, 4) + " ")) << says << "\n" << r.err;
        EXPECT_TRUE(r.err.contains(says.substr(says.find("… ") + 4))) << says << "\n" << r.err;
        EXPECT_EQ(r.out, "1 file, 2 documents: 1 with errors\n");
        const auto warned = run({"-f", "-", "--field-validation=warn"}, std::string(runtime) + job(spec), true);
        EXPECT_EQ(warned.code, 0) << warned.err;
        EXPECT_TRUE(warned.err.starts_with("Warning: standard input:1")) << warned.err;
        EXPECT_EQ(warned.out, "1 file, 2 documents: no errors, 1 with warnings\n");
        EXPECT_EQ(run({"-f", "-", "--field-validation", "ignore"}, std::string(runtime) + job(spec), true).err, "");
    }
    const auto labels = run({"-f", "-"}, std::string(runtime) + job({}, "lables: {a: b}"), true);
    EXPECT_TRUE(labels.err.contains("unknown field \"metadata.lables\"; did you mean \"labels\"?")) << labels.err;
}

TEST(bad_input, of_unknown_kinds_and_versions_is_refused) {
    const auto said = [](const std::string& head) {
        const auto r = run({"-f", "-"}, std::string(runtime) + head + "\nmetadata: {name: a}\n", true);
        EXPECT_EQ(r.code, 1) << r.err;
        EXPECT_EQ(r.out, "1 file, 2 documents: 1 with errors\n");
        return r.err;
    };
    const std::string no = "no matches for kind ";
    EXPECT_EQ(said("apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrianJob"),
              "error: standard input:10: " + no +
                  "\"TrianJob\" in version \"trainer.kubeflow.org/v1alpha1\"; did you mean \"TrainJob\"?\n");
    for (const char* version : {"trainer.kubeflow.org/v1", "trainer.kubeflw.org/v1alpha1", "kubeflow.org/v1"})
        EXPECT_EQ(said("apiVersion: " + std::string(version) + "\nkind: TrainJob"),
                  "error: standard input:9: " + no + "\"TrainJob\" in version \"" + version +
                      "\"; did you mean \"trainer.kubeflow.org/v1alpha1\"?\n");
    EXPECT_TRUE(said("apiVersion: trainer.kubeflow.org/v1beta1\nkind: Tuner").contains(no + "\"Tuner\""));
}

TEST(bad_input, in_a_list_and_in_json_has_its_line) {
    const auto in_list = run({"-f", "-"},
                             "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Service}\n"
                             "- apiVersion: trainer.kubeflow.org/v1alpha1\n  kind: TrainJob\n"
                             "  metadata: {name: a}\n  spec:\n    trainr: {}\n    runtimeRef: {name: rt}\n",
                             true);
    EXPECT_TRUE(in_list.err.contains("error: standard input:9: ")) << in_list.err;
    EXPECT_TRUE(in_list.err.contains("\"spec.trainr\"; did you mean \"trainer\"?")) << in_list.err;
    const auto in_json = run({"-f", "-"},
                             "{\n\t\"apiVersion\": \"trainer.kubeflow.org/v1alpha1\",\n\t\"kind\": \"TrainJob\",\n"
                             "\t\"metadata\": {\"name\": \"a\"},\n\t\"spec\": {\n\t\t\"trainr\": {}\n\t}\n}\n",
                             true);
    EXPECT_TRUE(in_json.err.contains("error: standard input:6: ")) << in_json.err;
}

TEST(bad_input, in_metadata_is_refused_as_the_api_server_does) {
    for (const char* metadata : {"labels: {a b: c}", "labels: {a: c d}", "annotations: {a b: c}", "namespace: A_b",
                                 "finalizers: [a b]", "ownerReferences: [{kind: Pod}]"}) {
        const auto r = run({"-f", "-"}, std::string(runtime) + job({}, metadata), true);
        EXPECT_EQ(r.code, 1) << metadata;
        EXPECT_TRUE(r.err.contains("metadata." + std::string(metadata).substr(0, std::string(metadata).find(':'))))
            << r.err;
    }
}

TEST(bad_input, of_a_runtime_is_refused_with_its_path) {
    std::string text(runtime);
    text.replace(text.find("image: i"), 8, "image: i, resources: {limits: {cpu: -1}}");
    const auto r = run({"-f", "-"}, text, true);
    EXPECT_EQ(r.code, 1);
    EXPECT_TRUE(
        r.err.contains("spec.template.spec.replicatedJobs[0].template.spec.template.spec.containers[0].resources."
                       "limits[cpu]: Invalid value: "))
        << r.err;
}

TEST(bad_input, as_many_nodes_as_there_are_numbers_cost_nothing) {
    const auto r = run({"-f", "-", "-o", "summary"}, std::string(runtime) + job("trainer: {numNodes: 2147483647}"));
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_TRUE(r.out.contains("job-node-0-2147483646.job (2147483647)")) << r.out;
    EXPECT_LT(r.out.size(), 2000U);
}

TEST(bad_input, that_is_no_yaml_is_refused_with_its_line) {
    std::string laughs = "a0: &a0 x\n";
    for (int i = 1; i < 12; ++i) {
        const std::string alias = "*a" + std::to_string(i - 1);
        laughs += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + alias;
        for (int j = 1; j < 10; ++j) laughs += "," + alias;
        laughs += "]\n";
    }
    std::string nested;
    for (int i = 0; i < 2000; ++i) nested += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
    for (const auto& [input, why] : std::vector<std::pair<std::string, std::string>>{
             {job("trainer: {env: &a [*a]}"), "line 4, column 74: the anchor 'a' contains itself"},
             {"a: &a {b: &b {c: *a}}\n", "line 1, column 18: the anchor 'a' contains itself"},
             {"a: &a\n  <<: *a\n", "line 2, column 7: the anchor 'a' contains itself"},
             {laughs, "aliases stand for more than"},
             {"a: " + std::string(200'000, '['), "line 1, column 503: nested deeper than 500 levels"},
             {nested, "line 501, column 501: nested deeper than 500 levels"},
             {"a: \"" + std::string(1'000'000, 'x'),
              "found unexpected end of stream while scanning a quoted scalar that starts at line 1, column 4"},
             {std::string(1000, '\0'), "line 1, column 1: control characters"}}) {
        const auto r = run({"-f", "-"}, input);
        EXPECT_EQ(r.code, 2) << why;
        EXPECT_EQ(r.err, "error: standard input: " + r.err.substr(23)) << "where";
        EXPECT_TRUE(r.err.contains(why)) << r.err;
        EXPECT_EQ(std::ranges::count(r.err, '\n'), 1) << r.err;
    }
}

TEST(bad_input, a_name_that_occurs_twice_is_a_warning) {
    const auto r = run({"-f", "-"}, job("trainer: {numNodes: 1, numNodes: 2}"));
    EXPECT_TRUE(r.err.starts_with("Warning: standard input: line 4, column ")) << r.err;
    EXPECT_TRUE(r.err.contains("'numNodes' occurs twice in the same object: the last one counts\n")) << r.err;
}

TEST(bad_input, of_a_hundred_megabytes_is_not_read_to_its_end) {
    const scratch_file file("");
    std::filesystem::resize_file(file.path(), 100UL << 20U);
    const auto r = run({"-f", file.path()});
    EXPECT_EQ(r.code, 2);
    EXPECT_EQ(r.err, "error: " + file.path() + ": larger than 32 MiB; split it into several files\n");
}

TEST(bad_input, of_thousands_of_foreign_objects_is_told_of_briefly) {
    std::string text(runtime);
    for (int i = 0; i < 5000; ++i) text += "{apiVersion: v1, kind: Service, metadata: {name: s}}\n---\n";
    const auto r = run({"-f", "-"}, text, true);
    EXPECT_EQ(r.code, 0);
    EXPECT_LE(std::ranges::count(r.err, '\n'), 101) << r.err.substr(0, 500);
    EXPECT_TRUE(r.err.ends_with("Warning: and 4900 more objects like these\n"));
}

TEST(observed, gives_owner_references_their_uid) {
    const std::string input = std::string(runtime) + job("");
    const auto without = run({"-f", "-", "-o", "json"}, input);
    EXPECT_EQ(without.code, 0) << without.err;
    EXPECT_FALSE(without.out.contains("ownerReferences")) << without.out;
    const scratch_file cluster(job("", "namespace: default, uid: u-7"));
    const auto with = run({"-f", "-", "--observed", cluster.path(), "-o", "json"}, input);
    EXPECT_EQ(with.code, 0) << with.err;
    EXPECT_TRUE(with.out.contains(R"("uid":"u-7")")) << with.out;
}

TEST(observed, a_running_jobs_set_is_left_alone_and_its_snapshot_used) {
    constexpr std::string_view owner =
        "ownerReferences: [{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, name: job, uid: u-7, "
        "controller: "
        "true}]}\n";
    std::string kept(runtime.substr(0, runtime.find("---")));
    kept.replace(kept.find("{torch: {}}"), 11, "{torch: {}, numNodes: 5}");
    kept.replace(kept.find("{name: rt}"), 10, "{name: rt, namespace: default}");
    std::string indented;
    for (const char c : "\n" + kept) indented.append(1, c).append(c == '\n' ? "    " : "");
    const std::string snapshot =
        "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: job-runtime-snapshot, namespace: default, " +
        std::string(owner) + "data:\n  runtime: |" + indented + "\n";
    const std::string input = std::string(runtime) + job("");
    const scratch_file suspended(job("", "namespace: default, uid: u-7") + snapshot);
    const auto five = run({"-f", "-", "--observed", suspended.path(), "-o", "summary"}, input);
    EXPECT_EQ(five.code, 0) << five.err;
    EXPECT_TRUE(five.out.contains("job node: 5 pods")) << five.out;
    const scratch_file running(
        job("", "namespace: default, uid: u-7") + snapshot +
        "---\napiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: job, namespace: "
        "default, " +
        std::string(owner) + "spec: {suspend: false}\n");
    const auto none = run({"-f", "-", "--observed", running.path(), "-o", "summary"}, input);
    EXPECT_FALSE(none.out.contains("JobSet job (")) << none.out << none.err;
}

TEST(observed, nothing_is_applied_for_jobs_that_the_operator_leaves_alone) {
    const auto elsewhere =
        run({"-f", "-", "-o", "json"}, std::string(runtime) + job("managedBy: kueue.x-k8s.io/multikueue"));
    EXPECT_EQ(elsewhere.code, 0) << elsewhere.err;
    EXPECT_EQ(elsewhere.out, "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[]}\n");
    EXPECT_TRUE(elsewhere.err.contains("managedBy")) << elsewhere.err;
    for (const auto& [metadata, status, why] : std::initializer_list<std::array<std::string, 3>>{
             {"uid: u",
              "status: {conditions: [{type: Failed, status: 'True', reason: r, message: m, lastTransitionTime: "
              "'2026-01-01T00:00:00Z'}]}",
              "none: it has finished"},
             {"uid: u, deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: [a/b]", "",
              "none: it is being deleted"}}) {
        const scratch_file known(job({}, metadata) + status + "\n");
        const auto r = run({"-f", "-", "-o", "summary", "--observed", known.path()}, std::string(runtime) + job({}));
        EXPECT_EQ(r.code, 0) << r.err;
        EXPECT_TRUE(r.out.contains(why)) << r.out;
    }
}

TEST(observed, an_update_is_judged_by_what_it_changes) {
    const scratch_file before(job("trainer: {numNodes: 2}", "namespace: default, uid: u-7"));
    const auto r =
        run({"-f", "-", "--observed", before.path()}, std::string(runtime) + job("trainer: {numNodes: 3}"), true);
    EXPECT_EQ(r.code, 1);
    EXPECT_TRUE(r.err.contains("spec.trainer: Invalid value: ") || r.err.contains("field is immutable")) << r.err;
    const auto same =
        run({"-f", "-", "--observed", before.path()}, std::string(runtime) + job("trainer: {numNodes: 2}"), true);
    EXPECT_EQ(same.code, 0) << same.err;
}

}  // namespace
}  // namespace cotrain::app
