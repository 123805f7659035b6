// The PET_* variables that torchrun reads, for the trainer and for the containers that envInjection names.
#include "plugins/builtin.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <vector>

#include "api/names.hpp"
#include "plugins/torch.hpp"
#include "runtime/container.hpp"
#include "runtime/elastic.hpp"
#include "runtime/guards.hpp"

// --- torchtune: its recipes are named after how many devices and nodes they use and what they tune ------------------

namespace cotrain::plugins::torchtune {
namespace {

using doc::ref;

constexpr std::string_view lora_item = "model.lora_attn_modules";
constexpr std::string_view quantise_item = "model.quantize_base";
constexpr std::string_view dora_item = "model.use_dora";
constexpr std::string_view qlora_suffix = "_qlora";
constexpr std::string_view qlora_single_suffix = "_qlora_single_device";

// Set by the runtime, not by jobs.
constexpr std::array managed_items{std::string_view{"output_dir"}, std::string_view{"tokenizer.path"},
                                   std::string_view{"tokenizer.merges_file"},
                                   std::string_view{"checkpointer.checkpoint_dir"}};

constexpr std::string_view llama_1b = "llama3_2/1B";
constexpr std::string_view llama_3b = "llama3_2/3B";
constexpr std::string_view llama_70b = "llama3_3/70B";
constexpr std::string_view qwen = "qwen2_5/1.5B";
constexpr std::array models{llama_1b, llama_3b, llama_70b, qwen};

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

std::string_view item_of(std::string_view argument) { return argument.substr(0, argument.find('=')); }
bool managed(std::string_view argument) { return std::ranges::contains(managed_items, item_of(argument)); }

// "torchtune-llama3.2-1b" → "llama3_2/1B"; empty if the name has another form.
std::string model_of(std::string_view runtime_name) {
    if (std::ranges::count(runtime_name, '-') != 2) return {};
    const std::size_t first = runtime_name.find('-');
    const std::size_t second = runtime_name.find('-', first + 1);
    std::string model(runtime_name.substr(first + 1, second - first - 1));
    std::ranges::replace(model, '.', '_');
    model += '/';
    for (const char c : runtime_name.substr(second + 1)) model += upper(c);
    return model;
}

bool is_true(std::string_view text) {
    constexpr std::string_view blanks = " \t\r\n\v\f";
    const std::size_t first = text.find_first_not_of(blanks);
    if (first == std::string_view::npos) return false;
    text = text.substr(first, text.find_last_not_of(blanks) - first + 1);
    return std::ranges::equal(text, std::string_view{"true"}, {}, lower);
}

// "…item…=True" among the arguments, as Python spells it.
bool switched_on(ref args, std::string_view item) {
    return std::ranges::any_of(args.items(), [&](ref arg) {
        const auto text = arg.as_string();
        const std::size_t equals = text.find('=');
        return equals != std::string_view::npos && text.substr(0, equals).contains(item) &&
               is_true(text.substr(equals + 1));
    });
}

bool uses_lora(ref args) {
    return std::ranges::any_of(args.items(), [](ref arg) { return arg.as_string().contains(lora_item); });
}

// DoRA does not go together with quantisation.
bool uses_qlora(ref args) { return !switched_on(args, dora_item) && switched_on(args, quantise_item); }

struct choice {
    std::string_view recipe;
    std::string_view suffix;
};

choice choose(const situation& now) {
    const bool one_device = now.processes.number == 1 || now.gpus == 1;
    if (now.nodes == 1 && one_device) {
        if (uses_qlora(now.args)) return {"lora_finetune_single_device", qlora_single_suffix};
        if (uses_lora(now.args)) return {"lora_finetune_single_device", "_lora_single_device"};
        return {"full_finetune_single_device", "_full_single_device"};
    }
    if (now.nodes == 1 && uses_qlora(now.args)) return {"lora_finetune_distributed", qlora_suffix};
    if (now.nodes == 1 && uses_lora(now.args)) return {"lora_finetune_distributed", "_lora"};
    return {"full_finetune_distributed", now.nodes > 1 ? "_full_multinode" : "_full"};
}

}  // namespace

bool applies(ref command) {
    return command.size() == 2 && command.at(0).as_string() == "tune" && command.at(1).as_string() == "run";
}

std::vector<std::string> command(const situation& now, std::string_view master_address, ref runtime_command) {
    std::vector<std::string> words{"tune", "run"};
    const bool several = now.nodes > 1 || (now.processes.number ? *now.processes.number > 1 : now.gpus > 1);
    if (several) {
        words.push_back("--rdzv_endpoint=");
        words.back().append(master_address).append(":").append(api::names::trainer_port_text);
    }
    const choice chosen = choose(now);
    words.emplace_back(chosen.recipe);
    words.emplace_back("--config");
    words.push_back(model_of(now.runtime_name).append(chosen.suffix));
    for (const ref word : runtime_command.items()) {
        if (managed(word.as_string())) words.emplace_back(word.as_string());
    }
    return words;
}

void validate(const situation& now, ref trainer, runtime::verdict& out) {
    const std::string model = model_of(now.runtime_name);
    const std::string name_path = "spec.runtimeRef.name";
    if (!std::ranges::contains(models, model)) {
        out.invalid(name_path, now.runtime_name,
                    "must have a supported pretrained model, invalid model configured: " + model);
    }
    if (now.nodes > 1 && model != llama_70b) {
        out.invalid("spec.trainer.numNodes", now.nodes, "must be 1 for " + model + " model");
    }
    if (const auto suffix = choose(now).suffix; suffix == qlora_suffix || suffix == qlora_single_suffix) {
        if (model == qwen) {
            out.invalid(name_path, now.runtime_name, "QLoRA is not supported for " + model + " model");
        }
        if (suffix == qlora_suffix && (model == llama_1b || model == llama_3b)) {
            const ref given = trainer.get("numProcPerNode");
            out.invalid("spec.trainer.numProcPerNode", given.is_unset() ? ref::make_plain_string("auto") : given,
                        "must be auto or 1 for " + model + " model when using QLoRA");
            out.invalid("spec.trainer.resourcesPerNode", trainer.get("resourcesPerNode"),
                        "must have gpu resource with value 1 for " + model + " model when using QLoRA");
        }
    }
    if (now.nodes > 1 && (uses_lora(now.args) || uses_qlora(now.args))) {
        out.invalid("spec.trainer.numNodes", now.nodes,
                    "LoRA fine-tuning is not supported for multi-node training in TorchTune");
    }
    for (std::size_t i = 0; i < now.args.size(); ++i) {
        const auto arg = now.args.at(i).as_string();
        if (!managed(arg)) continue;
        out.invalid("spec.trainer.args[" + std::to_string(i) + "]", arg,
                    "must not set immutable config \"" + std::string(item_of(arg)) +
                        "\" in trainer args; it is managed by the runtime");
    }
}

}  // namespace cotrain::plugins::torchtune

// --- the plugin ------------------------------------------------------------------------------------------------------

namespace cotrain::plugins {
namespace {

using api::process_count;
using doc::editor;
using doc::ref;
namespace names = api::names;

// The job's wish, else the runtime's.
process_count wished(const api::train_job& job, const api::torch_policy& policy) {
    const process_count own = runtime::wanted_processes(job);
    return own.is_set() ? own : policy.num_proc_per_node;
}

node_processes resolve(const process_count& wanted, ref resources) {
    const auto cpus = [&] { return std::max<std::int64_t>(runtime::cpus_of(resources), 1); };
    switch (wanted.kind) {
        case process_count::form::number: return {.number = wanted.count, .word = {}};
        case process_count::form::cpu: return {.number = cpus(), .word = {}};
        case process_count::form::gpu: return {.number = {}, .word = "gpu"};
        case process_count::form::unset:
        case process_count::form::automatic: break;
    }
    if (runtime::gpus_of(resources) == 0) return {.number = cpus(), .word = {}};
    return {.number = {}, .word = "auto"};
}

// Failures of workers that torchrun answers by a rendezvous of those that are left. A node that leaves is one.
constexpr std::int32_t elastic_restarts_default = 10;

// PyTorch 2.5 and later let workers meet in a store that the agents keep from their first rendezvous on: nodes that
// come later wait for it in vain, and a rank 0 that has changed ends its agent, which closes the rendezvous for all.
constexpr std::string_view env_own_store = "TORCH_DISABLE_SHARE_RDZV_TCP_STORE";

// What torchrun is told of the nodes.
struct gathering {
    std::int64_t nodes = 1;
    std::string processes;
    std::string master;
    std::string_view id;
    const api::elastic_policy* elastic = nullptr;
};

// Nodes that meet by themselves: their number is not known, nor which rank each of them has.
void put_elastic_env(runtime::container& c, const gathering& g) {
    c.put_env(names::env_torch_nodes, g.elastic->nodes.text());
    c.put_env(names::env_torch_procs, g.processes);
    c.put_env(names::env_torch_backend, "c10d");
    c.put_env(names::env_torch_endpoint, g.master + ":" + std::string(names::trainer_port_text));
    c.put_env(names::env_torch_rendezvous, g.id);
    const auto has = [&c](std::string_view name) { return bool(c.view().get("env").find_by("name", name)); };
    const auto restarts = g.elastic->max_restarts;
    if (restarts || !has(names::env_torch_restarts))
        c.put_env(names::env_torch_restarts, std::to_string(restarts.value_or(elastic_restarts_default)));
    if (!has(env_own_store)) c.put_env(env_own_store, "1");
}

void put_worker_env(runtime::container& c, const gathering& g, doc::word rank) {
    if (g.elastic != nullptr) return put_elastic_env(c, g);
    c.put_env(names::env_torch_nodes, std::to_string(g.nodes));
    c.put_env(names::env_torch_procs, g.processes);
    c.put_env_field(names::env_torch_rank, rank);
}

void put_master_env(runtime::container& c, const gathering& g) {
    if (g.elastic != nullptr) return;
    c.put_env(names::env_torch_master_addr, g.master);
    c.put_env(names::env_torch_master_port, names::trainer_port_text);
}

ref word_list(doc::arena& memory, const std::vector<std::string>& words) {
    editor list = editor::array(memory);
    for (const auto& word : words) list.append(word);
    return list;
}

std::string unknown_target(std::string_view job, std::string_view container) {
    return "envInjection target podSet \"" + std::string(job) + "\" container \"" + std::string(container) +
           "\" not found in runtime template";
}

std::string annotation_path() { return "metadata.annotations[" + std::string(names::elastic_annotation) + "]"; }

// Why an elastic job cannot be as it is, but for its size: "" where it can.
std::string elastic_fault(const runtime::info& i, const api::train_job& job) {
    if (job.spec.trainer && torchtune::applies(job.spec.trainer->command))
        return "torchtune does not go on with another number of nodes: an elastic TrainJob starts with torchrun";
    const runtime::pod_set* const set = i.trainer();
    if (set == nullptr) return "the runtime has no job that trains: such a TrainJob cannot be elastic";
    if (set->replicas != 1)
        return "job \"" + std::string(set->name) + "\" of the runtime has " + std::to_string(set->replicas) +
               " replicas: that of an elastic TrainJob has one";
    return {};
}

}  // namespace

base::result<> torch::take_elastic(runtime::info& i, const api::train_job& job) const {
    if (!elastic) return {};
    if (const std::string fault = runtime::annotation_fault(job, i.ml()); !fault.empty())
        return base::fail(base::errc::invalid, annotation_path() + ": " + fault);
    i.elastic = runtime::elastic_of(job, i.ml());
    if (!i.elastic) return {};
    std::string fault = elastic_fault(i, job);
    if (fault.empty()) fault = runtime::size_fault(i.elastic->nodes, i.nodes());
    if (!fault.empty()) return base::fail(base::errc::invalid, std::move(fault));
    // A torchrun that is told to end may end all others (PyTorch 2.5 and later); that they start again counts for the
    // Job.
    const std::int32_t restarts = i.elastic->max_restarts.value_or(elastic_restarts_default);
    if (editor own = i.job_spec(*i.trainer()); own.get("backoffLimit").is_unset())
        own.set("backoffLimit", std::min<std::int64_t>(std::int64_t{i.elastic->nodes.max} * restarts,
                                                       std::numeric_limits<std::int32_t>::max()));
    return {};
}

base::result<> torch::enforce_ml_policy(runtime::info& i, const api::train_job& job) const {
    if (i.ml() == nullptr || !i.ml()->torch) return {};
    const api::torch_policy& policy = *i.ml()->torch;
    runtime::scale_trainer(i, job);
    if (auto good = take_elastic(i, job); !good) return good;
    const std::int64_t nodes = i.nodes();
    const ref resources = i.trainer_resources();
    const node_processes processes = resolve(wished(job, policy), resources);
    const gathering all{.nodes = nodes,
                        .processes = processes.text(),
                        .master = i.master().text(),
                        .id = job.meta.uid.empty() ? job.meta.name : job.meta.uid,  // a job from a file has none
                        .elastic = i.elastic ? &*i.elastic : nullptr};

    const auto rank = i.rank_field();
    if (runtime::container trainer = i.trainer_container(); trainer && rank) {
        if (job.spec.trainer) trainer.put_env_list(job.spec.trainer->env);
        put_worker_env(trainer, all, *rank);
        if (job.spec.trainer && torchtune::applies(job.spec.trainer->command)) {
            const torchtune::situation now{job.spec.runtime.name, nodes, processes, runtime::gpus_of(resources),
                                           job.spec.trainer->args};
            i.wrap_command(word_list(i.memory(), torchtune::command(now, all.master, trainer.view().get("command"))));
        } else {
            put_master_env(trainer, all);
        }
        trainer.put_port(names::trainer_port);
    }
    for (const auto& target : policy.env_injection) {
        const runtime::pod_set* const set = i.find(target.job_name);
        for (const auto& container_name : target.container_names) {
            runtime::container c = set == nullptr ? runtime::container{} : i.find_container(*set, container_name);
            if (!c) return base::fail(base::errc::invalid, unknown_target(target.job_name, container_name));
            const bool ranked = set == i.trainer() && rank;
            put_worker_env(c, all, ranked ? *rank : doc::word(names::completion_index_field));
            put_master_env(c, all);
        }
    }
    return {};
}

// Of jobs of any runtime: an annotation that means nothing to theirs is refused. Sizes: of those that are new, or
// change.
void torch::validate_elastic(const runtime::info& i, const runtime::review& r, runtime::verdict& out) const {
    if (!elastic || !r.added_rules(r.changed("trainer"))) return;
    if (const std::string fault = runtime::annotation_fault(r.job, i.ml()); !fault.empty())
        return out.invalid(annotation_path(), r.job.meta.annotation(names::elastic_annotation), fault);
    const auto policy = runtime::elastic_of(r.job, i.ml());
    if (!policy) return;
    if (const std::string fault = elastic_fault(i, r.job); !fault.empty())
        return out.forbidden("spec.runtimeRef", fault);
    const bool named = r.job.spec.trainer && r.job.spec.trainer->num_nodes;
    const std::int64_t nodes = named ? *r.job.spec.trainer->num_nodes : i.nodes();
    if (const std::string fault = runtime::size_fault(policy->nodes, nodes); !fault.empty())
        out.invalid("spec.trainer.numNodes", nodes, named ? fault : fault + "; the number is the runtime's");
    if (!named) out.warn("spec.trainer.numNodes is not set: autoscalers leave an elastic TrainJob without it alone");
    if (r.job.spec.trainer) runtime::refuse_reserved_env(r.job.spec.trainer->env, names::elastic_reserved_env, out);
}

void torch::validate(const runtime::info& i, const runtime::review& r, runtime::verdict& out) const {
    validate_elastic(i, r, out);
    if (i.ml() == nullptr || !i.ml()->torch) return;
    const api::torch_policy& policy = *i.ml()->torch;
    for (const auto& target : policy.env_injection) {
        const runtime::pod_set* const set = i.find(target.job_name);
        for (const auto& container_name : target.container_names) {
            if (set != nullptr && i.find_container(*set, container_name)) continue;
            out.invalid("spec.runtimeRef", r.job.document.get({"spec", "runtimeRef"}),
                        unknown_target(target.job_name, container_name));
        }
    }
    if (!r.job.spec.trainer) return;
    const api::trainer_spec& trainer = *r.job.spec.trainer;
    runtime::refuse_reserved_env(trainer.env, names::torch_reserved_env, out);
    if (!torchtune::applies(trainer.command)) return;
    const ref resources = i.trainer_resources();
    const process_count wanted = wished(r.job, policy);
    node_processes processes{.number = {}, .word = "auto"};
    if (wanted.is_number()) processes = {.number = wanted.count, .word = {}};
    torchtune::validate(
        {r.job.spec.runtime.name, trainer.num_nodes.value_or(1), processes, runtime::gpus_of(resources), trainer.args},
        r.job.document.get({"spec", "trainer"}), out);
}

}  // namespace cotrain::plugins
