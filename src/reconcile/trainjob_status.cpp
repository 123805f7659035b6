// What is said of a run: the status patch, the event of a failure, and normal events where they are wanted.
#include <algorithm>
#include <utility>

#include "api/edit.hpp"
#include "api/json.hpp"
#include "api/snapshot_hash.hpp"
#include "reconcile/trainjob_attempt.hpp"

namespace cotrain::reconcile {

namespace {

namespace names = api::names;

// Failures that pass by themselves show in the job's status only when they come again and again.
constexpr unsigned passing_failures_untold = 3;
// A runtime that was made just before its TrainJob may come in after it: a third of a second.
constexpr unsigned missing_runtimes_untold = 6;

bool is_runtime_missing(const base::error& e) { return e.reason == "RuntimeNotFound" || e.reason == "RuntimeNotRead"; }

bool passes_by_itself(const base::error& e) {
    using base::errc;
    if (is_runtime_missing(e)) return true;
    if (e.code == errc::status) return e.http_status == 409 || e.http_status == 429 || e.http_status >= 500;
    return e.code == errc::deadline || e.code == errc::connect || e.code == errc::lost || e.code == errc::tls ||
           e.code == errc::protocol || e.code == errc::refused || e.code == errc::auth;
}

}  // namespace

std::string body_for(api::arena& memory, api::ref patch, std::uint64_t version) {
    if (version == 0) return api::to_json(patch);
    api::editor out = api::editor::of(memory, patch);
    out.ensure_object("metadata").set("resourceVersion", std::to_string(version));
    return api::to_json(out);
}

// Whether the job still has the status from which the next one was worked out. What changed besides makes another run.
bool trainjob_reconciler::still_as_seen(attempt& a) const {
    const job_records now = find_records(all_, a.key);
    const auto known = memories_.find(a.key);
    if (now.body == nullptr || known == memories_.end() || now.job->id != known->second.job) return false;
    if (now.body->status_print != a.status_print) return false;
    a.version = now.job->version;
    return true;
}

// Somebody else was faster, and its event may be far behind: the next run is to begin with what is there now.
awaitable<base::result<>> trainjob_reconciler::refresh(watch::text_id key) {
    const auto [ns, name] = split_key(all_.texts().view(key));
    const auto answer = co_await api_.get({&names::train_job, std::string(ns), std::string(name)});
    if (answer) all_.note(watch::kind::train_job, *answer);
    if (!answer && answer.error().http_status != 404) co_return base::fail(answer.error());
    co_return base::result<>{};
}

// The hash of a snapshot goes with the first status that is written anyway, so that it costs no request.
api::ref trainjob_reconciler::with_hash(attempt& a, api::ref patch) const {
    const auto known = memories_.find(a.key);
    if (known == memories_.end() || known->second.snapshot_hash.empty() || (!patch && !a.hash_now)) return patch;
    api::editor out = patch ? api::editor::of(a.memory, patch) : api::editor::object(a.memory);
    out.ensure_object("status").set(api::word::lasting(names::snapshot_hash_member),
                                    std::string_view(known->second.snapshot_hash));
    return out;
}

awaitable<base::result<>> trainjob_reconciler::write_status(attempt* a) {
    std::string body;
    {
        const stage_timer timer(timings_, stage::status);
        const job_records seen = find_records(all_, a->key);
        if (a->set && seen.owns_set()) a->set->suspend = seen.set->suspend;  // as this run has left it
        a->next = framework_.trainjob_status(a->input(with_.wall()));
        const api::ref patch = with_hash(*a, api::status_patch(a->memory, a->job.status, a->next.status));
        if (patch) body = body_for(a->memory, patch, a->version);
    }
    if (body.empty()) co_return base::result<>{};
    // Whether it is taken in or not: the answer may be lost.
    if (const auto known = memories_.find(a->key); a->next.finished && known != memories_.end())
        known->second.goes_on = false;
    auto answer = co_await api_.merge_patch(a->at(names::train_job, a->job.meta.name), "status", std::move(body));
    if (!answer) {
        if (answer.error().http_status == 404) co_return base::result<>{};  // gone meanwhile
        co_return base::fail(std::move(answer.error()));
    }
    all_.note(watch::kind::train_job, *answer);
    tell_progress(*a);
    co_return base::result<>{};
}

void trainjob_reconciler::report(attempt& a, const base::error& why, unsigned failures) {
    log_.warn(
        "cannot apply the resources of a TrainJob",
        {{"controller", "trainjob"}, {"namespace", a.job.meta.ns}, {"name", a.job.meta.name}, {"error", why.message}});
    const unsigned untold = is_runtime_missing(why) ? missing_runtimes_untold : passing_failures_untold;
    if (passes_by_itself(why) && failures < untold) {
        // What was said before holds until an attempt succeeds.
        const api::condition* const before = api::find_condition(a.job.status.conditions, names::resources_ready);
        if (before != nullptr) a.trouble = {before->reason, before->message};
        return;
    }
    // Webhooks may give any text as the reason of a refusal.
    a.trouble = {api::is_condition_reason(why.reason) ? why.reason : "ResourcesCreationFailed", why.message};
    tell(a, event_type::warning, trouble_event_reason, "the TrainJob's resources cannot be made: " + why.message);
}

void trainjob_reconciler::tell(const attempt& a, event_type type, std::string_view reason, std::string note) {
    with_.tell({.about = {.api_version = std::string(names::trainer_api_version),
                          .kind = std::string(names::train_job_kind),
                          .ns = std::string(a.job.meta.ns),
                          .name = std::string(a.job.meta.name),
                          .uid = std::string(a.job.meta.uid),
                          .resource_version = std::to_string(a.version)},
                .type = type,
                .reason = std::string(reason),
                .action = "Reconciling",
                .note = std::move(note)});
}

void trainjob_reconciler::tell_progress(const attempt& a) {
    if (!with_.normal_events) return;
    const auto became = [&](std::string_view type, api::condition_status to) {
        const api::condition* const before = api::find_condition(a.job.status.conditions, type);
        const api::condition* const after = api::find_condition(a.next.status.conditions, type);
        const bool changed = after != nullptr && after->status == to && (before == nullptr || before->status != to);
        return changed ? after : nullptr;
    };
    using api::condition_status;
    if (const auto* c = became(names::suspended, condition_status::yes))
        tell(a, event_type::normal, "Suspended", c->message);
    if (const auto* c = became(names::suspended, condition_status::no))
        tell(a, event_type::normal, "Resumed", c->message);
    if (const auto* c = became(names::complete, condition_status::yes))
        tell(a, event_type::normal, "Completed", c->message);
    if (const auto* c = became(names::failed, condition_status::yes)) tell(a, event_type::normal, "Failed", c->message);
}

// Once for each start: pods that are replaced later are no news.
void trainjob_reconciler::time_readiness(const attempt& a) {
    const auto known = memories_.find(a.key);
    if (known == memories_.end() || !a.job.meta.creation_time) return;
    readiness& pods = known->second.pods;
    const api::condition* const suspended = api::find_condition(a.next.status.conditions, names::suspended);
    const bool resumed = suspended != nullptr && suspended->status == api::condition_status::no;
    const api::seconds_time start = resumed ? suspended->last_transition_time : *a.job.meta.creation_time;
    const std::chrono::duration<double> took = with_.wall() - start;
    if (a.made_set) waits_.exists.observe(std::max(took.count(), 0.0));
    if (a.next.finished) return;
    if (a.job.spec.suspend || !a.set) {
        pods = readiness::awaited;
    } else if (!a.set->all_ready()) {
        if (pods == readiness::unseen) pods = readiness::awaited;
    } else if (std::exchange(pods, readiness::reached) == readiness::awaited) {
        waits_.ready.observe(std::max(took.count(), 0.0));
    }
}

}  // namespace cotrain::reconcile
