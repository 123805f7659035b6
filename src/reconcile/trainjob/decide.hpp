// What to do next for a TrainJob: a pure function of what the stores show, what this run has done so far, and the time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "reconcile/missing_rights.hpp"
#include "reconcile/trainjob/progress.hpp"

namespace cotrain::reconcile {

enum class act : std::uint8_t {
    // Ends of a run.
    done,     // nothing is to be done, nor to be remembered
    requeue,  // likewise, until `after`
    forget,   // the job is gone
    restart,  // others were faster
    settle,   // all is done that can be: remember that, and say when to look again
    // Without a request.
    begin,  // decode the job, as the view has it
    plan,   // what its children are to be
    compare_templates,
    fail_child,     // the refusal counts
    wait_for_pods,  // of a JobSet that is to be made again
    report,         // a failure: log line, event, condition
    // Requests.
    read_job,
    find_runtime,  // none where the runtime of this snapshot is known
    read_secret,   // `index` in child_types
    read_set,      // its spec is not in the store
    apply,         // `index` in the plan
    identify,      // what an apply was refused for
    keep_templates,
    suspend_set,
    replace_child,  // which cannot become what it is to be
    patch_status,
    autopsy,       // of an attempt that failed: a list of Pods
    look,          // why Pods do not come: a list of Pods or Events; none where others go first
    delete_child,  // `index` in child_types, the one with that `id`
    delete_job,
};

struct action {
    act what = act::done;
    std::size_t index = 0;
    std::chrono::nanoseconds after{0};
    const watch::object_record* child = nullptr;  // of this view

    [[nodiscard]] bool operator==(const action&) const = default;
};

// What decisions depend on besides the job.
struct circumstances {
    base::micros_time wall{};
    moment steady{};
    bool ttl = false;                              // gate TrainJobTTL
    bool elastic = false;                          // gate ElasticTrainJob
    bool large_runs_full = false;                  // enough jobs with large specs are worked on
    bool tells_state = true;                       // the definition of TrainJobs has status.state
    const missing_rights* group_rights = nullptr;  // to delete PodGroups
    const missing_rights* job_rights = nullptr;    // likewise TrainJobs
};

// `known`: null where nothing is remembered of the job; `p`: null before the run has begun.
[[nodiscard]] action decide(const job_view& v, const job_history* known, const progress* p, const circumstances& c);

// Whether the next status is written with its state: the first one of a new job goes with what JobSet's controller
// says first, or where that says nothing with the first look at its Pods (look_after).
[[nodiscard]] bool tells_state_now(const job_view& v, const progress& p, const circumstances& c);

// When a run that settles wants another one though nothing happens.
[[nodiscard]] std::optional<std::chrono::nanoseconds> due_in(const job_view& v, const progress& p,
                                                             const circumstances& c);

// How long to wait for what this run could not do, and nobody may tell of: 0 where that is nothing.
[[nodiscard]] std::chrono::nanoseconds pause_of(const job_view& v, const progress& p, moment now);

// What the spec of the JobSet that is there means for a plan: another digest, another plan.
[[nodiscard]] std::uint64_t planning_state(const job_view& v, const compiled_ptr& runtime);

}  // namespace cotrain::reconcile
