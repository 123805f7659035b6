// What admission demands of TrainJobs whatever their framework: initialisers, patches, overrides, counts.
#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/names.hpp"
#include "api/validation.hpp"
#include "doc/member_index.hpp"
#include "plugins/builtin.hpp"
#include "plugins/pod_rules.hpp"
#include "runtime/guards.hpp"
#include "runtime/object.hpp"

namespace cotrain::plugins {
namespace {

using doc::ref;
namespace names = api::names;

constexpr std::size_t shown_name_bytes_max = 100;
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

// The names of a runtime's jobs and of their containers, each list looked through once.
class job_names {
   public:
    explicit job_names(ref jobs) : jobs_(jobs), names_(jobs), containers_(jobs.size()) {}

    struct container_names {
        doc::name_index containers;
        doc::name_index init_containers;
    };

    [[nodiscard]] std::size_t size() const { return containers_.size(); }
    [[nodiscard]] std::optional<std::size_t> find(std::string_view job) const { return names_.find(job); }
    [[nodiscard]] std::string name(std::size_t job) const { return std::string(jobs_.at(job).get("name").as_string()); }
    [[nodiscard]] const container_names& of(std::size_t job) {
        auto& known = containers_[job];
        if (!known) {
            const ref pods = pod_spec_of(jobs_.at(job));
            known.emplace(doc::name_index(pods.get("containers")), doc::name_index(pods.get("initContainers")));
        }
        return *known;
    }

   private:
    ref jobs_;
    doc::name_index names_;
    std::vector<std::optional<container_names>> containers_;
};

// What a finding about a container names.
struct blame {
    std::string path;  // up to the list
    ref value;         // of the whole field; absent: the item and its place are named
    std::string_view job;
};

void refuse(const blame& b, std::string_view list, std::size_t index, ref item, std::string detail,
            runtime::verdict& out) {
    if (b.value) return out.invalid(b.path, b.value, std::move(detail));
    std::string path = b.path;
    path.append(".").append(list).append("[").append(std::to_string(index)).append("]");
    out.invalid(std::move(path), item, std::move(detail));
}

// A patch's or override's containers against those of the runtime: what it calls a container must be one there, and not
// an init container, beside which it would put one without an image. `added` says whether our own rules apply.
void check_containers(const job_names::container_names& here, ref wanted, const blame& b, bool added,
                      runtime::verdict& out) {
    const ref inits = wanted.get("initContainers");
    for (std::size_t i = 0; i < inits.size() && !out.full(); ++i) {
        if (!added || here.init_containers.contains(inits.at(i).get("name").as_string())) continue;
        refuse(b, "initContainers", i, inits.at(i),
               "must not have initContainer that doesn't exist in the runtime job " + std::string(b.job), out);
    }
    const ref containers = wanted.get("containers");
    for (std::size_t i = 0; i < containers.size() && !out.full(); ++i) {
        const ref c = containers.at(i);
        const auto name = c.get("name").as_string();
        const bool known = here.containers.contains(name);
        if (!known && added) {
            refuse(b, "containers", i, c,
                   "must not have container that doesn't exist in the runtime job " + std::string(b.job), out);
        } else if (std::ranges::contains(reserved_containers, name) && !c.get("env").empty() &&
                   (known || here.init_containers.contains(name))) {
            refuse(b, "containers", i, c,
                   "must not have envs for the dataset-initializer, model-initializer, node containers", out);
        }
    }
}

// Findings name the whole field, as the reference's do.
void check_patches(job_names& jobs, const runtime::review& r, runtime::verdict& out) {
    constexpr std::string_view member = "runtimePatches";
    const bool added = r.added_rules(r.changed(member));
    const ref given = r.job.document.get({"spec", member});
    for (const auto& patch : r.job.spec.runtime_patches) {
        for (const auto& fault : api::check_domain_prefixed_path(patch.manager)) {
            out.invalid("spec.runtimePatches.manager", patch.manager, fault);
        }
        for (const ref job : patch.training_runtime_spec.get({"template", "spec", "replicatedJobs"}).items()) {
            if (out.full()) return;
            const auto name = job.get("name").as_string();
            const auto found = jobs.find(name);
            if (found) {
                check_containers(jobs.of(*found), pod_spec_of(job), {"spec.runtimePatches", given, name}, added, out);
            } else if (added) {
                out.invalid("spec.runtimePatches", given,
                            "must not have replicated job that doesn't exist in the runtime job template");
            }
        }
    }
}

// The places of the jobs that an override targets, in the runtime's order.
std::vector<std::size_t> targets_of(const api::pod_template_override& wanted, const job_names& jobs,
                                    const std::string& path, runtime::verdict& out) {
    std::vector<std::size_t> places;
    if (wanted.target_jobs.empty()) {
        places.resize(jobs.size());
        std::iota(places.begin(), places.end(), std::size_t{0});
        return places;
    }
    for (std::size_t i = 0; i < wanted.target_jobs.size() && !out.full(); ++i) {
        const auto target = wanted.target_jobs[i];
        if (const auto found = jobs.find(target)) {
            places.push_back(*found);
            continue;
        }
        out.invalid(path + ".targetJobs[" + std::to_string(i) + "].name", target,
                    "must not have target job that doesn't exist in the runtime job template");
    }
    std::ranges::sort(places);
    const auto twice = std::ranges::unique(places);
    places.erase(twice.begin(), twice.end());
    return places;
}

void check_overrides(job_names& jobs, const runtime::review& r, runtime::verdict& out) {
    constexpr std::string_view member = "podTemplateOverrides";
    const bool added = r.added_rules(r.changed(member));
    for (std::size_t i = 0; i < r.job.spec.pod_template_overrides.size(); ++i) {
        const auto& wanted = r.job.spec.pod_template_overrides[i];
        const std::string path = "spec.podTemplateOverrides[" + std::to_string(i) + "]";
        for (const std::size_t job : targets_of(wanted, jobs, path, out)) {
            if (out.full()) return;
            check_containers(jobs.of(job), wanted.spec, {path + ".spec", {}, jobs.name(job)}, added, out);
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
        if (job.active <= 0 || out.full()) continue;
        out.forbidden(path, std::string(title) + " cannot be modified when the JobSet's ReplicatedJob " +
                                std::string(job.name) + " is still active");
    }
}

// Pods of the job; the largest number if they are beyond counting. MPI has counted its nodes already.
std::int64_t pods_of(const runtime::info& i, std::optional<std::int32_t> nodes) {
    const bool mpi = i.ml() != nullptr && i.ml()->mpi;
    const runtime::pod_set* const trainer = i.trainer();
    std::int64_t sum = 0;
    for (const auto& set : i.pod_sets()) {
        runtime::pod_set scaled;
        scaled.replicas = set.replicas;
        scaled.count = &set == trainer && !mpi ? nodes.value_or(set.count) : set.count;
        if (__builtin_add_overflow(sum, scaled.pods(), &sum)) return std::numeric_limits<std::int64_t>::max();
    }
    return sum;
}

void check_pods(const runtime::info& i, const runtime::review& r, runtime::verdict& out) {
    if (!r.added_rules(r.changed("trainer")) || !out.accepted()) return;
    const bool counted = r.job.spec.trainer && r.job.spec.trainer->num_nodes;
    const std::int64_t pods = pods_of(i, counted ? r.job.spec.trainer->num_nodes : std::nullopt);
    if (pods <= runtime::pods_max) return;
    std::string detail = "must not make " + std::to_string(pods) + " pods: a TrainJob can have " +
                         std::to_string(runtime::pods_max) + " at most";
    if (counted) return out.invalid("spec.trainer.numNodes", *r.job.spec.trainer->num_nodes, std::move(detail));
    out.invalid("spec.runtimeRef", r.job.document.get({"spec", "runtimeRef"}), std::move(detail));
}

// Names become parts of host names and of what programs read; JobSet refuses most others later.
void check_names(const runtime::info& i, const runtime::review& r, runtime::verdict& out) {
    if (!r.added_rules(r.changed("runtimePatches"))) return;
    const auto bad = runtime::find_bad_name(i, r.job.meta.name);
    if (!bad) return;
    if (bad->what == "metadata.name") return out.invalid(bad->what, bad->name, bad->fault);
    out.invalid("spec.runtimeRef", r.job.document.get({"spec", "runtimeRef"}),
                "must refer to a runtime whose names are DNS labels: " + bad->what + " \"" +
                    base::one_line(bad->name, shown_name_bytes_max) + "\" " + bad->fault);
}

// Nodes are none or more, processes on each one or more (contract, difference 16); Pods ask for nothing or more.
void check_counts(const runtime::info& i, const runtime::review& r, runtime::verdict& out) {
    if (!r.job.spec.trainer || !r.added_rules(r.changed("trainer"))) return;
    const api::trainer_spec& trainer = *r.job.spec.trainer;
    if (trainer.num_nodes && *trainer.num_nodes < 0) {
        out.invalid("spec.trainer.numNodes", *trainer.num_nodes, "must be greater than or equal to 0");
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
    job_names known(jobs);
    check_patches(known, r, out);
    check_overrides(known, r, out);
    check_names(i, r, out);
    check_counts(i, r, out);
    check_pods(i, r, out);
    check_pod_templates(i, r, out);
    warn_of_ignored_trainer(i, r, out);
}

}  // namespace cotrain::plugins
