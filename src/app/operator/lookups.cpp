#include "app/operator/lookups.hpp"

#include "doc/edit.hpp"
#include "reconcile/stored_objects.hpp"

namespace cotrain::app {

using watch::kind;

namespace {

namespace names = api::names;
using runtime::presence;
using state = watch::informer::state;
using watch::kind;

bool waits(kind of) {
    return of == kind::training_runtime || of == kind::cluster_training_runtime || of == kind::priority_class;
}

// Why a store cannot be asked; empty if it can.
std::string_view unusable(const watch::informer* from) {
    if (from == nullptr) return "this operator does not look at that namespace";
    if (from->now() == state::forbidden) return "the operator may not read objects of this kind";
    return from->now() == state::starting ? "not in sync with the cluster yet" : std::string_view{};
}

}  // namespace

void admission_lookup::came_in(kind of) {
    if (waits(of)) waiting_.wake_all();
}

awaitable<admission::answer> admission_lookup::look_up(admission::question what, doc::arena* memory) {
    const kind of = watch::kind_of(*what.type);
    const watch::informer* const from = watched_.of(of, what.ns);
    if (const auto why = unusable(from); !why.empty())
        co_return admission::answer{.state = presence::unreadable, .why = std::string(why)};
    const auto due = std::chrono::steady_clock::now() + patience;
    for (;;) {
        auto found = find(of, what, memory);
        if (found.state != presence::missing || !found.why.empty() || !waits(of) || from->missing()) co_return found;
        if (co_await waiting_.until(due) != kube::sleepers::outcome::woken) co_return found;
    }
}

admission::answer admission_lookup::find(kind of, const admission::question& what, doc::arena* memory) {
    switch (of) {
        case kind::training_runtime:
        case kind::cluster_training_runtime: return find_runtime(what);
        case kind::config_map: return find_snapshot(what);
        case kind::job_set: return find_job_set(what, memory);
        case kind::train_job: return find_job(what, memory);
        default: break;
    }
    return {.state = all_.find(of, what.ns, what.name) != nullptr ? presence::exists : presence::missing};
}

admission::answer admission_lookup::find_runtime(const admission::question& what) {
    api::train_job job;
    job.meta.ns = what.ns;
    job.spec.runtime.kind = what.type->kind;
    job.spec.runtime.name = what.name;
    auto known = runtimes_.live(job);
    if (known) return {.state = presence::exists, .runtime = std::move(*known)};
    const bool there = all_.find(watch::kind_of(*what.type), what.ns, what.name) != nullptr;
    return {.state = presence::missing, .why = there ? "cannot be used: " + known.error().message : std::string()};
}

admission::answer admission_lookup::find_snapshot(const admission::question& what) const {
    std::string name = what.name;
    if (!name.ends_with(names::snapshot_suffix)) return {};
    name.resize(name.size() - names::snapshot_suffix.size());
    const watch::object_record* const job = all_.find(kind::train_job, what.ns, name);
    if (job == nullptr) return {};
    const watch::object_record* const map = all_.find(kind::config_map, what.ns, what.name);
    const bool ours = map != nullptr && map->owner == job->id;
    if (!ours) return {};
    return {.state = presence::exists, .runtime = snapshots_(job->key)};
}

admission::answer admission_lookup::find_job_set(const admission::question& what, doc::arena* memory) const {
    const auto& sets = all_.store(kind::job_set);
    const auto at = sets.find(what.ns, what.name);
    if (!at) return {};
    return {.state = presence::exists,
            .job_set = reconcile::job_set_of(*memory, all_, {sets.get(*at), sets.body(*at)})};
}

// With what the store has of it; one whose spec is too large to be kept is only known to be there.
admission::answer admission_lookup::find_job(const admission::question& what, doc::arena* memory) const {
    const auto& jobs = all_.store(kind::train_job);
    const auto at = jobs.find(what.ns, what.name);
    if (!at) return {};
    const watch::object_body* const body = jobs.body(*at);
    if (body == nullptr || body->spec_left_out) return {.state = presence::exists};
    const auto job = reconcile::decode_job(*memory, all_, {jobs.get(*at), body}, {});
    if (!job) return {.state = presence::exists};
    doc::editor out = doc::editor::of(*memory, job->document);
    if (const std::string_view queue = all_.texts().view(body->queue); !queue.empty())
        out.ensure_object("metadata").ensure_object("labels").set(names::kueue_queue_label, queue);
    return {.state = presence::exists, .document = doc::freeze(*memory, out)};
}

std::optional<serve::known_job> find_reported_job(const watch::cluster& all, const serve::reported_job& job) {
    const watch::object_record* const train_job = all.find(kind::train_job, job.ns, job.name);
    if (train_job == nullptr) return std::nullopt;
    serve::known_job out{.created = std::chrono::sys_seconds(std::chrono::seconds(train_job->created))};
    const watch::object_record* const set = all.find(kind::job_set, job.ns, job.name);
    if (set == nullptr || set->owner != train_job->id || set->collapsed) return out;
    for (const watch::stored_counts& each : set->body->counts())
        out.replicated_jobs.emplace_back(all.texts().view(each.name));
    return out;
}

}  // namespace cotrain::app
