// The scheduler's own gangs (KEP-4671), in Kubernetes since 1.36: which replicated jobs make up which PodGroup is the
// runtime's spec.scheduling. See docs/gang-scheduling.md and docs/decisions/0018-workloads.md.
#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "api/names.hpp"
#include "api/validation.hpp"
#include "plugins/builtin.hpp"
#include "runtime/guards.hpp"

namespace cotrain::plugins {
namespace {

using doc::editor;
using doc::ref;
namespace names = api::names;

constexpr std::string_view initializers[] = {names::ancestor_dataset, names::ancestor_model};

ref scheduling_of(const runtime::info& i) { return i.runtime().runtime().scheduling; }

std::string group_name(std::size_t index) { return "group-" + std::to_string(index); }

bool is_gang(ref policies) { return !policies.get({"schedulingPolicy", "basic"}).is_object(); }

bool is_initializer(ref replicated_job) {
    const ref role = replicated_job.get({"template", "metadata", "labels", names::ancestor_label});
    return std::ranges::contains(initializers, role.as_string());
}

// One PodGroup to be: what its Pods share, and the replicated jobs that they are of, as places in the template.
struct group {
    ref policies;  // schedulingPolicy, schedulingConstraints, disruptionMode
    bool gang = true;
    std::vector<std::size_t> jobs;
};

class grouping {
   public:
    // Of a runtime's spec.scheduling, and the JobSet's spec.
    grouping(ref scheduling, ref spec) : jobs_(spec.get("replicatedJobs")) {
        const ref entries = scheduling.get("replicatedJobs");
        entries.is_array() ? by_entries(entries) : whole_job(scheduling);
        in_order_ = spec.get({"startupPolicy", "startupPolicyOrder"}).as_string() == "InOrder";
    }

    [[nodiscard]] const std::vector<group>& groups() const { return groups_; }
    // Why no Pods can be made this way; empty: they can.
    [[nodiscard]] std::string find_fault() const {
        std::string found = fault_;
        for (const group& g : groups_) {
            if (found.empty()) found = find_unlike(g);
            if (found.empty() && g.gang) found = find_wait(g);
        }
        return found;
    }

   private:
    // Initialisers have a group of their own: the gang would wait for them, and they for it.
    void whole_job(ref scheduling) {
        group gang{scheduling, is_gang(scheduling), {}};
        group others{{}, false, {}};
        for (std::size_t i = 0; i < jobs_.size(); ++i) (is_initializer(jobs_.at(i)) ? others : gang).jobs.push_back(i);
        groups_.push_back(std::move(gang));
        if (!others.jobs.empty()) groups_.push_back(std::move(others));
    }

    void by_entries(ref entries) {
        if (entries.size() > workload::groups_max) return fail("must have at most 8 items");
        std::vector<bool> targeted(jobs_.size());
        for (std::size_t e = 0; e < entries.size(); ++e) {
            const ref entry = entries.at(e);
            groups_.push_back({entry, is_gang(entry), {}});
            for (const ref target : entry.get("targetReplicatedJobs").items()) {
                const std::string name(target.as_string());
                const std::size_t at = place_of(name);
                if (at == jobs_.size()) return fail("no replicated job of the template is called " + name);
                if (targeted[at]) return fail("replicated job " + name + " is in a group already");
                targeted[at] = true;
                groups_.back().jobs.push_back(at);
            }
        }
        for (std::size_t i = 0; i < targeted.size(); ++i)
            if (!targeted[i]) return fail("replicated job " + name_of(i) + " is in no group");
    }

    // kube-scheduler wants one priority and one scheduler for all Pods of a group, and never schedules others.
    [[nodiscard]] std::string find_unlike(const group& g) const {
        for (const std::size_t job : g.jobs) {
            for (const std::string_view field : {"priorityClassName", "schedulerName"}) {
                const auto of = [&](std::size_t j) {
                    return jobs_.at(j).get({"template", "spec", "template", "spec", field}).as_string();
                };
                if (of(job) != of(g.jobs.front()))
                    return "replicated jobs " + name_of(g.jobs.front()) + " and " + name_of(job) + " have another " +
                           std::string(field) + ": Pods of one group share it";
            }
        }
        return {};
    }

    // A job that begins when another one is ready or done keeps the gang of both from ever being complete.
    [[nodiscard]] std::string find_wait(const group& g) const {
        if (in_order_ && g.jobs.size() > 1)
            return "startupPolicy InOrder starts " + name_of(g.jobs[1]) + " when " + name_of(g.jobs[0]) +
                   " is ready: in one gang they wait for each other";
        for (const std::size_t job : g.jobs) {
            std::vector<bool> seen(jobs_.size());
            std::vector<std::size_t> open{job};
            while (!open.empty()) {
                const ref depends = jobs_.at(open.back()).get("dependsOn");
                open.pop_back();
                for (const ref each : depends.items()) {
                    const std::size_t before = place_of(each.get("name").as_string());
                    if (before == jobs_.size() || seen[before]) continue;
                    seen[before] = true;
                    if (std::ranges::contains(g.jobs, before))
                        return "replicated job " + name_of(job) + " starts after " + name_of(before) +
                               ": in one gang they wait for each other";
                    open.push_back(before);
                }
            }
        }
        return {};
    }

    [[nodiscard]] std::string name_of(std::size_t job) const {
        return std::string(jobs_.at(job).get("name").as_string());
    }
    [[nodiscard]] std::size_t place_of(std::string_view name) const {
        std::size_t at = 0;
        while (at < jobs_.size() && jobs_.at(at).get("name").as_string() != name) ++at;
        return at;
    }
    void fail(std::string why) { fault_ = std::move(why); }

    ref jobs_;
    bool in_order_ = false;
    std::vector<group> groups_;
    std::string fault_;
};

// What is wrong with a label of Nodes; empty: nothing.
std::string label_fault(std::string_view key) { return api::join(api::check_qualified_name(key)); }

// The document of one group as the Workload's template and the PodGroup have it.
class writer {
   public:
    writer(const runtime::info& i, const api::train_job& job, bool alpha)
        : i_(i), topology_(job.meta.annotation(names::topology_annotation)), alpha_(alpha) {}

    // Pods that have to fit at once.
    [[nodiscard]] std::int64_t members(const group& g) const {
        std::int64_t sum = 0;
        for (const std::size_t job : g.jobs) sum += i_.gang_pods(i_.pod_sets()[job]);
        return sum;
    }

    void write(editor spec, const group& g) const {
        editor policy = spec.ensure_object("schedulingPolicy");
        if (g.gang)
            policy.ensure_object("gang").set("minCount", members(g));
        else
            policy.ensure_object("basic");
        const ref constraints = g.policies.get("schedulingConstraints");
        if (g.gang && !topology_.empty())
            spec.ensure_object("schedulingConstraints").ensure_array("topology").append_object().set("key", topology_);
        else if (constraints.is_object())
            spec.set("schedulingConstraints", constraints);
        write_disruption(spec, g.policies.get("disruptionMode"));
        if (g.jobs.empty()) return;
        // 1.36 drops it without its gate WorkloadAwarePreemption.
        const ref priority = i_.pod_spec_view(i_.pod_sets()[g.jobs.front()]).get("priorityClassName");
        if (priority.is_string()) spec.set("priorityClassName", priority);
    }

   private:
    void write_disruption(editor spec, ref mode) const {
        if (!mode.is_object()) return;
        if (!alpha_)
            spec.set("disruptionMode", mode);
        else
            spec.set("disruptionMode", mode.get("all").is_object() ? "PodGroup" : "Pod");
    }

    const runtime::info& i_;
    std::string_view topology_;
    bool alpha_;  // v1alpha2
};

runtime::object make_workload(const runtime::info& i, const api::train_job& job, const grouping& all,
                              const api::resource_type& type) {
    const bool alpha = &type == &names::workload_v1alpha2;
    editor made = runtime::new_child(i.memory(), type, job.meta.name, job);
    editor spec = made.ensure_object("spec");
    spec.ensure_object("controllerRef")
        .set("apiGroup", names::trainer_group)
        .set("kind", names::train_job_kind)
        .set("name", job.meta.name);
    editor templates = spec.ensure_array("podGroupTemplates");
    const writer words(i, job, alpha);
    for (std::size_t g = 0; g < all.groups().size(); ++g) {
        if (words.members(all.groups()[g]) == 0) continue;
        editor entry = templates.append_object().set("name", group_name(g));
        words.write(entry, all.groups()[g]);
    }
    return runtime::finish(type, job.meta.name, made);
}

runtime::object make_pod_group(const runtime::info& i, const api::train_job& job, const group& g, std::size_t index,
                               const api::resource_type& type) {
    const bool alpha = &type == &names::pod_group_v1alpha2;
    const std::string name = runtime::child_name(job, "-" + group_name(index));
    editor made = runtime::new_child(i.memory(), type, name, job);
    editor spec = made.ensure_object("spec");
    if (alpha)
        spec.ensure_object({"podGroupTemplateRef", "workload"})
            .set("workloadName", job.meta.name)
            .set("podGroupTemplateName", group_name(index));
    else
        spec.ensure_object("workloadRef").set("workloadName", job.meta.name).set("templateName", group_name(index));
    writer(i, job, alpha).write(spec, g);
    return runtime::finish(type, name, made);
}

base::result<> check(const grouping& all) {
    const std::string bad = all.find_fault();
    if (bad.empty()) return {};
    return base::fail(base::errc::invalid, "spec.scheduling of the runtime: " + bad);
}

}  // namespace

// As grouping has them, without making them.
std::size_t workload_groups_of(const runtime::compiled_runtime& r) {
    if (!workload::needed_by(r)) return 0;
    const ref entries = r.runtime().scheduling.get("replicatedJobs");
    if (entries.is_array()) return std::min(entries.size(), workload::groups_max);
    return std::ranges::any_of(r.spec().get("replicatedJobs").items(), is_initializer) ? 2 : 1;
}

base::result<> workload::enforce_pod_group_policy(runtime::info& i, const api::train_job& job) const {
    if (!needed_by(i.runtime())) return {};
    const grouping all(scheduling_of(i), i.spec());
    if (auto good = check(all); !good) return good;
    for (std::size_t g = 0; g < all.groups().size(); ++g) {
        for (const std::size_t place : all.groups()[g].jobs)
            i.pod_spec(i.pod_sets()[place])
                .ensure_object("schedulingGroup")
                .set("podGroupName", runtime::child_name(job, "-" + group_name(g)));
    }
    return {};
}

base::result<> workload::build_job_set(const runtime::info& i, const api::train_job& job, const runtime::observed& seen,
                                       runtime::object_list& out) const {
    if (!needed_by(i.runtime())) return {};
    const api::resource_type* const workloads = seen.served_as(names::workload);
    const api::resource_type* const pod_groups = seen.served_as(names::pod_group);
    if (workloads == nullptr || pod_groups == nullptr)
        return base::fail(base::make_error(
            base::errc::invalid, base::retry::later,
            "the API server has no Workloads and PodGroups of scheduling.k8s.io: switch on Kubernetes' feature gate "
            "GenericWorkload (Kubernetes 1.36 or later), and the API with --runtime-config"));
    // Those that Pods may be of stay as they are.
    const bool runs = seen.job_set != nullptr && !seen.job_set->suspend && !job.spec.suspend;
    const auto stays = [&](const api::resource_type& type, std::string_view name) {
        return runs && seen.state_of(type, name) == runtime::child_state::ours;
    };
    const grouping all(scheduling_of(i), i.spec());
    const writer words(i, job, false);
    if (!stays(*workloads, job.meta.name)) out.push_back(make_workload(i, job, all, *workloads));
    for (std::size_t g = 0; g < all.groups().size(); ++g) {
        const group& each = all.groups()[g];
        if (words.members(each) == 0) continue;  // the API server wants one member at least
        if (!stays(*pod_groups, runtime::child_name(job, "-" + group_name(g))))
            out.push_back(make_pod_group(i, job, each, g, *pod_groups));
    }
    return {};
}

void workload::validate(const runtime::info& i, const runtime::review& r, runtime::verdict& out) const {
    const std::string_view topology = r.job.meta.annotation(names::topology_annotation);
    const bool moved = r.before != nullptr && r.before->meta.annotation(names::topology_annotation) != topology;
    const std::string path = "metadata.annotations[" + std::string(names::topology_annotation) + "]";
    if (moved && !r.before->spec.suspend)
        out.invalid(path, topology, "can only be changed while the TrainJob is suspended: Pods are made for it");
    if (!topology.empty() && r.added_rules(moved)) {
        if (!needed_by(i.runtime())) {
            out.invalid(path, topology, "the runtime has no spec.scheduling, whose gangs it is about");
        } else if (const std::string wrong = label_fault(topology); !wrong.empty()) {
            out.invalid(path, topology, "must be a label of Nodes: " + wrong);
        }
    }
    if (!needed_by(i.runtime()) || !r.added_rules(false)) return;
    if (auto good = check(grouping(scheduling_of(i), i.spec())); !good)
        out.invalid("spec.runtimeRef", r.job.document.get({"spec", "runtimeRef"}), good.error().message);
}

void workload::validate_runtime(const api::training_runtime& runtime, runtime::verdict& out) const {
    const ref scheduling = runtime.scheduling;
    if (!scheduling.is_object()) return;
    const grouping all(scheduling, runtime.template_spec);
    if (const std::string bad = all.find_fault(); !bad.empty()) out.invalid("spec.scheduling", scheduling, bad);
    for (const group& g : all.groups()) {
        for (const ref each : g.policies.get({"schedulingConstraints", "topology"}).items()) {
            const std::string_view key = each.get("key").as_string();
            if (const std::string wrong = label_fault(key); !wrong.empty())
                out.invalid("spec.scheduling.schedulingConstraints.topology.key", key,
                            "must be a label of Nodes: " + wrong);
        }
    }
}

}  // namespace cotrain::plugins
