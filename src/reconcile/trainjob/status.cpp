// What is said of a run: the status patch and events.
#include <algorithm>
#include <utility>

#include "api/runtime.hpp"
#include "doc/edit.hpp"
#include "doc/json.hpp"
#include "reconcile/trainjob/reconciler.hpp"
#include "runtime/state.hpp"

namespace cotrain::reconcile {

namespace {

namespace names = api::names;

constexpr std::string_view trouble_event_reason = "TrainJobResourcesCreationFailed";
constexpr std::string_view failed_event_reason = "Failed";
// Failures that pass by themselves show in the job's status only when they come again and again.
constexpr unsigned passing_failures_untold = 3;
// A runtime that was made just before its TrainJob may come in after it: a third of a second.
constexpr unsigned missing_runtimes_untold = 6;
// Until states are tried again where the definition of TrainJobs had none.
constexpr std::chrono::minutes definition_pause{10};

bool is_runtime_missing(const base::error& e) { return e.reason == "RuntimeNotFound" || e.reason == "RuntimeNotRead"; }

bool passes_by_itself(const base::error& e) {
    using base::errc;
    if (is_runtime_missing(e)) return true;
    if (e.code == errc::status) return e.http_status == 409 || e.http_status == 429 || e.http_status >= 500;
    return e.code == errc::deadline || e.code == errc::connect || e.code == errc::lost || e.code == errc::tls ||
           e.code == errc::protocol || e.code == errc::refused || e.code == errc::auth;
}

// A patch that is refused (409) where the job is not in that version any more: a list of conditions replaces the one
// that is there, and what somebody else changed meanwhile must not come in with the answer, unheard.
std::string body_for(doc::arena& memory, doc::ref patch, std::uint64_t version) {
    if (version == 0) return doc::to_json(patch);
    doc::editor out = doc::editor::of(memory, patch);
    out.ensure_object("metadata").set("resourceVersion", std::to_string(version));
    return doc::to_json(out);
}

}  // namespace

// The hash of a snapshot goes with the first status that is written anyway, so that it costs no request.
doc::ref trainjob_reconciler::with_hash(progress& p, doc::ref patch) const {
    const std::string& hash = p.history.rarely().snapshot_hash;
    if (hash.empty() || (!patch && !p.hash_now)) return patch;
    doc::editor out = patch ? doc::editor::of(p.memory, patch) : doc::editor::object(p.memory);
    out.ensure_object("status").set(doc::word::lasting(names::snapshot_hash_member), std::string_view(hash));
    return out;
}

bool trainjob_reconciler::tells_state() const { return with_.steady() >= states_untold_until_; }

// An API server with an older definition prunes what it does not know: nothing would ever be as it is to be.
void trainjob_reconciler::check_state(const job_view& v, const progress& p) {
    const bool wrote = p.next.status.state != p.job.status.state;
    if (!wrote || static_cast<api::job_state>(v.body->state) != api::job_state::none) return;
    if (states_untold_until_ == moment{})
        log_.error("the CRD of TrainJobs has no status.state",
                   {{"controller", "trainjob"}, {"do", "apply the CustomResourceDefinitions of this version"}});
    states_untold_until_ = with_.steady() + definition_pause;
}

awaitable<void> trainjob_reconciler::patch_status(watch::text_id key, progress* p) {
    p->status_done = true;
    std::string body;
    {
        const stage_timer timer(timings_, stage::status);
        const doc::ref patch = with_hash(*p, api::status_patch(p->memory, p->job.status, p->next.status));
        if (patch) body = body_for(p->memory, patch, view_of(all_, children_, key).job->version);
    }
    if (body.empty()) {
        follow_state(*p);
        co_return time_readiness(*p);
    }
    // Whether it is taken in or not: the answer may be lost.
    if (p->next.finished) p->history.goes_on = false;
    const target job = p->at(names::train_job, p->job.meta.name);
    auto answer = co_await api_.merge_patch(job, "status", std::move(body));
    // Somebody else was faster, and its event may be far behind: the next run is to begin with what is there now.
    if (!answer && answer.error().http_status == 409) {
        const auto now = co_await api_.get(job);
        if (now) all_.note(watch::kind::train_job, *now);
        p->overtaken = now || now.error().http_status == 404;
        if (p->overtaken) co_return;
    }
    if (answer) {
        all_.note(watch::kind::train_job, *answer);
        if (const job_view v = view_of(all_, children_, key); v.body != nullptr) {
            p->base.status = v.body->status_print;
            if (p->history.rarely().snapshot_hash == v.body->snapshot_hash()) p->history.hash_is_told();
            check_state(v, *p);
        }
        record_progress(*p);
        follow_state(*p);
    } else if (answer.error().code == base::errc::canceled) {
        p->canceled = true;
    } else if (answer.error().http_status != 404) {  // gone meanwhile
        log_trouble(base::level::warn, *p, "cannot update the status of a TrainJob", answer.error().message);
        p->status_failed = true;
        p->end_failure = std::move(answer.error());
        co_return;
    }
    time_readiness(*p);
}

void trainjob_reconciler::log_trouble(base::level how, const progress& p, std::string_view message,
                                      std::string_view error) const {
    log_.write(how, message,
               {{"controller", "trainjob"},
                {"namespace", p.job.meta.ns},
                {"name", p.job.meta.name},
                {"reconcileID", reconcile_id(p.tried.number)},
                {"error", error}});
}

// A job that fails as it did before has no line of its own: all such jobs are counted together, once a minute.
void trainjob_reconciler::log_failure(const progress& p, const base::error& why) const {
    const std::uint64_t text = watch::hash_bytes(why.message);
    if (std::exchange(p.history.make_rare().failure_told, text) == text)
        return log_.warn("still cannot apply the resources of TrainJobs", {{"error", why.message}});
    log_trouble(missing_rights::are_told_by(why) ? base::level::error : base::level::warn, p,
                "cannot apply the resources of a TrainJob", why.message);
}

void trainjob_reconciler::report(progress& p) {
    const base::error& why = *p.error();
    p.reported = true;
    p.next_known = false;
    log_failure(p, why);
    const unsigned untold = is_runtime_missing(why) ? missing_runtimes_untold : passing_failures_untold;
    if (passes_by_itself(why) && p.tried.failures < untold) {
        // What was said before holds until an attempt succeeds.
        const api::condition* const before = api::find_condition(p.job.status.conditions, names::resources_ready);
        if (before != nullptr) p.trouble = {before->reason, before->message};
        return;
    }
    // Webhooks may give any text as the reason of a refusal.
    p.trouble = {api::is_condition_reason(why.reason) ? why.reason : "ResourcesCreationFailed", why.message};
    record(p, event_type::warning, trouble_event_reason, "the TrainJob's resources cannot be made: " + why.message);
}

void trainjob_reconciler::record(const progress& p, event_type type, std::string_view reason, std::string note) {
    const auto* const job = all_.find(watch::kind::train_job, p.job.meta.ns, p.job.meta.name);
    with_.record({.about = {.api_version = std::string(names::trainer_api_version),
                            .kind = std::string(names::train_job_kind),
                            .ns = std::string(p.job.meta.ns),
                            .name = std::string(p.job.meta.name),
                            .uid = std::string(p.job.meta.uid),
                            .resource_version = job == nullptr ? std::string() : std::to_string(job->version)},
                  .type = type,
                  .reason = std::string(reason),
                  .action = "Reconciling",
                  .note = std::move(note),
                  .kept = reason == failed_event_reason});
}

void trainjob_reconciler::record_normal(const progress& p, std::string_view reason, std::string note) {
    if (with_.normal_events) record(p, event_type::normal, reason, std::move(note));
}

// What the status that was written says and the one before did not.
void trainjob_reconciler::record_progress(const progress& p) {
    const api::train_job_status& before = p.job.status;
    const api::train_job_status& after = p.next.status;
    const auto became = [&](std::string_view type, api::condition_status to) {
        const api::condition* const then = api::find_condition(before.conditions, type);
        const api::condition* const now = api::find_condition(after.conditions, type);
        const bool changed = now != nullptr && now->status == to && (then == nullptr || then->status != to);
        return changed ? now : nullptr;
    };
    using api::condition_status;
    if (const auto* c = became(names::suspended, condition_status::yes)) record_normal(p, "Suspended", c->message);
    if (const auto* c = became(names::suspended, condition_status::no)) record_normal(p, "Resumed", c->message);
    // What happened under another controller is no news.
    const bool news = !runtime::told_by_another(before);
    if (news && after.start_time && !before.start_time) record_normal(p, "Started", after.message);
    // One text, so that restarts are counted in a series.
    if (news && after.restarts.value_or(0) > before.restarts.value_or(0))
        record_normal(p, "Restarted", "JobSet has started all Jobs again");
    // Where children cannot be made, report() says so.
    const bool blocked = after.state == api::job_state::blocked && !p.trouble;
    if (blocked && (before.state != after.state || before.message != after.message))
        record(p, event_type::warning, "Blocked", after.message);
    if (const auto* c = became(names::complete, condition_status::yes)) record_normal(p, "Completed", c->message);
    if (const auto* c = became(names::failed, condition_status::yes))
        record(p, event_type::warning, failed_event_reason,
               after.state == api::job_state::failed ? after.message : c->message);
}

// Once for each start: pods that are replaced later are no news.
void trainjob_reconciler::time_readiness(const progress& p) {
    const auto start = runtime::began(p.job, p.next.status);
    if (!start) return;
    readiness& pods = p.history.pods;
    const std::chrono::duration<double> took = with_.wall() - *start;
    if (p.made_set) waits_.exists.observe(std::max(took.count(), 0.0));
    if (p.next.finished) return;
    if (p.job.spec.suspend || !p.set) {
        pods = readiness::awaited;
    } else if (!p.set->all_ready()) {
        if (pods == readiness::unseen) pods = readiness::awaited;
    } else if (std::exchange(pods, readiness::reached) == readiness::awaited) {
        waits_.ready.observe(std::max(took.count(), 0.0));
    }
}

}  // namespace cotrain::reconcile
