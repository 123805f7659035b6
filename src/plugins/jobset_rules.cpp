// What admission demands of TrainJobs whatever their framework: initialisers, patches, overrides, counts.
#include <algorithm>
#include <array>
#include <string>

#include "api/names.hpp"
#include "api/validation.hpp"
#include "plugins/jobset.hpp"

namespace cotrain::plugins {
namespace {

using api::ref;
namespace names = api::names;

constexpr std::array reserved_containers{names::dataset_initializer, names::model_initializer, names::node};

ref pod_spec_of(ref replicated_job) { return replicated_job.get({"template", "spec", "template", "spec"}); }

ref find_job(ref jobs, std::string_view name) { return jobs.find_by("name", name); }

// The first thing that keeps an initialiser from working, or nothing.
std::string initializer_fault(ref jobs, std::string_view role, std::string_view wanted_for) {
    const std::string job(role);
    const ref found = find_job(jobs, role);
    if (!found) {
        return "must have " + job + " job when trainJob is configured with input " + std::string(wanted_for);
    }
    const ref pods = pod_spec_of(found);
    const ref container = pods.get("containers").find_by("name", role);
    if (!container && !pods.get("initContainers").find_by("name", role)) {
        return "must have container with name - " + job + " in the " + job + " job";
    }
    if (!container.get("volumeMounts").find_by("name", names::initializer_volume)) {
        return "must have volumeMount with name - " + std::string(names::initializer_volume) + " in container " + job +
               " of the " + job + " job";
    }
    return {};
}

void check_initializers(ref jobs, const runtime::review& r, runtime::verdict& out) {
    const auto check = [&](bool wanted, std::string_view role, std::string_view wanted_for) {
        if (!wanted) return;
        std::string fault = initializer_fault(jobs, role, wanted_for);
        if (!fault.empty()) {
            out.invalid("spec.runtimeRef", r.job.document.get({"spec", "runtimeRef"}), std::move(fault));
        }
    };
    check(r.job.spec.dataset.has_value(), names::dataset_initializer, "datasetConfig");
    check(r.job.spec.model.has_value(), names::model_initializer, "modelConfig");
}

// A patch's or override's containers against those of the runtime: what it calls a container must be one there, and not
// an init container, beside which it would put one without an image. `member` is the field of spec to complain about.
void check_containers(ref pods, ref wanted, const std::string& job, std::string_view member, const runtime::review& r,
                      runtime::verdict& out) {
    const std::string path = "spec." + std::string(member);
    const ref given = r.job.document.get({"spec", member});
    const bool added = r.added_rules(r.changed(member));
    const auto exists = [&](std::string_view list, std::string_view name) {
        return static_cast<bool>(pods.get(list).find_by("name", name));
    };
    for (const ref c : wanted.get("initContainers").items()) {
        if (!added || exists("initContainers", c.get("name").as_string())) continue;
        out.invalid(path, given, "must not have initContainer that doesn't exist in the runtime job " + job);
    }
    for (const ref c : wanted.get("containers").items()) {
        const auto name = c.get("name").as_string();
        const bool here = exists("containers", name);
        if (!here && added) {
            out.invalid(path, given, "must not have container that doesn't exist in the runtime job " + job);
        } else if ((here || exists("initContainers", name)) && !c.get("env").empty() &&
                   std::ranges::contains(reserved_containers, name)) {
            out.invalid(path, given,
                        "must not have envs for the dataset-initializer, model-initializer, node containers");
        }
    }
}

void check_patches(ref jobs, const runtime::review& r, runtime::verdict& out) {
    constexpr std::string_view member = "runtimePatches";
    for (const auto& patch : r.job.spec.runtime_patches) {
        for (const auto& fault : api::check_domain_prefixed_path(patch.manager)) {
            out.invalid("spec.runtimePatches.manager", patch.manager, fault);
        }
        for (const ref job : patch.training_runtime_spec.get({"template", "spec", "replicatedJobs"}).items()) {
            const std::string name(job.get("name").as_string());
            const ref found = find_job(jobs, name);
            if (!found) {
                if (!r.added_rules(r.changed(member))) continue;
                out.invalid("spec.runtimePatches", r.job.document.get({"spec", member}),
                            "must not have replicated job that doesn't exist in the runtime job template");
                continue;
            }
            check_containers(pod_spec_of(found), pod_spec_of(job), name, member, r, out);
        }
    }
}

void check_overrides(ref jobs, const runtime::review& r, runtime::verdict& out) {
    constexpr std::string_view member = "podTemplateOverrides";
    for (const auto& wanted : r.job.spec.pod_template_overrides) {
        for (const auto target : wanted.target_jobs) {
            if (find_job(jobs, target)) continue;
            out.invalid(
                "spec.podTemplateOverrides", r.job.document.get({"spec", member}),
                "must not have target job that doesn't exist in the runtime job template: " + std::string(target));
        }
        for (const ref job : jobs.items()) {
            const auto name = job.get("name").as_string();
            if (!wanted.target_jobs.empty() && !std::ranges::contains(wanted.target_jobs, name)) continue;
            check_containers(pod_spec_of(job), wanted.spec, std::string(name), member, r, out);
        }
    }
}

// Patches and overrides change only while the job is suspended before or after, and no job of the JobSet is active.
void check_immutability(std::string_view member, std::string_view title, const runtime::review& r,
                        runtime::verdict& out) {
    if (r.creating()) return;
    const ref was = r.before->document.get({"spec", member});
    const ref is = r.job.document.get({"spec", member});
    if (runtime::means_the_same(was, is)) return;
    const std::string path = "spec." + std::string(member);
    if (!r.before->spec.suspend && !r.job.spec.suspend) {
        out.forbidden(path, std::string(title) +
                                " can only be modified when the TrainJob is suspended before or after the update");
        return;
    }
    if (r.job_set == nullptr) return;
    for (const auto& job : r.job_set->jobs) {
        if (job.active <= 0) continue;
        out.forbidden(path, std::string(title) + " cannot be modified when the JobSet's ReplicatedJob " +
                                std::string(job.name) + " is still active");
    }
}

// Jobs without nodes or processes never run (contract, difference 16), nor do pods that ask for less than nothing.
void check_counts(const runtime::info& i, const runtime::review& r, runtime::verdict& out) {
    if (!r.job.spec.trainer || !r.added_rules(r.changed("trainer"))) return;
    const api::trainer_spec& trainer = *r.job.spec.trainer;
    if (trainer.num_nodes && *trainer.num_nodes < 1) {
        out.invalid("spec.trainer.numNodes", *trainer.num_nodes, "must be greater than or equal to 1");
    }
    runtime::refuse_negative_amounts(trainer.resources_per_node, "spec.trainer.resourcesPerNode", out);
    const bool flux = i.ml() != nullptr && i.ml()->flux;  // has this rule itself
    if (!flux && trainer.num_proc_per_node.is_number() && trainer.num_proc_per_node.count < 1) {
        out.invalid("spec.trainer.numProcPerNode", trainer.num_proc_per_node.count,
                    "must be greater than or equal to 1");
    }
}

}  // namespace

void jobset::validate(const runtime::info& i, const runtime::review& r, runtime::verdict& out) const {
    check_initializers(i.spec().get("replicatedJobs"), r, out);
    check_immutability("runtimePatches", "RuntimePatches", r, out);
    check_immutability("podTemplateOverrides", "PodTemplateOverrides", r, out);
    const ref jobs = i.runtime().spec().get("replicatedJobs");
    check_patches(jobs, r, out);
    check_overrides(jobs, r, out);
    check_counts(i, r, out);
}

}  // namespace cotrain::plugins
