// Builds the info: patched template, pod sets, merged resources.
#include "runtime/info.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "api/names.hpp"
#include "runtime/container.hpp"
#include "runtime/merge.hpp"
#include "runtime/normalise.hpp"
#include "runtime/object.hpp"
#include "runtime/schema.hpp"

namespace cotrain::runtime {
namespace {

using doc::editor;
using doc::ref;

// Jobs that the patch adds come after those of the runtime.
ref in_order(doc::arena& memory, ref jobs, ref order) {
    const item_list before(order.items().begin(), order.items().end());
    const item_places places(before, "name");
    std::vector<std::pair<std::size_t, ref>> placed;
    placed.reserve(jobs.size());
    for (const ref job : jobs.items()) placed.emplace_back(places.find(job).value_or(order.size()), job);
    const auto place = [](const auto& p) { return p.first; };
    if (std::ranges::is_sorted(placed, {}, place)) return jobs;
    std::ranges::stable_sort(placed, {}, place);
    editor out = editor::array(memory);
    for (const auto& [_, job] : placed) out.append(job);
    return out;
}

// The API type has a pointer here: "" takes the account away instead of meaning nothing.
bool takes_account_away(ref pod_spec) {
    const ref account = pod_spec.get("serviceAccountName");
    return account.is_string() && account.text().empty();
}

void drop_empty_accounts(editor jobs, ref patch_jobs) {
    const auto takes = [](ref patch) {
        return takes_account_away(patch.get({"template", "spec", "template", "spec"}));
    };
    if (std::ranges::none_of(patch_jobs.items(), takes)) return;
    const item_list now(jobs.view().items().begin(), jobs.view().items().end());
    const item_places places(now, "name");
    for (const ref patch : patch_jobs.items()) {
        const auto place = takes(patch) ? places.find(patch) : std::nullopt;
        if (!place) continue;
        editor job = jobs.child(*place);
        if (editor merged = job.child({"template", "spec", "template", "spec"})) merged.remove("serviceAccountName");
    }
}

base::result<> apply_runtime_patch(doc::arena& memory, patched_template& now, const api::runtime_patch& patch,
                                   const std::string& path) {
    const ref wanted = patch.training_runtime_spec.get("template");
    now.labels = joined(memory, now.labels, wanted.get({"metadata", "labels"}));
    now.annotations = joined(memory, now.annotations, wanted.get({"metadata", "annotations"}));
    const ref spec = wanted.get("spec");
    if (!spec.is_object()) return {};
    const auto normal = normalise(memory, spec, schema::job_set_spec_patch, path);
    if (!normal) return base::fail(normal.error());
    const ref order = now.spec.get("replicatedJobs");
    auto merged = strategic_merge(memory, now.spec, *normal, schema::job_set_spec);
    if (!merged) return base::fail(std::move(merged.error()).during(path));
    editor changed = editor::of(memory, *merged);
    if (const ref jobs = changed.get("replicatedJobs")) changed.set("replicatedJobs", in_order(memory, jobs, order));
    if (editor jobs = changed.child("replicatedJobs")) drop_empty_accounts(jobs, spec.get("replicatedJobs"));
    now.spec = changed;
    return {};
}

base::result<> apply_override(doc::arena& memory, patched_template& now, const api::pod_template_override& wanted,
                              const std::string& path) {
    editor patch = editor::object(memory);
    if (wanted.metadata.is_object()) patch.set("metadata", wanted.metadata);
    if (wanted.spec.is_object()) patch.set("spec", wanted.spec);
    const auto normal = normalise(memory, doc::freeze(memory, patch), schema::pod_template, path);
    if (!normal) return base::fail(normal.error());
    editor spec = editor::of(memory, now.spec);
    editor jobs = spec.child("replicatedJobs");
    const std::set<std::string_view> targets(wanted.target_jobs.begin(), wanted.target_jobs.end());
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        if (!targets.empty() && !targets.contains(jobs.at(i).get("name").as_string())) continue;
        editor pods = jobs.child(i).ensure_object({"template", "spec"});
        const ref before = pods.ensure_object("template");
        auto merged = strategic_merge(memory, before, *normal, schema::pod_template);
        if (!merged) return base::fail(std::move(merged.error()).during(path));
        if (!merged->same(before)) pods.set("template", *merged);
        if (takes_account_away(wanted.spec)) pods.child({"template", "spec"}).remove("serviceAccountName");
    }
    now.spec = spec;
    return {};
}

}  // namespace

base::result<patched_template> apply_patches(doc::arena& memory, const patched_template& before,
                                             const api::train_job& job) {
    patched_template now = before;
    std::size_t index = 0;
    for (const auto& patch : job.spec.runtime_patches) {
        const std::string path =
            "spec.runtimePatches[" + std::to_string(index++) + "].trainingRuntimeSpec.template.spec";
        if (auto done = apply_runtime_patch(memory, now, patch, path); !done) return base::fail(done.error());
        if (auto good = check_memory(memory); !good) return base::fail(std::move(good.error()));
    }
    index = 0;
    for (const auto& wanted : job.spec.pod_template_overrides) {
        const std::string path = "spec.podTemplateOverrides[" + std::to_string(index++) + "]";
        if (auto done = apply_override(memory, now, wanted, path); !done) return base::fail(done.error());
    }
    return now;
}

namespace {

namespace names = api::names;

// More of them are found by a sorted list.
constexpr std::size_t searched_sets_max = 32;

std::string_view ancestor_of(ref replicated_job) {
    return replicated_job.get({"template", "metadata", "labels", names::ancestor_label}).as_string();
}

std::int32_t to_count(ref number, std::int32_t otherwise) {
    const auto value = number.as_int();
    if (!value) return otherwise;
    return static_cast<std::int32_t>(std::clamp<std::int64_t>(*value, INT32_MIN, INT32_MAX));
}

}  // namespace

info::info(doc::arena& memory, const compiled_runtime& runtime, const api::train_job& job)
    : memory_(&memory), runtime_(&runtime), job_name_(job.meta.name) {
    if (!job.spec.trainer) return;
    command_ = job.spec.trainer->command;
    args_ = job.spec.trainer->args;
}

base::result<info> info::make(doc::arena& memory, const compiled_runtime& runtime, const api::train_job& job) {
    info made(memory, runtime, job);
    const ref metadata = runtime.runtime().template_metadata;
    const auto patched =
        apply_patches(memory, {runtime.spec(), metadata.get("labels"), metadata.get("annotations")}, job);
    if (!patched) return base::fail(patched.error());
    made.labels_ = patched->labels;
    made.annotations_ = patched->annotations;
    made.take_spec(patched->spec.is_object() ? editor::of(memory, patched->spec) : editor::object(memory));
    made.count_pods();
    made.name_trainer();
    if (auto laid = made.lay_resources(job); !laid) return base::fail(std::move(laid.error()));
    if (auto good = check_memory(memory); !good) return base::fail(std::move(good.error()));
    return made;
}

info info::with_pods_of(ref spec) const {
    info there(*this);
    there.take_spec(editor::of(*memory_, spec));
    there.name_trainer();
    return there;
}

void info::take_spec(editor spec) {
    spec_ = spec;
    subdomain_ = spec_.get({"network", "subdomain"}).as_string();
    if (subdomain_.empty()) subdomain_ = job_name_;
    pod_sets_.clear();
    by_name_.clear();
    opened_.clear();
    list_pod_sets();
}

void info::list_pod_sets() {
    const ref jobs = spec_.get("replicatedJobs");
    pod_sets_.reserve(jobs.size());
    opened_.resize(jobs.size());
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        const ref job = jobs.at(i);
        pod_set set;
        set.name = job.get("name").as_string();
        set.ancestor = ancestor_of(job);
        set.index = i;
        set.count = to_count(job.get({"template", "spec", "parallelism"}), 1);
        set.replicas = to_count(job.get("replicas"), 1);
        pod_sets_.push_back(set);
    }
    if (pod_sets_.size() > searched_sets_max) {
        by_name_.resize(pod_sets_.size());
        std::iota(by_name_.begin(), by_name_.end(), 0U);
        std::ranges::stable_sort(by_name_, {}, [&](auto place) { return pod_sets_[place].name; });
    }
}

// What the labels and the runtime's numNodes make of the template's counts.
void info::count_pods() {
    const std::int32_t nodes = ml() == nullptr ? 1 : std::max(ml()->num_nodes.value_or(1), 1);
    const bool mpi = ml() != nullptr && ml()->mpi;
    pod_set* const launcher = mpi ? find(names::launcher) : nullptr;
    pod_set* const node = find(names::node);
    // The earlier dialect has no labels: replicas stay, and so does the count unless numNodes says otherwise.
    const bool unlabelled = trainer() == nullptr && node != nullptr;
    for (auto& set : pod_sets_) {
        set.count = std::max(set.count, 1);
        if (set.ancestor == names::ancestor_trainer || set.ancestor == names::ancestor_dataset ||
            set.ancestor == names::ancestor_model) {
            set.replicas = 1;
        }
        if (set.ancestor == names::ancestor_trainer && ml() != nullptr) set.count = nodes;
    }
    if (mpi) {  // contract, difference 18
        if (launcher != nullptr) launcher->count = launcher->replicas = 1;
        if (node != nullptr && node->ancestor != names::ancestor_trainer && nodes > 1) {
            node->count = ml()->mpi->run_launcher_as_node ? nodes - 1 : nodes;
        }
    } else if (unlabelled && ml() != nullptr && ml()->num_nodes) {
        node->count = nodes;
    }
}

// The earlier dialect has no labels: `node` trains, or MPI's launcher, since its nodes run sshd.
void info::name_trainer() {
    pod_set* const node = find(names::node);
    if (trainer() != nullptr || node == nullptr) return;
    pod_set* const launcher = ml() != nullptr && ml()->mpi ? find(names::launcher) : nullptr;
    (launcher != nullptr ? launcher : node)->ancestor = names::ancestor_trainer;
}

// resourcesPerNode goes where the training happens: to the trainer, and to MPI's nodes when the launcher is one.
base::result<> info::lay_resources(const api::train_job& job) {
    if (!job.spec.trainer || !job.spec.trainer->resources_per_node.is_object()) return {};
    const bool launcher_is_node = ml() != nullptr && ml()->mpi && ml()->mpi->run_launcher_as_node;
    for (const auto& set : pod_sets_) {
        if (full()) return check_memory(*memory_);
        const bool trains = set.ancestor == names::ancestor_trainer || (launcher_is_node && set.name == names::node);
        if (!trains) continue;
        const ref before = container_view(set, names::node);
        if (!before) continue;
        const auto merged = merge_resources(*memory_, before.get("resources"), job.spec.trainer->resources_per_node,
                                            "spec.trainer.resourcesPerNode");
        if (!merged) return base::fail(merged.error());
        find_container(set, names::node).set_resources(*merged);
    }
    return {};
}

// The first of that name; how many there are if there is none.
std::size_t info::place_of(std::string_view name) const {
    if (by_name_.empty()) {
        return static_cast<std::size_t>(std::ranges::find(pod_sets_, name, &pod_set::name) - pod_sets_.begin());
    }
    const auto found = std::ranges::lower_bound(by_name_, name, {}, [&](auto place) { return pod_sets_[place].name; });
    return found == by_name_.end() || pod_sets_[*found].name != name ? pod_sets_.size() : *found;
}

pod_set* info::find(std::string_view name) {
    const std::size_t place = place_of(name);
    return place == pod_sets_.size() ? nullptr : &pod_sets_[place];
}

const pod_set* info::find(std::string_view name) const {
    const std::size_t place = place_of(name);
    return place == pod_sets_.size() ? nullptr : &pod_sets_[place];
}

pod_set* info::trainer() {
    const auto found = std::ranges::find(pod_sets_, names::ancestor_trainer, &pod_set::ancestor);
    return found == pod_sets_.end() ? nullptr : &*found;
}

const pod_set* info::trainer() const {
    const auto found = std::ranges::find(pod_sets_, names::ancestor_trainer, &pod_set::ancestor);
    return found == pod_sets_.end() ? nullptr : &*found;
}

std::int64_t info::pods() const {
    std::int64_t sum = 0;
    for (const auto& set : pod_sets_) {
        if (__builtin_add_overflow(sum, set.pods(), &sum)) return std::numeric_limits<std::int64_t>::max();
    }
    return sum;
}

std::int64_t info::gang_pods(const pod_set& set) const {
    if (!elastic || &set != trainer()) return set.pods();
    return std::min<std::int64_t>(elastic->nodes.min, set.pods());
}

editor info::replicated_job(const pod_set& set) const {
    editor spec = spec_;
    return spec.child("replicatedJobs").child(set.index);
}

editor info::job_spec(const pod_set& set) const {
    editor& known = opened_[set.index].job_spec;
    if (!known) known = replicated_job(set).ensure_object({"template", "spec"});
    return known;
}

editor info::pod_template(const pod_set& set) const { return job_spec(set).ensure_object("template"); }

editor info::pod_spec(const pod_set& set) const {
    editor& known = opened_[set.index].pod_spec;
    if (!known) known = pod_template(set).ensure_object("spec");
    return known;
}

ref info::pod_spec_view(const pod_set& set) const {
    if (const editor& known = opened_[set.index].pod_spec) return known;
    return spec_.get("replicatedJobs").at(set.index).get({"template", "spec", "template", "spec"});
}

container info::find_container(const pod_set& set, std::string_view name) const {
    for (const std::string_view list : {"containers", "initContainers"}) {
        if (!pod_spec_view(set).get(list).find_by("name", name)) continue;
        return container{pod_spec(set).child(list).entry("name", name)};
    }
    return {};
}

ref info::container_view(const pod_set& set, std::string_view name) const {
    return pod_spec_view(set).get("containers").find_by("name", name);
}

container info::trainer_container() {
    const pod_set* const set = trainer();
    if (set == nullptr || !container_view(*set, names::node)) return {};
    return find_container(*set, names::node);
}

ref info::trainer_resources() const {
    const pod_set* const set = trainer();
    return set == nullptr ? ref{} : container_view(*set, names::node).get("resources");
}

std::int64_t info::nodes() const {
    const pod_set* const set = trainer();
    return set == nullptr ? 1 : std::min(set->pods(), pods_max);
}

std::optional<doc::word> info::rank_field() const {
    const pod_set* const set = trainer();
    return set == nullptr ? std::nullopt : set->rank_field();
}

host_name info::master() const {
    const pod_set* const set = trainer();
    return {job_name_, set == nullptr ? std::string_view(names::node) : set->name, subdomain_};
}

}  // namespace cotrain::runtime
