// Counts pods as Kueue's copy of the reference counts them, and compares.
#include "admission/kueue.hpp"

#include <algorithm>
#include <cstdint>

#include "api/names.hpp"
#include "runtime/verdict.hpp"

namespace cotrain::admission {
namespace {

using doc::ref;
namespace names = api::names;

std::string_view label_of(ref replicated_job) {
    return replicated_job.get({"template", "metadata", "labels", names::ancestor_label}).as_string();
}

std::int64_t number_of(ref count) { return std::clamp<std::int64_t>(count.as_int(1), 1, INT32_MAX); }

// Pods of one replica. Only the label makes a trainer, of which the job's number counts the first; MPI counts its nodes
// by the job's number alone, and its launcher by the runtime's.
std::int64_t pods_of_replica(ref replicated_job, bool counted, const api::ml_policy* ml, const api::train_job& job) {
    std::int64_t count = number_of(replicated_job.get({"template", "spec", "parallelism"}));
    if (label_of(replicated_job) == names::ancestor_trainer && ml != nullptr)
        count = std::max(ml->num_nodes.value_or(1), 1);
    if (!counted || !job.spec.trainer || !job.spec.trainer->num_nodes) return count;
    const std::int64_t wanted = *job.spec.trainer->num_nodes;
    const bool less_one = ml != nullptr && ml->mpi && ml->mpi->run_launcher_as_node;
    return less_one ? std::max<std::int64_t>(wanted - 1, 1) : wanted;
}

// Jobs with a role are one replica each.
std::int64_t replicas_of(ref replicated_job) {
    const auto label = label_of(replicated_job);
    const bool role =
        label == names::ancestor_trainer || label == names::ancestor_dataset || label == names::ancestor_model;
    return role ? 1 : number_of(replicated_job.get("replicas"));
}

void append_difference(std::string& out, std::string_view job, std::int64_t theirs, std::int64_t ours) {
    if (out.size() > runtime::finding_text_bytes_max) return;  // it is cut there
    out.append(out.empty() ? "" : ", ").append("job \"").append(job).append("\" as ").append(std::to_string(theirs));
    out.append(theirs == 1 ? " pod, not " : " pods, not ").append(std::to_string(ours));
}

}  // namespace

std::optional<std::string> kueue_warning(doc::arena& memory, const runtime::plugin_set& framework,
                                         const api::train_job& job, const runtime::compiled_runtime& runtime) {
    if (job.meta.label(names::kueue_queue_label).empty()) return std::nullopt;
    const auto info = framework.runtime_info(memory, job, runtime);
    if (!info) return std::nullopt;  // a fault, and told elsewhere
    std::string differences;
    const ref jobs = info->spec().get("replicatedJobs");
    const bool mpi = info->ml() != nullptr && info->ml()->mpi;
    bool labelled = false;
    for (const auto& set : info->pod_sets()) {
        const ref replicated_job = jobs.at(set.index);
        const bool trainer = label_of(replicated_job) == names::ancestor_trainer;
        const bool counted = mpi ? set.name == names::node : trainer && !labelled;
        labelled = labelled || trainer;
        const std::int64_t theirs =
            replicas_of(replicated_job) * pods_of_replica(replicated_job, counted, info->ml(), job);
        if (theirs != set.pods()) append_difference(differences, set.name, theirs, set.pods());
    }
    const bool lays_resources = job.spec.trainer && !job.spec.trainer->resources_per_node.empty();
    if (lays_resources && info->trainer() != nullptr && (info->ml() == nullptr || !labelled)) {
        differences.append(differences.empty() ? "" : ", ").append("nodes without spec.trainer.resourcesPerNode");
    }
    if (differences.empty()) return std::nullopt;
    return "Kueue will count " + differences + ": its quota will not fit this TrainJob";
}

}  // namespace cotrain::admission
