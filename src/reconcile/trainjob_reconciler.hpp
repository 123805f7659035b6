// Brings about what a TrainJob asks for, and writes what became of it into its status.
#pragma once

#include <bitset>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "plugins/builtin.hpp"
#include "reconcile/cluster.hpp"
#include "reconcile/controller.hpp"
#include "reconcile/event_recorder.hpp"
#include "reconcile/missing_rights.hpp"
#include "reconcile/remote.hpp"
#include "reconcile/trainjob_memory.hpp"
#include "reconcile/trainjob_records.hpp"
#include "reconcile/trainjob_runtimes.hpp"
#include "reconcile/trainjob_stages.hpp"

namespace cotrain::reconcile {

// Where time and keys come from, and events go to.
struct surroundings {
    std::function<api::micros_time()> wall;
    std::function<moment()> steady;
    std::function<base::result<runtime::ssh_key>()> make_ssh_key;
    std::function<base::result<runtime::curve_key>()> make_curve_key;
    std::function<std::string()> ca_certificate{};  // PEM; only with gate TrainJobStatus
    std::function<void(event_note)> tell;           // an event about a TrainJob
    bool normal_events = false;
    bool lifecycle_conditions = false;  // gate TrainJobLifecycleConditions
    bool end_of_keeping = false;        // gate TrainJobTTL: TrainJobs go ttlSecondsAfterFinished after their end
};

struct trainjob_counts {
    std::uint64_t skipped = 0;  // objects that already were as they should be
    std::uint64_t repairs = 0;  // applies that undid what others had done
    std::uint64_t quiet = 0;    // runs that had nothing to do
};

// Decides from the stores alone and sends only what is not so. GETs are rare: a snapshot once per version, when a plan
// needs it; a finished job that somebody edited, or whose time is up; what a Complete job had whose conditions somebody
// took away; a job in deletion, or one that lost a child, before a child is made for it; a job whose spec is too large
// to be kept; a job that somebody else has just written to; a Secret, as metadata, where Pods are to start that mount
// it.
class trainjob_reconciler {
   public:
    using compiled = runtime_cache::compiled;

    trainjob_reconciler(cluster& all, remote& api, plugins::builtin framework, surroundings with, base::logger& log);

    // One run per key at a time, as the controller sees to.
    [[nodiscard]] awaitable<outcome> reconcile(key k, unsigned failures);

    // An event concerns the job. `closer`: it was finished before, and the stores keep too little to judge it by.
    void stir(watch::text_id key, bool closer = false);
    // Plan again, though nothing of the job itself has changed.
    void reconsider(watch::text_id key);
    // A JobSet is about to leave the store. How it ended counts, though nobody has written it down yet.
    void set_leaves(const watch::object_record& set);
    // The job left the store, or says itself how it ended.
    void forget_end(watch::text_id key) { ends_.erase(key); }
    void tell_normal_events(bool wanted) { with_.normal_events = wanted; }
    // The job left the store.
    void forget(watch::text_id key);

    // Whether something of that kind was not applied because its store could not be relied upon; forgets it.
    [[nodiscard]] bool waited_for(watch::kind of);
    // What the job's snapshot says, if it was read in the version that is there now; null otherwise.
    [[nodiscard]] compiled known_snapshot(watch::text_id key) const;

    [[nodiscard]] const stage_histograms& timings() const { return timings_; }
    [[nodiscard]] const trainjob_counts& counts() const { return counts_; }
    [[nodiscard]] const readiness_times& waits() const { return waits_; }
    [[nodiscard]] std::size_t remembered() const { return memories_.size(); }

   private:
    struct attempt;
    struct step {
        runtime::object object;
        bool so = false;
        bool repairs = false;  // what others have undone
    };

    // trainjob_reconciler.cpp: the course of a run.
    [[nodiscard]] std::optional<outcome> nothing_to_do(const job_records& seen) const;
    void look(attempt& a, const job_records& seen, std::string_view whole);
    void settle(const attempt& a);
    [[nodiscard]] outcome begin_again(const attempt& a);
    // How long until the job wants another run even if nothing happens.
    [[nodiscard]] std::optional<std::chrono::nanoseconds> due_in(const attempt& a) const;
    [[nodiscard]] outcome failed(const attempt& a, bool passing = false) const;
    [[nodiscard]] outcome rest(const attempt& a) const;

    // trainjob_status.cpp: what is said of a run.
    [[nodiscard]] bool still_as_seen(attempt& a) const;
    [[nodiscard]] awaitable<base::result<>> write_status(attempt* a);
    [[nodiscard]] api::ref with_hash(attempt& a, api::ref patch) const;
    [[nodiscard]] awaitable<base::result<>> refresh(watch::text_id key);
    void report(attempt& a, const base::error& why, unsigned failures);
    void tell_progress(const attempt& a);
    void time_readiness(const attempt& a);
    void tell(const attempt& a, event_type type, std::string_view reason, std::string note);

    [[nodiscard]] awaitable<outcome> work_on(watch::text_id key, unsigned failures);
    [[nodiscard]] awaitable<outcome> work_on_large(watch::text_id key, unsigned failures);
    [[nodiscard]] awaitable<outcome> work_with(watch::text_id key, unsigned failures, std::string whole);
    [[nodiscard]] bool is_settled(const job_records& seen) const;

    // trainjob_children.cpp: planning and applying.
    [[nodiscard]] awaitable<base::result<>> make_children_contained(attempt* a);
    [[nodiscard]] awaitable<base::result<>> make_children(attempt* a);
    [[nodiscard]] bool had_children(const attempt& a) const;
    [[nodiscard]] bool makes_any(const attempt& a, const std::vector<step>& steps) const;
    [[nodiscard]] bool set_went(const attempt& a) const;
    [[nodiscard]] bool is_there(const attempt& a) const;
    [[nodiscard]] awaitable<base::result<>> find_runtime(attempt* a);
    [[nodiscard]] awaitable<void> stop_anyway(attempt* a);
    [[nodiscard]] std::string recorded_hash(const attempt& a) const;
    [[nodiscard]] bool must_see_set(const attempt& a, const std::vector<step>& steps) const;
    [[nodiscard]] awaitable<base::result<>> read_set(attempt* a);
    [[nodiscard]] api::ref spec_of_set(attempt& a, const job_records& seen) const;
    [[nodiscard]] awaitable<base::result<>> apply_all(attempt* a, std::vector<step> steps, base::result<> all);
    [[nodiscard]] awaitable<base::result<>> apply(attempt* a, step what);
    [[nodiscard]] bool is_foreign(const attempt& a, const runtime::object& object) const;
    [[nodiscard]] std::string uid_of(const attempt& a, const runtime::object& object) const;
    [[nodiscard]] awaitable<base::result<>> judge_other(attempt* a, const runtime::object* wanted, std::string meant,
                                                        base::error why);

    // trainjob_secrets.cpp
    [[nodiscard]] compiled runtime_at_hand(const attempt& a);
    [[nodiscard]] awaitable<base::result<>> find_secrets(attempt* a, compiled runtime);
    [[nodiscard]] awaitable<base::result<>> ask_for_secret(attempt* a, std::string name);
    [[nodiscard]] awaitable<base::result<bool>> is_premade_secret(attempt* a, std::string name);
    void forget_secrets(watch::text_id key);

    // trainjob_children.cpp
    [[nodiscard]] awaitable<base::result<std::string>> keep_templates(attempt* a, const runtime::object* wanted,
                                                                      base::error why);
    [[nodiscard]] awaitable<base::result<>> replace_set(attempt* a, base::error why);
    [[nodiscard]] awaitable<base::result<bool>> wants_children_still(attempt* a);
    [[nodiscard]] base::result<std::vector<step>> plan(attempt& a);
    [[nodiscard]] std::vector<runtime::observed_child> children_of(attempt& a, const job_records& seen) const;
    void tell_premade(attempt& a, const std::vector<runtime::observed_child>& children);
    void remember(attempt& a, const runtime::object& object, std::uint64_t version);

    // trainjob_diff.cpp: what need not be done.
    [[nodiscard]] bool must_plan(attempt& a);
    [[nodiscard]] bool adopt(attempt& a, job_memory& memory, const std::vector<runtime::observed_child>& children);
    void diff(attempt& a, std::vector<step>& steps);
    [[nodiscard]] bool is_so(attempt& a, const runtime::object& wanted, bool set_changes) const;

    // trainjob_reopened.cpp: jobs that had ended, and have not any more.
    [[nodiscard]] bool must_recall(const job_records& seen) const;
    [[nodiscard]] awaitable<outcome> recall(watch::text_id key);

    // trainjob_finished.cpp: jobs that have ended.
    [[nodiscard]] awaitable<outcome> tidy_up(watch::text_id key);
    [[nodiscard]] awaitable<base::result<>> judge_again(watch::text_id key, bool ended_by_others);
    [[nodiscard]] awaitable<base::result<>> pass_on_counts(watch::text_id key);
    [[nodiscard]] awaitable<base::result<>> end_children(watch::text_id key);
    [[nodiscard]] std::optional<std::chrono::nanoseconds> time_left(watch::text_id key) const;
    [[nodiscard]] awaitable<base::result<>> end_keeping(attempt* a);
    [[nodiscard]] awaitable<base::result<>> follow_up(attempt* a);
    [[nodiscard]] std::vector<std::pair<target, std::string>> to_be_ended(watch::text_id key) const;
    [[nodiscard]] std::optional<std::chrono::nanoseconds> groups_stay_for(watch::text_id key) const;

    cluster& all_;
    remote& api_;
    plugins::builtin framework_;
    surroundings with_;
    base::logger& log_;
    runtime_cache runtimes_;
    job_memories memories_;
    ended_sets ends_;
    std::unordered_set<watch::text_id> look_closer_;
    stage_histograms timings_{};
    trainjob_counts counts_;
    readiness_times waits_;
    unsigned large_runs_ = 0;  // of jobs whose specs are not kept
    std::bitset<watch::kinds> doubted_;
    missing_rights group_rights_;  // to delete PodGroups
    missing_rights job_rights_;    // likewise TrainJobs
};

}  // namespace cotrain::reconcile
