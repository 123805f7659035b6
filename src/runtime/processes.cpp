// Typed clients of TrainJobs know integers only, so that "cpu" and "gpu" live in an annotation.
#include "runtime/processes.hpp"

#include "api/names.hpp"

namespace cotrain::runtime {

api::process_count wanted_processes(const api::train_job& job) {
    using api::process_count;
    if (job.spec.trainer && job.spec.trainer->num_proc_per_node.is_set()) return job.spec.trainer->num_proc_per_node;
    const auto kept = job.meta.annotation(api::names::num_proc_annotation);
    for (const auto word : {process_count::form::cpu, process_count::form::gpu}) {
        if (kept == to_string(word)) return {.kind = word, .written_as_text = true};
    }
    return {};
}

}  // namespace cotrain::runtime
