// Builds the JobSet from the filled-in template and folds its status back.
#include "plugins/builtin.hpp"

#include <algorithm>
#include <string>

#include "api/names.hpp"
#include "runtime/elastic.hpp"
#include "runtime/guards.hpp"
#include "runtime/status.hpp"

namespace cotrain::plugins {
namespace {

using doc::editor;
using doc::ref;
namespace names = api::names;

std::uint32_t natural(std::int32_t count) { return static_cast<std::uint32_t>(std::max(count, 0)); }

void set_count(editor spec, std::string_view member, std::int32_t count) {
    if (spec.get(member).as_int() != count) spec.set(member, count);
}

void set_replicas(const runtime::info& i, const runtime::pod_set& set) {
    const ref now = i.spec().get("replicatedJobs").at(set.index).get("replicas");
    if (now.as_int() != set.replicas) i.replicated_job(set).set("replicas", set.replicas);
}

void fill_initializer(const runtime::info& i, std::string_view role, const api::initializer_source* source) {
    for (const auto& set : i.pod_sets()) {
        if (i.full()) return;
        if (set.ancestor != role) continue;
        set_replicas(i, set);
        if (source == nullptr || !i.container_view(set, role)) continue;
        runtime::container c = i.find_container(set, role);
        if (source->storage_uri) c.put_env(names::env_storage_uri, *source->storage_uri);
        c.put_env_list(source->env);
        if (source->has_secret) c.add_secret_env(source->secret_name);
    }
}

void fill_trainer(const runtime::info& i, const api::train_job& job) {
    const bool launcher_is_node = i.ml() != nullptr && i.ml()->mpi && i.ml()->mpi->run_launcher_as_node;
    for (const auto& set : i.pod_sets()) {
        if (i.full()) return;
        const bool trains = set.ancestor == names::ancestor_trainer;
        if (trains) set_replicas(i, set);
        if (!trains && !(launcher_is_node && set.name == names::node)) continue;
        if (!i.container_view(set, names::node)) continue;
        runtime::container c = i.find_container(set, names::node);
        if (trains) {
            if (job.spec.trainer && job.spec.trainer->image) c.set_image(*job.spec.trainer->image);
            if (i.command().is_array()) c.set_command(i.command());
            if (i.args().is_array()) c.set_args(i.args());
        }
        if (job.spec.trainer) c.put_env_list(job.spec.trainer->env);
    }
}

template <class List>
void put_all(editor metadata, std::string_view member, const List& entries) {
    if (entries.empty()) return;
    editor map = metadata.ensure_object(member);
    for (const auto& [key, value] : entries) map.set(key, value);
}

}  // namespace

base::result<> jobset::identify_pod_network(runtime::info& i, const api::train_job& job) const {
    for (auto& set : i.pod_sets()) {
        set.hosts =
            runtime::endpoints(job.meta.name, set.name, i.subdomain(), natural(set.replicas), natural(set.count));
    }
    return {};
}

base::result<> jobset::sync_parallelism(runtime::info& i) const {
    for (const auto& set : i.pod_sets()) {
        if (i.full()) break;
        if (i.spec().get("replicatedJobs").at(set.index).get("replicas").as_int(1) != set.replicas)
            set_replicas(i, set);
        const editor spec = i.job_spec(set);
        set_count(spec, "parallelism", set.count);
        set_count(spec, "completions", set.count);
    }
    return {};
}

base::result<> jobset::build_job_set(runtime::info& i, const api::train_job& job, const runtime::observed& seen,
                                     runtime::object_list& out) const {
    const api::job_set* const existing = seen.job_set;
    if (existing != nullptr) {
        if (!existing->meta.controlled_by(job.meta.uid)) return runtime::foreign_child(names::job_set, job.meta.name);
        // Running jobs are not touched: the JobSet's template is immutable then. An elastic one may have other counts.
        if (!job.spec.suspend && !existing->suspend) {
            auto resized = runtime::resize(i, job, *existing);
            if (!resized) return base::fail(std::move(resized.error()));
            if (*resized) out.push_back(std::move(**resized));
            return {};
        }
    }
    fill_initializer(i, names::ancestor_dataset, job.spec.dataset ? &*job.spec.dataset : nullptr);
    fill_initializer(i, names::ancestor_model, job.spec.model ? &*job.spec.model : nullptr);
    fill_trainer(i, job);
    for (const auto& set : i.pod_sets()) {
        if (i.full() || (i.pod_labels.empty() && i.pod_annotations.empty())) break;
        const editor metadata = i.pod_template(set).ensure_object("metadata");
        put_all(metadata, "labels", i.pod_labels);
        put_all(metadata, "annotations", i.pod_annotations);
    }
    i.spec().set("suspend", job.spec.suspend);

    editor set = runtime::new_child(i.memory(), names::job_set, job.meta.name, job);
    if (!i.labels().empty()) set.ensure_object("metadata").set("labels", i.labels());
    if (!i.annotations().empty()) set.ensure_object("metadata").set("annotations", i.annotations());
    set.set("spec", i.spec());
    out.push_back(runtime::finish(names::job_set, job.meta.name, set));
    return {};
}

void jobset::report_status(api::train_job_status& status, const api::job_set& set, base::seconds_time now) const {
    const auto said = [&](std::string_view theirs) {
        const api::condition* const c = api::find_condition(set.conditions, theirs);
        return c != nullptr && c->status == api::condition_status::yes ? c : nullptr;
    };
    // The first terminal condition wins.
    const api::condition* const completed = said(names::job_set_completed);
    const api::condition* const failed = said(names::job_set_failed);
    const bool fails =
        failed != nullptr && (completed == nullptr || failed->last_transition_time < completed->last_transition_time);
    if (const api::condition* const end = fails ? failed : completed; end != nullptr && !runtime::is_finished(status)) {
        api::condition c = *end;
        c.type = fails ? names::failed : names::complete;
        api::set_condition(status.conditions, std::move(c), now);
    }
    status.jobs.clear();
    for (const auto& j : set.jobs) {
        status.jobs.push_back({std::string(j.name), j.ready, j.succeeded, j.failed, j.active, j.suspended});
    }
}

}  // namespace cotrain::plugins
