// Each state in turn: the first that applies.
#include "runtime/state.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "api/names.hpp"
#include "base/error.hpp"
#include "runtime/diagnosis.hpp"

namespace cotrain::runtime {

namespace {

namespace names = api::names;
using api::job_state;

constexpr std::size_t names_told_max = 3;

struct told {
    job_state state;
    std::string message;
};

std::int32_t capped(std::int64_t n) {
    return static_cast<std::int32_t>(std::clamp<std::int64_t>(n, 0, std::numeric_limits<std::int32_t>::max()));
}

// Jobs of which nothing is known but their counts are there when those that exist are.
bool is_there(const api::replicated_job_status& job) {
    const std::int32_t wanted = job.replicas > 0 ? job.replicas : std::max(1, job.active);
    return job.ready + job.succeeded >= wanted;
}

bool any_ready(const api::job_set& set) {
    return std::ranges::any_of(set.jobs, [](const auto& job) { return job.ready > 0; });
}

// "node", "launcher, node" or "a, b, c and 4 more"; nothing if none matches.
std::string list_jobs(const api::job_set& set, auto matches) {
    std::string out;
    std::size_t count = 0;
    for (const api::replicated_job_status& job : set.jobs) {
        if (!matches(job) || ++count > names_told_max) continue;
        out.append(out.empty() ? "" : ", ").append(job.name);
    }
    if (count > names_told_max) out.append(" and ").append(std::to_string(count - names_told_max)).append(" more");
    return out;
}

std::string awaited(const api::job_set& set) {
    const auto missing = [](const auto& job) { return !is_there(job); };
    const std::string active = list_jobs(set, [&](const auto& job) { return missing(job) && job.active > 0; });
    if (!active.empty()) return "waits for the Pods of " + active;
    const std::string working = list_jobs(set, [](const auto& job) { return job.ready > 0; });
    const std::string later = list_jobs(set, missing);
    if (later.empty()) return "all its Jobs have ended, and its JobSet is about to";
    if (!working.empty()) return "runs " + working + " first, then " + later;
    return "waits for the Pods of " + later;
}

// How many nodes go on while an elastic job waits for more, at most: what JobSet says of its Job is that not all are
// ready. Of other jobs with one Job of nodes none are told to be ready while some are not.
std::int32_t kept_nodes(const api::train_job_status& before, const api::job_set& set, std::int32_t nodes_min) {
    if (before.state != job_state::running || !before.nodes || before.restarts != set.restarts) return 0;
    const auto trains = [](const auto& job) { return job.node_pods > 0; };
    const auto job = std::ranges::find_if(set.jobs, trains);
    if (job == set.jobs.end() || job->replicas != 1 || job->active == 0) return 0;
    if (std::ranges::count_if(set.jobs, trains) != 1) return 0;
    const bool grows = before.nodes->ready < before.nodes->desired || set.nodes > before.nodes->desired;
    if (grows) return std::min(before.nodes->ready, set.nodes - 1);
    // One was lost, or more: torchrun trains on with those that are left, where they are enough.
    const std::int32_t left = set.nodes - 1;
    return nodes_min > 0 && left >= nodes_min ? left : 0;
}

// Ready Pods that train: JobSet counts Jobs whose Pods are all ready.
api::node_counts count(const api::train_job_status& before, const api::job_set& set, const status_input& in,
                       bool goes_on) {
    if (in.scaled && before.nodes) return {set.nodes, std::min(before.nodes->ready, set.nodes)};
    std::int64_t ready = 0;
    for (const api::replicated_job_status& job : set.jobs) ready += std::int64_t{job.ready} * job.node_pods;
    if (ready == 0 && goes_on) ready = kept_nodes(before, set, in.nodes_min);
    return {set.nodes, std::min(capped(ready), set.nodes)};
}

std::string selector_of(const api::job_set& set, std::string_view job_name) {
    std::string jobs;
    for (const api::replicated_job_status& job : set.jobs)
        if (job.node_pods > 0) jobs.append(jobs.empty() ? "" : ",").append(job.name);
    if (jobs.empty()) return {};
    std::string out(names::job_set_name_label);
    out.append("=").append(job_name).append(",").append(names::replicated_job_label);
    return out.append(" in (").append(jobs).append(")");
}

std::string running_message(const api::train_job_status& status) {
    if (!status.nodes) return "its Pods are ready";
    const std::int32_t desired = status.nodes->desired;
    const std::int32_t ready = status.nodes->ready;
    if (desired == 1) return "its node is ready";
    const std::string all = std::to_string(desired);
    return (ready == desired ? "all " + all : std::to_string(ready) + " of " + all) + " nodes are ready";
}

std::string growing_message(const api::node_counts& nodes, const status_input& in, const api::job_set& own) {
    std::string out = std::to_string(nodes.ready) + " of " + std::to_string(nodes.desired) + " nodes: ";
    out += in.look != nullptr && in.look->state != hold::none ? in.look->message : awaited(own);
    return base::one_line(out, condition_message_bytes_max);
}

// How the last attempt failed, found before its end or after; nothing of earlier ones.
const api::job_failure* last_failure(const api::train_job_status& status) {
    const bool found = !status.failures.empty() && status.failures.back().attempt == status.restarts.value_or(0);
    return found ? &status.failures.back() : nullptr;
}

// Complete or Failed, with the words of the condition; how Pods failed tells more, or how long the deadline was.
told of_end(const api::train_job_status& status, std::int64_t deadline_seconds) {
    const bool complete = api::is_true(status.conditions, names::complete);
    const api::condition* const end =
        api::find_condition(status.conditions, complete ? names::complete : names::failed);
    std::string message = base::one_line(end->message, condition_message_bytes_max);
    const api::job_failure* const failure = last_failure(status);
    const bool late = !complete && end->reason == names::reason_deadline;
    if (late && deadline_seconds > 0) message += " of " + std::to_string(deadline_seconds) + " s";
    if (!complete && !late && failure != nullptr)
        message = base::one_line(describe(*failure) + "; " + message, condition_message_bytes_max);
    return {complete ? job_state::complete : job_state::failed, std::move(message)};
}

told of_suspension(const status_input& in, const api::job_set* own) {
    if (own != nullptr && (!own->suspend || own->any_active() || any_ready(*own)))
        return {job_state::suspending, "waits for its Pods to end"};
    if (in.queue.empty()) return {job_state::suspended, "holds no Pods until spec.suspend is set to false"};
    std::string message = "waits in queue " + std::string(in.queue) + " for Kueue to admit it";
    if (in.look != nullptr && in.look->reason == "QuotaReserved") message += ": " + in.look->message;
    return {job_state::suspended, base::one_line(message, condition_message_bytes_max)};
}

// Of a job that is to run. `before`: what was told last.
told of_pods(const api::train_job_status& before, const api::train_job_status& status, const status_input& in,
             const api::job_set* own) {
    const bool began = status.start_time.has_value() || before.state == job_state::restarting ||
                       status.restarts.value_or(0) > before.restarts.value_or(0);
    const job_state waits = began ? job_state::restarting : job_state::pending;
    if (own == nullptr) return {waits, "its JobSet is not there yet"};
    if (own->meta.deleting()) return {waits, "its JobSet is being deleted and will be made again"};
    if (own->suspend) return {waits, "waits for its JobSet to be resumed"};
    if (own->jobs.empty()) {
        if (in.look != nullptr && in.look->state == hold::blocked) return {job_state::blocked, in.look->message};
        return {waits, "waits for JobSet's controller to make its Jobs"};
    }

    const bool all = std::ranges::all_of(own->jobs, is_there);
    const bool ran = before.state == job_state::running && before.restarts == status.restarts;
    const bool ready = status.nodes ? status.nodes->ready > 0 : any_ready(*own);
    const bool grows = ready && ran && !all && !any_ready(*own);
    if (grows) return {job_state::running, growing_message(*status.nodes, in, *own)};
    if (ready && (all || ran)) return {job_state::running, running_message(status)};

    const bool some = own->any_active() || own->any_done() || any_ready(*own);
    if (in.look != nullptr && in.look->state != hold::none && !all) {
        const job_state found = in.look->state == hold::blocked ? job_state::blocked : waits;
        return {found, base::one_line(in.look->message, condition_message_bytes_max)};
    }
    std::string message = awaited(*own);
    if (status.restarts.value_or(0) > 0) message += " after restart " + std::to_string(*status.restarts);
    return {some && !began ? job_state::starting : waits, std::move(message)};
}

void append_failures(api::train_job_status& status, std::span<const api::job_failure> found) {
    for (const api::job_failure& f : found) {
        const auto known = std::ranges::find(status.failures, f.attempt, &api::job_failure::attempt);
        if (known != status.failures.end()) status.failures.erase(known);
        api::bound_failure(status.failures.emplace_back(f));
    }
    if (status.failures.size() > api::failures_max)
        status.failures.erase(status.failures.begin(), status.failures.end() - api::failures_max);
}

void count_nodes(api::train_job_status& status, const api::train_job_status& before, const status_input& in,
                 const api::job_set* own) {
    if (own != nullptr) status.restarts = own->restarts;
    if (own != nullptr && own->nodes > 0) {
        const bool goes_on = !in.job.spec.suspend && !own->suspend && !own->meta.deleting() && !is_finished(status);
        status.nodes = count(before, *own, in, goes_on);
        if (in.elastic) status.nodes->selector = selector_of(*own, in.job.meta.name);
    } else if (status.nodes) {
        status.nodes->ready = 0;
    } else if (in.job.spec.trainer && in.job.spec.trainer->num_nodes.value_or(0) > 0) {
        status.nodes = {*in.job.spec.trainer->num_nodes, 0};
    }
}

// A JobSet that has to go has no Pods for long.
void drop_pods(api::train_job_status& status) {
    if (status.nodes) status.nodes->ready = 0;
    for (api::job_status& job : status.jobs) job.ready = job.active = 0;
}

}  // namespace

void keep_state(api::train_job_status& status, const api::train_job_status& of) {
    api::train_job_status kept = of;
    kept.conditions = std::move(status.conditions);
    kept.jobs = std::move(status.jobs);
    status = std::move(kept);
}

bool told_by_another(const api::train_job_status& before) {
    return before.state == job_state::none && !before.jobs.empty();
}

std::optional<base::seconds_time> began(const api::train_job& job, const api::train_job_status& status) {
    const api::condition* const suspended = api::find_condition(status.conditions, names::suspended);
    const bool resumed = suspended != nullptr && suspended->status == api::condition_status::no;
    return resumed ? std::optional(suspended->last_transition_time) : job.meta.creation_time;
}

std::string describe(const api::job_failure& f) {
    if (f.pod.empty()) return f.message;
    std::string out = f.container.empty() ? "" : "container " + f.container + " of ";
    out += "Pod " + f.pod;
    if (f.rank) out += " (rank " + std::to_string(*f.rank) + ")";
    if (!f.node.empty()) out += " on node " + f.node;
    // These reasons say no more than that it failed.
    const bool plain = f.reason.empty() || f.reason == "Failed" || f.reason == "Error";
    out += plain ? " failed" : " failed: " + f.reason;
    if (f.exit_code) out += (plain ? " with exit code " : ", exit code ") + std::to_string(*f.exit_code);
    const std::size_t end = f.message.find_last_not_of(" .");
    if (end != std::string::npos) out.append(": ").append(f.message, 0, end + 1);
    return out;
}

void tell_state(api::train_job_status& status, const status_input& in, const api::job_set* own) {
    const api::train_job_status before = status;
    append_failures(status, in.failures);
    count_nodes(status, before, in, own);
    const auto become = [&](told t) {
        status.state = t.state;
        status.message = std::move(t.message);
    };
    if (is_finished(status)) {
        const bool late = !api::is_true(status.conditions, names::complete) &&
                          api::find_condition(status.conditions, names::failed)->reason == names::reason_deadline;
        if (late) drop_pods(status);
        told end = of_end(status, in.job.spec.active_deadline_seconds);
        if (end.state != before.state || !in.failures.empty()) become(std::move(end));
        const auto& type = status.state == job_state::complete ? names::complete : names::failed;
        const base::seconds_time end_time = api::find_condition(status.conditions, type)->last_transition_time;
        status.completion_time.reset();
        if (end_time != base::seconds_time{}) status.completion_time = end_time;
        return;
    }
    status.completion_time.reset();
    told now = in.job.spec.suspend ? of_suspension(in, own) : of_pods(before, status, in, own);
    if (in.trouble)
        now = {now.state == job_state::running ? now.state : job_state::blocked,
               base::one_line(in.trouble->second, condition_message_bytes_max)};
    become(std::move(now));
    if (status.state == job_state::suspended) status.start_time.reset();
    if (status.state != job_state::running || status.start_time) return;
    status.start_time = to_seconds(in.now);
    const bool ran = std::ranges::any_of(in.job.status.jobs, [](const api::job_status& job) { return job.ready > 0; });
    if (ran && told_by_another(in.job.status)) status.start_time = began(in.job, status).value_or(*status.start_time);
}

}  // namespace cotrain::runtime
