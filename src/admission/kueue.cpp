// Counts pods as Kueue's copy of the reference counts them, and compares.
#include "admission/kueue.hpp"

#include <algorithm>
#include <cstdint>

#include "api/names.hpp"
#include "runtime/verdict.hpp"

namespace cotrain::admission {
namespace {

using api::ref;
namespace names = api::names;

bool is_labelled_trainer(ref replicated_job) {
    return replicated_job.get({"template", "metadata", "labels", names::ancestor_label}).as_string() ==
           names::ancestor_trainer;
}

// Only the label makes a trainer; MPI scales its nodes by the job's number alone, and its launcher by the runtime's.
std::int64_t counted_by_kueue(ref replicated_job, const api::ml_policy* ml, const api::train_job& job) {
    const bool trainer = is_labelled_trainer(replicated_job);
    std::int64_t count = replicated_job.get({"template", "spec", "parallelism"}).as_int(1);
    if (trainer && ml != nullptr) count = ml->num_nodes.value_or(1);
    if (!job.spec.trainer || !job.spec.trainer->num_nodes) return count;
    const std::int64_t wanted = *job.spec.trainer->num_nodes;
    if (ml == nullptr || !ml->mpi) return trainer ? wanted : count;
    if (replicated_job.get("name").as_string() != names::node) return count;
    return ml->mpi->run_launcher_as_node ? std::max<std::int64_t>(wanted - 1, 1) : wanted;
}

void append_difference(std::string& out, std::string_view job, std::int64_t theirs, std::int64_t ours) {
    if (out.size() > runtime::finding_text_bytes_max) return;  // it is cut there
    out.append(out.empty() ? "" : ", ").append("job \"").append(job).append("\" as ").append(std::to_string(theirs));
    out.append(theirs == 1 ? " pod, not " : " pods, not ").append(std::to_string(ours));
}

}  // namespace

std::optional<std::string> kueue_warning(api::arena& memory, const plugins::builtin& framework,
                                         const api::train_job& job, const runtime::compiled_runtime& runtime) {
    if (job.meta.label(names::kueue_queue_label).empty()) return std::nullopt;
    const auto info = framework.runtime_info(memory, job, runtime);
    if (!info) return std::nullopt;  // a fault, and told elsewhere
    std::string differences;
    const ref jobs = info->spec().get("replicatedJobs");
    bool labelled = false;
    for (const auto& set : info->pod_sets()) {
        const ref replicated_job = jobs.at(set.index);
        labelled = labelled || is_labelled_trainer(replicated_job);
        const std::int64_t theirs = counted_by_kueue(replicated_job, info->ml(), job);
        if (theirs != set.count) append_difference(differences, set.name, theirs, set.count);
    }
    const bool lays_resources = job.spec.trainer && !job.spec.trainer->resources_per_node.empty();
    if (lays_resources && info->trainer() != nullptr && (info->ml() == nullptr || !labelled)) {
        differences.append(differences.empty() ? "" : ", ").append("nodes without spec.trainer.resourcesPerNode");
    }
    if (differences.empty()) return std::nullopt;
    return "Kueue will count " + differences + ": its quota will not fit this TrainJob";
}

}  // namespace cotrain::admission
