#include "reconcile/trainjob/lifecycle.hpp"

#include <algorithm>

#include "api/names.hpp"
#include "reconcile/trainjob/reconciler.hpp"
#include "runtime/state.hpp"

namespace cotrain::reconcile {

namespace {

using api::job_state;

// The last one where the word has none of its own.
template <std::size_t n>
std::size_t index_of(const std::array<std::string_view, n>& words, std::string_view word) {
    return std::min(static_cast<std::size_t>(std::ranges::find(words, word) - words.begin()), n - 1);
}

std::string_view reason_of(const api::train_job_status& status, std::string_view condition) {
    const api::condition* const found = api::find_condition(status.conditions, condition);
    return found == nullptr ? std::string_view{} : std::string_view(found->reason);
}

}  // namespace

void lifecycle_metrics::count(const api::train_job_status& before, const api::train_job_status& after) {
    // What happened under another controller was counted there.
    if (after.state == job_state::failed && !api::is_true(before.conditions, api::names::failed))
        ++failures[index_of(job_failure_reasons, reason_of(after, api::names::failed))];
    const std::int32_t more = after.restarts.value_or(0) - before.restarts.value_or(0);
    if (more > 0 && !runtime::told_by_another(before)) restarts += static_cast<std::uint64_t>(more);
    for (const api::job_failure& f : after.failures) {
        const bool is_new =
            std::ranges::find(before.failures, f.attempt, &api::job_failure::attempt) == before.failures.end();
        if (is_new) ++pod_failures[index_of(pod_failure_reasons, f.reason)];
    }
}

// A state whose beginning this process did not see is not measured.
void trainjob_reconciler::follow_state(const progress& p) {
    const api::train_job_status& before = p.job.status;
    const api::train_job_status& after = p.next.status;
    job_history& known = p.history;
    const moment now = with_.steady();
    if (known.since == moment{}) {
        known.state = before.state;
        known.since = now;
    }
    lifecycle_.count(before, after);
    if (p.made_set && log_.enabled(base::level::info))
        log_.info("TrainJob created", {{"controller", "trainjob"},
                                       {"namespace", p.job.meta.ns},
                                       {"name", p.job.meta.name},
                                       {"reconcileID", reconcile_id(p.tried.number)},
                                       {"runtime", p.job.spec.runtime.name}});
    if (before.state != after.state) log_change(p);
    if (known.state == after.state) return;
    if (known.state_begun) {
        const std::chrono::duration<double> took = now - known.since;
        lifecycle_.in_state[static_cast<std::size_t>(known.state)].observe(took.count());
    }
    known.state = after.state;
    known.since = now;
    known.state_begun = true;
}

// `duration`: since the job was made or resumed.
void trainjob_reconciler::log_change(const progress& p) const {
    if (!log_.enabled(base::level::info)) return;
    const job_state before = p.job.status.state;
    const api::train_job_status& after = p.next.status;
    const auto start = runtime::began(p.job, p.next.status);
    const std::chrono::duration<double> took = start ? with_.wall() - *start : base::micros_time::duration{};
    const std::string id = reconcile_id(p.tried.number);
    const base::field controller{"controller", "trainjob"};
    const base::field ns{"namespace", p.job.meta.ns};
    const base::field name{"name", p.job.meta.name};
    const base::field run{"reconcileID", id};
    const base::field duration{"duration", std::max(took.count(), 0.0)};
    const base::field restarts{"restarts", std::int64_t{after.restarts.value_or(0)}};
    const base::field why{"message", after.message};
    if (before == job_state::suspended || before == job_state::suspending)
        log_.info("TrainJob resumed", {controller, ns, name, run});
    switch (after.state) {
        case job_state::running: return log_.info("TrainJob started", {controller, ns, name, run, duration, restarts});
        case job_state::restarting:
            return log_.info("TrainJob restarts", {controller, ns, name, run, duration, restarts, why});
        case job_state::suspended: return log_.info("TrainJob suspended", {controller, ns, name, run});
        case job_state::blocked: return log_.info("TrainJob blocked", {controller, ns, name, run, duration, why});
        case job_state::complete:
            return log_.info("TrainJob completed", {controller, ns, name, run, duration, restarts});
        case job_state::failed:
            return log_.info(
                "TrainJob failed",
                {controller, ns, name, run, duration, restarts, {"reason", reason_of(after, api::names::failed)}, why});
        default: return;
    }
}

std::optional<std::chrono::nanoseconds> trainjob_reconciler::in_state_for(watch::text_id job, job_state state) const {
    const auto known = histories_.find(job);
    if (known == histories_.end() || known->second.state != state) return std::nullopt;
    return with_.steady() - known->second.since;
}

}  // namespace cotrain::reconcile
