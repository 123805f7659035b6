// Makes and keeps what a TrainJob asks for, and writes what became of it into its status.
#pragma once

#include <bitset>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/log.hpp"
#include "reconcile/controller.hpp"
#include "reconcile/event_recorder.hpp"
#include "reconcile/missing_rights.hpp"
#include "reconcile/remote.hpp"
#include "reconcile/runtime_cache.hpp"
#include "reconcile/trainjob/decide.hpp"
#include "reconcile/trainjob/lifecycle.hpp"
#include "reconcile/trainjob/metrics.hpp"
#include "reconcile/trainjob/plan.hpp"
#include "reconcile/trainjob/progress.hpp"
#include "runtime/plugin_set.hpp"
#include "watch/cluster.hpp"

namespace cotrain::reconcile {

// Where time and keys come from, and events go to.
struct trainjob_options {
    std::function<base::micros_time()> wall;
    std::function<moment()> steady;
    std::function<base::result<runtime::ssh_key>()> make_ssh_key;
    std::function<base::result<runtime::curve_key>()> make_curve_key;
    std::function<std::string()> ca_certificate{};  // PEM; only with gate TrainJobStatus
    std::function<void(event_note)> record;         // an event about a TrainJob
    bool normal_events = false;
    bool lifecycle_conditions = false;  // gate TrainJobLifecycleConditions
    bool elastic = false;               // gate ElasticTrainJob: JobSets of jobs that run are scaled
    bool ttl = false;                   // gate TrainJobTTL: TrainJobs go ttlSecondsAfterFinished after their end
};

// The thin side of decide(): looks at the stores, asks what is next, performs it, and notes the answer, until the run
// ends. Sends only what is not so. GETs are rare: a snapshot once per version, when a plan needs it; a finished job
// whose time is up; a job in deletion, or one that lost a child, before a child is made for it; a job whose spec is too
// large to be kept; a job that somebody else has just written to; a Secret, as metadata, where Pods are to start that
// mount it. A page of Pods or Events is listed where Pods do not come or failed (look.hpp).
class trainjob_reconciler {
   public:
    using compiled = runtime_cache::compiled;

    trainjob_reconciler(watch::cluster& all, remote& api, runtime::plugins plugins, trainjob_options with,
                        base::logger& log);

    // One run per key at a time, as the controller sees to.
    [[nodiscard]] awaitable<outcome> reconcile(key k, attempt now);

    // Plan again, though nothing of the job itself has changed.
    void mark_dirty(watch::text_id key);
    // A JobSet is about to leave the store. How it ended counts, though nobody has written it down yet.
    void set_leaves(const watch::object_record& set);
    // The job left the store, or says itself how it ended.
    void forget_end(watch::text_id key) { ends_.erase(key); }
    void record_normal_events(bool wanted) { with_.normal_events = wanted; }

    [[nodiscard]] const child_types& children() const { return children_; }
    [[nodiscard]] const runtime::plugin_set& plugins() const { return *plugins_; }

    // Whether something of that kind was not applied because its store could not be relied upon; forgets it.
    [[nodiscard]] bool waited_for(watch::kind of);
    // What the job's snapshot says, if it was read in the version that is there now; null otherwise.
    [[nodiscard]] compiled known_snapshot(watch::text_id key) const;

    [[nodiscard]] const stage_histograms& timings() const { return timings_; }
    [[nodiscard]] const trainjob_counts& counts() const { return counts_; }
    [[nodiscard]] const readiness_times& waits() const { return waits_; }
    [[nodiscard]] const lifecycle_metrics& lifecycle() const { return lifecycle_; }
    // How long a job has been in that state, as far as this process saw it; nothing: it is in another one, or not
    // known.
    [[nodiscard]] std::optional<std::chrono::nanoseconds> in_state_for(watch::text_id job, api::job_state state) const;
    [[nodiscard]] std::size_t remembered() const { return histories_.size(); }

   private:
    // reconciler.cpp: the course of a run.
    [[nodiscard]] job_view view(watch::text_id key) const;
    [[nodiscard]] circumstances around() const;
    [[nodiscard]] awaitable<outcome> run(watch::text_id key, attempt now);
    void forget(watch::text_id key);
    void begin(const job_view& v, progress& p);
    void take_job(const job_view& v, progress& p, std::string_view whole);
    void update(const job_view& v, progress& p) const;
    [[nodiscard]] outcome restart(const job_view& v, progress& p) const;
    [[nodiscard]] outcome settle(const job_view& v, progress& p);

    // perform.cpp: one request each, or none, and what its answer means.
    [[nodiscard]] awaitable<void> perform(watch::text_id key, progress* p, action next);
    [[nodiscard]] awaitable<void> read_job(watch::text_id key, progress* p);
    [[nodiscard]] awaitable<void> find_runtime(watch::text_id key, progress* p);
    [[nodiscard]] awaitable<void> read_secret(progress* p, std::size_t index);
    [[nodiscard]] awaitable<base::result<bool>> is_premade_secret(progress* p, std::string name);
    [[nodiscard]] awaitable<void> read_set(progress* p);
    void plan(const job_view& v, progress& p);
    void forget_old_secrets(const job_view& v, progress& p);
    void record_premade(const std::vector<found_child>& children, progress& p);
    [[nodiscard]] awaitable<void> apply(watch::text_id key, progress* p, std::size_t index);
    void applied(watch::text_id key, progress& p, step& s, std::uint64_t version);
    void record_scale(const progress& p);
    void fail_step(progress& p, step& s, base::error why) const;
    void fail_refused(progress& p) const;
    void compare_templates(const job_view& v, progress& p) const;
    void await_pods(progress& p) const;
    [[nodiscard]] awaitable<void> identify(progress* p);
    [[nodiscard]] awaitable<void> keep_templates(watch::text_id key, progress* p);
    [[nodiscard]] awaitable<void> suspend_set(watch::text_id key, progress* p);
    [[nodiscard]] awaitable<void> replace_child(progress* p);
    // In which version of its API it is there; null: the API server does not know the kind.
    [[nodiscard]] const api::resource_type* served_as(const child_type& c) const;
    [[nodiscard]] awaitable<void> delete_child(progress* p, action next);
    [[nodiscard]] awaitable<void> delete_job(progress* p);

    // explain.cpp: what Pods and Events say of a job that does not run.
    [[nodiscard]] awaitable<void> look_into(watch::text_id key, progress* p);
    [[nodiscard]] awaitable<void> dissect(watch::text_id key, progress* p);
    [[nodiscard]] bool begin_autopsy(const job_view& v, progress& p, moment now);
    [[nodiscard]] awaitable<base::result<std::string>> ask(const progress* p, list_page what);

    // status.cpp: what is said of a run.
    void report(progress& p);
    void log_failure(const progress& p, const base::error& why) const;
    void log_trouble(base::level how, const progress& p, std::string_view message, std::string_view error) const;
    [[nodiscard]] awaitable<void> patch_status(watch::text_id key, progress* p);
    [[nodiscard]] bool tells_state() const;
    void check_state(const job_view& v, const progress& p);
    [[nodiscard]] doc::ref with_hash(progress& p, doc::ref patch) const;
    void record_progress(const progress& p);
    void time_readiness(const progress& p);

    // lifecycle.cpp: what is counted and logged of a status that was written.
    void follow_state(const progress& p);
    void log_change(const progress& p) const;
    void record(const progress& p, event_type type, std::string_view reason, std::string note);
    void record_normal(const progress& p, std::string_view reason, std::string note);

    watch::cluster& all_;
    remote& api_;
    runtime::plugins plugins_;
    child_types children_;
    trainjob_options with_;
    base::logger& log_;
    runtime_cache runtimes_;
    job_histories histories_;
    ended_sets ends_;
    stage_histograms timings_{};
    trainjob_counts counts_;
    readiness_times waits_;
    lifecycle_metrics lifecycle_;
    unsigned large_runs_ = 0;  // of jobs whose specs are not kept
    std::bitset<watch::kinds> doubted_;
    missing_rights group_rights_;     // to delete PodGroups
    missing_rights job_rights_;       // likewise TrainJobs
    missing_rights pod_rights_;       // to list Pods
    missing_rights event_rights_;     // likewise Events
    missing_rights workload_rights_;  // likewise Workloads; or there is no Kueue
    moment states_untold_until_{};    // the API server has pruned status.state: an older definition
    fair_bucket looks_{looks_per_second, looks_at_once};
    fair_bucket autopsies_{autopsies_per_second, autopsies_at_once};
};

}  // namespace cotrain::reconcile
