// Planning a job's children and applying those that are not there as planned.
#include <algorithm>
#include <boost/system/system_error.hpp>
#include <exception>

#include "api/json.hpp"
#include "api/snapshot_hash.hpp"
#include "base/json_text.hpp"
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

std::unexpected<base::error> panic(std::string_view what) {
    base::error e = base::make_error(base::errc::internal, base::retry::later,
                                     "a mistake of the operator, please report it: " + std::string(what));
    e.reason = "InternalError";
    return base::fail(std::move(e));
}

// What the store says of a kind cannot be relied upon, so nothing of it is made or changed.
std::unexpected<base::error> stale(const runtime::object& object, std::string_view doubt) {
    std::string message(object.type->kind);
    message.append(" ").append(object.name).append(" is not applied while the operator does not see what is there: ");
    base::error e = base::make_error(base::errc::lost, base::retry::later, message.append(doubt));
    e.reason = "CacheNotSynced";
    return base::fail(std::move(e));
}

// Of an apply. Where JobSet's webhook keeps the jobs it calls their list invalid as a whole, and shows it: the end of
// the message, which says why, is cut off.
bool keeps(const base::error& e) {
    return e.message.contains("immutable") || e.message.contains("spec.replicatedJobs: Invalid value");
}
bool is_refused(const base::error& e) {
    constexpr int invalid = 422;
    constexpr int forbidden = 403;
    return e.http_status == invalid || (e.http_status == forbidden && keeps(e));
}

// Until a JobSet that is suspended and known in full by then is planned with once more.
constexpr std::chrono::milliseconds look_again_pause{1};
// Until a JobSet that is to be made again is looked at, if nobody tells that its Pods or itself have gone.
constexpr std::chrono::seconds replace_pause{5};

}  // namespace

// An exception is told in the job's status like any failure. What is applied by then stays, as after any failure.
awaitable<base::result<>> trainjob_reconciler::make_children_contained(attempt* a) {
    try {
        co_return co_await make_children(a);
    } catch (const boost::system::system_error& e) {
        if (e.code() == asio::error::operation_aborted) throw;  // we are asked to stop
        a->panicked = true;
        co_return panic(e.what());
    } catch (const std::exception& e) {
        a->panicked = true;
        co_return panic(e.what());
    }
}

awaitable<base::result<>> trainjob_reconciler::make_children(attempt* a) {
    if (a->loses_pods) {
        auto asked = co_await find_secrets(a, runtime_at_hand(*a));
        if (!asked && !(a->set && a->set->suspend)) co_return asked;  // one that is to be resumed does not wait for it
    }
    if (!a->lacks_secret && !must_plan(*a)) co_return base::result<>{};
    const bool old = had_children(*a);
    const bool asked = (old && !a->set) || a->job.meta.deleting();
    if (asked) {
        const auto wanted = co_await wants_children_still(a);
        if (!wanted) co_return base::fail(wanted.error());
        if (!*wanted) co_return base::result<>{};
    }
    if (auto found = co_await find_runtime(a); !found) co_return found;
    base::result<> known;
    if (!set_went(*a)) known = co_await find_secrets(a, a->runtime);
    if (!known && !find_records(all_, a->key).owns_set()) co_return known;
    a->outdated = set_went(*a);
    if (a->outdated) co_return base::result<>{};
    auto steps = plan(*a);
    if (!steps) co_return base::fail(std::move(steps.error()));
    diff(*a, *steps);
    if (must_see_set(*a, *steps)) {
        if (auto read = co_await read_set(a); !read || a->outdated) co_return read;
        steps = plan(*a);
        if (!steps) co_return base::fail(std::move(steps.error()));
        diff(*a, *steps);
    }
    if (old && !asked && makes_any(*a, *steps)) {
        const auto wanted = co_await wants_children_still(a);
        if (!wanted) co_return base::fail(wanted.error());
        if (!*wanted) co_return base::result<>{};
    }
    co_return co_await apply_all(a, std::move(*steps), std::move(known));
}

// What else is applied is about the Pods of the JobSet that is there (runtime/framework.hpp), whose spec the store has
// only while it is suspended.
bool trainjob_reconciler::must_see_set(const attempt& a, const std::vector<step>& steps) const {
    if (!a.set || a.set->spec) return false;
    const std::vector<needed_child> needed = needed_by(*a.runtime);
    return std::ranges::any_of(steps, [&](const step& s) {
        if (s.so || s.repairs || s.object.type == &names::secret) return false;  // a repair: as it was sent before
        return std::ranges::any_of(needed, [&](const needed_child& n) {
            return n.type == s.object.type && runtime::child_name(a.job, n.suffix) == s.object.name;
        });
    });
}

awaitable<base::result<>> trainjob_reconciler::read_set(attempt* a) {
    const auto answer = co_await api_.get(a->at(names::job_set, a->job.meta.name));
    if (!answer && answer.error().http_status != 404) co_return base::fail(answer.error());
    const auto document = answer ? api::parse_json_copy(a->memory, *answer) : base::result<api::ref>{};
    const bool same = answer && document && document->get({"metadata", "uid"}).as_string() == a->set->meta.uid;
    a->outdated = !same;  // its events are on their way
    if (!same) co_return base::result<>{};
    all_.note(watch::kind::job_set, *answer);
    a->set_spec = document->get("spec");
    co_return base::result<>{};
}

// A JobSet that is ours is suspended and resumed whatever becomes of other children; one is made when they are there.
// `all`: what has failed before.
awaitable<base::result<>> trainjob_reconciler::apply_all(attempt* a, std::vector<step> steps, base::result<> all) {
    for (step& s : steps) {
        if (s.so) continue;
        if (!is_there(*a)) co_return gone();
        a->outdated = set_went(*a);
        if (a->outdated) co_return base::result<>{};
        auto done = co_await apply(a, std::move(s));
        if (a->outdated) co_return done;
        if (!done && (!a->set || done.error().code == base::errc::canceled)) co_return done;
        if (!done && all) all = std::move(done);
    }
    co_return all;
}

// Whether children may have been made for the job before: one that is missing may have gone with it. A new job's have
// not, unless its own end may have been missed.
bool trainjob_reconciler::had_children(const attempt& a) const {
    const job_memory& memory = memories_.at(a.key);
    if (memory.known || !a.job.status.jobs.empty() || !recorded_hash(a).empty()) return true;
    if (!all_.following(watch::kind::train_job, a.job.meta.ns)) return true;
    const auto* const snapshot =
        all_.find(watch::kind::config_map, a.job.meta.ns, runtime::child_name(a.job, names::snapshot_suffix));
    return snapshot != nullptr && snapshot->owner == memory.job;
}

// Whether one of the steps is to make an object.
bool trainjob_reconciler::makes_any(const attempt& a, const std::vector<step>& steps) const {
    return std::ranges::any_of(steps, [&](const step& s) { return !s.so && uid_of(a, s.object).empty(); });
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
    const job_memory& last = memories_[a->key];
    if (last.runtime_version == snapshot->version) a->runtime = runtimes_.use(last.runtime);
    if (a->runtime != nullptr) co_return base::result<>{};
    const auto answer = co_await api_.get(a->at(names::config_map, name));
    if (!answer && answer.error().http_status == 404) all_.drop(watch::kind::config_map, a->job.meta.ns, name);
    if (!answer) co_return base::fail(answer.error());
    const std::uint64_t version = all_.note(watch::kind::config_map, *answer);
    const std::string recorded = recorded_hash(*a);
    auto read = runtimes_.from_snapshot(a->job, *answer, recorded);
    if (!read) co_return base::fail(std::move(read.error()));
    a->runtime = std::move(read->runtime);
    if (const auto m = memories_.find(a->key); m != memories_.end()) {
        m->second.runtime = a->runtime;
        m->second.runtime_version = version;
        m->second.made_here = read->immutable;
        // Another controller's, or ours whose hash was not written down any more: it counts as it was found.
        if (recorded.empty()) m->second.snapshot_hash = std::move(read->hash);
        a->hash_now = a->hash_now || recorded.empty();
    }
    co_return base::result<>{};
}

// A job stops whatever became of its snapshot: others may wait for what it holds. The failure is told all the same.
awaitable<void> trainjob_reconciler::stop_anyway(attempt* a) {
    const job_records seen = find_records(all_, a->key);
    if (!a->job.spec.suspend || seen.job == nullptr || !seen.owns_set()) co_return;
    if (seen.set->suspend || seen.set->terminal() || seen.set->deleting) co_return;
    std::string body = R"({"metadata":{"uid":)";
    base::append_json_string(body, watch::to_text(all_.texts(), seen.set->id));
    body += R"(},"spec":{"suspend":true}})";
    const auto answer = co_await api_.merge_patch(a->at(names::job_set, a->job.meta.name), {}, std::move(body));
    if (answer) {
        all_.note(watch::kind::job_set, *answer);
        co_return;
    }
    log_.warn("a JobSet whose TrainJob is suspended could not be suspended",
              {{"namespace", a->job.meta.ns}, {"name", a->job.meta.name}, {"error", answer.error().message}});
}

// What the snapshot has to be like: as it was made or found, for good.
std::string trainjob_reconciler::recorded_hash(const attempt& a) const {
    const auto m = memories_.find(a.key);
    if (m != memories_.end() && !m->second.snapshot_hash.empty()) return m->second.snapshot_hash;
    const job_records seen = find_records(all_, a.key);
    return seen.body == nullptr ? std::string() : std::string(seen.body->snapshot_hash());
}

base::result<std::vector<trainjob_reconciler::step>> trainjob_reconciler::plan(attempt& a) {
    const stage_timer timer(timings_, stage::plan);
    if (!is_there(a)) return gone();
    const job_records seen = find_records(all_, a.key);
    a.set.reset();
    if (seen.set != nullptr) a.set = stored_job_set(a.memory, all_, seen, a.job.status);
    if (a.set) a.set->spec = spec_of_set(a, seen);
    const auto children = children_of(a, seen);
    tell_premade(a, children);
    const std::string ca = with_.ca_certificate ? with_.ca_certificate() : std::string{};
    runtime::observed observed;
    observed.children = children;
    observed.job_set = a.set ? &*a.set : nullptr;
    observed.foreign_later = seen.owns_set();
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

// As it was read, or as the store has it; absent where it is not known, or of no use.
api::ref trainjob_reconciler::spec_of_set(attempt& a, const job_records& seen) const {
    if (a.set_spec || !seen.owns_set() || seen.set_body == nullptr) return a.set_spec;
    if (seen.set_body->spec_left_out || seen.set_body->spec().empty() || needed_by(*a.runtime).empty()) return {};
    const auto spec = api::parse_json_copy(a.memory, seen.set_body->spec());
    return spec ? *spec : api::ref{};
}

// What exists under the names that children need.
std::vector<runtime::observed_child> trainjob_reconciler::children_of(attempt& a, const job_records& seen) const {
    auto children = find_children(a.memory, all_, seen);
    const auto memory = memories_.find(a.key);
    for (runtime::observed_child& c : children) {
        const watch::kind of = kind_of(*c.type);
        const watch::object_record* const found = all_.find(of, a.job.meta.ns, c.name);
        if (c.state != runtime::child_state::foreign || !found->owner.empty()) continue;
        const bool is_secret = of == watch::kind::secret;
        const bool pair = is_secret && memory != memories_.end() && memory->second.premade_secret == found->id;
        if (pair || (!is_secret && runtime::is_premade(*c.type, c.name, {}))) c.state = runtime::child_state::premade;
    }
    return children;
}

// Once for each, and again after a restart: its maker may not have meant it for this job.
void trainjob_reconciler::tell_premade(attempt& a, const std::vector<runtime::observed_child>& children) {
    const std::vector<needed_child> needed = needed_by(*a.runtime);
    for (const runtime::observed_child& c : children) {
        if (c.state != runtime::child_state::premade) continue;
        const auto is_it = [&](const needed_child& n) {
            return n.type == c.type && runtime::child_name(a.job, n.suffix) == c.name;
        };
        if (std::ranges::none_of(needed, is_it)) continue;
        job_memory& memory = memories_[a.key];
        const std::uint64_t name = watch::hash_bytes(c.name);
        if (memory.find(kind_of(*c.type), name) != nullptr) continue;
        memory.at(kind_of(*c.type), name);  // it is missed when it goes
        tell(a, event_type::normal, "ExistingChildUsed",
             std::string(c.type->kind) + " " + std::string(c.name) +
                 " was there before and is used as it is: nobody controls it");
    }
}

// Each apply says which object it means: the one that the store has, or none.
awaitable<base::result<>> trainjob_reconciler::apply(attempt* a, step what) {
    runtime::object& object = what.object;
    if (const std::string doubt = all_.doubt(kind_of(*object.type), a->job.meta.ns); !doubt.empty()) {
        doubted_.set(static_cast<std::size_t>(kind_of(*object.type)));
        co_return stale(object, doubt);
    }
    // One that came since the plan was made may be anybody's.
    if (is_foreign(*a, object)) co_return runtime::foreign_child(*object.type, object.name);
    const std::string uid = uid_of(*a, object);
    const auto begun = stage_timer::clock::now();
    auto answer = co_await api_.apply(a->at(*object.type, object.name), object.json, uid);
    timings_[static_cast<std::size_t>(stage::apply)].observe(stage_timer::clock::now() - begun);
    if (!answer && is_another(answer.error()))
        co_return co_await judge_other(a, &object, uid, std::move(answer.error()));
    if (!answer && object.type == &names::job_set && a->set && is_refused(answer.error())) {
        const auto known = memories_.find(a->key);
        const bool ours = known != memories_.end() && known->second.made_here;
        if (ours && keeps(answer.error())) co_return co_await replace_set(a, std::move(answer.error()));
        if (!ours) answer = co_await keep_templates(a, &object, std::move(answer.error()));
    }
    if (!answer) co_return base::fail(std::move(answer.error()));
    const std::uint64_t version = all_.note(kind_of(*object.type), *answer);
    if (const auto known = memories_.find(a->key); known != memories_.end()) {
        remember(*a, object, version);
        if (what.repairs) known->second.repaired(with_.steady());
    }
    if (what.repairs) ++counts_.repairs;
    a->applied_set = a->applied_set || object.type == &names::job_set;
    if (object.type == &names::job_set && a->set && a->job.spec.suspend && !a->set->spec &&
        !needed_by(*a->runtime).empty())
        a->pause = std::max<std::chrono::nanoseconds>(a->pause, look_again_pause);  // its spec is known from now on
    if (object.type == &names::job_set && !a->set) {
        a->made_set = true;
        if (with_.normal_events) tell(*a, event_type::normal, "JobSetCreated", "JobSet " + object.name + " is made");
    }
    co_return base::result<>{};
}

bool trainjob_reconciler::is_foreign(const attempt& a, const runtime::object& object) const {
    const watch::object_record* const known = all_.find(kind_of(*object.type), a.job.meta.ns, object.name);
    const auto memory = memories_.find(a.key);
    return known != nullptr && (memory == memories_.end() || known->owner != memory->second.job);
}

// Of the object that the store has; empty if it has none.
std::string trainjob_reconciler::uid_of(const attempt& a, const runtime::object& object) const {
    const watch::object_record* const known = all_.find(kind_of(*object.type), a.job.meta.ns, object.name);
    return known == nullptr ? std::string() : watch::to_text(all_.texts(), known->id);
}

// What is there is not what the store has: nothing is forced over it. Ours, or gone: the run begins again. Somebody
// else's: it stays as it is.
awaitable<base::result<>> trainjob_reconciler::judge_other(attempt* a, const runtime::object* wanted, std::string meant,
                                                           base::error why) {
    const api::resource_type& type = *wanted->type;
    const bool is_file = type.kind == names::config_map.kind || type.kind == names::secret.kind;
    const watch::deletion_watch since(all_.store(kind_of(type)), a->job.meta.ns, wanted->name);
    const auto answer = co_await api_.get(a->at(type, wanted->name));
    if (!answer && answer.error().http_status != 404) co_return base::fail(answer.error());
    if (!answer) {
        if (is_file) all_.drop(kind_of(type), a->job.meta.ns, wanted->name);  // of others their events tell
        a->outdated = true;
        co_return base::result<>{};
    }
    watch::object_view found;
    if (auto read = watch::decode_object(*answer, found); !read) co_return base::fail(read.error());
    all_.note(kind_of(type), *answer);
    const bool is_ours = found.controller.uid.is(a->job.meta.uid);
    // One of a reopened job, or a Secret: no event tells of it again.
    if (is_file) all_.restore(kind_of(type), since, *answer);
    if (!is_ours) {
        if (found.controller.uid.empty() && type.kind == names::secret.kind) {
            const auto premade = co_await is_premade_secret(a, wanted->name);
            a->outdated = premade && *premade;
            if (a->outdated) co_return base::result<>{};
        }
        if (type.kind == names::secret.kind) a->pause = foreign_secret_pause;
        co_return runtime::foreign_child(type, wanted->name);
    }
    if (found.uid.is(meant)) co_return base::fail(std::move(why));  // refused for another reason
    a->outdated = true;
    co_return base::result<>{};
}

// A JobSet of ours cannot become what it is to be: while it is suspended it has no Pods, and is made again. One that
// runs is suspended first.
awaitable<base::result<>> trainjob_reconciler::replace_set(attempt* a, base::error why) {
    co_await stop_anyway(a);
    const job_records seen = find_records(all_, a->key);
    a->outdated = !seen.owns_set();
    if (a->outdated) co_return base::result<>{};
    if (!seen.set->suspend) co_return base::fail(std::move(why));
    a->pause = std::max<std::chrono::nanoseconds>(a->pause, replace_pause);
    if (!a->set->suspend || a->set->any_active()) co_return base::result<>{};  // its Pods are still going
    const target set = a->at(names::job_set, a->job.meta.name);
    auto gone = co_await api_.remove(set, std::string(a->set->meta.uid));
    if (!gone) co_return gone;
    tell(*a, event_type::normal, "JobSetReplaced",
         "JobSet " + set.name + " is made again: it is suspended, and what changed of it cannot be changed in place");
    co_return base::result<>{};
}

// Its suspension must pass whatever its templates are: a JobSet of another controller would be stuck for good.
awaitable<base::result<std::string>> trainjob_reconciler::keep_templates(attempt* a, const runtime::object* wanted,
                                                                         base::error why) {
    const auto found = co_await api_.get(a->at(names::job_set, wanted->name));
    if (!found) co_return base::fail(std::move(why));
    const std::string kept = with_templates_of(wanted->json, *found);
    if (kept.empty() || is_foreign(*a, *wanted)) co_return base::fail(std::move(why));
    auto answer = co_await api_.apply(a->at(names::job_set, wanted->name), kept, uid_of(*a, *wanted));
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
        memory.made_here = true;
        memory.snapshot_hash = api::snapshot_hash(a.runtime->snapshot_data().get(names::snapshot_key).as_string());
        const job_records seen = find_records(all_, a.key);  // one that was deleted has been recorded
        a.hash_now = seen.body != nullptr && !seen.body->snapshot_hash().empty();
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
