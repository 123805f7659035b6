// torchtune's recipes are named after how many devices and nodes they use and what they tune.
#include "plugins/torchtune.hpp"

#include <algorithm>
#include <array>

#include "api/names.hpp"

namespace cotrain::plugins::torchtune {
namespace {

using api::ref;

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
