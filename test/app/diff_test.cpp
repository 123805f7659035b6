// What applying would change: texts line by line, and objects of a cluster.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "app/diff/compare.hpp"
#include "app/diff/three_way.hpp"
#include "app/diff/unified.hpp"
#include "crd/check.hpp"
#include "crd/crd.hpp"
#include "doc/edit.hpp"
#include "doc/json.hpp"
#include "doc/yaml.hpp"

namespace cotrain::app {
namespace {

using testing::HasSubstr;
using testing::Not;

std::vector<std::string> lines_of(std::string_view text) {
    std::vector<std::string> out;
    while (!text.empty()) {
        const std::string_view row = text.substr(0, text.find('\n'));
        out.emplace_back(row);
        text.remove_prefix(std::min(text.size(), row.size() + 1));
    }
    return out;
}

// As patch does it, which refuses hunks that are not where they say.
std::string patched(const std::string& before, const std::string& diff) {
    const std::vector<std::string> old_lines = lines_of(before);
    std::string out;
    std::size_t at = 0;
    for (const std::string& row : lines_of(diff)) {
        if (row.starts_with("--- ") || row.starts_with("+++ ")) continue;
        if (row.starts_with("@@ -")) {
            std::size_t line = 0;
            std::from_chars(row.data() + 4, row.data() + row.size(), line);
            const bool none = row.substr(4, row.find(' ', 4) - 4).ends_with(",0");
            for (; at < line - (none ? 0 : 1); ++at) out += old_lines.at(at) + "\n";
            continue;
        }
        if (row[0] != '+') EXPECT_EQ(old_lines.at(at++), row.substr(1));
        if (row[0] != '-') out += row.substr(1) + "\n";
    }
    for (; at < old_lines.size(); ++at) out += old_lines[at] + "\n";
    return out;
}

std::size_t changes(const std::string& diff) {
    return static_cast<std::size_t>(std::ranges::count_if(lines_of(diff), [](const std::string& row) {
        return (row[0] == '+' || row[0] == '-') && !row.starts_with("+++ ") && !row.starts_with("--- ");
    }));
}

TEST(unified_diff, gives_the_second_text_from_the_first_in_as_few_lines_as_can_be) {
    std::mt19937 random(3);
    for (int round = 0; round < 3000; ++round) {
        const auto text = [&] {
            std::vector<std::string> out(random() % 25);
            for (std::string& each : out) each = std::string(1, static_cast<char>('a' + random() % 4));
            return out;
        };
        const auto a = text();
        const auto b = text();
        const auto joined = [](const std::vector<std::string>& rows) {
            std::string out;
            for (const std::string& each : rows) out += each + "\n";
            return out;
        };
        const std::string diff = unified_diff(joined(a), joined(b), "a", "b");
        EXPECT_EQ(patched(joined(a), diff), joined(b)) << diff;
        // The longest common subsequence, by its definition.
        std::vector<std::vector<std::size_t>> common(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
        for (std::size_t i = 0; i < a.size(); ++i)
            for (std::size_t j = 0; j < b.size(); ++j)
                common[i + 1][j + 1] = a[i] == b[j] ? common[i][j] + 1 : std::max(common[i][j + 1], common[i + 1][j]);
        EXPECT_EQ(changes(diff), a.size() + b.size() - 2 * common[a.size()][b.size()]);
    }
}

TEST(unified_diff, shows_what_is_around_and_nothing_of_the_rest) {
    std::string before;
    for (int i = 1; i <= 40; ++i) before += std::to_string(i) + "\n";
    std::string after = before;
    after.replace(after.find("20\n"), 3, "twenty\n");
    EXPECT_EQ(unified_diff(before, after, "x", "y"),
              "--- x\n+++ y\n@@ -17,7 +17,7 @@\n 17\n 18\n 19\n-20\n+twenty\n 21\n 22\n 23\n");
    EXPECT_EQ(unified_diff("", "a\nb\n", "x", "y"), "--- x\n+++ y\n@@ -0,0 +1,2 @@\n+a\n+b\n");
    EXPECT_EQ(unified_diff(before, before, "x", "y"), "");
}

TEST(unified_diff, of_texts_that_have_nothing_in_common_is_bounded) {
    std::string a;
    std::string b;
    for (int i = 0; i < 50'000; ++i) {
        a += "a" + std::to_string(i) + "\n";
        b += "b" + std::to_string(i) + "\n";
    }
    EXPECT_EQ(changes(unified_diff(a, b, "a", "b")), 100'000U);
}

std::string merged(std::string_view last, std::string_view wanted, std::string_view live, list_merge lists) {
    doc::arena memory;
    const auto read = [&memory](std::string_view text) {
        return text.empty() ? doc::ref{} : *doc::parse_yaml(memory, text);
    };
    return doc::to_json(three_way(memory, read(last), read(wanted), read(live), lists));
}

TEST(three_way, removes_what_its_owner_says_no_more_and_keeps_what_others_say) {
    EXPECT_EQ(merged("{a: 1, b: 1}", "{a: 2}", "{a: 1, b: 1, c: 1}", list_merge::replaced), R"({"c":1,"a":2})");
    EXPECT_EQ(merged("", "{a: {x: 1}}", "{a: {z: 1}}", list_merge::replaced), R"({"a":{"z":1,"x":1}})");
    EXPECT_EQ(merged("{a: {x: 1}}", "{a: {}}", "{a: {x: 1, z: 1}}", list_merge::replaced), R"({"a":{"z":1}})");
    EXPECT_EQ(merged("", "{a: null}", "{a: 1, b: 1}", list_merge::replaced), R"({"b":1})");
    const std::string_view two = "[{name: a, v: 1}, {name: b, v: 1}]";
    EXPECT_EQ(merged("", "[{name: b, v: 2}]", two, list_merge::replaced), R"([{"name":"b","v":2}])");
    EXPECT_EQ(merged("", "[{name: b, v: 2}, {name: c}]", two, list_merge::by_key),
              R"([{"name":"a","v":1},{"name":"b","v":2},{"name":"c"}])");
    EXPECT_EQ(merged(two, "[{name: b, v: 2}]", two, list_merge::by_key), R"([{"name":"b","v":2}])");
    EXPECT_EQ(merged("", "[x, z]", "[x]", list_merge::by_key), R"(["x","z"])");
}

constexpr std::string_view runtime = R"(
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: rt}
spec:
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec: {template: {spec: {containers: [{name: node, image: base}]}}}
)";

std::string job(const std::string& spec) {
    return "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: job}\nspec:\n"
           "  runtimeRef: {name: rt}\n" +
           spec;
}

// A cluster in which a job was applied, and its children are as the operator makes them.
class scene {
   public:
    explicit scene(const std::string& first, const plan_rules& rules = {}) : rules_(rules) {
        // With the defaults that the API server has put in.
        std::string text(runtime);
        if (rules_.plugins.elastic) text.replace(text.find("spec:\n"), 6, "spec:\n  mlPolicy: {torch: {}}\n");
        runtime_ = crd::shape(memory_, *crd::schema_of("ClusterTrainingRuntime"),
                              *doc::parse_yaml(memory_, memory_.copy(text)))
                       .document;
        live_.add(api::names::cluster_training_runtime, {}, "rt", runtime_);
        manifests given;
        EXPECT_TRUE(given.add_text(first, "first.yaml"));
        planner plans("default", false, rules_);
        plans.observe(live_.list());
        plans.take(given.list());
        for (const manifest& m : plans.runtimes()) EXPECT_TRUE(plans.judge_runtime(m.document).accepted());
        const job_plan plan = plans.plan(memory_, plans.jobs()[0], true);
        EXPECT_TRUE(plan.verdict.accepted());
        doc::editor stored = doc::editor::of(memory_, doc::deep_copy(memory_, plan.job.document));
        stored.child("metadata").set("uid", "u-1").set("resourceVersion", "5");
        stored.child("metadata")
            .ensure_object("annotations")
            .set("kubectl.kubernetes.io/last-applied-configuration", doc::to_json(given.list()[0].document));
        live_.add(api::names::train_job, "default", "job", doc::freeze(memory_, stored));
        for (const runtime::object& each : plan.objects) {
            doc::editor child = doc::editor::of(memory_, *doc::parse_json_copy(memory_, each.json));
            child.child("metadata").ensure_array("ownerReferences").append(*doc::parse_json_copy(memory_, R"({
                "apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob","name":"job","uid":"u-1","controller":true,
                "blockOwnerDeletion":true})"));
            if (rules_.plugins.elastic)
                child.child("metadata").ensure_array("managedFields").append(*doc::parse_json_copy(memory_, R"({
                    "manager":"trainer","operation":"Apply","fieldsV1":{"f:spec":{}}})"));
            live_.add(*each.type, "default", each.name, doc::freeze(memory_, child));
        }
    }

    comparison with(const std::string& text) {
        EXPECT_TRUE(given_.add_text(text, "job.yaml"));
        std::vector<manifest> applied;
        for (manifest m : given_.list()) {
            const bool of_job = m.document.get("kind").as_string() == "TrainJob";
            m.document = applied_over(memory_, m.document,
                                      live_.find(of_job ? api::names::train_job : api::names::cluster_training_runtime,
                                                 "default", m.document.get({"metadata", "name"}).as_string()));
            applied.push_back(m);
        }
        return compare(applied, live_, "default", rules_);
    }

   private:
    plan_rules rules_;
    doc::arena memory_;
    doc::ref runtime_;
    live_objects live_;
    manifests given_;
};

TEST(diff, of_what_is_there_already_is_nothing) {
    const comparison same = scene(job("  trainer: {image: one}\n")).with(job("  trainer: {image: one}\n"));
    EXPECT_EQ(same.out, "");
    EXPECT_EQ(same.errors, "");
    EXPECT_EQ(same.exit_code(), 0);
    const comparison of_runtime = scene(job("")).with(std::string(runtime));
    EXPECT_EQ(of_runtime.out, "") << "defaults are no difference";
}

TEST(diff, of_a_new_job_is_all_that_is_made_for_it) {
    scene s(job(""));
    std::string other = job("");
    other.replace(other.find("name: job"), 9, "name: new");
    const comparison made = s.with(other);
    EXPECT_EQ(made.exit_code(), 1);
    for (const char* kind : {"TrainJob.trainer.kubeflow.org default/new", "JobSet.jobset.x-k8s.io default/new",
                             "ConfigMap default/new-runtime-snapshot"})
        EXPECT_THAT(made.out, HasSubstr("--- live/" + std::string(kind) + "\n+++ applied/" + kind + "\n@@ -0,0 "));
}

TEST(diff, of_a_suspended_job_shows_what_is_made_again) {
    const comparison image = scene(job("  suspend: true\n  trainer: {numNodes: 2}\n  podTemplateOverrides:\n"
                                       "  - {targetJobs: [{name: node}], spec: {nodeSelector: {zone: a}}}\n"))
                                 .with(job("  suspend: true\n  trainer: {numNodes: 2}\n  podTemplateOverrides:\n"
                                           "  - {targetJobs: [{name: node}], spec: {nodeSelector: {zone: b}}}\n"));
    EXPECT_EQ(image.errors, "");
    EXPECT_EQ(image.exit_code(), 1);
    EXPECT_THAT(image.out, HasSubstr("+++ applied/JobSet.jobset.x-k8s.io default/job\n"));
    EXPECT_THAT(image.out, HasSubstr("zone: a\n+"));
    EXPECT_THAT(image.out, Not(HasSubstr("refuse"))) << "node selectors may change while it is suspended";
    const comparison account = scene(job("  suspend: true\n"))
                                   .with(job("  suspend: true\n  podTemplateOverrides:\n  - {targetJobs: [{name: "
                                             "node}], spec: {serviceAccountName: x}}\n"));
    EXPECT_THAT(account.out, HasSubstr("# JobSet default/job: JobSet refuses to change these jobs"));
    EXPECT_THAT(account.out, HasSubstr("+            serviceAccountName: x\n"));
}

TEST(diff, of_an_elastic_job_that_runs_is_its_size) {
    const auto elastic = [](const std::string& nodes) {
        std::string text = job("  trainer: {numNodes: " + nodes + "}\n");
        return text.replace(text.find("name: job"), 9, "name: job, annotations: {trainer.kubeflow.org/elastic: '1:4'}");
    };
    const plan_rules open{{.elastic = true}, {.elastic = true}};
    const comparison grown = scene(elastic("2"), open).with(elastic("3"));
    EXPECT_EQ(grown.errors, "");
    EXPECT_THAT(grown.out, HasSubstr("-        completions: 2\n-        parallelism: 2\n"
                                     "+        completions: 3\n+        parallelism: 3\n"));
    EXPECT_THAT(grown.out, Not(HasSubstr("refuse"))) << "JobSet takes it";
    EXPECT_THAT(grown.out, Not(HasSubstr("PET_NNODES"))) << "and nothing else changes";
    EXPECT_EQ(scene(elastic("2"), open).with(elastic("5")).exit_code(), 2);
}

TEST(diff, says_what_admission_refuses_with_its_line) {
    const comparison wrong = scene(job("")).with(job("  trainer:\n    numNode: 3\n"));
    EXPECT_EQ(wrong.exit_code(), 2);
    EXPECT_THAT(wrong.errors, HasSubstr("error: job.yaml:7: unknown field \"spec.trainer.numNode\"; did you mean"));
    const comparison fixed = scene(job("  trainer: {image: one}\n")).with(job("  trainer: {image: two}\n"));
    EXPECT_EQ(fixed.exit_code(), 2) << "an image that was given cannot be changed: " << fixed.out;
    EXPECT_THAT(fixed.errors, HasSubstr("error: job.yaml:6: spec.trainer"));
}

TEST(diff, says_what_a_running_job_set_refuses) {
    const comparison running = scene(job("")).with(job("  trainer: {image: two}\n"));
    EXPECT_EQ(running.exit_code(), 1);
    EXPECT_THAT(running.out, HasSubstr("# JobSet default/job runs: JobSet would refuse this"));
    EXPECT_THAT(running.out, HasSubstr("+++ refused/JobSet.jobset.x-k8s.io default/job\n"));
    EXPECT_THAT(running.out, HasSubstr("-            - image: base\n+            - image: two\n"));
}

TEST(diff, of_a_runtime_is_its_own) {
    std::string changed(runtime);
    changed.replace(changed.find("image: base"), 11, "image: next");
    const comparison made = scene(job("")).with(changed);
    EXPECT_EQ(made.exit_code(), 1);
    EXPECT_THAT(made.out, HasSubstr("+++ applied/ClusterTrainingRuntime.trainer.kubeflow.org rt\n"));
    EXPECT_THAT(made.out, HasSubstr("image: next"));
}

}  // namespace
}  // namespace cotrain::app
