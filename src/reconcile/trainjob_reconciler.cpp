// The course of one run: look, decide, make what is missing, say what became of it.
#include "reconcile/trainjob_reconciler.hpp"

#include <algorithm>

#include "reconcile/trainjob_attempt.hpp"

namespace cotrain::reconcile {

namespace {

namespace names = api::names;

const watch::stored_condition* find_condition(const cluster& all, const watch::object_body& body,
                                              std::string_view type) {
    for (const watch::stored_condition& c : body.conditions())
        if (all.texts().view(c.type) == type) return &c;
    return nullptr;
}

constexpr std::chrono::milliseconds news_pause{1};
// Runs of jobs with large specs at once, and how long a further one waits.
constexpr unsigned large_runs_max = 2;
constexpr std::chrono::milliseconds large_pause{20};

class run_mark {
   public:
    explicit run_mark(unsigned& all) : all_(all) { ++all_; }
    ~run_mark() { --all_; }
    run_mark(const run_mark&) = delete;
    run_mark& operator=(const run_mark&) = delete;

   private:
    unsigned& all_;
};

awaitable<outcome> at_once(outcome o) { co_return o; }

// The answer to an apply may tell what the JobSet has come to since it was seen last: its first answer was lost, or it
// moved on just then. No event that is not older will tell it again.
bool set_moved_on(const cluster& all, watch::text_id key) {
    const job_records now = find_records(all, key);
    if (!now.owns_set() || now.body == nullptr) return false;
    if (now.set->terminal()) return !now.job->terminal();
    return now.set_body != nullptr && now.set_body->counts_print != now.body->counts_print;
}

// As runtime::next_status() reckons it, from the record.
std::optional<api::micros_time> deadline_of(const job_records& seen, const watch::stored_condition* suspended) {
    constexpr std::int64_t seconds_max = 100LL * 365 * 24 * 3600;
    const std::int64_t seconds = seen.body->deadline_seconds;
    if (seconds <= 0 || seconds > seconds_max || seen.job->suspend || seen.job->created == 0) return std::nullopt;
    if (suspended != nullptr && suspended->status == watch::truth::yes) return std::nullopt;  // not resumed yet
    const bool resumed = suspended != nullptr && suspended->status == watch::truth::no;
    const std::int64_t start = resumed ? suspended->last_transition : seen.job->created;
    return api::micros_time{std::chrono::seconds{start + seconds}};
}

}  // namespace

trainjob_reconciler::trainjob_reconciler(cluster& all, remote& api, plugins::builtin framework, surroundings with,
                                         base::logger& log)
    : all_(all), api_(api), framework_(std::move(framework)), with_(std::move(with)), log_(log), runtimes_(all) {}

trainjob_reconciler::compiled trainjob_reconciler::known_snapshot(watch::text_id key) const {
    const job_records seen = find_records(all_, key);
    const auto known = memories_.find(key);
    if (seen.job == nullptr || known == memories_.end() || known->second.job != seen.job->id) return nullptr;
    const auto [ns, name] = split_key(all_.texts().view(key));
    const auto* const snapshot =
        all_.find(watch::kind::config_map, ns, std::string(name).append(names::snapshot_suffix));
    const bool same = snapshot != nullptr && snapshot->version == known->second.runtime_version;
    return same ? known->second.runtime.lock() : nullptr;
}

void trainjob_reconciler::stir(watch::text_id key, bool closer) {
    if (closer) look_closer_.insert(key);
    const auto known = memories_.find(key);
    if (known != memories_.end()) ++known->second.stirred;
}

void trainjob_reconciler::reconsider(watch::text_id key) {
    const auto known = memories_.find(key);
    if (known == memories_.end()) return;
    ++known->second.stirred;
    known->second.settled = 0;
}

bool trainjob_reconciler::waited_for(watch::kind of) {
    const bool waited = doubted_.test(static_cast<std::size_t>(of));
    doubted_.reset(static_cast<std::size_t>(of));
    return waited;
}

void trainjob_reconciler::forget(watch::text_id key) {
    memories_.erase(key);
    forget_secrets(key);
    look_closer_.erase(key);
}

void trainjob_reconciler::set_leaves(const watch::object_record& set) {
    const job_records seen = find_records(all_, set.key);
    if (seen.set != &set || seen.set_body == nullptr || !set.terminal()) return;
    if (seen.job == nullptr || !seen.owns_set() || seen.job->terminal()) return;
    auto kept = std::make_shared<ended_set>();
    kept->job = seen.job->id;
    kept->set = stored_job_set(kept->memory, all_, seen, {});
    ends_.insert_or_assign(set.key, std::move(kept));
}

// No coroutine, so that a run without work takes none of the memory which one with work needs.
awaitable<outcome> trainjob_reconciler::reconcile(key k, unsigned failures) {
    if (!api_.leading()) return at_once(outcome::done());  // who leads next begins with all jobs
    const job_records seen = find_records(all_, k.name);
    if (seen.job == nullptr) {
        forget(k.name);
        return at_once(outcome::done());
    }
    if (seen.job->elsewhere) return at_once(outcome::done());
    if (seen.body == nullptr) return tidy_up(k.name);
    if (const auto quiet = nothing_to_do(seen)) {
        ++counts_.quiet;
        return at_once(*quiet);
    }
    if (must_recall(seen)) return recall(k.name);
    return work_on(k.name, failures);
}

awaitable<outcome> trainjob_reconciler::work_on(watch::text_id key, unsigned failures) {
    const job_records seen = find_records(all_, key);
    const bool large = seen.body != nullptr && (seen.body->spec_left_out || runtimes_.is_large(seen.job->group));
    if (large && !is_settled(seen)) return work_on_large(key, failures);
    return work_with(key, failures, {});
}

bool trainjob_reconciler::is_settled(const job_records& seen) const {
    const auto known = memories_.find(seen.key);
    return known != memories_.end() && known->second.job == seen.job->id && known->second.settled != 0 &&
           known->second.settled == footprint(all_, seen) && !loses_pods(seen);
}

// The spec is read for the run, and a few of them are worked on at once: what a plan takes is a multiple of its spec.
awaitable<outcome> trainjob_reconciler::work_on_large(watch::text_id key, unsigned failures) {
    if (large_runs_ >= large_runs_max) co_return outcome::again_after(large_pause);
    const run_mark mark(large_runs_);
    const auto [ns, name] = split_key(all_.texts().view(key));
    auto answer = co_await api_.get({&names::train_job, std::string(ns), std::string(name)});
    if (!answer) {
        if (answer.error().code == base::errc::canceled || answer.error().http_status == 404) co_return outcome::done();
        log_.warn("a TrainJob with a large spec could not be read",
                  {{"controller", "trainjob"}, {"error", answer.error().message}});
        co_return outcome::failed_by(answer.error());
    }
    const std::uint64_t version = all_.note(watch::kind::train_job, *answer);
    const job_records now = find_records(all_, key);
    if (now.job == nullptr) co_return outcome::done();
    if (now.job->version != version) co_return outcome::again_after(large_pause);  // it changed meanwhile
    co_return co_await work_with(key, failures, std::move(*answer));
}

awaitable<outcome> trainjob_reconciler::work_with(watch::text_id key, unsigned failures, std::string whole) {
    const job_records seen = find_records(all_, key);
    if (seen.body == nullptr) co_return outcome::again_after({});
    attempt a;
    look(a, seen, whole);
    if (seen.body->spec_left_out && whole.empty() && !a.settled) co_return outcome::again_after({});
    a.next = framework_.trainjob_status(a.input(with_.wall()));
    base::result<> made;
    if (a.next.wants_children && !a.settled) {
        if (a.unreadable) {
            made = base::fail(*a.unreadable);
        } else {
            made = co_await make_children_contained(&a);
        }
    }
    if (!made && made.error().code == base::errc::canceled) co_return outcome::done();
    if (!made) co_await stop_anyway(&a);
    if (!made) report(a, made.error(), failures);
    if (a.outdated || !still_as_seen(a)) co_return begin_again(a);
    base::result<> ended = co_await write_status(&a);
    if (ended) time_readiness(a);
    if (ended && a.next.finished) ended = co_await follow_up(&a);
    if (!ended) {
        if (ended.error().code == base::errc::canceled) co_return outcome::done();
        if (ended.error().http_status == 409 && co_await refresh(key)) co_return begin_again(a);
        log_.warn("cannot record the outcome of a TrainJob", {{"controller", "trainjob"},
                                                              {"namespace", a.job.meta.ns},
                                                              {"name", a.job.meta.name},
                                                              {"error", ended.error().message}});
    }
    if (a.panicked) co_return outcome::panicked();
    if (!made || !ended) co_return failed(a, is_passing(made ? ended.error() : made.error()));
    if (a.applied_set && set_moved_on(all_, a.key)) a.pause = std::max<std::chrono::nanoseconds>(a.pause, news_pause);
    settle(a);
    co_return rest(a);
}

// The run that changes nothing: a few comparisons in records, no memory, no request.
std::optional<outcome> trainjob_reconciler::nothing_to_do(const job_records& seen) const {
    const auto known = memories_.find(seen.key);
    if (known == memories_.end() || known->second.settled == 0) return std::nullopt;
    if (seen.job->terminal() || seen.job->troubled) return std::nullopt;
    if (known->second.settled != footprint(all_, seen)) return std::nullopt;
    if (seen.owns_set()) {
        if (seen.set_body == nullptr || seen.set->terminal()) return std::nullopt;
        if (seen.set_body->counts_print != seen.body->counts_print) return std::nullopt;
    }
    const watch::stored_condition* const suspended = find_condition(all_, *seen.body, names::suspended);
    if (seen.job->suspend != (suspended != nullptr && suspended->status == watch::truth::yes)) return std::nullopt;
    const auto deadline = deadline_of(seen, suspended);
    if (!deadline) return outcome::done();
    const api::micros_time now = with_.wall();
    if (*deadline <= now) return std::nullopt;
    return outcome::again_after(*deadline - now);
}

void trainjob_reconciler::look(attempt& a, const job_records& seen, std::string_view whole) {
    a.key = seen.key;
    a.version = seen.job->version;
    a.status_print = seen.body->status_print;
    a.lifecycle = with_.lifecycle_conditions;
    job_memory& memory = memories_[seen.key];
    if (memory.job != seen.job->id) memory = job_memory{.job = seen.job->id, .stirred = memory.stirred};
    if (memory.snapshot_hash == seen.body->snapshot_hash()) memory.snapshot_hash = {};  // it is written down
    a.stirred = memory.stirred;
    a.ended_by_others = memory.goes_on && seen.job->terminal();
    if (!seen.job->terminal()) memory.goes_on = true;
    a.loses_pods = loses_pods(seen);
    a.settled = is_settled(seen);
    if (a.settled) {  // of the spec only what the record has is asked, and that it could be read is known
        a.job = bare_job(a.memory, all_, seen);
        a.job.spec.active_deadline_seconds = seen.body->deadline_seconds;
    } else if (auto job = stored_job(a.memory, all_, seen, whole)) {
        a.job = std::move(*job);
    } else {
        a.unreadable = std::move(job.error());
        a.unreadable->reason = "InvalidTrainJob";
        a.job = bare_job(a.memory, all_, seen);
    }
    if (seen.set != nullptr) {
        a.set = stored_job_set(a.memory, all_, seen, a.job.status);
    } else if (const auto end = ends_.find(seen.key); end != ends_.end() && end->second->job == seen.job->id) {
        a.end = end->second;
        a.set = a.end->set;
    }
}

// What came in meanwhile may have undone what this run found or made.
void trainjob_reconciler::settle(const attempt& a) {
    if (a.next.finished) ends_.erase(a.key);  // an end that came meanwhile is for the next run
    const auto known = memories_.find(a.key);
    if (known == memories_.end()) return;
    const job_records now = find_records(all_, a.key);
    const bool holds = now.body != nullptr && known->second.stirred == a.stirred && a.pause.count() == 0 && !a.trouble;
    known->second.settled = holds ? footprint(all_, now) : 0;
    known->second.begun_again = 0;
    if (!a.next.finished) return;
    memories_.erase(known);
    all_.settle(a.key);
}

// Others were faster: with what is there now, at once, but not without end.
outcome trainjob_reconciler::begin_again(const attempt& a) {
    const auto known = memories_.find(a.key);
    if (known == memories_.end()) return outcome::again_after({});
    if (known->second.begun_again == begin_again_max) return failed(a);
    ++known->second.begun_again;
    return outcome::again_after({});
}

std::optional<std::chrono::nanoseconds> trainjob_reconciler::due_in(const attempt& a) const {
    std::optional<std::chrono::nanoseconds> wait;
    if (a.next.wake_at) wait = std::max<std::chrono::nanoseconds>(*a.next.wake_at - with_.wall(), {});
    if (a.kept_for) wait = *a.kept_for;
    if (a.pause.count() > 0) wait = wait ? std::min(*wait, a.pause) : a.pause;
    return wait;
}

outcome trainjob_reconciler::failed(const attempt& a, bool passing) const {
    return outcome::failed(due_in(a).value_or(std::chrono::nanoseconds::max()), passing);
}

outcome trainjob_reconciler::rest(const attempt& a) const {
    auto wait = due_in(a);
    if (const auto groups = groups_stay_for(a.key)) wait = wait ? std::min(*wait, *groups) : *groups;
    return wait ? outcome::again_after(*wait) : outcome::done();
}

}  // namespace cotrain::reconcile
