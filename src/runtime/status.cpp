// The status as a function of the job and its JobSet.
#include "runtime/status.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "api/names.hpp"
#include "base/error.hpp"
#include "runtime/state.hpp"

namespace cotrain::runtime {
namespace {

namespace names = api::names;
using api::condition_status;

struct phase_texts {
    std::string_view type;
    std::string_view when_true, message_true;
    std::string_view when_false, message_false;
};

constexpr std::array phases{phase_texts{names::pending, "WaitingForPods", "no pod of the TrainJob is active yet",
                                        "PodsCreated", "pods of the TrainJob are or were active"},
                            phase_texts{names::running, "PodsActive", "pods of the TrainJob are active", "NoPodsActive",
                                        "no pod of the TrainJob is active"},
                            phase_texts{names::ready, "AllPodsReady", "all pods of the TrainJob are ready or done",
                                        "NotAllPodsReady", "not all pods of the TrainJob are ready"}};

// Of a job that is not Pending, though none of its Pods may ever have been active.
constexpr phase_texts pending_of_suspended{names::pending, phases[0].when_true, phases[0].message_true, "Suspended",
                                           "the TrainJob is suspended"};
constexpr phase_texts pending_of_finished{names::pending, phases[0].when_true, phases[0].message_true, "Finished",
                                          "the TrainJob has ended"};

bool says(const phase_texts& p, const api::condition& c) {
    return c.type == p.type && (c.reason == p.when_true || c.reason == p.when_false);
}

void set(api::condition_list& list, const phase_texts& p, bool holds, base::seconds_time now) {
    api::condition c;
    c.type = p.type;
    c.status = holds ? condition_status::yes : condition_status::no;
    c.reason = holds ? p.when_true : p.when_false;
    c.message = holds ? p.message_true : p.message_false;
    api::set_condition(list, std::move(c), now);
}

int place_of(const api::condition& c) {
    const auto found = std::ranges::find(phases, std::string_view(c.type), &phase_texts::type);
    if (found == phases.end()) return 2;
    return c.status == condition_status::yes ? 1 : 0;
}

}  // namespace

void set_lifecycle(api::train_job_status& status, const api::job_set* own, bool suspended, base::seconds_time now) {
    const bool over =
        api::is_true(status.conditions, names::complete) || api::is_true(status.conditions, names::failed);
    const bool lives = !over && !suspended;
    const bool active = lives && own != nullptr && own->any_active();
    const bool started = active || (own != nullptr && own->any_done());
    set(status.conditions,
        started     ? phases[0]
        : over      ? pending_of_finished
        : suspended ? pending_of_suspended
                    : phases[0],
        lives && !started, now);
    set(status.conditions, phases[1], active, now);
    set(status.conditions, phases[2], lives && own != nullptr && own->all_ready(), now);
    std::ranges::stable_sort(status.conditions, {}, place_of);
}

void drop_lifecycle(api::train_job_status& status) {
    std::erase_if(status.conditions, [](const api::condition& c) {
        return std::ranges::any_of(phases, [&](const phase_texts& p) { return says(p, c); }) ||
               says(pending_of_suspended, c) || says(pending_of_finished, c);
    });
}

namespace {

using api::condition;
using api::train_job_status;

condition make_condition(std::string_view type, condition_status status, std::string_view reason,
                         std::string_view message) {
    condition c;
    c.type = type;
    c.status = status;
    c.reason = reason;
    c.message = message;
    return c;
}

bool terminal(const api::job_set& set) {
    return api::is_true(set.conditions, names::job_set_completed) ||
           api::is_true(set.conditions, names::job_set_failed);
}

// Takes away a Failed that somebody else wrote while the JobSet runs on. Any other one stays, whatever the JobSet says
// later, as does one of which nobody knows who wrote it.
void drop_failure_of_others(train_job_status& status, const status_input& in, const api::job_set* own) {
    const condition* const failure = api::find_condition(status.conditions, names::failed);
    if (!in.ended_by_others || failure == nullptr || failure->reason == names::reason_deadline) return;
    if (own != nullptr && !terminal(*own)) api::remove_condition(status.conditions, names::failed);
}

// Of a job that has ended only counts change.
void fold(train_job_status& status, const api::job_set& set, const status_reporter& report) {
    const bool ended = is_finished(status);
    api::condition_list before = status.conditions;
    report(status, set);
    if (ended) status.conditions = std::move(before);
}

// What is so counts: a JobSet may run on for a while, or stay suspended.
void set_suspended(train_job_status& status, const api::train_job& job, const api::job_set* own,
                   base::seconds_time now) {
    const bool lags = own != nullptr && own->suspend != job.spec.suspend && !terminal(*own);
    if (lags && !is_finished(status)) return;
    if (job.spec.suspend) {
        api::set_condition(
            status.conditions,
            make_condition(names::suspended, condition_status::yes, names::reason_suspended, names::message_suspended),
            now);
    } else if (api::is_true(status.conditions, names::suspended)) {
        api::set_condition(
            status.conditions,
            make_condition(names::suspended, condition_status::no, names::reason_resumed, names::message_resumed), now);
    }
}

// When the job has had its time; nothing if it has no deadline or its clock is stopped.
std::optional<base::micros_time> deadline_of(const api::train_job& job, const train_job_status& status) {
    if (job.spec.active_deadline_seconds <= 0 || job.spec.suspend || !job.meta.creation_time) return std::nullopt;
    base::seconds_time start = *job.meta.creation_time;
    const condition* const suspended = api::find_condition(status.conditions, names::suspended);
    if (suspended != nullptr && suspended->status == condition_status::yes) return std::nullopt;  // not resumed yet
    if (suspended != nullptr && suspended->status == condition_status::no) start = suspended->last_transition_time;
    // Beyond the calendar's end there is no deadline.
    constexpr std::int64_t seconds_max = 100LL * 365 * 24 * 3600;
    if (job.spec.active_deadline_seconds > seconds_max) return std::nullopt;
    return base::micros_time{start + std::chrono::seconds{job.spec.active_deadline_seconds}};
}

void set_trouble(train_job_status& status, const status_input& in) {
    if (!in.trouble || is_finished(status)) {
        api::remove_condition(status.conditions, names::resources_ready);
        return;
    }
    const std::string message = base::one_line(in.trouble->second, condition_message_bytes_max);
    api::set_condition(status.conditions,
                       make_condition(names::resources_ready, condition_status::no, in.trouble->first, message),
                       to_seconds(in.now));
    // Columns show the last condition: it is to be one that says how the job fares.
    const auto place = std::ranges::find(status.conditions, names::resources_ready, &condition::type);
    std::rotate(status.conditions.begin(), place, place + 1);
}

}  // namespace

bool managed_elsewhere(const api::train_job& job) {
    return !job.spec.managed_by.empty() && job.spec.managed_by != names::managed_by_self;
}

bool is_finished(const train_job_status& status) {
    return api::is_true(status.conditions, names::complete) || api::is_true(status.conditions, names::failed);
}

bool runtime_supported(const api::runtime_ref& runtime) {
    return runtime.api_group == names::trainer_group &&
           (runtime.kind == names::training_runtime_kind || runtime.kind == names::cluster_training_runtime_kind);
}

status_outcome next_status(const status_input& in, const status_reporter& report) {
    status_outcome out;
    out.status = in.job.status;
    const api::job_set* const own =
        in.job_set != nullptr && in.job_set->meta.controlled_by(in.job.meta.uid) ? in.job_set : nullptr;
    const base::seconds_time now = to_seconds(in.now);

    drop_failure_of_others(out.status, in, own);
    if (!in.runtime_supported && !is_finished(out.status)) {
        const auto& wanted = in.job.spec.runtime;
        const std::string message =
            "unsupported runtime: " + std::string(wanted.kind) + "." + std::string(wanted.api_group);
        api::set_condition(out.status.conditions,
                           make_condition(names::failed, condition_status::yes, names::reason_not_supported, message),
                           now);
    }
    set_suspended(out.status, in.job, own, now);
    if (own != nullptr) fold(out.status, *own, report);

    if (!is_finished(out.status)) {
        const auto deadline = deadline_of(in.job, out.status);
        if (deadline && *deadline <= in.now) {
            api::set_condition(
                out.status.conditions,
                make_condition(names::failed, condition_status::yes, names::reason_deadline, names::message_deadline),
                now);
        } else {
            out.wake_at = deadline;
        }
    }
    const condition* const failure = api::find_condition(out.status.conditions, names::failed);
    const bool overdue =
        failure != nullptr && failure->status == condition_status::yes && failure->reason == names::reason_deadline;
    out.delete_job_set = overdue && own != nullptr;
    out.finished = is_finished(out.status);
    out.wants_children = !out.finished && in.runtime_supported;
    if (in.lifecycle) {
        set_lifecycle(out.status, own, in.job.spec.suspend, now);
    } else {
        drop_lifecycle(out.status);
    }
    set_trouble(out.status, in);
    tell_state(out.status, in, own);
    return out;
}

}  // namespace cotrain::runtime
