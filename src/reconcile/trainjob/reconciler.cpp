// The course of a run: view, decide, perform, until nothing is left to do.
#include "reconcile/trainjob/reconciler.hpp"

#include <algorithm>
#include <boost/system/system_error.hpp>
#include <exception>

#include "reconcile/trainjob/plan.hpp"
#include "runtime/state.hpp"

namespace cotrain::reconcile {

namespace {

namespace names = api::names;

// Runs of jobs with large specs at once: what a plan takes is a multiple of its spec.
constexpr unsigned large_runs_max = 2;
// Far more than the longest run takes: one that others overtake again and again makes room.
constexpr unsigned actions_max = 200;
// What is due and was not done, of a job that has gone, say: its event may be far behind.
constexpr std::chrono::milliseconds overdue_pause{100};

awaitable<outcome> at_once(outcome o) { co_return o; }

base::error panic(std::string_view what) {
    base::error e = base::make_error(base::errc::internal, base::retry::later,
                                     "a mistake of the operator, please report it: " + std::string(what));
    e.reason = "InternalError";
    return e;
}

const job_history* find(const job_histories& all, watch::text_id key) {
    const auto known = all.find(key);
    return known == all.end() ? nullptr : &known->second;
}

class run_mark {
   public:
    explicit run_mark(unsigned& all) : all_(all) { ++all_; }
    ~run_mark() { --all_; }
    run_mark(const run_mark&) = delete;
    run_mark& operator=(const run_mark&) = delete;

   private:
    unsigned& all_;
};

}  // namespace

trainjob_reconciler::trainjob_reconciler(watch::cluster& all, remote& api, runtime::plugins plugins,
                                         trainjob_options with, base::logger& log)
    : all_(all),
      api_(api),
      plugins_(std::move(plugins)),
      children_(*plugins_),
      with_(std::move(with)),
      log_(log),
      runtimes_(all) {}

job_view trainjob_reconciler::view(watch::text_id key) const {
    job_view out = view_of(all_, children_, key);
    out.leading = api_.leading();
    return out;
}

circumstances trainjob_reconciler::around() const {
    return {.wall = with_.wall(),
            .steady = with_.steady(),
            .ttl = with_.ttl,
            .elastic = with_.elastic,
            .large_runs_full = large_runs_ >= large_runs_max,
            .tells_state = tells_state(),
            .group_rights = &group_rights_,
            .job_rights = &job_rights_};
}

// No coroutine, so that a run without work takes none of the memory which one with work needs.
awaitable<outcome> trainjob_reconciler::reconcile(key k, attempt now) {
    const action next = decide(view(k.name), find(histories_, k.name), nullptr, around());
    if (next.what == act::begin) return run(k.name, now);
    if (next.what == act::forget) forget(k.name);
    ++counts_.quiet;
    return at_once(next.what == act::requeue ? outcome::again_after(next.after) : outcome::done());
}

awaitable<outcome> trainjob_reconciler::run(watch::text_id key, attempt now) {
    job_view v = view(key);
    job_history& history = histories_[key];
    if (history.job != v.job->id) history = {.job = v.job->id};
    progress p(v, history);
    p.tried = now;
    begin(v, p);
    std::optional<run_mark> large;
    for (unsigned n = 0;; ++n) {
        v = view(key);
        update(v, p);
        const action next = n < actions_max ? decide(v, &history, &p, around()) : action{act::restart};
        if (next.what == act::done) co_return outcome::done();
        if (next.what == act::requeue) co_return outcome::again_after(next.after);
        if (next.what == act::forget) forget(key);
        if (next.what == act::forget) co_return outcome::done();
        if (next.what == act::restart) co_return restart(v, p);
        if (next.what == act::settle) co_return settle(v, p);
        if (p.lacks_spec && !large) large.emplace(large_runs_);
        try {
            co_await perform(key, &p, next);
        } catch (const boost::system::system_error& e) {
            if (e.code() == asio::error::operation_aborted || p.status_done) throw;  // we are asked to stop
            p.panicked = true;
            p.failure = panic(e.what());
        } catch (const std::exception& e) {  // told in the job's status like any failure
            if (p.status_done) throw;
            p.panicked = true;
            p.failure = panic(e.what());
        }
    }
}

void trainjob_reconciler::begin(const job_view& v, progress& p) {
    job_history& known = p.history;
    if (known.rarely().snapshot_hash == v.body->snapshot_hash()) known.hash_is_told();
    // It is in the status that somebody wrote without our fields no more.
    if (v.body->state == 0 && !v.body->snapshot_hash().empty())
        known.make_rare().snapshot_hash = v.body->snapshot_hash();
    p.queue = all_.texts().view(v.body->queue);
    p.ended_by_others = known.goes_on && v.job->terminal();
    if (!v.job->terminal()) known.goes_on = true;
    p.pods_start_again = v.pods_start_again();
    const bool waits = is_queued(v) || (pods_are_wanted(v) && !pods_are_there(v));
    if (known.looked != nullptr && !waits && known.looked->spent(with_.steady())) known.looked.reset();
    // What the job is made of says whether it goes on without a node.
    const bool lost = with_.elastic && waits && v.body->state == static_cast<std::uint8_t>(api::job_state::running);
    p.clean = known.settled != 0 && known.settled == digest_of(v) && !p.pods_start_again && !lost;
    const bool needs_spec = !p.clean && (!v.job->terminal() || p.ended_by_others);
    p.lacks_spec = needs_spec && (v.body->spec_left_out || runtimes_.is_large(v.job->group));
    if (needs_spec && !p.lacks_spec) return take_job(v, p, {});
    p.job = bare_job(p.memory, all_, {v.job, v.body});  // of the spec only what the record has is asked
}

void trainjob_reconciler::take_job(const job_view& v, progress& p, std::string_view whole) {
    job_history& known = p.history;
    p.lacks_spec = false;
    p.next_known = false;
    known.dirty = false;
    if (auto job = decode_job(p.memory, all_, {v.job, v.body}, whole)) {
        p.job = std::move(*job);
    } else {
        p.failure = std::move(job.error());
        p.failure->reason = "InvalidTrainJob";
        p.job = bare_job(p.memory, all_, {v.job, v.body});
        return;
    }
    const compiled live = runtimes_.live(p.job).value_or(nullptr);
    adopt_children(v, known, live.get());
    p.at_hand = known.runtime.lock();
    if (p.at_hand == nullptr) p.at_hand = live;
    // A child that is missing may have gone: one of a new job has not been made, unless the job's end was missed.
    p.had_children = known.known || !p.job.status.jobs.empty() || !known.rarely().snapshot_hash.empty() ||
                     !v.body->snapshot_hash().empty() || !all_.following(watch::kind::train_job, p.job.meta.ns) ||
                     v.owns(v.snapshot().record);
}

// What is made of the view, where that has changed.
void trainjob_reconciler::update(const job_view& v, progress& p) const {
    if (v.job == nullptr || !p.base.holds(v, p.next.finished)) return;
    const auto end = ends_.find(v.key);
    const bool ended = v.set == nullptr && end != ends_.end() && end->second->job == v.job->id;
    const std::uint64_t version = v.set == nullptr ? 0 : v.set->version;
    const bool changed = version != p.set_version || v.set == nullptr || p.end != nullptr;
    p.set_version = version;
    if (v.set != nullptr && (changed || !p.set)) {
        p.set = job_set_of(p.memory, all_, {v.set, v.set_body});
        p.end = nullptr;
    } else if (v.set == nullptr) {
        p.end = ended ? end->second : nullptr;
        p.set = ended ? std::optional(p.end->set) : std::nullopt;
    }
    const bool late = p.next.wake_at && *p.next.wake_at <= with_.wall();
    if (p.next_known && !changed && !late) return;
    p.next = plugins_->trainjob_status(p.status_input(with_.wall(), with_.lifecycle_conditions, with_.elastic));
    if (!tells_state_now(v, p, around())) runtime::keep_state(p.next.status, p.job.status);
    p.next_known = true;
}

// Others were faster: with what is there now, at once, but not without end.
outcome trainjob_reconciler::restart(const job_view& v, progress& p) const {
    if (p.history.restarts < restarts_max) {
        ++p.history.restarts;
        return outcome::again_after({});
    }
    const auto due = v.job == nullptr ? std::nullopt : due_in(v, p, around());
    return outcome::failed(due.value_or(std::chrono::nanoseconds::max()));
}

outcome trainjob_reconciler::settle(const job_view& v, progress& p) {
    if (p.panicked) return outcome::panicked();
    const auto due = due_in(v, p, around());
    const base::error* const why = p.error() != nullptr ? p.error() : p.end_failure ? &*p.end_failure : nullptr;
    if (why != nullptr) return outcome::failed(due.value_or(std::chrono::nanoseconds::max()), is_passing(*why));
    p.history.restarts = 0;
    if (p.history.rare != nullptr) p.history.rare->failure_told = 0;
    p.history.drop_rare();
    const bool holds = pause_of(v, p, with_.steady()).count() == 0 && !p.trouble && !p.history.dirty;
    if (!p.clean) p.history.settled = holds ? digest_of(v) : 0;
    p.history.told = told_digest(v);
    if (p.next.finished) {
        ends_.erase(v.key);
        if (p.history.looked == nullptr || !p.history.looked->autopsy) histories_.erase(v.key);
    }
    if (!due) return outcome::done();
    return outcome::again_after(due->count() > 0 ? *due : overdue_pause);
}

void trainjob_reconciler::mark_dirty(watch::text_id key) {
    const auto known = histories_.find(key);
    if (known == histories_.end()) return;
    known->second.dirty = true;
    known->second.settled = 0;
}

bool trainjob_reconciler::waited_for(watch::kind of) {
    const bool waited = doubted_.test(static_cast<std::size_t>(of));
    doubted_.reset(static_cast<std::size_t>(of));
    return waited;
}

// Of Secrets no event tells that they went with their job.
void trainjob_reconciler::forget(watch::text_id key) {
    histories_.erase(key);
    const auto [ns, name] = watch::split_key(all_.texts().view(key));
    for (const child_type& c : children_)
        if (c.is_secret()) all_.drop(c.of, ns, std::string(name).append(c.suffix));
}

void trainjob_reconciler::set_leaves(const watch::object_record& set) {
    const job_view v = view_of(all_, children_, set.key);
    if (v.set != &set || v.set_body == nullptr || !set.terminal()) return;
    if (v.job == nullptr || !v.owns_set() || v.job->terminal()) return;
    auto kept = std::make_shared<ended_set>();
    kept->job = v.job->id;
    kept->set = job_set_of(kept->memory, all_, {v.set, v.set_body});
    ends_.insert_or_assign(set.key, std::move(kept));
}

trainjob_reconciler::compiled trainjob_reconciler::known_snapshot(watch::text_id key) const {
    const job_view v = view_of(all_, children_, key);
    const job_history* const known = find(histories_, key);
    if (v.job == nullptr || known == nullptr || known->job != v.job->id) return nullptr;
    const watch::object_record* const snapshot = v.snapshot().record;
    const bool same = snapshot != nullptr && snapshot->version == known->runtime_version;
    return same ? known->runtime.lock() : nullptr;
}

}  // namespace cotrain::reconcile
