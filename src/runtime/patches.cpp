// Merges what a TrainJob wants changed into its runtime's template.
#include "runtime/patches.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/bounds.hpp"
#include "runtime/merge.hpp"
#include "runtime/merge_maps.hpp"
#include "runtime/merge_order.hpp"
#include "runtime/normalise.hpp"
#include "runtime/schema.hpp"

namespace cotrain::runtime {
namespace {

using api::editor;
using api::ref;

// Jobs that the patch brought along stand behind those of the runtime.
ref in_order(api::arena& memory, ref jobs, ref order) {
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

base::result<> apply_runtime_patch(api::arena& memory, patched_template& now, const api::runtime_patch& patch,
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

base::result<> apply_override(api::arena& memory, patched_template& now, const api::pod_template_override& wanted,
                              const std::string& path) {
    editor patch = editor::object(memory);
    if (wanted.metadata.is_object()) patch.set("metadata", wanted.metadata);
    if (wanted.spec.is_object()) patch.set("spec", wanted.spec);
    const auto normal = normalise(memory, api::freeze(memory, patch), schema::pod_template, path);
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

base::result<patched_template> apply_patches(api::arena& memory, const patched_template& before,
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

}  // namespace cotrain::runtime
