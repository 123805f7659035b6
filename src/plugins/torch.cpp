// The PET_* variables that torchrun reads, for the trainer and for the containers that envInjection names.
#include "plugins/torch.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "api/names.hpp"
#include "plugins/torchtune.hpp"
#include "runtime/gang.hpp"
#include "runtime/processes.hpp"

namespace cotrain::plugins {
namespace {

using api::editor;
using api::process_count;
using api::ref;
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

void put_worker_env(runtime::container& c, std::int64_t nodes, const std::string& processes, api::word rank) {
    c.put_env(names::env_torch_nodes, std::to_string(nodes));
    c.put_env(names::env_torch_procs, processes);
    c.put_env_field(names::env_torch_rank, rank);
}

void put_master_env(runtime::container& c, const std::string& master) {
    c.put_env(names::env_torch_master_addr, master);
    c.put_env(names::env_torch_master_port, names::trainer_port_text);
}

ref word_list(api::arena& memory, const std::vector<std::string>& words) {
    editor list = editor::array(memory);
    for (const auto& word : words) list.append(word);
    return list;
}

std::string unknown_target(std::string_view job, std::string_view container) {
    return "envInjection target podSet \"" + std::string(job) + "\" container \"" + std::string(container) +
           "\" not found in runtime template";
}

}  // namespace

base::result<> torch::enforce_ml_policy(runtime::info& i, const api::train_job& job) const {
    if (i.ml() == nullptr || !i.ml()->torch) return {};
    const api::torch_policy& policy = *i.ml()->torch;
    runtime::scale_trainer(i, job);
    const std::int64_t nodes = i.nodes();
    const ref resources = i.trainer_resources();
    const node_processes processes = resolve(wished(job, policy), resources);
    const std::string master = i.master_address();

    const auto rank = i.rank_field();
    if (runtime::container trainer = i.trainer_container(); trainer && rank) {
        if (job.spec.trainer) trainer.put_env_list(job.spec.trainer->env);
        put_worker_env(trainer, nodes, processes.text(), *rank);
        if (job.spec.trainer && torchtune::applies(job.spec.trainer->command)) {
            const torchtune::situation now{job.spec.runtime.name, nodes, processes, runtime::gpus_of(resources),
                                           job.spec.trainer->args};
            i.wrap_command(word_list(i.memory(), torchtune::command(now, master, trainer.view().get("command"))));
        } else {
            put_master_env(trainer, master);
        }
        trainer.put_port(names::trainer_port);
    }
    for (const auto& target : policy.env_injection) {
        const runtime::pod_set* const set = i.find(target.job_name);
        for (const auto& container_name : target.container_names) {
            runtime::container c = set == nullptr ? runtime::container{} : i.find_container(*set, container_name);
            if (!c) return base::fail(base::errc::invalid, unknown_target(target.job_name, container_name));
            const bool ranked = set == i.trainer() && rank;
            put_worker_env(c, nodes, processes.text(), ranked ? *rank : api::word(names::completion_index_field));
            put_master_env(c, master);
        }
    }
    return {};
}

void torch::validate(const runtime::info& i, const runtime::review& r, runtime::verdict& out) const {
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
