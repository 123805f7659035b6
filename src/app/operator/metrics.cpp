// Families one by one; every series is there from the start.
#include "app/operator/operator.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <span>

#include "app/build_info.hpp"
#include "app/operator/job_census.hpp"
#include "app/operator/process.hpp"
#include "base/json_text.hpp"
#include "watch/kind.hpp"

namespace cotrain::app {

namespace {

using serve::exposition;
using serve::metric_type;
constexpr auto counter = metric_type::counter;
constexpr auto gauge = metric_type::gauge;
constexpr auto histogram = metric_type::histogram;

// Bounds of reconcile::duration_histogram, in seconds.
constexpr std::array<double, reconcile::duration_histogram::bounds> decades{1e-08, 1e-07, 1e-06, 1e-05, 1e-04, 1e-03,
                                                                            1e-02, 1e-01, 1,     10,    100,   1000};

struct controller {
    std::string_view name;
    const reconcile::controller_core* core;
};

double seconds(std::chrono::nanoseconds d) { return std::chrono::duration<double>(d).count(); }
double number(std::uint64_t n) { return static_cast<double>(n); }

void write(exposition& to, std::initializer_list<serve::label> with, const reconcile::duration_histogram& h) {
    to.histogram(with, decades, h.counts, seconds(h.sum));
}

template <class F>
void each_queue(exposition& to, std::span<const controller> all, std::string_view name, metric_type type,
                std::string_view help, F value) {
    to.family(name, type, help);
    for (const controller& c : all) to.sample({{"controller", c.name}, {"name", c.name}}, value(*c.core));
}

void write_queues(exposition& to, std::span<const controller> all) {
    using core = reconcile::controller_core;
    const auto now = std::chrono::steady_clock::now();
    each_queue(to, all, "workqueue_depth", gauge, "Current depth of workqueue.",
               [](const core& c) { return number(c.depth()); });
    each_queue(to, all, "workqueue_adds_total", counter, "Total number of adds handled by workqueue.",
               [](const core& c) { return number(c.metrics().adds); });
    each_queue(to, all, "workqueue_retries_total", counter, "Total number of retries handled by workqueue.",
               [](const core& c) { return number(c.metrics().retries); });
    each_queue(to, all, "workqueue_unfinished_work_seconds", gauge,
               "How many seconds of work are in progress and not yet observed by work_duration.",
               [now](const core& c) { return seconds(c.unfinished(now)); });
    each_queue(to, all, "workqueue_longest_running_processor_seconds", gauge,
               "How many seconds the longest running processor has been running.",
               [now](const core& c) { return seconds(c.longest_running(now)); });
    to.family("workqueue_queue_duration_seconds", histogram, "How long an item stays in workqueue, in seconds.");
    for (const controller& c : all) write(to, {{"controller", c.name}, {"name", c.name}}, c.core->metrics().waited);
    to.family("workqueue_work_duration_seconds", histogram, "How long processing an item takes, in seconds.");
    for (const controller& c : all) write(to, {{"controller", c.name}, {"name", c.name}}, c.core->metrics().worked);
}

void write_controllers(exposition& to, std::span<const controller> all) {
    to.family("controller_runtime_reconcile_total", counter, "Total number of reconciliations per controller.");
    for (const controller& c : all) {
        const reconcile::queue_metrics& m = c.core->metrics();
        to.sample({{"controller", c.name}, {"result", "success"}}, number(m.done));
        to.sample({{"controller", c.name}, {"result", "requeue_after"}}, number(m.requeued));
        to.sample({{"controller", c.name}, {"result", "requeue"}}, 0);
        to.sample({{"controller", c.name}, {"result", "error"}}, number(m.errors));
    }
    const auto family = [&](std::string_view name, metric_type type, std::string_view help, auto value) {
        to.family(name, type, help);
        for (const controller& c : all) to.sample({{"controller", c.name}}, value(*c.core));
    };
    using core = reconcile::controller_core;
    family("controller_runtime_reconcile_errors_total", counter,
           "Total number of reconciliation errors per controller.",
           [](const core& c) { return number(c.metrics().errors); });
    family("controller_runtime_terminal_reconcile_errors_total", counter,
           "Total number of terminal reconciliation errors per controller.", [](const core&) { return 0.0; });
    family("controller_runtime_reconcile_panics_total", counter,
           "Total number of reconciliation panics per controller.",
           [](const core& c) { return number(c.metrics().panics); });
    family("controller_runtime_max_concurrent_reconciles", gauge,
           "Maximum number of concurrent reconciles per controller.",
           [](const core& c) { return number(c.in_flight_max()); });
    family("controller_runtime_active_workers", gauge, "Number of currently used workers per controller.",
           [](const core& c) { return number(c.in_flight()); });
    to.family("controller_runtime_reconcile_time_seconds", histogram,
              "Length of time per reconciliation per controller.");
    for (const controller& c : all) write(to, {{"controller", c.name}}, c.core->metrics().worked);
}

void write_client(exposition& to, const kube::client_statistics& seen, const std::string& host) {
    to.family("rest_client_requests_total", counter,
              "Number of HTTP requests, partitioned by status code, method, and host.");
    for (const std::string_view method : {"GET", "PATCH", "POST", "PUT", "DELETE"}) {
        bool any = false;
        for (const kube::request_count& each : seen.requests) {
            if (each.method != method) continue;
            any = true;
            const std::string code = each.code == 0 ? "<error>" : std::to_string(each.code);
            to.sample({{"code", code}, {"host", host}, {"method", method}}, number(each.count));
        }
        if (!any) to.sample({{"code", "200"}, {"host", host}, {"method", method}}, 0);
    }
    to.family("cotrain_throttle_wait_seconds", metric_type::summary,
              "Time that requests waited for the client's own rate limit.");
    to.summary({}, seconds(seen.throttle.waited), seen.throttle.waits);
    to.single("cotrain_request_retries_total", counter, "Attempts of requests after their first.",
              number(seen.retries));
    to.single("cotrain_connects_total", counter, "Connections made to the API server.", number(seen.wire.connects));
    to.single("cotrain_streams_in_use", gauge, "Streams open to the API server.", number(seen.wire.streams_open));
    to.single("cotrain_requests_queued", gauge, "Requests that wait for a stream.", number(seen.wire.requests_queued));
}

template <class F>
double sum(std::span<const std::unique_ptr<watch::informer>> all, F value) {
    std::uint64_t out = 0;
    for (const auto& each : all) out += value(*each);
    return number(out);
}

// One namespace that is not in sync tells more than all that are.
const watch::informer* telling(std::span<const std::unique_ptr<watch::informer>> all) {
    const auto behind = std::ranges::find_if(all, [](const auto& each) { return !each->in_sync(); });
    if (behind != all.end()) return behind->get();
    return all.empty() ? nullptr : all.front().get();
}

// One that no plugin declares is not shown.
bool is_used(const watch::informers& all, watch::kind k) {
    return !watch::info_of(k).on_demand || !all.all_of(k).empty();
}

void write_watches(exposition& to, const watch::informers& all) {
    to.family("cotrain_watch_events_total", counter, "Watch events by kind and type.");
    for (const watch::kind k : watch::all_kinds()) {
        for (std::size_t c = 0; !all.all_of(k).empty() && c < watch::counted_types; ++c) {
            const auto type = static_cast<watch::counted>(c);
            to.sample({{"kind", watch::info_of(k).label}, {"type", watch::to_string(type)}},
                      sum(all.all_of(k), [type](const watch::informer& of) { return of.events(type); }));
        }
    }
    to.family("cotrain_watch_restarts_total", counter,
              "Watches and lists that had to begin again, by kind and reason.");
    for (const watch::kind k : watch::all_kinds()) {
        for (std::size_t r = 0; !all.all_of(k).empty() && r < watch::restart_reasons; ++r) {
            const auto why = static_cast<watch::restart_reason>(r);
            to.sample({{"kind", watch::info_of(k).label}, {"reason", watch::to_string(why)}},
                      sum(all.all_of(k), [why](const watch::informer& of) { return of.restarts(why); }));
        }
    }
    to.family("cotrain_watch_synced", gauge, "Whether a kind is followed, so that the operator sees it as it is.");
    for (const watch::kind k : watch::all_kinds()) {
        const auto followed = [&](const auto& each) {
            return each->following() || (!watch::info_of(k).required && !each->in_sync());
        };
        if (all.all_of(k).empty()) continue;
        to.sample({{"kind", watch::info_of(k).label}}, std::ranges::all_of(all.all_of(k), followed) ? 1 : 0);
    }
    to.family("cotrain_store_objects", gauge, "Objects known, by kind.");
    for (const watch::kind k : watch::all_kinds())
        if (is_used(all, k)) to.sample({{"kind", watch::info_of(k).label}}, number(all.store(k).size()));
    to.family("cotrain_runtime_bytes", gauge, "Bytes of runtimes' specs that are kept, by kind.");
    for (const watch::kind k : {watch::kind::training_runtime, watch::kind::cluster_training_runtime})
        to.sample({{"kind", watch::info_of(k).label}}, number(all.store(k).room()->bytes()));
    to.family("cotrain_runtimes_left_out", gauge, "Runtimes that are not kept because they are too large together.");
    for (const watch::kind k : {watch::kind::training_runtime, watch::kind::cluster_training_runtime})
        to.sample({{"kind", watch::info_of(k).label}}, number(all.store(k).room()->left_out()));
}

void write_work(exposition& to, const operator_process& process) {
    to.family("cotrain_reconcile_stage_seconds", histogram, "Time of the parts of a reconcile.");
    for (std::size_t s = 0; s < reconcile::stages; ++s)
        write(to, {{"stage", reconcile::stage_names[s]}}, process.train_jobs().timings()[s]);
    to.family(
        "cotrain_jobset_ready_seconds", histogram,
        "Time from a TrainJob's creation or resumption until its JobSet exists, and until all its pods are ready.");
    const reconcile::readiness_times& waits = process.train_jobs().waits();
    to.histogram({{"until", "exists"}}, reconcile::readiness_histogram::bounds, waits.exists.counts, waits.exists.sum);
    to.histogram({{"until", "ready"}}, reconcile::readiness_histogram::bounds, waits.ready.counts, waits.ready.sum);
    to.family("cotrain_apply_total", counter, "Objects that were to be written, by kind and result.");
    for (const watch::kind k : watch::all_kinds()) {
        if (!is_used(process.observed(), k)) continue;
        const reconcile::apply_counts& n = process.writes().counts(k);
        const std::string_view kind = watch::info_of(k).label;
        to.sample({{"kind", kind}, {"result", "applied"}}, number(n.applied));
        to.sample({{"kind", kind}, {"result", "skipped"}}, number(n.skipped));
        to.sample({{"kind", kind}, {"result", "conflict"}}, number(n.conflict));
        to.sample({{"kind", kind}, {"result", "error"}}, number(n.error));
    }
}

void write_states(exposition& to, std::string_view ns, const job_counts& jobs) {
    for (std::size_t s = 1; s < api::job_states; ++s) {
        const std::string_view state = api::to_string(static_cast<api::job_state>(s));
        const double count = number(jobs.in_state[s]);
        ns.empty() ? to.sample({{"state", state}}, count) : to.sample({{"namespace", ns}, {"state", state}}, count);
    }
}

// The one walk over all TrainJobs.
void write_jobs(exposition& to, const operator_process& process, bool by_namespace) {
    const auto blocked = [&process](watch::text_id job) {
        return process.train_jobs().in_state_for(job, api::job_state::blocked);
    };
    job_census census =
        count_jobs(process.observed().store(watch::kind::train_job), process.texts(), by_namespace, blocked);
    if (by_namespace) {
        bound_namespaces(census);
    } else {
        census.by_namespace.emplace(std::string_view{}, census.all);
    }
    to.family("cotrain_trainjobs", gauge, "TrainJobs by state.");
    for (const auto& [ns, jobs] : census.by_namespace) write_states(to, ns, jobs);
    to.family("cotrain_trainjobs_blocked_longest_seconds", gauge,
              "How long the TrainJob that is Blocked for longest has been so; 0: none is.");
    for (const auto& [ns, jobs] : census.by_namespace) {
        const double longest = seconds(jobs.longest_blocked);
        ns.empty() ? to.sample({}, longest) : to.sample({{"namespace", ns}}, longest);
    }
}

template <std::size_t n>
void write_reasons(exposition& to, std::string_view name, std::string_view help,
                   const std::array<std::string_view, n>& reasons, const std::array<std::uint64_t, n>& counts) {
    to.family(name, counter, help);
    for (std::size_t r = 0; r < n; ++r) to.sample({{"reason", reasons[r]}}, number(counts[r]));
}

void write_lives(exposition& to, const reconcile::lifecycle_metrics& lives) {
    write_reasons(to, "cotrain_trainjob_failures_total", "TrainJobs that failed, by the reason of their condition.",
                  reconcile::job_failure_reasons, lives.failures);
    write_reasons(to, "cotrain_trainjob_pod_failures_total",
                  "Attempts of TrainJobs that failed, by why their first Pod failed.", reconcile::pod_failure_reasons,
                  lives.pod_failures);
    to.single("cotrain_trainjob_restarts_total", counter, "Restarts of TrainJobs' JobSets.", number(lives.restarts));
    to.family("cotrain_trainjob_state_seconds", histogram, "How long TrainJobs were in a state when they left it.");
    for (std::size_t s = 1; s < api::job_states; ++s) {
        const auto state = static_cast<api::job_state>(s);
        if (state == api::job_state::complete || state == api::job_state::failed) continue;  // nothing comes after
        const reconcile::state_histogram& h = lives.in_state[s];
        to.histogram({{"state", api::to_string(state)}}, reconcile::state_histogram::bounds, h.counts, h.sum);
    }
}

void write_election(exposition& to, const operator_process& process, const configuration& config) {
    to.family("leader_election_master_status", gauge,
              "Whether the reporting system is leader of the relevant lease: 0 backup, 1 leader.");
    to.sample({{"name", config.election.lease_name}}, process.leading() ? 1 : 0);
    const reconcile::leader* const election = process.election();
    to.single("cotrain_lease_transitions", gauge, "How often the Lease changed hands, as it says itself.",
              election == nullptr ? 0 : election->transitions());
    to.single("cotrain_lease_failures_total", counter, "Times that the Lease could not be read or written.",
              election == nullptr ? 0 : number(election->failures()));
}

std::array<controller, 3> controllers_of(const operator_process& process) {
    return {controller{"trainjob_controller", &process.train_job_queue()},
            controller{"trainingruntime_controller", &process.runtime_queue()},
            controller{"clustertrainingruntime_controller", &process.cluster_runtime_queue()}};
}

}  // namespace

void write_operator_metrics(exposition& to, const operator_process& process, const kube::client& api,
                            const configuration& config) {
    const auto all = controllers_of(process);
    write_controllers(to, all);
    write_queues(to, all);
    write_client(to, api.statistics(), api.server());
    write_election(to, process, config);
    write_watches(to, process.observed());
    write_work(to, process);
    write_jobs(to, process, config.metrics.by_namespace);
    write_lives(to, process.train_jobs().lifecycle());
    to.family("cotrain_build_info", gauge, "What the program was built from: always 1.");
    to.sample({{"version", version()}, {"commit", commit()}, {"compiler", compiler()}}, 1);
    to.single("cotrain_memory_limit_bytes", gauge, "The memory that the operator may use.", number(memory_limit()));
}

std::string write_operator_state(const operator_process& process, const kube::client& api) {
    std::string out = R"({"leading":)";
    out.append(process.leading() ? "true" : "false");
    out.append(R"(,"leader":)");
    base::append_json_string(out, process.holder());
    out.append(R"(,"synced":)").append(process.synced() ? "true" : "false");
    out.append(R"(,"queues":{)");
    for (const controller& c : controllers_of(process)) {
        if (out.back() != '{') out += ',';
        base::append_json_string(out, c.name);
        out.append(R"(:{"depth":)").append(std::to_string(c.core->depth()));
        out.append(R"(,"delayed":)").append(std::to_string(c.core->delayed()));
        out.append(R"(,"inFlight":)").append(std::to_string(c.core->in_flight())).append("}");
    }
    out.append(R"(},"caches":{)");
    for (const watch::kind k : watch::all_kinds()) {
        const watch::informer* const of = telling(process.observed().all_of(k));
        if (of == nullptr) continue;
        if (out.back() != '{') out += ',';
        base::append_json_string(out, watch::info_of(k).label);
        out.append(R"(:{"objects":)").append(std::to_string(process.observed().store(k).size()));
        out.append(R"(,"synced":)").append(of->in_sync() ? "true" : "false");
        out.append(R"(,"resourceVersion":)");
        base::append_json_string(out, of->resource_version());
        out.append(R"(,"lastError":)");
        base::append_json_string(out, of->last_error());
        out += '}';
    }
    const auto seen = api.statistics();
    out.append(R"(},"streams":{"open":)").append(std::to_string(seen.wire.streams_open));
    out.append(R"(,"queued":)").append(std::to_string(seen.wire.requests_queued));
    out.append(R"(,"connects":)").append(std::to_string(seen.wire.connects));
    return out.append("}}");
}

}  // namespace cotrain::app
