// Jobs with a role run once and have the container that plays it; one gang scheduler; deprecation.
#include "admission/runtime_review.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "api/names.hpp"
#include "api/validation.hpp"
#include "runtime/object.hpp"

namespace cotrain::admission {
namespace {

using doc::ref;
namespace names = api::names;

constexpr std::string_view policy_url =
    "https://trainer.kubeflow.org/en/latest/operator-guides/runtime.html#runtime-deprecation-policy";

// The container that a job of that role must have; empty = no role.
std::string_view container_of(std::string_view role) {
    if (role == names::ancestor_trainer) return names::node;
    return role == names::ancestor_dataset || role == names::ancestor_model ? role : std::string_view{};
}

void check_roles(ref jobs, runtime::verdict& out) {
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        const ref job = jobs.at(i);
        const auto role = job.get({"template", "metadata", "labels", names::ancestor_label}).as_string();
        const auto wanted = container_of(role);
        if (out.full()) return;
        if (wanted.empty()) continue;
        const std::string path = "spec.template.spec.replicatedJobs[" + std::to_string(i) + "]";
        if (const auto replicas = job.get("replicas").as_int(1); replicas != 1) {
            out.invalid(path + ".replicas", replicas, "always must be 1");
        }
        const ref containers = job.get({"template", "spec", "template", "spec", "containers"});
        if (!containers.find_by("name", wanted)) {
            out.invalid(
                path + ".template.spec.template.spec.containers", containers,
                "must have a container named " + std::string(wanted) + ": the job is labelled " + std::string(role));
        }
    }
}

// Nodes are none or more, processes on each one or more (contract, difference 16).
void check_counts(const api::ml_policy& ml, runtime::verdict& out) {
    const auto check = [&](const std::string& path, std::optional<std::int32_t> number, std::int32_t least) {
        if (!number || *number >= least) return;
        out.invalid("spec.mlPolicy." + path, *number, "must be greater than or equal to " + std::to_string(least));
    };
    check("numNodes", ml.num_nodes, 0);
    if (ml.mpi) check("mpi.numProcPerNode", ml.mpi->num_proc_per_node, 1);
    if (ml.flux) check("flux.numProcPerNode", ml.flux->num_proc_per_node, 1);
    if (ml.torch && ml.torch->num_proc_per_node.is_number()) {
        check("torch.numProcPerNode", ml.torch->num_proc_per_node.count, 1);
    }
}

// Not of the reference; what it takes there no kubelet ever runs.
void check_amounts(ref jobs, runtime::verdict& out) {
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        const ref pods = jobs.at(i).get({"template", "spec", "template", "spec"});
        const std::string path =
            "spec.template.spec.replicatedJobs[" + std::to_string(i) + "].template.spec.template.spec";
        for (const std::string list : {"containers", "initContainers"}) {
            const ref containers = pods.get(list);
            for (std::size_t j = 0; j < containers.size() && !out.full(); ++j) {
                runtime::refuse_negative_amounts(containers.at(j).get("resources"),
                                                 path + "." + list + "[" + std::to_string(j) + "].resources", out);
            }
        }
    }
}

// Neither is this; JobSet refuses most of these names when the TrainJob is there already.
void check_names(ref spec, runtime::verdict& out) {
    const auto check = [&](std::string path, std::string_view name) {
        const auto faults = api::check_dns1123_label(name);
        if (!faults.empty()) out.invalid(std::move(path), name, api::join(faults));
    };
    const auto subdomain = spec.get({"network", "subdomain"}).as_string();
    if (!subdomain.empty()) check("spec.template.spec.network.subdomain", subdomain);
    const ref jobs = spec.get("replicatedJobs");
    for (std::size_t i = 0; i < jobs.size() && !out.full(); ++i) {
        check("spec.template.spec.replicatedJobs[" + std::to_string(i) + "].name", jobs.at(i).get("name").as_string());
    }
}

// Nor can anything count more pods.
void check_pods(const api::training_runtime& runtime, runtime::verdict& out) {
    const auto count = [](ref number) { return std::clamp<std::int64_t>(number.as_int(1), 0, INT32_MAX); };
    std::int64_t sum = 0;
    for (const ref job : runtime.template_spec.get("replicatedJobs").items()) {
        const std::int64_t pods = count(job.get("replicas")) * count(job.get({"template", "spec", "parallelism"}));
        if (__builtin_add_overflow(sum, pods, &sum)) sum = std::numeric_limits<std::int64_t>::max();
    }
    if (sum <= runtime::pods_max) return;
    out.invalid("spec.template.spec.replicatedJobs", sum,
                "must not stand for more than " + std::to_string(runtime::pods_max) + " pods");
}

bool changed(ref is, ref was, std::initializer_list<std::string_view> path) {
    if (!was) return true;
    const ref a = was.get(path);
    const ref b = is.get(path);
    return a.is_unset() ? !b.is_unset() : !equal(a, b);
}

}  // namespace

runtime::verdict judge_runtime(const api::training_runtime& runtime, ref before) {
    runtime::verdict out;
    const ref document = runtime.document;
    if (!before && is_deprecated(runtime)) out.warn(deprecation(runtime.meta.name));
    if (runtime.meta.deleting()) return out;
    if (changed(document, before, {"spec", "template"})) {
        check_roles(runtime.template_spec.get("replicatedJobs"), out);
        check_amounts(runtime.template_spec.get("replicatedJobs"), out);
        check_names(runtime.template_spec, out);
        check_pods(runtime, out);
    }
    if (runtime.ml && changed(document, before, {"spec", "mlPolicy"})) check_counts(*runtime.ml, out);
    const bool both = runtime.pod_groups && runtime.pod_groups->coscheduling && runtime.pod_groups->volcano;
    if (both && changed(document, before, {"spec", "podGroupPolicy"})) {
        out.invalid("spec.podGroupPolicy", document.get({"spec", "podGroupPolicy"}),
                    "must name one gang scheduler: coscheduling or volcano");
    }
    return out;
}

bool is_deprecated(const api::training_runtime& runtime) {
    return runtime.cluster_wide() && runtime.meta.label(names::support_label) == names::support_deprecated;
}

std::string deprecation(std::string_view name) {
    std::string out = "ClusterTrainingRuntime \"";
    return out.append(name)
        .append("\" is deprecated: a later release of Kubeflow Trainer comes without it, see ")
        .append(policy_url);
}

}  // namespace cotrain::admission
