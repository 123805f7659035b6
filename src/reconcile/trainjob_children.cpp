// Planning a job's children and applying those that are not there as planned.
#include "api/json.hpp"
#include "reconcile/trainjob_attempt.hpp"
#include "reconcile/trainjob_templates.hpp"
#include "runtime/guards.hpp"

namespace cotrain::reconcile {

namespace {

namespace names = api::names;

// The job went while a request was under way: nothing is left to be done, nor to be said.
std::unexpected<base::error> gone() {
    return base::fail(base::make_error(base::errc::canceled, base::retry::never, "the TrainJob is gone"));
}

}  // namespace

awaitable<base::result<>> trainjob_reconciler::make_children(attempt* a) {
    if (!must_plan(*a)) co_return base::result<>{};
    if (had_set(*a) || a->job.meta.deleting()) {
        const auto wanted = co_await wants_children_still(a);
        if (!wanted) co_return base::fail(wanted.error());
        if (!*wanted) co_return base::result<>{};
    }
    if (auto found = co_await find_runtime(a); !found) co_return found;
    a->outdated = set_went(*a);
    if (a->outdated) co_return base::result<>{};
    auto steps = plan(*a);
    if (!steps) co_return base::fail(std::move(steps.error()));
    diff(*a, *steps);
    for (step& s : *steps) {
        if (s.so) continue;
        if (!is_there(*a)) co_return gone();
        a->outdated = set_went(*a);
        if (a->outdated) co_return base::result<>{};
        if (auto done = co_await apply(a, std::move(s)); !done) co_return done;
    }
    co_return base::result<>{};
}

// There is no JobSet, but a snapshot, which is made right before it.
bool trainjob_reconciler::had_set(const attempt& a) const {
    const auto* const snapshot =
        all_.find(watch::kind::config_map, a.job.meta.ns, runtime::child_name(a.job, names::snapshot_suffix));
    return !a.set && snapshot != nullptr && snapshot->owner == memories_.at(a.key).job;
}

// Its JobSet went while a request was under way: it may have ended, which the next run finds out.
bool trainjob_reconciler::set_went(const attempt& a) const {
    const job_records now = find_records(all_, a.key);
    if (now.job == nullptr || now.set != nullptr || a.end != nullptr) return false;
    const auto end = ends_.find(a.key);
    return a.set.has_value() || (end != ends_.end() && end->second->job == now.job->id);
}

// A namesake is another job.
bool trainjob_reconciler::is_there(const attempt& a) const {
    const job_records now = find_records(all_, a.key);
    const auto memory = memories_.find(a.key);
    return now.job != nullptr && memory != memories_.end() && memory->second.job == now.job->id;
}

// A snapshot is read once per version; who made it knows what it holds.
awaitable<base::result<>> trainjob_reconciler::find_runtime(attempt* a) {
    const std::string name = runtime::child_name(a->job, names::snapshot_suffix);
    const watch::object_record* const snapshot = all_.find(watch::kind::config_map, a->job.meta.ns, name);
    if (snapshot == nullptr) {
        auto live = runtimes_.live(a->job);
        if (!live) co_return base::fail(std::move(live.error()));
        a->runtime = std::move(*live);
        co_return base::result<>{};
    }
    if (snapshot->owner != memories_[a->key].job) co_return runtime::foreign_child(names::config_map, name);
    if (const job_memory& m = memories_[a->key]; m.runtime != nullptr && m.runtime_version == snapshot->version) {
        a->runtime = m.runtime;
        co_return base::result<>{};
    }
    const auto answer = co_await api_.get(a->at(names::config_map, name));
    if (!answer && answer.error().http_status == 404) all_.drop(watch::kind::config_map, a->job.meta.ns, name);
    if (!answer) co_return base::fail(answer.error());
    const std::uint64_t version = all_.note(watch::kind::config_map, *answer);
    auto read = runtimes_.from_snapshot(a->job, *answer);
    if (!read) co_return base::fail(std::move(read.error()));
    a->runtime = std::move(*read);
    if (const auto m = memories_.find(a->key); m != memories_.end()) {
        m->second.runtime = a->runtime;
        m->second.runtime_version = version;
    }
    co_return base::result<>{};
}

base::result<std::vector<trainjob_reconciler::step>> trainjob_reconciler::plan(attempt& a) {
    const stage_timer timer(timings_, stage::plan);
    if (!is_there(a)) return gone();
    const job_records seen = find_records(all_, a.key);
    a.set.reset();
    if (seen.set != nullptr) a.set = stored_job_set(a.memory, all_, seen, a.job.status);
    const auto children = find_children(a.memory, all_, seen);
    const std::string ca = with_.ca_certificate ? with_.ca_certificate() : std::string{};
    runtime::observed observed;
    observed.children = children;
    observed.job_set = a.set ? &*a.set : nullptr;
    observed.ca_certificate = ca;
    observed.make_ssh_key = with_.make_ssh_key;
    observed.make_curve_key = with_.make_curve_key;
    auto objects = framework_.new_objects(a.memory, a.job, *a.runtime, observed);
    if (!objects) return base::fail(std::move(objects.error()));
    std::vector<step> steps;
    steps.reserve(objects->size());
    for (auto& object : *objects) {
        all_.want(kind_of(*object.type));
        steps.push_back({std::move(object)});
    }
    return steps;
}

awaitable<base::result<>> trainjob_reconciler::apply(attempt* a, step what) {
    runtime::object& object = what.object;
    const auto begun = stage_timer::clock::now();
    auto answer = co_await api_.apply(a->at(*object.type, object.name), object.json);
    timings_[static_cast<std::size_t>(stage::apply)].observe(stage_timer::clock::now() - begun);
    constexpr int invalid = 422;
    if (!answer && answer.error().http_status == invalid && object.type == &names::job_set && a->set) {
        answer = co_await keep_templates(a, &object, std::move(answer.error()));
    }
    if (!answer) co_return base::fail(std::move(answer.error()));
    const std::uint64_t version = all_.note(kind_of(*object.type), *answer);
    if (const auto known = memories_.find(a->key); known != memories_.end()) {
        remember(*a, object, version);
        if (what.repairs) known->second.repaired(with_.steady());
    }
    if (what.repairs) ++counts_.repairs;
    a->applied_set = a->applied_set || object.type == &names::job_set;
    if (object.type == &names::job_set && !a->set) {
        a->made_set = true;
        if (with_.normal_events) tell(*a, event_type::normal, "JobSetCreated", "JobSet " + object.name + " is made");
    }
    co_return base::result<>{};
}

// Its suspension must pass whatever its templates are: a JobSet of another controller would be stuck for good.
awaitable<base::result<std::string>> trainjob_reconciler::keep_templates(attempt* a, const runtime::object* wanted,
                                                                         base::error why) {
    const auto found = co_await api_.get(a->at(names::job_set, wanted->name));
    if (!found) co_return base::fail(std::move(why));
    const std::string kept = with_templates_of(wanted->json, *found);
    if (kept.empty()) co_return base::fail(std::move(why));
    auto answer = co_await api_.apply(a->at(names::job_set, wanted->name), kept);
    if (!answer || must_refuse_patch(a->job, *a->set)) co_return base::fail(std::move(why));
    tell(*a, event_type::warning, "JobSetKept",
         "JobSet " + wanted->name + " keeps the Pod templates that it was made with; a new one would have others");
    co_return answer;
}

void trainjob_reconciler::remember(attempt& a, const runtime::object& object, std::uint64_t version) {
    job_memory& memory = memories_[a.key];
    const watch::kind of = kind_of(*object.type);
    child_memory& child = memory.at(of, watch::hash_bytes(object.name));
    child.sent = watch::hash_bytes(object.json);
    child.left = version;
    memory.known = true;
    if (object.name.ends_with(names::snapshot_suffix)) {
        memory.runtime = a.runtime;
        memory.runtime_version = version;
    }
    if (of == watch::kind::config_map || of == watch::kind::secret) return;
    const auto& store = all_.store(of);
    const auto at = store.find(a.job.meta.ns, object.name);
    const watch::object_body* const body = at ? store.body(*at) : nullptr;
    child.left = body != nullptr && store.get(*at)->version == version ? body->spec_print : 0;
}

// Asked of the API server itself. The garbage collector takes the children of a job that is deleted in the foreground
// before the job, and sets those of an orphaning one free: none may come after. And a JobSet that was there once is
// only made again for a job that has not ended, which its events may not have told yet: after a change of leaders, say.
awaitable<base::result<bool>> trainjob_reconciler::wants_children_still(attempt* a) {
    const auto answer = co_await api_.get(a->at(names::train_job, a->job.meta.name));
    if (!answer) {
        if (answer.error().http_status == 404) co_return false;
        co_return base::fail(answer.error());
    }
    watch::object_view job;
    if (auto read = watch::decode_object(*answer, job); !read) co_return base::fail(read.error());
    all_.note(watch::kind::train_job, *answer);
    const job_records now = find_records(all_, a->key);
    a->outdated = now.job == nullptr || now.job->version != a->version;
    if (a->outdated) co_return false;
    co_return !watch::has_text(job.finalizers, "foregroundDeletion") && !watch::has_text(job.finalizers, "orphan");
}

}  // namespace cotrain::reconcile
