// What `cotrain render` and `cotrain validate` say of files: objects, verdicts, exit codes.
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "doc/json.hpp"
#include "doc/yaml.hpp"
#include "render_run.hpp"
#include "support/temp_dir.hpp"

namespace cotrain::app {
namespace {

using doc::ref;

std::string example(std::string_view name) { return std::string(COTRAIN_EXAMPLES_DIR "/").append(name); }

// The objects of a List by kind.
class rendered {
   public:
    explicit rendered(const std::string& file) : result_(run({"-f", example(file), "-o", "json"})) {
        EXPECT_EQ(result_.code, 0) << result_.err;
        const auto list = doc::parse_json(memory_, result_.out);
        if (!list) throw std::runtime_error(list.error().message);
        EXPECT_EQ(list->get("kind").as_string(), "List");
        items_ = list->get("items");
    }
    [[nodiscard]] ref find(std::string_view kind) const { return items_.find_by("kind", kind); }
    [[nodiscard]] ref job() const { return find("JobSet").get({"spec", "replicatedJobs"}).at(0).get("template"); }
    [[nodiscard]] ref pods() const { return job().get({"spec", "template"}); }
    [[nodiscard]] ref container() const { return pods().get({"spec", "containers"}).at(0); }
    [[nodiscard]] std::string_view env(std::string_view name) const {
        return container().get("env").find_by("name", name).get("value").as_string();
    }
    [[nodiscard]] ref items() const { return items_; }
    [[nodiscard]] const outcome& result() const { return result_; }

   private:
    outcome result_;
    doc::arena memory_;
    ref items_;
};

TEST(render, the_overview_is_four_nodes_of_eight_gpus_in_one_gang) {
    const rendered r("overview.yaml");
    EXPECT_EQ(r.job().get({"spec", "parallelism"}).as_int(), 4);
    EXPECT_EQ(r.job().get({"spec", "completions"}).as_int(), 4);
    EXPECT_EQ(r.container().get({"resources", "limits", "nvidia.com/gpu"}).text(), "8");
    EXPECT_EQ(r.container().get("image").as_string(), "pytorch/pytorch:2.0.0");
    EXPECT_EQ(r.env("PET_NNODES"), "4");
    EXPECT_EQ(r.env("PET_MASTER_ADDR"), "pytorch-distributed-node-0-0.pytorch-distributed");
    const ref group = r.find("PodGroup").get("spec");
    EXPECT_EQ(group.get("minMember").as_int(), 4);
    EXPECT_EQ(group.get("scheduleTimeoutSeconds").as_int(), 300);
    EXPECT_EQ(group.get({"minResources", "nvidia.com/gpu"}).text(), "32");
    EXPECT_EQ(r.pods().get({"metadata", "labels", "scheduling.x-k8s.io/pod-group"}).as_string(), "pytorch-distributed");
}

TEST(render, the_override_is_eight_nodes_with_a_toleration) {
    const rendered r("overrides.yaml");
    EXPECT_EQ(r.job().get({"spec", "parallelism"}).as_int(), 8);
    EXPECT_EQ(r.container().get({"resources", "limits", "nvidia.com/gpu"}).text(), "8");
    EXPECT_EQ(r.env("PET_NNODES"), "8");
    const ref toleration = r.pods().get({"spec", "tolerations"}).find_by("key", "gpu");
    EXPECT_EQ(toleration.get("operator").as_string(), "Exists");
}

TEST(render, objects_come_in_the_order_in_which_they_are_applied) {
    const rendered r("mpi.yaml");
    std::string kinds;
    for (const ref item : r.items().items()) kinds.append(item.get("kind").as_string()).append(" ");
    EXPECT_TRUE(kinds.starts_with("ConfigMap ")) << kinds;
    EXPECT_TRUE(kinds.ends_with("JobSet ")) << kinds;
    EXPECT_TRUE(r.find("Secret").get({"data", "ssh-privatekey"}).is_string());
    EXPECT_TRUE(r.result().err.contains("note: keys")) << r.result().err;
}

TEST(render, a_summary_tells_the_topology) {
    const auto r = run({"-f", example("overview.yaml"), "-o", "summary"});
    EXPECT_EQ(r.code, 0) << r.err;
    for (const auto* text : {"job node: 4 pods, trains", "pytorch-distributed-node-0-0.pytorch-distributed … ",
                             "pytorch-distributed-node-0-3.pytorch-distributed (4)", "env PET_NNODES=4", "gang: 4 pods",
                             "timeout 300 s", "nvidia.com/gpu=8", "JobSet pytorch-distributed"}) {
        EXPECT_TRUE(r.out.contains(text)) << text << " in\n" << r.out;
    }
}

TEST(render, a_summary_tells_of_every_job) {
    const auto r = run({"-f", "-", "-o", "summary"}, R"(
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: rt}
spec:
  template:
    spec:
      replicatedJobs:
      - name: dataset-initializer
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: dataset-initializer}}
          spec:
            template:
              spec:
                containers:
                - {name: side, image: side}
                - {name: dataset-initializer, image: fetch, volumeMounts: [{name: initializer, mountPath: /w}]}
      - name: cache
        replicas: 2
        template: {spec: {template: {spec: {containers: [{name: c, image: keep, resources: {requests: {cpu: 100m}}}]}}}}
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: job}
spec: {runtimeRef: {name: rt}, initializer: {dataset: {storageUri: "s3://b"}}}
)");
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_TRUE(r.out.contains("(1)\n    image: fetch\n    env STORAGE_URI=s3://b\n  job cache: 2 pods (2 replicas)\n"))
        << r.out;
    EXPECT_TRUE(r.out.contains("image: keep\n    requests: cpu=100m\n")) << r.out;
}

constexpr std::string_view elastic_gate =
    "apiVersion: config.trainer.kubeflow.org/v1alpha1\nkind: Configuration\nfeatureGates: {ElasticTrainJob: true}\n";

TEST(render, the_configuration_of_the_operator_has_the_gates) {
    const test::temp_dir files;
    const std::string gate = files.write("config.yaml", std::string(elastic_gate));
    const std::string file = example("elastic.yaml");
    const auto summary = run({"-f", file, "--config", gate, "-o", "summary"});
    EXPECT_EQ(summary.code, 0) << summary.err;
    EXPECT_TRUE(summary.out.contains("  job node: 4/2..8 pods, trains\n")) << summary.out;
    EXPECT_TRUE(summary.out.contains("    env PET_NNODES=2:8\n")) << summary.out;
    const auto layers = run({"-f", file, "--config", gate, "-o", "explain"});
    EXPECT_TRUE(layers.out.contains("# plugin Torch (runtime's spec.mlPolicy.torch.elasticPolicy)")) << layers.out;
    const auto closed = run({"-f", file, "-o", "summary"});
    EXPECT_TRUE(closed.out.contains("  job node: 4 pods, trains\n")) << closed.out;
}

TEST(render, a_new_size_is_judged_by_the_gates) {
    const test::temp_dir files;
    const std::string gate = files.write("config.yaml", std::string(elastic_gate));
    std::ifstream source(example("elastic.yaml"));
    std::string text{std::istreambuf_iterator<char>(source), {}};
    const std::string before = files.write("before.yaml", text);
    const auto with = [&](const std::string& nodes, std::vector<std::string> more) {
        std::string other = text;
        other.replace(other.rfind("numNodes: 4"), 11, "numNodes: " + nodes);
        std::vector<std::string> words{"-f", "-", "--observed", before};
        words.insert(words.end(), more.begin(), more.end());
        return run(words, other, true);
    };
    EXPECT_EQ(with("6", {"--config", gate}).code, 0) << with("6", {"--config", gate}).err;
    EXPECT_TRUE(with("9", {"--config", gate}).err.contains("9 is not within 2:8"));
    EXPECT_TRUE(with("6", {}).err.contains("spec.trainer"));
}

TEST(render, a_bad_configuration_is_named) {
    const test::temp_dir files;
    const std::string bad = files.write("config.yaml", "kind: Configuration\nplugins: {disabled: [Nothing]}\n");
    const auto r = run({"-f", example("torch.yaml"), "--config", bad});
    EXPECT_EQ(r.code, 2);
    EXPECT_TRUE(r.err.contains("config.yaml") && r.err.contains("Nothing")) << r.err;
}

TEST(render, every_example_renders_to_yaml_from_one_folder) {
    constexpr const char* shipped = COTRAIN_EXAMPLES_DIR "/../deploy/runtimes/plain-distributed.yaml";
    const auto r = run({"-f", COTRAIN_EXAMPLES_DIR, "-f", shipped, "-n", "team"});
    EXPECT_EQ(r.code, 0) << r.err;
    doc::arena memory;
    const auto documents = doc::parse_yaml_stream(memory, r.out);
    ASSERT_TRUE(documents) << documents.error().message;
    EXPECT_GE(documents->size(), 8U);
    for (const auto& d : *documents) EXPECT_EQ(d.value.get({"metadata", "namespace"}).as_string(), "team");
}

constexpr std::string_view job_head =
    "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: job}\nspec:\n"
    "  runtimeRef: {name: mpi, kind: TrainingRuntime}\n";

TEST(render, refuses_with_the_place_and_the_path) {
    const auto r = run({"-f", example("mpi.yaml"), "-f", "-"}, std::string(job_head) + "  trainer: {numNodes: -1}\n");
    EXPECT_EQ(r.code, 1);
    EXPECT_TRUE(r.err.contains("error: standard input:6: The TrainJob \"job\" is invalid: spec.trainer.numNodes"))
        << r.err;
    EXPECT_TRUE(r.out.contains("name: mpi-pi")) << "the others are rendered";
}

TEST(render, says_which_runtime_is_missing) {
    const auto r = run({"-f", "-"}, std::string(job_head));
    EXPECT_EQ(r.code, 1);
    EXPECT_TRUE(r.err.contains("TrainingRuntime \"mpi\" is not among the files in namespace \"default\"; add it"))
        << r.err;
}

TEST(render, ignores_foreign_kinds_with_a_warning) {
    const auto r =
        run({"-f", "-", "-f", example("torch.yaml")}, "apiVersion: v1\nkind: Service\nmetadata: {name: s}\n");
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_TRUE(r.err.contains("Warning: standard input:1: Service of v1 is ignored")) << r.err;
}

TEST(render, calls_unreadable_input_unreadable) {
    for (const auto& [input, text] :
         std::vector<std::pair<std::string, std::string>>{{"a: [1\n", "line"},
                                                          {std::string("a: \0b\n", 6), "control characters"},
                                                          {"a: &x [*x]\n", "line 1"},
                                                          {"- 1\n", "standard input:1: not a Kubernetes object"},
                                                          {"", "no TrainJob and no runtime"},
                                                          {std::string(33UL << 20U, '#'), "larger than 32 MiB"}}) {
        const auto r = run({"-f", "-"}, input);
        EXPECT_EQ(r.code, 2) << text;
        EXPECT_TRUE(r.err.starts_with("error: ") && r.err.contains(text)) << r.err;
        EXPECT_EQ(r.out, "");
    }
    EXPECT_TRUE(run({"-f", "/nowhere/at/all.yaml"}).err.contains("/nowhere/at/all.yaml: no such file"));
}

TEST(render, refuses_words_it_does_not_know) {
    EXPECT_TRUE(run({"-x"}).err.contains("unknown option '-x'"));
    EXPECT_TRUE(run({"-f"}).err.contains("-f: needs a value"));
    EXPECT_TRUE(run({}).err.contains("nothing to read"));
    EXPECT_TRUE(run({"-f", "-", "-o", "xml"}).err.contains("yaml, json, summary or explain"));
}

TEST(render, takes_values_behind_an_equals_sign) {
    const std::vector<std::string_view> words{"--filename=a=b", "-f=c", "--output=json", "--namespace=team"};
    const auto options = read_render_options(words, false);
    ASSERT_TRUE(options) << options.error().message;
    EXPECT_EQ(options->files, (std::vector<std::string>{"a=b", "c"}));
    EXPECT_EQ(options->format, render_format::json);
    EXPECT_EQ(options->ns, "team");
    for (const std::string_view bad : {"--namespace=A_b", "--filename=", "-x=1", "--output=xml"}) {
        EXPECT_FALSE(read_render_options({{"-f", "a", bad}}, false)) << bad;
    }
}

TEST(render, says_that_there_is_nothing_to_render) {
    const auto r = run({"-f", "-"},
                       "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainingRuntime\nmetadata: {name: "
                       "rt}\nspec: {template: {spec: {}}}\n");
    EXPECT_EQ(r.code, 0);
    EXPECT_EQ(r.err, "Warning: no TrainJob among the files: nothing to render\n");
}

TEST(validate, gives_verdicts_only) {
    const auto good = run({"-f", example("overview.yaml")}, {}, true);
    EXPECT_EQ(good.code, 0) << good.err;
    EXPECT_EQ(good.out, "1 file, 2 documents: no errors\n");
    const std::string runtime =
        "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainingRuntime\nmetadata: {name: mpi}\nspec: {template: "
        "{spec: {replicatedJobs: [{name: node, replicas: 2, template: {metadata: {labels: "
        "{trainer.kubeflow.org/trainjob-ancestor-step: trainer}}, spec: {template: {spec: {containers: [{name: node, "
        "image: i}]}}}}}]}}}\n";
    const auto bad = run({"-f", "-"}, runtime, true);
    EXPECT_EQ(bad.code, 1);
    EXPECT_TRUE(bad.err.contains("spec.template.spec.replicatedJobs[0].replicas: Invalid value: 2: always must be 1"))
        << bad.err;
}

}  // namespace
}  // namespace cotrain::app
