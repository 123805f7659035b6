// What decide() asks for: one request each, or none, and what the answer means for the run.
#include <algorithm>

#include "api/runtime.hpp"
#include "base/json_text.hpp"
#include "doc/json.hpp"
#include "reconcile/job_set_templates.hpp"
#include "reconcile/trainjob/plan.hpp"
#include "reconcile/trainjob/reconciler.hpp"
#include "runtime/guards.hpp"

namespace cotrain::reconcile {

namespace {

namespace names = api::names;
using watch::kind;

constexpr int forbidden = 403;
constexpr int not_found = 404;
constexpr int conflict = 409;
constexpr int invalid = 422;

// Until a Secret of a needed name that somebody else has is looked at again: nobody tells when it goes.
constexpr std::chrono::seconds foreign_secret_pause{10};
// Until a JobSet that is to be made again is looked at, if nobody tells that its Pods or itself have gone.
constexpr std::chrono::seconds replace_pause{5};
// Until a job that somebody wrote to while it was deleted is looked at again.
constexpr std::chrono::seconds written_to_pause{1};

// What the store says of a kind cannot be relied upon, so nothing of it is made or changed.
base::error stale(const runtime::object& object, std::string_view doubt) {
    std::string message(object.type->kind);
    message.append(" ").append(object.name).append(" is not applied while the operator does not see what is there: ");
    base::error e = base::make_error(base::errc::lost, base::retry::later, message.append(doubt));
    e.reason = "CacheNotSynced";
    return e;
}

base::error foreign(const api::resource_type& type, std::string_view name) {
    return runtime::foreign_child(type, name).error();
}

// Of an apply. Where JobSet's webhook keeps the jobs it calls their list invalid as a whole, and shows it: the end of
// the message, which says why, may be cut off.
bool may_be_immutable(const base::error& e) {
    const bool cut = e.message.ends_with("…") && e.message.contains("spec.replicatedJobs: Invalid value");
    return cut || e.message.contains("immutable");
}
bool is_refused(const base::error& e) {
    return e.http_status == invalid || (e.http_status == forbidden && may_be_immutable(e));
}

// The JobSet goes on as it is.
base::error not_elastic(const progress& p, const base::error& why) {
    const std::int32_t nodes = p.set ? p.set->nodes : 0;
    base::error e = base::make_error(
        base::errc::status, base::retry::later,
        "its JobSet stays at " + std::to_string(nodes) +
            " nodes: JobSet's controller lets no JobSet that runs be scaled without its feature gate ElasticJobSet (" +
            why.message + ")");
    e.http_status = why.http_status;
    e.reason = "ElasticJobSetNeeded";
    return e;
}

void fail(progress& p, base::error e) {
    if (e.code == base::errc::canceled) {
        p.canceled = true;
    } else if (p.status_done) {
        p.end_failure = std::move(e);
    } else {
        p.failure = std::move(e);
    }
}

// One that does not keep a JobSet from being suspended or resumed.
void fail_beside_set(progress& p, base::error e) {
    if (!p.set || e.code == base::errc::canceled) return fail(p, std::move(e));
    if (!p.deferred) p.deferred = std::move(e);
}

void wait_at_least(progress& p, std::chrono::nanoseconds pause) { p.pause = std::max(p.pause, pause); }

awaitable<void> no_request() { co_return; }

// What the snapshot has to be like: as it was made or found, for good.
std::string recorded_hash(const job_view& v, const job_history& known) {
    const std::string& untold = known.rarely().snapshot_hash;
    return untold.empty() ? std::string(v.body->snapshot_hash()) : untold;
}

}  // namespace

awaitable<void> trainjob_reconciler::perform(watch::text_id key, progress* p, action next) {
    switch (next.what) {
        case act::read_job: return read_job(key, p);
        case act::find_runtime: return find_runtime(key, p);
        case act::read_secret: return read_secret(p, next.index);
        case act::read_set: return read_set(p);
        case act::apply: return apply(key, p, next.index);
        case act::identify: return identify(p);
        case act::keep_templates: return keep_templates(key, p);
        case act::suspend_set: return suspend_set(key, p);
        case act::replace_child: return replace_child(p);
        case act::autopsy: return dissect(key, p);
        case act::look: return look_into(key, p);
        case act::patch_status: return patch_status(key, p);
        case act::delete_job: return delete_job(p);
        case act::delete_child: return delete_child(p, next);
        case act::plan: plan(view_of(all_, children_, key), *p); break;
        case act::report: report(*p); break;
        case act::compare_templates: compare_templates(view_of(all_, children_, key), *p); break;
        case act::fail_child: fail_refused(*p); break;
        case act::wait_for_pods: await_pods(*p); break;
        default: break;  // an end of the run
    }
    return no_request();
}

awaitable<void> trainjob_reconciler::read_job(watch::text_id key, progress* p) {
    const auto answer = co_await api_.get(p->at(names::train_job, p->job.meta.name));
    if (!answer && answer.error().http_status == not_found) p->asked = {.exists = false};
    if (!answer && answer.error().http_status != not_found) fail(*p, answer.error());
    if (!answer) co_return;
    watch::object_view job;
    if (auto read = watch::decode_object(*answer, job); !read) co_return fail(*p, read.error());
    p->asked = {
        .collected = watch::has_text(job.finalizers, "foregroundDeletion") || watch::has_text(job.finalizers, "orphan"),
        .version = all_.note(kind::train_job, *answer)};
    const job_view v = view_of(all_, children_, key);
    if (p->lacks_spec && v.job != nullptr && p->base.holds(v, false)) take_job(v, *p, *answer);
}

// A snapshot is read once per version; who made it knows what it holds.
awaitable<void> trainjob_reconciler::find_runtime(watch::text_id key, progress* p) {
    const job_view v = view_of(all_, children_, key);
    job_history& known = p->history;
    const watch::object_record* const snapshot = v.snapshot().record;
    const std::string name = runtime::child_name(p->job, names::snapshot_suffix);
    p->steps.reset();
    p->runtime_version = snapshot == nullptr ? 0 : snapshot->version;
    if (snapshot == nullptr) {
        auto live = runtimes_.live(p->job);
        if (!live) co_return fail(*p, std::move(live.error()));
        p->runtime = std::move(*live);
        co_return;
    }
    if (!v.owns(snapshot)) co_return fail(*p, foreign(names::config_map, name));
    p->runtime = known.runtime_version == snapshot->version ? runtimes_.use(known.runtime) : nullptr;
    if (p->runtime != nullptr) co_return;
    const std::string recorded = recorded_hash(v, known);
    const auto answer = co_await api_.get(p->at(names::config_map, name));
    if (!answer && answer.error().http_status == not_found) all_.drop(kind::config_map, p->job.meta.ns, name);
    if (!answer) co_return fail(*p, answer.error());
    p->runtime_version = all_.note(kind::config_map, *answer);
    auto read = runtimes_.from_snapshot(p->job, *answer, recorded);
    if (!read) co_return fail(*p, std::move(read.error()));
    p->runtime = std::move(read->runtime);
    known.runtime = p->runtime;
    known.runtime_version = p->runtime_version;
    known.made_here = read->immutable;
    // Another controller's, or ours whose hash was not written down any more: it counts as it was found.
    if (recorded.empty()) known.make_rare().snapshot_hash = std::move(read->hash);
    p->hash_now = p->hash_now || recorded.empty();
}

// Asked by name, as metadata.
awaitable<void> trainjob_reconciler::read_secret(progress* p, std::size_t index) {
    const std::string name = runtime::child_name(p->job, children_[index].suffix);
    p->secrets_asked.set(index);
    const auto answer = co_await api_.get(p->at(names::secret, name));
    if (!answer && answer.error().http_status != not_found) co_return fail_beside_set(*p, answer.error());
    if (!answer) {
        all_.drop(kind::secret, p->job.meta.ns, name);
        p->lacks_secret = true;
        co_return;
    }
    all_.note(kind::secret, *answer);
    const auto* const found = all_.find(kind::secret, p->job.meta.ns, name);
    if (found == nullptr || found->owner == p->history.job) co_return;
    if (found->owner.empty()) {
        const auto premade = co_await is_premade_secret(p, name);
        if (!premade) co_return fail_beside_set(*p, premade.error());
        if (*premade) co_return;
    }
    p->pause = foreign_secret_pause;
}

// A Secret that nobody controls, and that the job can use for ssh: what it holds is looked at, and not kept.
awaitable<base::result<bool>> trainjob_reconciler::is_premade_secret(progress* p, std::string name) {
    const auto may_be = [&](const child_type& c) {
        return c.is_secret() && c.premade != nullptr && name.ends_with(c.suffix);
    };
    if (std::ranges::none_of(children_, may_be)) co_return false;
    auto answer = co_await api_.get_whole(p->at(names::secret, name));
    if (!answer && answer.error().http_status != not_found) co_return base::fail(answer.error());
    if (p->history.rare != nullptr) p->history.rare->premade_secret = {};
    const auto* const found = all_.find(kind::secret, p->job.meta.ns, name);
    doc::arena parsed;
    const auto secret = answer ? doc::parse_json(parsed, *answer) : base::result<doc::ref>{};
    if (!answer || !secret || found == nullptr) co_return false;
    const std::string_view uid = secret->get({"metadata", "uid"}).as_string();
    if (watch::to_text(all_.texts(), found->id) != uid || !plugins_->is_premade(names::secret, name, *secret))
        co_return false;
    p->history.make_rare().premade_secret = found->id;
    co_return true;
}

awaitable<void> trainjob_reconciler::read_set(progress* p) {
    const auto answer = co_await api_.get(p->at(names::job_set, p->job.meta.name));
    if (!answer && answer.error().http_status != not_found) co_return fail(*p, answer.error());
    const auto document = answer ? doc::parse_json_copy(p->memory, *answer) : base::result<doc::ref>{};
    const bool same = answer && document && document->get({"metadata", "uid"}).as_string() == p->set->meta.uid;
    p->overtaken = !same;  // its events are on their way
    if (!same) co_return;
    all_.note(kind::job_set, *answer);
    p->set_spec = document->get("spec").is_object() ? document->get("spec") : doc::ref::empty_object();
    if (!p->refused) p->steps.reset();
}

void trainjob_reconciler::plan(const job_view& v, progress& p) {
    job_history& known = p.history;
    p.refused.reset();
    known.dirty = false;
    p.planned_for = planning_state(v, p.runtime);
    forget_old_secrets(v, p);
    p.steps.emplace();
    if (v.owns_set() && (p.set_spec || children_.any_needed(*p.runtime))) {
        const auto spec = doc::parse_json_copy(p.memory, v.set_spec());
        p.set->spec = spec && !v.set_spec().empty() ? *spec : p.set_spec;
    }
    const std::vector<found_child> children = find_children(v, known);
    record_premade(children, p);
    std::vector<runtime::observed_child> seen;
    for (const found_child& c : children) seen.push_back({c.type->type, c.name, c.state});
    const std::string ca = with_.ca_certificate ? with_.ca_certificate() : std::string{};
    runtime::observed observed;
    observed.children = seen;
    observed.job_set = p.set ? &*p.set : nullptr;
    observed.foreign_later = v.owns_set();
    observed.ca_certificate = ca;
    observed.served = [this](const api::resource_type& newest) {
        const auto type = std::ranges::find(children_, &newest, &child_type::type);
        const api::resource_type* const found = type == children_.end() ? &newest : served_as(*type);
        if (found == nullptr) all_.want(type->of);  // it is looked for soon
        return found;
    };
    observed.make_ssh_key = with_.make_ssh_key;
    observed.make_curve_key = with_.make_curve_key;
    std::optional<stage_timer> timer(std::in_place, timings_, stage::plan);
    auto objects = plugins_->new_objects(p.memory, p.job, *p.runtime, observed);
    timer.emplace(timings_, stage::diff);
    if (!objects) return fail(p, std::move(objects.error()));
    for (runtime::object& object : *objects) {
        step s{.object = std::move(object)};
        s.of = watch::kind_of(*s.object.type);
        s.name = watch::hash_bytes(s.object.name);
        s.digest = watch::hash_bytes(s.object.json);
        const auto is_it = [&](const child_type& c) {
            return runtime::same_type(*c.type, *s.object.type) && runtime::child_name(p.job, c.suffix) == s.object.name;
        };
        const auto type = std::ranges::find_if(children_, is_it);
        s.type = type == children_.end() ? nullptr : &*type;
        all_.want(s.of);
        p.steps->push_back(std::move(s));
    }
    compare_plan(v, p);
    for (const step& s : *p.steps)
        if (!is_open(standing_of(v, p, s, with_.steady()))) ++counts_.skipped;
}

const api::resource_type* trainjob_reconciler::served_as(const child_type& c) const {
    if (c.older == nullptr) return c.type;
    const std::string_view version = all_.version_of(c.of);
    if (version.empty()) return nullptr;
    return version == c.older->version ? c.older : c.type;
}

// What is known of Secrets of a job without a snapshot is a namesake's that has gone, or not to be relied upon.
void trainjob_reconciler::forget_old_secrets(const job_view& v, progress& p) {
    if (v.owns(v.snapshot().record)) return;
    const bool starts = !v.job->suspend && (!p.set || p.set->suspend);
    for (std::size_t n = 0; n < children_.size(); ++n) {
        const child_type& c = children_[n];
        if (!c.is_secret() || !c.needed(*p.runtime) || p.secrets_asked.test(n)) continue;
        p.secrets_asked.set(n);
        const watch::object_record* const found = v.find(c).record;
        const bool usable = found != nullptr && (v.owns(found) || found->id == p.history.rarely().premade_secret);
        if (!usable || starts) all_.drop(kind::secret, v.ns(), runtime::child_name(p.job, c.suffix));
    }
}

// Once for each, and again after a restart: its maker may not have meant it for this job.
void trainjob_reconciler::record_premade(const std::vector<found_child>& children, progress& p) {
    for (const found_child& c : children) {
        if (c.state != runtime::child_state::premade || !c.type->needed(*p.runtime)) continue;
        const std::uint64_t name = watch::hash_bytes(c.name);
        if (p.history.find(c.type->of, name) != nullptr) continue;
        p.history.at(c.type->of, name);  // it is missed when it goes
        record(p, event_type::normal, "ExistingChildUsed",
               std::string(c.type->type->kind) + " " + c.name +
                   " was there before and is used as it is: nobody controls it");
    }
}

// Each apply says which object it means: the one that the store has, or none.
awaitable<void> trainjob_reconciler::apply(watch::text_id key, progress* p, std::size_t index) {
    const job_view v = view_of(all_, children_, key);
    step& s = (*p->steps)[index];
    if (const std::string doubt = all_.doubt(s.of, p->job.meta.ns); !doubt.empty()) {
        doubted_.set(static_cast<std::size_t>(s.of));
        co_return fail_step(*p, s, stale(s.object, doubt));
    }
    const watch::object_record* const found = v.find(s.of, s.object.name).record;
    if (found != nullptr && !v.owns(found)) co_return fail_step(*p, s, foreign(*s.object.type, s.object.name));
    const std::string uid = found == nullptr ? std::string() : watch::to_text(all_.texts(), found->id);
    const bool repairs = standing_of(v, *p, s, with_.steady()).what == standing::repair;
    const auto begun = stage_timer::clock::now();
    target at = p->at(*s.object.type, s.object.name);
    at.manager = s.object.manager;
    auto answer = co_await api_.apply(std::move(at), s.object.json, uid);
    timings_[static_cast<std::size_t>(stage::apply)].observe(stage_timer::clock::now() - begun);
    if (answer) {
        applied(key, *p, s, all_.note(s.of, *answer));
        if (repairs) p->history.make_rare().repaired(with_.steady());
        if (repairs) ++counts_.repairs;
        co_return;
    }
    const base::error& why = answer.error();
    if (s.scales() && is_refused(why)) co_return fail_step(*p, s, not_elastic(*p, why));
    const bool remade = s.type != nullptr && s.type->remade && found != nullptr && is_refused(why);
    const bool keeps =
        s.of == kind::job_set && p->set && is_refused(why) && (!p->history.made_here || may_be_immutable(why));
    if (!is_another(why) && !keeps && !remade) co_return fail_step(*p, s, std::move(answer.error()));
    p->refused = {.step = index, .why = std::move(answer.error()), .meant = uid};
}

void trainjob_reconciler::applied(watch::text_id key, progress& p, step& s, std::uint64_t version) {
    const job_view v = view_of(all_, children_, key);
    job_history& known = p.history;
    const stored_object now = v.job == nullptr ? stored_object{} : v.find(s.of, s.object.name);
    child_digest& child = known.at(s.of, s.name);
    child.sent = s.digest;
    child.left = version;
    if (!is_file(s.of)) child.left = now.body != nullptr && now.record->version == version ? now.state() : 0;
    s.good = child.left;
    known.known = true;
    if (s.type == &children_.snapshot()) {
        known.runtime = p.runtime;
        known.runtime_version = p.runtime_version = version;
        known.made_here = true;
        known.make_rare().snapshot_hash =
            api::snapshot_hash(p.runtime->snapshot_data().get(names::snapshot_key).as_string());
        p.hash_now = v.body != nullptr && !v.body->snapshot_hash().empty();  // one that was deleted has been recorded
    }
    if (s.scales()) {
        known.make_rare().scaled = version;
        p.set_spec = {};
        return record_scale(p);
    }
    if (s.of != kind::job_set || p.set) return;
    p.made_set = true;
    p.base.set = v.set == nullptr ? watch::uid{} : v.set->id;
    record_normal(p, "Created", "JobSet " + s.object.name + " is made");
}

// `set` is still what it was before.
void trainjob_reconciler::record_scale(const progress& p) {
    const std::int64_t to = *p.job.spec.trainer->num_nodes;
    const std::int64_t from = p.set->nodes;
    std::string note = "JobSet goes from " + std::to_string(from) + " to " + std::to_string(to) + " nodes";
    if (to < from) note += ": ranks from " + std::to_string(to) + " on end";
    record_normal(p, "Scaled", std::move(note));
}

void trainjob_reconciler::fail_step(progress& p, step& s, base::error why) const {
    s.closed = true;
    p.refused.reset();
    fail_beside_set(p, std::move(why));
}

void trainjob_reconciler::fail_refused(progress& p) const {
    step& s = (*p.steps)[p.refused->step];
    base::error why = std::move(p.refused->why);
    fail_step(p, s, std::move(why));
}

void trainjob_reconciler::await_pods(progress& p) const {
    (*p.steps)[p.refused->step].closed = true;
    p.refused.reset();
    wait_at_least(p, replace_pause);
}

// What is there is not what the store has: nothing is forced over it. Ours, or gone: the run begins again. Somebody
// else's: it stays as it is.
awaitable<void> trainjob_reconciler::identify(progress* p) {
    step& s = (*p->steps)[p->refused->step];
    const watch::deletion_watch since(all_.store(s.of), p->job.meta.ns, s.object.name);
    const auto answer = co_await api_.get(p->at(*s.object.type, s.object.name));
    if (!answer && answer.error().http_status != not_found) co_return fail_step(*p, s, answer.error());
    if (!answer) {
        if (is_file(s.of)) all_.drop(s.of, p->job.meta.ns, s.object.name);  // of others their events tell
        p->overtaken = true;
        co_return;
    }
    watch::object_view found;
    if (auto read = watch::decode_object(*answer, found); !read) co_return fail_step(*p, s, read.error());
    all_.note(s.of, *answer);
    if (is_file(s.of)) all_.restore(s.of, since, *answer);  // no event may tell of it again
    if (found.controller.uid.is(p->job.meta.uid)) {
        if (found.uid.is(p->refused->meant)) co_return fail_refused(*p);  // refused for another reason
        p->overtaken = true;
        co_return;
    }
    if (s.of == kind::secret) {
        const auto premade = found.controller.uid.empty() ? co_await is_premade_secret(p, s.object.name) : false;
        p->overtaken = premade && *premade;
        if (p->overtaken) co_return;
        p->pause = foreign_secret_pause;
    }
    fail_step(*p, s, foreign(*s.object.type, s.object.name));
}

// Its suspension must pass whatever its templates are: a JobSet of another controller would be stuck for good.
awaitable<void> trainjob_reconciler::keep_templates(watch::text_id key, progress* p) {
    step& s = (*p->steps)[p->refused->step];
    const target set = p->at(names::job_set, s.object.name);
    const auto found = co_await api_.get(set);
    const std::string kept = found ? with_templates_of(s.object.json, *found) : std::string();
    const job_view v = view_of(all_, children_, key);
    if (kept.empty() || v.job == nullptr || !v.owns_set()) co_return fail_refused(*p);
    const auto answer = co_await api_.apply(set, kept, watch::to_text(all_.texts(), v.set->id));
    const std::uint64_t version = answer ? all_.note(s.of, *answer) : 0;
    if (!answer || must_refuse_patch(p->job, *p->set)) co_return fail_refused(*p);
    p->refused.reset();
    applied(key, *p, s, version);
    record(*p, event_type::warning, "JobSetKept",
           "JobSet " + s.object.name + " keeps the Pod templates that it was made with; a new one would have others");
}

// A list of jobs that is refused though it is as the JobSet has it has another fault, which a new JobSet would have,
// too.
void trainjob_reconciler::compare_templates(const job_view& v, progress& p) const {
    const auto wanted = doc::parse_json(p.memory, (*p.steps)[p.refused->step].object.json);
    const auto stored =
        v.set_spec().empty() ? base::result<doc::ref>(p.set_spec) : doc::parse_json_copy(p.memory, v.set_spec());
    p.refused->templates_differ =
        wanted && stored && !already_so(fixed_jobs(p.memory, wanted->get("spec")), fixed_jobs(p.memory, *stored));
    if (!p.refused->templates_differ) fail_refused(p);
}

awaitable<void> trainjob_reconciler::suspend_set(watch::text_id key, progress* p) {
    p->suspended_set = true;
    std::string body = R"({"metadata":{"uid":)";
    base::append_json_string(body, watch::to_text(all_.texts(), view_of(all_, children_, key).set->id));
    body += R"(},"spec":{"suspend":true}})";
    const auto answer = co_await api_.merge_patch(p->at(names::job_set, p->job.meta.name), {}, std::move(body));
    if (answer) {
        all_.note(kind::job_set, *answer);
        co_return;
    }
    log_trouble(base::level::warn, *p, "cannot suspend the JobSet of a suspended TrainJob", answer.error().message);
}

// Its going wakes the job, which makes it anew. Nothing else comes before it: Pods may depend on it.
awaitable<void> trainjob_reconciler::replace_child(progress* p) {
    const runtime::object& object = (*p->steps)[p->refused->step].object;
    const std::string what(object.type->kind);
    auto gone = co_await api_.remove(p->at(*object.type, object.name), p->refused->meant);
    if (!gone) co_return fail_step(*p, (*p->steps)[p->refused->step], std::move(gone.error()));
    p->remaking = (*p->steps)[p->refused->step].of != kind::job_set;
    record(*p, event_type::normal, what + "Replaced",
           what + " " + object.name +
               " is made again: the job is suspended, and what changed of it cannot be changed in place");
    await_pods(*p);
}

awaitable<void> trainjob_reconciler::delete_child(progress* p, action next) {
    const child_type& type = children_[next.index];
    const api::resource_type* const served = served_as(type);
    const target at =
        p->at(served == nullptr ? *type.type : *served, watch::split_key(all_.texts().view(next.child->key)).name);
    p->deleted.push_back(next.child->id);
    auto done = co_await api_.remove(at, watch::to_text(all_.texts(), next.child->id));
    if (done) co_return;
    if (!type.deleted_at_end || !missing_rights::told_by(done.error())) co_return fail(*p, std::move(done.error()));
    if (group_rights_.note(at.ns, with_.steady()))
        log_trouble(base::level::error, *p, "cannot delete PodGroups of finished TrainJobs", done.error().message);
}

awaitable<void> trainjob_reconciler::delete_job(progress* p) {
    p->deleted_job = true;
    const target at = p->at(names::train_job, p->job.meta.name);
    auto done = co_await api_.remove(at, std::string(p->job.meta.uid), p->asked->version);
    if (done) co_return;
    if (done.error().http_status == conflict) co_return wait_at_least(*p, written_to_pause);
    if (!missing_rights::told_by(done.error())) co_return fail(*p, std::move(done.error()));
    if (job_rights_.note(at.ns, with_.steady()))
        log_trouble(base::level::error, *p, "cannot delete finished TrainJobs", done.error().message);
}

}  // namespace cotrain::reconcile
