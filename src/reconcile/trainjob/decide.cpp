// The rules of a TrainJob, in order: the first that applies is what happens next.
#include "reconcile/trainjob/decide.hpp"

#include <algorithm>
#include <array>

#include "reconcile/trainjob/plan.hpp"
#include "runtime/elastic.hpp"

namespace cotrain::reconcile {

namespace {

namespace names = api::names;
using std::chrono::nanoseconds;
using watch::kind;

// How long a job with a large spec waits while others are worked on.
constexpr std::chrono::milliseconds large_pause{20};

// A run never asks for another one at once to explain the job.
constexpr std::chrono::milliseconds explanation_pause_min{100};

struct input {
    const job_view& v;
    const job_history* known;
    const progress* p;
    const circumstances& c;
};
using verdict = std::optional<action>;
using rule = verdict (*)(const input&);

verdict when(bool applies, action then) { return applies ? verdict{then} : verdict{}; }

const watch::stored_condition* find_condition(const job_view& v, std::string_view type) {
    for (const watch::stored_condition& c : v.body->conditions())
        if (v.all->texts().view(c.type) == type) return &c;
    return nullptr;
}

// As runtime::next_status() reckons it, from the record.
std::optional<base::micros_time> deadline_of(const job_view& v, const watch::stored_condition* suspended) {
    constexpr std::int64_t seconds_max = 100LL * 365 * 24 * 3600;
    const std::int64_t seconds = v.body->deadline_seconds;
    if (seconds <= 0 || seconds > seconds_max || v.job->suspend || v.job->created == 0) return std::nullopt;
    if (suspended != nullptr && suspended->status == watch::truth::yes) return std::nullopt;  // not resumed yet
    const bool resumed = suspended != nullptr && suspended->status == watch::truth::no;
    const std::int64_t start = resumed ? suspended->last_transition : v.job->created;
    return base::micros_time{std::chrono::seconds{start + seconds}};
}

// How much longer a finished job is kept; nothing: for good.
std::optional<nanoseconds> time_left(const job_view& v, const circumstances& c) {
    if (!c.ttl || v.job->deleting || !v.job->terminal() || v.body->ttl_seconds < 0) return std::nullopt;
    if (v.job->finished == 0) return std::nullopt;  // when it ended could not be read
    const base::micros_time end{std::chrono::seconds{std::int64_t{v.job->finished} + v.body->ttl_seconds}};
    return std::max<nanoseconds>(end - c.wall, {});
}

// After a deadline the JobSet has to go, and with every end what would hold a place in a queue: PodGroups.
template <class F>
void for_each_to_delete(const job_view& v, F visit) {
    if (!v.job->terminal()) return;
    for (std::size_t i = 0; i < v.children->size(); ++i) {
        const child_type& type = (*v.children)[i];
        if (type.of == kind::job_set && v.job->past_deadline && v.owns_set() && !v.set->deleting) visit(i, *v.set);
        if (!type.deleted_at_end) continue;
        v.all->store(type.of).for_each_of(v.key, [&](watch::handle, const watch::object_record& r) {
            const std::string_view name = watch::split_key(v.all->texts().view(r.key)).name;
            if (v.owns(&r) && !r.deleting && name.ends_with(type.suffix)) visit(i, r);
        });
    }
}

// Until a finished job is looked at again.
std::optional<nanoseconds> ended_wait(const job_view& v, const circumstances& c) {
    std::optional<nanoseconds> wait;
    const auto sooner = [&wait](nanoseconds t) { wait = wait ? std::min(*wait, t) : t; };
    for_each_to_delete(v, [&](std::size_t i, const watch::object_record&) {
        if (const auto pause = c.group_rights->rest_of_pause(v.ns(), c.steady);
            pause && (*v.children)[i].deleted_at_end)
            sooner(*pause);
    });
    const auto left = time_left(v, c);
    if (left && left->count() > 0) sooner(*left);
    if (const auto pause = c.job_rights->rest_of_pause(v.ns(), c.steady); left && left->count() == 0 && pause)
        sooner(*pause);
    return wait;
}

verdict to_delete(const job_view& v, const circumstances& c, const std::vector<watch::uid>& asked) {
    verdict out;
    const bool groups = !c.group_rights->rest_of_pause(v.ns(), c.steady);
    for_each_to_delete(v, [&](std::size_t i, const watch::object_record& r) {
        if (out || ((*v.children)[i].deleted_at_end && !groups) || std::ranges::contains(asked, r.id)) return;
        out = action{.what = act::delete_child, .index = i, .child = &r};
    });
    return out;
}

bool job_is_due(const job_view& v, const circumstances& c) {
    const auto left = time_left(v, c);
    return left && left->count() == 0 && !c.job_rights->rest_of_pause(v.ns(), c.steady);
}

// How long until an autopsy that had to wait may go; nothing: none waits.
std::optional<nanoseconds> autopsy_wait(const job_history* known, moment now) {
    if (known == nullptr || known->looked == nullptr || !known->looked->autopsy) return std::nullopt;
    return std::max<nanoseconds>(known->looked->autopsy->ask - now, {});
}

// Until the job is to be explained: the sooner of a look and an autopsy.
std::optional<nanoseconds> explanation_wait(const job_view& v, const job_history* known, const circumstances& c) {
    const look_notes* const notes = known == nullptr ? nullptr : known->looked.get();
    const auto look = look_wait(v, notes, c.wall, c.steady);
    const auto autopsy = autopsy_wait(known, c.steady);
    return look && autopsy ? std::min(*look, *autopsy) : look ? look : autopsy;
}

// When the first state of a job is told although nothing else is to be.
std::optional<base::micros_time> first_state_due(const job_view& v, const circumstances& c) {
    const bool untold = static_cast<api::job_state>(v.body->state) == api::job_state::none;
    if (!c.tells_state || !untold || v.job->terminal() || v.job->created == 0) return std::nullopt;
    const std::uint32_t since = v.owns_set() ? std::max(v.job->created, v.set->created) : v.job->created;
    return base::micros_time{std::chrono::seconds{since}} + look_after;
}

// Whether the state of a job is as it was told last; of one that has ended, whether it says so.
bool state_is_told(const job_view& v, const job_history* known, const circumstances& c) {
    if (!c.tells_state) return true;
    if (!v.job->terminal()) return known->told == told_digest(v);
    const auto told = static_cast<api::job_state>(v.body->state);
    return told == (v.job->complete ? api::job_state::complete : api::job_state::failed);
}

// ---- Before a run: what needs neither memory nor requests. ----

verdict another_replica_leads(const input& i) {  // it begins with all jobs
    return when(!i.v.leading || (i.p != nullptr && i.p->canceled), {act::done});
}

verdict job_is_gone(const input& i) { return when(i.v.job == nullptr, {act::forget}); }

verdict managed_externally(const input& i) { return when(i.v.job->elsewhere, {act::done}); }

// Status and children are as they should be: a few comparisons in records.
verdict nothing_to_do(const input& i) {
    const job_view& v = i.v;
    const bool ended = v.job->terminal();
    if (i.p != nullptr || v.job->troubled) return {};
    if (ended ? i.known != nullptr : i.known == nullptr || i.known->settled == 0) return {};
    if (!ended && i.known->settled != digest_of(v)) return {};
    if (v.owns_set() && (v.set_body == nullptr || v.set_body->counts_print != v.body->counts_print)) return {};
    if (v.owns_set() && v.set->terminal() && !ended) return {};
    if (!state_is_told(v, i.known, i.c)) return {};
    const watch::stored_condition* const suspended = find_condition(v, names::suspended);
    if (v.job->suspend != (suspended != nullptr && suspended->status == watch::truth::yes)) return {};
    std::optional<nanoseconds> wait;
    if (const auto due = first_state_due(v, i.c)) {
        if (*due <= i.c.wall) return {};
        wait = *due - i.c.wall;
    }
    if (ended) {
        if (to_delete(v, i.c, {}) || job_is_due(v, i.c)) return {};
        wait = ended_wait(v, i.c);
    } else if (const auto deadline = deadline_of(v, suspended)) {
        if (*deadline <= i.c.wall) return {};
        wait = std::min(wait.value_or(nanoseconds::max()), nanoseconds(*deadline - i.c.wall));
    }
    if (const auto then = explanation_wait(v, i.known, i.c)) {
        if (then->count() == 0) return {};
        wait = wait ? std::min(*wait, *then) : *then;
    }
    return wait ? action{.what = act::requeue, .after = *wait} : action{act::done};
}

verdict run_begins(const input& i) { return when(i.p == nullptr, {act::begin}); }

// ---- Within a run. ----

verdict others_were_faster(const input& i) {
    return when(i.p->overtaken || !i.p->base.holds(i.v, i.p->next.finished), {act::restart});
}

verdict job_was_deleted(const input& i) {  // its event is on its way
    return when(i.p->asked && !i.p->asked->exists, {act::done});
}

verdict spec_is_not_kept(const input& i) {
    const action next =
        i.c.large_runs_full ? action{.what = act::requeue, .after = large_pause} : action{act::read_job};
    return when(i.p->lacks_spec && !i.p->failure && i.p->next.wants_children, next);
}

// ---- Children of a job that goes on. ----

// Of an elastic job that runs: whether its JobSet has another number of nodes than it is to have.
bool is_resized(const input& i) {
    const progress& p = *i.p;
    if (!i.c.elastic || !i.v.owns_set() || !p.set || p.set->nodes == 0 || !p.job.spec.trainer) return false;
    if (i.v.job->suspend || i.v.set->suspend || i.v.set->deleting || i.v.set->terminal()) return false;
    const auto wanted = p.job.spec.trainer->num_nodes;
    if (!wanted || *wanted == p.set->nodes) return false;
    const compiled_ptr& runtime = p.runtime != nullptr ? p.runtime : p.at_hand;
    return runtime == nullptr || runtime::elastic_of(p.job, runtime->ml());
}

bool any_step(const input& i, auto matches) { return i.p->steps && std::ranges::any_of(*i.p->steps, matches); }

// Nobody tells of Secrets: they are asked for by name where Pods that mount them are about to start, or where it is not
// known whether they are there. Of a new job nothing was made yet: whether somebody has a Secret of that name, making
// it tells.
verdict unknown_secret(const input& i, const compiled_ptr& runtime) {
    const job_view& v = i.v;
    if (runtime == nullptr || i.p->steps || !v.owns(v.snapshot().record)) return {};
    const bool starts = i.p->pods_start_again || (!v.job->suspend && (!i.p->set || i.p->set->suspend));
    for (std::size_t n = 0; n < v.children->size(); ++n) {
        const child_type& c = (*v.children)[n];
        if (!c.is_secret() || !c.needed(*runtime) || i.p->secrets_asked.test(n)) continue;
        const watch::object_record* const found = v.find(c).record;
        const bool usable = found != nullptr && (v.owns(found) || found->id == i.p->history.rarely().premade_secret);
        if (!usable || starts) return action{.what = act::read_secret, .index = n};
    }
    return {};
}

verdict pods_start_again(const input& i) { return i.p->pods_start_again ? unknown_secret(i, i.p->at_hand) : verdict{}; }

// The garbage collector takes the children of a job that is deleted in the foreground before the job, and sets those of
// an orphaning one free: none may come after. And a JobSet that was there once is only made again for a job that has
// not ended, which its events may not have told yet: after a change of leaders, say.
verdict children_may_be_unwanted(const input& i) {
    const bool doubtful = i.v.job->deleting || ((i.p->had_children || i.p->made_set) && !i.p->set);
    return when(doubtful && !i.p->asked, {act::read_job});
}

verdict runtime_is_unknown(const input& i) {
    const watch::object_record* const snapshot = i.v.snapshot().record;
    const bool same = i.p->runtime_version == (snapshot == nullptr ? 0 : snapshot->version);
    return when(i.p->runtime == nullptr || !same, {act::find_runtime});
}

verdict secret_is_unknown(const input& i) { return unknown_secret(i, i.p->runtime); }

verdict counts_are_unknown(const input& i) { return when(!i.p->set_spec && is_resized(i), {act::read_set}); }

verdict plan_is_missing(const input& i) {
    const bool same = i.p->planned_for == planning_state(i.v, i.p->runtime) && !i.p->history.dirty;
    return when(!i.p->steps || !same, {act::plan});
}

// What else is applied is about the Pods of the JobSet that is there (runtime/framework.hpp), whose spec the store has
// only while it is suspended. A repair is as it was sent before.
verdict spec_of_set_is_unknown(const input& i) {
    if (!i.v.owns_set() || !i.v.set_spec().empty() || i.p->set_spec) return {};
    const auto depends = [&](const step& s) {
        return s.type != nullptr && !s.type->is_secret() && s.type->needed(*i.p->runtime) &&
               standing_of(i.v, *i.p, s, i.c.steady).what == standing::apply;
    };
    return when(any_step(i, depends), {act::read_set});
}

verdict creation_may_be_unwanted(const input& i) {
    const auto creates = [&](const step& s) {
        return is_open(standing_of(i.v, *i.p, s, i.c.steady)) && i.v.find(s.of, s.object.name).record == nullptr;
    };
    return when(i.p->had_children && !i.p->asked && any_step(i, creates), {act::read_job});
}

// A child other than the JobSet that is kept as it was made, and was to become another.
bool is_remade(const input& i) {
    const step& s = (*i.p->steps)[i.p->refused->step];
    return s.type != nullptr && s.type->remade;
}

// One that is in the way is looked at. A JobSet cannot become what it is to be: ours is made again while it is
// suspended and has no Pods, that of another controller keeps its templates.
verdict apply_was_refused(const input& i) {
    if (!i.p->refused) return {};
    if (is_another(i.p->refused->why)) return action{act::identify};
    if (is_remade(i)) return action{i.v.owns_set() && !i.v.set->suspend ? act::wait_for_pods : act::replace_child};
    if (!i.p->history.made_here) return action{act::keep_templates};
    if (!i.v.set->suspend) return action{i.v.job->suspend && !i.p->suspended_set ? act::suspend_set : act::fail_child};
    if (i.p->suspended_set || i.p->set->any_active()) return action{act::wait_for_pods};
    if (i.v.set_spec().empty() && !i.p->set_spec) return action{act::read_set};
    return action{i.p->refused->templates_differ ? act::replace_child : act::compare_templates};
}

verdict child_is_not_as_planned(const input& i) {
    for (std::size_t n = 0; i.p->steps && n < i.p->steps->size(); ++n) {
        if (is_open(standing_of(i.v, *i.p, (*i.p->steps)[n], i.c.steady)))
            return action{.what = act::apply, .index = n};
    }
    return {};
}

// The JobSet of a running job is left alone, so no plan is needed unless another child is missing or was changed.
bool children_are_open(const input& i) {
    const progress& p = *i.p;
    if (!p.next.wants_children || p.clean || p.failure || p.remaking || (p.asked && p.asked->collected)) return false;
    return p.steps || p.lacks_secret || pods_start_again(i) || is_resized(i) ||
           !children_are_known_good(i.v, p.history);
}

// ---- What is said of it, and what follows an end. ----

// A job stops whatever became of its other children: others may wait for what it holds.
verdict failed_job_runs_on(const input& i) {
    if (i.p->error() == nullptr || i.p->suspended_set || !i.v.job->suspend || !i.v.owns_set()) return {};
    return when(!i.v.set->suspend && !i.v.set->terminal() && !i.v.set->deleting, {act::suspend_set});
}

verdict failure_is_untold(const input& i) { return when(i.p->error() != nullptr && !i.p->reported, {act::report}); }

// Its Pods may go at any time.
verdict attempt_failed(const input& i) {
    if (i.p->dissected || i.p->status_done) return {};
    const auto waits = autopsy_wait(&i.p->history, i.c.steady);
    const bool due = waits && waits->count() == 0;
    return when(due || i.p->pods_start_again || failed_attempt(i.v, i.c.tells_state), {act::autopsy});
}

verdict pods_do_not_come(const input& i) {
    if (i.p->looked || i.p->status_done || i.p->next.finished || i.p->error() != nullptr) return {};
    const auto wait = look_wait(i.v, i.p->history.looked.get(), i.c.wall, i.c.steady);
    return when(wait && wait->count() == 0, {act::look});
}

verdict status_is_unwritten(const input& i) { return when(!i.p->status_done, {act::patch_status}); }

verdict child_outlives_its_job(const input& i) {
    if (!i.p->next.finished || i.p->status_failed) return {};
    return to_delete(i.v, i.c, i.p->deleted);
}

// The API server is asked before it goes: somebody may have given it more time.
verdict time_to_live_is_over(const input& i) {
    const bool due = i.p->next.finished && !i.p->status_failed && !i.p->deleted_job && job_is_due(i.v, i.c);
    return when(due, {i.p->asked ? act::delete_job : act::read_job});
}

constexpr std::array before_children{another_replica_leads, job_is_gone,     managed_externally,
                                     nothing_to_do,         run_begins,      others_were_faster,
                                     job_was_deleted,       spec_is_not_kept};
constexpr std::array of_children{
    pods_start_again, children_may_be_unwanted, runtime_is_unknown, secret_is_unknown,        counts_are_unknown,
    plan_is_missing,  spec_of_set_is_unknown,   apply_was_refused,  creation_may_be_unwanted, child_is_not_as_planned};
constexpr std::array after_children{failed_job_runs_on,  failure_is_untold,      attempt_failed,      pods_do_not_come,
                                    status_is_unwritten, child_outlives_its_job, time_to_live_is_over};

template <std::size_t n>
verdict first(const std::array<rule, n>& rules, const input& i) {
    for (const rule r : rules)
        if (verdict v = r(i)) return v;
    return {};
}

}  // namespace

std::uint64_t planning_state(const job_view& v, const compiled_ptr& runtime) {
    return v.set_spec().empty() || !v.children->any_needed(*runtime) ? 0 : v.set_body->spec_print;
}

bool tells_state_now(const job_view& v, const progress& p, const circumstances& c) {
    if (!c.tells_state) return false;
    const auto due = first_state_due(v, c);
    if (!due || *due <= c.wall || p.next.status.state != api::job_state::pending) return true;
    return p.next.status.conditions != p.job.status.conditions || p.next.status.jobs != p.job.status.jobs;
}

action decide(const job_view& v, const job_history* known, const progress* p, const circumstances& c) {
    const input i{v, known, p, c};
    verdict out = first(before_children, i);
    if (!out && children_are_open(i)) out = first(of_children, i);
    if (!out) out = first(after_children, i);
    return out.value_or(action{act::settle});
}

nanoseconds pause_of(const job_view& v, const progress& p, moment now) {
    nanoseconds out = p.pause;
    for (std::size_t n = 0; p.steps && n < p.steps->size(); ++n)
        out = std::max(out, standing_of(v, p, (*p.steps)[n], now).pause);
    return out;
}

std::optional<nanoseconds> due_in(const job_view& v, const progress& p, const circumstances& c) {
    std::optional<nanoseconds> wait;
    const auto sooner = [&wait](nanoseconds t) { wait = wait ? std::min(*wait, t) : t; };
    if (v.job != nullptr)
        if (const auto due = first_state_due(v, c)) sooner(std::max<nanoseconds>(*due - c.wall, {}));
    if (p.next.wake_at) sooner(std::max<nanoseconds>(*p.next.wake_at - c.wall, {}));
    if (const nanoseconds pause = pause_of(v, p, c.steady); pause.count() > 0) sooner(pause);
    if (v.job != nullptr && v.job->terminal())
        if (const auto ended = ended_wait(v, c)) sooner(*ended);
    if (v.job == nullptr || p.error() != nullptr) return wait;
    if (const auto then = explanation_wait(v, &p.history, c))
        sooner(std::max<nanoseconds>(*then, explanation_pause_min));
    return wait;
}

}  // namespace cotrain::reconcile
