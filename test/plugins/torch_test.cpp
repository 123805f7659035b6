// torchrun's environment, process counts, injection, and torchtune's command.
#include "plugins/builtin.hpp"

#include "plan.hpp"
#include "plugins/torch.hpp"

namespace cotrain::plugins {
namespace {

std::string node_with(std::string_view container) {
    std::string text = R"(
      replicatedJobs:
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec: {template: {spec: {containers: [)";
    return text.append(container).append("]}}}\n");
}

struct process_case {
    const char* name;
    const char* policy;
    const char* resources;  // of the runtime's container
    const char* trainer;    // of the job
    const char* expected;

    friend void PrintTo(const process_case& c, std::ostream* out) { *out << c.name; }
};

class processes : public testing::TestWithParam<process_case> {};

TEST_P(processes, per_node) {
    const auto& c = GetParam();
    plan p(runtime_text(c.policy, node_with("{name: node, image: i, resources: " + std::string(c.resources) + "}")),
           job_text("trainer: " + std::string(c.trainer)));
    EXPECT_EQ(p.env("PET_NPROC_PER_NODE"), c.expected);
}

INSTANTIATE_TEST_SUITE_P(
    all, processes,
    testing::Values(process_case{"one_without_resources", "mlPolicy: {torch: {}}", "{}", "{}", "1"},
                    process_case{"cpus_of_requests", "mlPolicy: {torch: {}}",
                                 "{requests: {cpu: 1500m}, limits: {cpu: '4'}}", "{}", "2"},
                    process_case{"cpus_of_limits", "mlPolicy: {torch: {}}", "{limits: {cpu: '4'}}", "{}", "4"},
                    process_case{"gpus_leave_it_to_torchrun", "mlPolicy: {torch: {}}", "{limits: {cpu: '4', x/GPU: 2}}",
                                 "{}", "auto"},
                    process_case{"the_merged_resources_count", "mlPolicy: {torch: {}}", "{limits: {nvidia.com/gpu: 4}}",
                                 "{resourcesPerNode: {limits: {memory: 1Gi}}}", "auto"},
                    process_case{"the_jobs_number", "mlPolicy: {torch: {}}", "{limits: {x/gpu: 2}}",
                                 "{numProcPerNode: 3}", "3"},
                    process_case{"a_number_as_text", "mlPolicy: {torch: {}}", "{}", "{numProcPerNode: '8'}", "8"},
                    process_case{"the_runtimes_number", "mlPolicy: {torch: {numProcPerNode: 5}}", "{}", "{}", "5"},
                    process_case{"the_job_wins_over_the_runtime", "mlPolicy: {torch: {numProcPerNode: 5}}", "{}",
                                 "{numProcPerNode: auto}", "1"},
                    process_case{"cpu_counts_despite_gpus", "mlPolicy: {torch: {numProcPerNode: cpu}}",
                                 "{limits: {cpu: '6', x/gpu: 2}}", "{}", "6"},
                    process_case{"gpu_is_passed_on", "mlPolicy: {torch: {numProcPerNode: auto}}", "{}",
                                 "{numProcPerNode: gpu}", "gpu"}),
    [](const auto& i) { return i.param.name; });

TEST(torch, reads_what_admission_kept_of_a_word) {
    plan p(runtime_text("mlPolicy: {torch: {numProcPerNode: 5}}"), job_text("trainer: {}"));
    p.job.meta.annotations = p.load("{trainer.kubeflow.org/num-proc-per-node: gpu}");
    EXPECT_EQ(p.env("PET_NPROC_PER_NODE"), "gpu");
}

TEST(torch, needs_no_trainer_section) {  // difference 13
    plan p(runtime_text("mlPolicy: {numNodes: 4, torch: {}}"), job_text());
    EXPECT_EQ(p.env("PET_NNODES"), "4");
    EXPECT_EQ(p.env("PET_MASTER_ADDR"), "job-node-0-0.job");
    EXPECT_EQ(p.container().get("ports").at(0).get("containerPort").as_int(), 29500);
}

TEST(torch, names_the_real_master) {  // difference 15
    plan p(runtime_text("mlPolicy: {numNodes: 2, torch: {}}", R"(
      network: {subdomain: mesh}
      replicatedJobs:
      - name: worker
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec: {template: {spec: {containers: [{name: node, image: i}]}}}
)"),
           job_text());
    EXPECT_EQ(p.env("PET_MASTER_ADDR", "worker"), "job-worker-0-0.mesh");
}

TEST(torch, keeps_other_ports) {  // difference 10
    plan p(runtime_text("mlPolicy: {torch: {}}",
                        node_with("{name: node, image: i, ports: [{containerPort: 80}, {containerPort: 81}]}")),
           job_text());
    const doc::ref ports = p.container().get("ports");
    ASSERT_EQ(ports.size(), 3U);
    EXPECT_EQ(ports.at(0).get("containerPort").as_int(), 80);
    EXPECT_EQ(ports.at(2).get("containerPort").as_int(), 29500);
}

TEST(torch, injects_into_named_containers_only) {
    plan p(runtime_text("mlPolicy: {torch: {envInjection: {targets: [{jobName: node, containerNames: [side]}]}}}",
                        node_with("{name: node, image: i}, {name: side, image: s}, {name: other, image: o}")),
           job_text("trainer: {numNodes: 2}"));
    EXPECT_EQ(p.env("PET_NNODES", "node", "side"), "2");
    EXPECT_EQ(p.env("PET_MASTER_ADDR", "node", "side"), "job-node-0-0.job");
    EXPECT_EQ(p.env("PET_NNODES", "node", "other"), "");
}

TEST(torch, says_which_injection_target_is_missing) {
    plan p(runtime_text("mlPolicy: {torch: {envInjection: {targets: [{jobName: node, containerNames: [gone]}]}}}"),
           job_text());
    EXPECT_EQ(p.error(), "Torch: envInjection target podSet \"node\" container \"gone\" not found in runtime template");
    const auto verdict = p.review();
    ASSERT_EQ(verdict.errors.size(), 1U);
    EXPECT_EQ(verdict.errors[0].path, "spec.runtimeRef");
}

TEST(torch, refuses_its_own_variables) {
    plan p(runtime_text("mlPolicy: {torch: {}}"),
           job_text("trainer: {env: [{name: PET_NNODES, value: '1'}, {name: A}, {name: PET_MASTER_ADDR, value: x}]}"));
    const auto verdict = p.review();
    ASSERT_EQ(verdict.errors.size(), 1U);
    EXPECT_EQ(verdict.errors[0].path, "spec.trainer.env");
    EXPECT_NE(verdict.message().find("[PET_MASTER_ADDR PET_NNODES]"), std::string::npos) << verdict.message();
}

struct recipe_case {
    const char* name;
    torchtune::situation now;
    const char* args;
    std::vector<std::string> expected;  // after "tune run"

    friend void PrintTo(const recipe_case& c, std::ostream* out) { *out << c.name; }
};

class recipes : public testing::TestWithParam<recipe_case> {};

TEST_P(recipes, follow_the_situation) {
    doc::arena memory;
    torchtune::situation now = GetParam().now;
    now.runtime_name = "torchtune-llama3.2-1b";
    now.args = doc::parse_yaml(memory, GetParam().args).value();
    auto words = torchtune::command(now, "m.s", {});
    words.erase(words.begin(), words.begin() + 2);
    EXPECT_EQ(words, GetParam().expected);
}

constexpr node_processes one{.number = 1, .word = {}};
constexpr node_processes four{.number = 4, .word = {}};
constexpr node_processes automatic{.number = {}, .word = "auto"};
const char* const lora = "[\"model.lora_attn_modules=['q']\"]";
const char* const qlora = "[model.quantize_base=True, \"model.lora_attn_modules=['q']\"]";
const std::string rendezvous = "--rdzv_endpoint=m.s:29500";

INSTANTIATE_TEST_SUITE_P(
    all, recipes,
    testing::Values(recipe_case{"one_process",
                                {.nodes = 1, .processes = one},
                                "[]",
                                {"full_finetune_single_device", "--config", "llama3_2/1B_full_single_device"}},
                    recipe_case{"one_gpu",
                                {.nodes = 1, .processes = automatic, .gpus = 1},
                                lora,
                                {"lora_finetune_single_device", "--config", "llama3_2/1B_lora_single_device"}},
                    recipe_case{"one_gpu_quantised",
                                {.nodes = 1, .processes = automatic, .gpus = 1},
                                qlora,
                                {"lora_finetune_single_device", "--config", "llama3_2/1B_qlora_single_device"}},
                    recipe_case{"several_gpus",
                                {.nodes = 1, .processes = automatic, .gpus = 2},
                                "[]",
                                {rendezvous, "full_finetune_distributed", "--config", "llama3_2/1B_full"}},
                    recipe_case{"several_gpus_quantised",
                                {.nodes = 1, .processes = four, .gpus = 2},
                                qlora,
                                {rendezvous, "lora_finetune_distributed", "--config", "llama3_2/1B_qlora"}},
                    recipe_case{"dora_is_not_quantised",
                                {.nodes = 1, .processes = four},
                                "[model.quantize_base=true, model.use_dora=True, model.lora_attn_modules=x]",
                                {rendezvous, "lora_finetune_distributed", "--config", "llama3_2/1B_lora"}},
                    recipe_case{"switched_off",
                                {.nodes = 1, .processes = one},
                                "[model.quantize_base=False]",
                                {"full_finetune_single_device", "--config", "llama3_2/1B_full_single_device"}},
                    recipe_case{"several_nodes",
                                {.nodes = 2, .processes = one},
                                lora,
                                {rendezvous, "full_finetune_distributed", "--config", "llama3_2/1B_full_multinode"}}),
    [](const auto& i) { return i.param.name; });

struct rule_case {
    const char* name;
    const char* runtime;
    torchtune::situation now;
    const char* args;
    std::vector<std::string> paths;

    friend void PrintTo(const rule_case& c, std::ostream* out) { *out << c.name; }
};

class rules : public testing::TestWithParam<rule_case> {};

TEST_P(rules, refuse_what_torchtune_cannot_do) {
    doc::arena memory;
    torchtune::situation now = GetParam().now;
    now.runtime_name = GetParam().runtime;
    now.args = doc::parse_yaml(memory, GetParam().args).value();
    runtime::verdict out;
    torchtune::validate(now, doc::ref::empty_object(), out);
    std::vector<std::string> paths;
    for (const auto& e : out.errors) paths.push_back(e.path);
    EXPECT_EQ(paths, GetParam().paths) << out.message();
}

INSTANTIATE_TEST_SUITE_P(
    all, rules,
    testing::Values(
        rule_case{"a_model_it_knows", "torchtune-qwen2.5-1.5b", {.processes = one}, "[]", {}},
        rule_case{"another_model", "torchtune-gpt-5", {.processes = one}, "[]", {"spec.runtimeRef.name"}},
        rule_case{"a_name_of_another_form", "my-own-torch-runtime", {.processes = one}, "[]", {"spec.runtimeRef.name"}},
        rule_case{"nodes_for_the_large_model", "torchtune-llama3.3-70b", {.nodes = 2, .processes = one}, "[]", {}},
        rule_case{"nodes_for_a_small_model",
                  "torchtune-llama3.2-3b",
                  {.nodes = 2, .processes = one},
                  "[]",
                  {"spec.trainer.numNodes"}},
        rule_case{"lora_over_nodes",
                  "torchtune-llama3.3-70b",
                  {.nodes = 2, .processes = one},
                  lora,
                  {"spec.trainer.numNodes"}},
        rule_case{"qlora_on_gpus_for_qwen",
                  "torchtune-qwen2.5-1.5b",
                  {.processes = automatic, .gpus = 2},
                  qlora,
                  {"spec.runtimeRef.name"}},
        rule_case{"qlora_on_one_device_for_qwen",
                  "torchtune-qwen2.5-1.5b",
                  {.processes = one},
                  qlora,
                  {"spec.runtimeRef.name"}},
        rule_case{"qlora_on_one_device_for_others", "torchtune-llama3.2-1b", {.processes = one}, qlora, {}},
        rule_case{"managed_arguments",
                  "torchtune-llama3.2-1b",
                  {.processes = one},
                  "[a=1, output_dir=/x]",
                  {"spec.trainer.args[1]"}}),
    [](const auto& i) { return i.param.name; });

}  // namespace
}  // namespace cotrain::plugins
