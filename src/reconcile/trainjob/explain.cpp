// Why a job's Pods do not come, or failed: lists of Pods and Events, one page each, as often as look.hpp allows.

#include <algorithm>
#include <functional>

#include "reconcile/trainjob/reconciler.hpp"

namespace cotrain::reconcile {

namespace {

namespace names = api::names;

constexpr std::string_view failure_event_reason = "TrainJobPodFailed";

// What ended until then was told before, by this process or another.
base::seconds_time told_until(const progress& p) {
    base::seconds_time out = p.history.looked == nullptr ? base::seconds_time{} : p.history.looked->told_until;
    for (const api::job_failure& f : p.job.status.failures) out = std::max(out, f.time);
    return out;
}

// Of a JobSet that failed without a failed Pod.
runtime::first_failure without_pod(std::int32_t attempt, base::seconds_time at) {
    runtime::first_failure out;
    out.failure.attempt = attempt;
    out.failure.time = at;
    out.failure.reason = "PodGone";
    out.failure.message =
        "no failed Pod is left: its node is gone, its Job's own deadline passed, or somebody deleted it";
    return out;
}

std::optional<taken_turn> take_turn(fair_bucket& all, std::string_view ns, moment now,
                                    std::chrono::nanoseconds longest = std::chrono::nanoseconds::max()) {
    const auto mine = all.take(std::hash<std::string_view>{}(ns), now, longest);
    if (!mine) return std::nullopt;
    return taken_turn{.turn = *mine, .ask = now};
}

bool is_due(taken_turn& mine, fair_bucket& all, moment now) {
    mine.ask = now + all.wait(mine.turn, now);
    return mine.ask == now;
}

bool has_failed(const progress& p) { return p.set && api::is_true(p.set->conditions, names::job_set_failed); }

}  // namespace

// A right that is missing is no failure of the job: less is said of it.
awaitable<base::result<std::string>> trainjob_reconciler::ask(const progress* p, list_page what) {
    missing_rights& rights = what.type == &names::pod     ? pod_rights_
                             : what.type == &names::event ? event_rights_
                                                          : workload_rights_;
    if (rights.rest_of_pause(what.ns, with_.steady()))
        co_return base::fail(base::errc::status, "the right to list is missing");
    ++counts_.lists;
    auto answer = co_await api_.list(what);
    const bool no_kueue = !answer && what.type->kind == "Workload" && answer.error().http_status == 404;
    if (no_kueue) rights.note(what.ns, with_.steady());
    if (!answer && missing_rights::are_told_by(answer.error()) && rights.note(what.ns, with_.steady()))
        log_trouble(base::level::warn, *p, "cannot list Pods or Events of a TrainJob", answer.error().message);
    co_return answer;
}

awaitable<void> trainjob_reconciler::look_into(watch::text_id key, progress* p) {
    look_notes& notes = p->notes();
    const moment now = with_.steady();
    if (!notes.turn) notes.turn = take_turn(looks_, p->job.meta.ns, now);
    p->looked = !is_due(*notes.turn, looks_, now);
    if (p->looked) co_return;
    if (!p->look) {
        const job_view v = view_of(all_, children_, key);
        const base::seconds_time recent = runtime::to_seconds(with_.wall()) - event_age_max;
        if (is_queued(v))
            p->look.emplace(p->job.meta.uid);
        else
            p->look.emplace(*p->set, std::max(pods_wanted_since(v), recent));
    }
    const auto question = p->look->next();
    auto answer = co_await ask(p, {.type = &question->type(),
                                   .ns = std::string(p->job.meta.ns),
                                   .label_selector = question->label_selector(p->job.meta.name),
                                   .field_selector = question->field_selector(),
                                   .items_max = runtime::look_page_items});
    p->look->take(answer);
    if (p->look->next()) co_return;
    p->looked = true;
    p->notes().note(p->look->found(), with_.steady());
    p->next_known = false;
}

awaitable<void> trainjob_reconciler::dissect(watch::text_id key, progress* p) {
    const moment now = with_.steady();
    p->dissected = !begin_autopsy(view_of(all_, children_, key), *p, now);
    if (p->dissected) co_return;
    const bool ended = p->next.finished;
    auto answer =
        co_await ask(p, {.type = &names::pod,
                         .ns = std::string(p->job.meta.ns),
                         .label_selector = runtime::look_question{}.label_selector(p->job.meta.name),
                         .field_selector = p->asked_failed_pods ? "status.phase=Running" : "status.phase=Failed",
                         .items_max = autopsy_page_items});
    look_notes& notes = p->notes();
    const auto page = answer ? runtime::read_pods(*answer) : base::fail(answer.error());
    auto found = page ? runtime::find_first_failure(*page, notes.attempt, told_until(*p)) : std::nullopt;
    if (page && page->pods.empty() && ended && has_failed(*p))
        found = without_pod(notes.attempt, runtime::to_seconds(with_.wall()));
    p->dissected = found || ended || p->asked_failed_pods;
    p->asked_failed_pods = true;
    if (!p->dissected) co_return;
    notes.autopsy.reset();
    notes.dissected = with_.steady();
    if (!found) co_return;
    notes.told_until = std::max(notes.told_until, found->failure.time);
    p->failed_attempts.push_back(found->failure);
    p->next_known = false;
    record(*p, event_type::warning, failure_event_reason, describe(*found));
}

// Whether it may go now. A place in the row is taken once for each attempt that failed; containers that are started
// again in place are asked for once a minute.
bool trainjob_reconciler::begin_autopsy(const job_view& v, progress& p, moment now) {
    look_notes& notes = p.notes();
    if (!notes.autopsy) {
        const auto attempt = failed_attempt(v, tells_state());
        const bool again = attempt ? *attempt == notes.told_attempt : !notes.spent(now);
        if (again) return false;
        notes.autopsy = take_turn(autopsies_, p.job.meta.ns, now, autopsy_wait_max);
        if (!notes.autopsy) return false;
        if (attempt) notes.told_attempt = *attempt;
        notes.attempt = attempt ? *attempt : p.set ? p.set->restarts : 0;
    }
    return is_due(*notes.autopsy, autopsies_, now);
}

}  // namespace cotrain::reconcile
