// `cotrain bench` end to end: our operator as anybody's controller, on the embedded API server and on the real one.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "integration/control.hpp"
#include "integration/operator_scene.hpp"
#include "integration/operator_sim_child.hpp"
#include "support/temp_dir.hpp"

namespace cotrain::test {
namespace {

std::size_t entries(const temp_dir& of) {
    std::size_t n = 0;
    for (const auto& each : std::filesystem::directory_iterator(of.path())) n += each.path().empty() ? 0 : 1;
    return n;
}

std::string read(const std::string& path) {
    std::ifstream in(path);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

// As a user would write it for a controller of their own.
std::string ours(std::string_view name) {
    return "--controller '" + std::string(name) + "=" + COTRAIN_BINARY +
           " operator --config={dir}/c.yaml --kubeconfig={kubeconfig}' ";
}

// The configuration has to be there before the controller is: the command writes it.
std::string with_config(const std::string& command) {
    const std::string from = std::string(COTRAIN_BINARY) + " operator";
    std::string out = command;
    for (std::size_t at = 0; (at = out.find(from, at)) != std::string::npos;) {
        const std::string config =
            "printf \"apiVersion: config.trainer.kubeflow.org/v1alpha1\\nkind: Configuration\\nmetrics: {bindAddress: "
            "\\\"0\\\"}\\nhealth: {healthProbeBindAddress: \\\"0\\\"}\\ncertManagement: {enable: false}\\nwebhook: "
            "{host: "
            "127.0.0.1, port: {port}}\\n\" >{dir}/c.yaml; exec ";
        out.insert(at, config);
        at += config.size() + from.size();
    }
    return out;
}

TEST(operator_bench, compares_controllers_on_the_embedded_server_and_leaves_nothing_behind) {
    const temp_dir tmp, out;
    const std::string files =
        "--json " + out.path() + "/r.json --html " + out.path() + "/r.html --markdown " + out.path() + "/r.md ";
    const finished done = run_shell(
        "TMPDIR=" + tmp.path() + " " + COTRAIN_BINARY +
        " bench --jobs 12 --rate 200 --warm-up 3 --repetitions 4 --nodes 2 --script 'run 20ms, ready 10ms' " +
        with_config(ours("external")) + "--controller cotrain --baseline cotrain --fail-over 100000% " + files);
    EXPECT_EQ(done.code, 0) << done.output;
    EXPECT_TRUE(done.output.contains("create → done, p50")) << done.output;
    EXPECT_TRUE(done.output.contains("against cotrain of this run")) << done.output;
    const std::string json = read(out.path() + "/r.json");
    EXPECT_TRUE(json.contains(R"("name":"external")")) << json;
    EXPECT_TRUE(json.contains(R"("patch jobsets":[12,)")) << json;
    EXPECT_TRUE(json.contains(R"("own_p50_ms":[)") && json.contains(R"("first_apply_ms":[)")) << json;
    EXPECT_TRUE(read(out.path() + "/r.html").contains("</svg>"));
    EXPECT_TRUE(read(out.path() + "/r.md").starts_with("### cotrain bench"));
    EXPECT_EQ(entries(tmp), 0U);

    // Its own result is no worse than itself, and one that never was this slow is.
    const std::string again =
        " bench --jobs 12 --rate 200 --warm-up 3 --repetitions 4 --nodes 2 --script 'run 20ms, ready "
        "10ms' --baseline " +
        out.path() + "/b.json";
    std::string faster = json;
    for (std::size_t at = 0; (at = faster.find("\"requests_per_job\":[", at)) != std::string::npos; ++at)
        faster.replace(faster.find('[', at), faster.find(']', at) - faster.find('[', at), "[1,1,1,1");
    std::ofstream(out.path() + "/b.json") << faster;
    const finished worse = run_shell("TMPDIR=" + tmp.path() + " " + COTRAIN_BINARY + again + " --fail-over 50%");
    EXPECT_EQ(worse.code, 1) << worse.output;
    EXPECT_TRUE(worse.output.contains("cotrain bench: worse than the baseline")) << worse.output;
}

TEST(operator_bench, measures_on_a_real_api_server_and_takes_its_namespace_away) {
    operator_scene scene("operator-bench");
    scene.play(+[](operator_scene& s) -> awaitable<void> {
        const temp_dir tmp;
        const finished done = run_shell("TMPDIR=" + tmp.path() + " " + COTRAIN_BINARY + " bench --kubeconfig '" +
                                        test_variable("COTRAIN_TEST_KUBECONFIG") +
                                        "' --jobs 10 --rate 50 --warm-up 2 --repetitions 1 --complete");
        EXPECT_EQ(done.code, 0) << done.output;
        EXPECT_TRUE(done.output.contains("API server: of the kubeconfig")) << done.output;
        EXPECT_EQ(entries(tmp), 0U);
        for (const kube::resource* each : {&kinds::train_job, &kinds::job_set}) {
            const auto all = co_await s.api->list(*each, "");
            EXPECT_TRUE(all);
            EXPECT_FALSE(all && all->body.contains("\"namespace\":\"cotrain-bench-"));
        }
    });
}

// A controller in a few lines of shell that copies a Widget's size into its status, as often as it is told of it.
constexpr std::string_view widgets = R"(apiVersion: bench.cotrain.dev/v1alpha1
kind: Scenario
title: widgets
definitions:
- apiVersion: apiextensions.k8s.io/v1
  kind: CustomResourceDefinition
  metadata: {name: widgets.w.io}
  spec:
    group: w.io
    names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}
    scope: Namespaced
    versions:
    - name: v1
      served: true
      storage: true
      subresources: {status: {}}
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
object: {apiVersion: w.io/v1, kind: Widget, metadata: {name: 'w-{n}'}, spec: {size: small}}
done: {field: .status.size, value: small}
ends: {condition: Ready}
update: {patch: {spec: {size: 'big-{n}'}}, done: {condition: Grown}}
remove: true
players:
- {apiVersion: w.io/v1, kind: Widget, status: {conditions: [{type: Ready, status: 'True'}]}}
)";

constexpr std::string_view copies_sizes = R"(
"$1" get widgets.w.io -w -o 'jsonpath={.metadata.name} {.spec.size}{"\n"}' | while read -r name size; do
  grown=
  case $size in big*) grown=',"conditions":[{"type":"Ready","status":"True"},{"type":"Grown","status":"True"}]' ;; esac
  "$1" patch widgets.w.io "$name" --subresource=status --type=merge -p "{\"status\":{\"size\":\"$size\"$grown}}"
done
)";

TEST(operator_bench, a_scenario_measures_anybodys_controller) {
    const temp_dir tmp, out;
    const std::string file = out.write("widgets.yaml", std::string(widgets));
    const std::string controller = out.script("controller", std::string(copies_sizes));
    const finished done =
        run_shell("TMPDIR=" + tmp.path() + " " + COTRAIN_BINARY + " bench --scenario " + file +
                  " --jobs 3 --rate 50 --warm-up 1 --repetitions 1 --json " + out.path("r.json") +
                  " --controller 'copier=" + controller + " " + test_variable("COTRAIN_TEST_KUBECTL") + "'");
    EXPECT_EQ(done.code, 0) << done.output;
    EXPECT_TRUE(done.output.starts_with("3 widgets, 50 a second\nAPI server: embedded")) << done.output;
    for (const char* row : {"create → done, p50, ms", "update → done, p50, ms", "delete → gone, p50, ms"})
        EXPECT_TRUE(done.output.contains(row)) << row << "\n" << done.output;
    // Its own writes tell it of the object once more: it writes what is there already.
    EXPECT_TRUE(done.output.contains(" changed nothing")) << done.output;
    EXPECT_TRUE(read(out.path("r.json")).contains("\"update_p50_ms\":[")) << read(out.path("r.json"));
    EXPECT_EQ(entries(tmp), 0U);
}

TEST(operator_bench, says_what_is_wrong) {
    const auto refused = [](const std::string& options) {
        const finished done = run_shell(std::string(COTRAIN_BINARY) + " bench " + options);
        EXPECT_EQ(done.code, 2) << options;
        return done.output;
    };
    EXPECT_EQ(refused("--jobs many"), "cotrain: bench: --jobs: 'many' is no number from 1 to 1000000\n");
    EXPECT_EQ(refused("--baseline /nowhere"),
              "cotrain: bench: --baseline: cannot read /nowhere: No such file or directory\n");
    EXPECT_EQ(refused("--html /nowhere/x"), "cotrain: bench: cannot write /nowhere/x\n");
    EXPECT_EQ(refused("--kubeconfig /nowhere"), "cotrain: bench: --kubeconfig: cannot read /nowhere\n");
    const finished dead =
        run_shell(std::string(COTRAIN_BINARY) + " bench --repetitions 1 --controller 'x=echo it is broken; exit 3'");
    EXPECT_EQ(dead.code, 3);
    EXPECT_EQ(dead.output, "cotrain bench: x: the controller ended with exit code 3: it is broken\n");
}

// A process that was killed goes a moment later, and stays as a zombie until whoever inherited it asks for its end.
std::string says_if_it_lives(const temp_dir& of) {
    return "for i in $(seq 500); do grep -q '^State:.[^ZX]' /proc/$(cat " + of.path() +
           "/pid)/status 2>/dev/null || break; sleep 0.01; done; [ $i -lt 500 ] || echo it lives";
}

// What a controller started and left behind when it ended goes with the run.
TEST(operator_bench, a_controller_that_ends_leaves_nobody_behind) {
    const temp_dir out;
    const finished dead =
        run_shell(std::string(COTRAIN_BINARY) + " bench --repetitions 1 --controller 'x=sleep 1000 & echo $! >" +
                  out.path() + "/pid; exit 3'; " + says_if_it_lives(out));
    EXPECT_FALSE(dead.output.contains("it lives")) << dead.output;
    EXPECT_TRUE(dead.output.contains("the controller ended with exit code 3")) << dead.output;
}

TEST(operator_bench, the_action_compares_two_and_leaves_its_files) {
    const temp_dir tmp, out;
    const finished done = run_shell("cd " + out.path() + " && TMPDIR=" + tmp.path() + " PROGRAM=" + COTRAIN_BINARY +
                                    " HEAD=cotrain BASE=cotrain " +
                                    "FAIL_OVER=1000% OPTIONS='--jobs 10 --rate 200 --warm-up 2 --repetitions 4 "
                                    "--script \"run 1ms, ready 1ms, start 1ms\"' " +
                                    COTRAIN_SOURCE_DIR + "/bench/action/run.sh");
    EXPECT_EQ(done.code, 0) << done.output;
    EXPECT_TRUE(done.output.contains("against base of this run; floor 1000 %")) << done.output;
    EXPECT_TRUE(read(out.path("bench.md")).contains("Nothing is worse")) << read(out.path("bench.md"));
    for (const char* file : {"bench.json", "bench.html", "bench.txt"})
        EXPECT_FALSE(read(out.path(file)).empty()) << file;
}

// Says when a repetition is over, and keeps those that are. In a pipeline it writes the summary of the step.
TEST(operator_bench, an_interrupted_run_keeps_what_it_has) {
    const temp_dir tmp, out;
    const finished done = run_shell(
        "export TMPDIR=" + tmp.path() + " GITHUB_STEP_SUMMARY=" + out.path("summary") + "; " + COTRAIN_BINARY +
        " bench --jobs 3 --rate 100 --warm-up 0 --repetitions 1000 --script 'run 1ms, ready 1ms, start 1ms' --json " +
        out.path("r.json") + " --benchstat " + out.path("r.txt") + " 2>" + out.path("err") +
        " & until grep -q '^cotrain " + "bench: repetition 2 of 1000, [0-9]* s left$' " + out.path("err") +
        "; do sleep 0.01; done; kill -INT $!; wait $!");
    EXPECT_EQ(done.code, 3) << done.output;
    EXPECT_TRUE(done.output.contains("create → done, p50")) << done.output;
    EXPECT_TRUE(read(out.path("err")).ends_with("interrupted\n")) << read(out.path("err"));
    EXPECT_TRUE(read(out.path("r.json")).contains("\"p50_ms\":["));
    EXPECT_TRUE(read(out.path("r.txt")).contains(" p50_ms")) << read(out.path("r.txt"));
    EXPECT_TRUE(read(out.path("summary")).starts_with("### cotrain bench"));
    EXPECT_EQ(entries(tmp), 0U);
}

class operator_bench_ended : public testing::TestWithParam<const char*> {};

TEST_P(operator_bench_ended, leaves_nothing_behind) {
    const temp_dir tmp, out;
    // Interrupts itself once the controller lives; that one leaves its own number.
    const finished done =
        run_shell("TMPDIR=" + tmp.path() + " " + COTRAIN_BINARY + " bench --json " + out.path() +
                  "/r.json --controller 'x=echo $$ >" + out.path() + "/pid; exec sleep 1000' & bench=$!; until [ -s " +
                  out.path() + "/pid ]; do sleep 0.01; done; kill -" + GetParam() + " $bench; wait $bench; code=$?; " +
                  says_if_it_lives(out) + "; exit $code");
    EXPECT_EQ(done.code, 3);
    EXPECT_EQ(done.output, "cotrain bench: x: interrupted\n");
    EXPECT_EQ(entries(tmp), 0U);
    EXPECT_FALSE(std::filesystem::exists(out.path() + "/r.json"));
}

INSTANTIATE_TEST_SUITE_P(by, operator_bench_ended, testing::Values("INT", "TERM", "HUP"));

}  // namespace
}  // namespace cotrain::test
