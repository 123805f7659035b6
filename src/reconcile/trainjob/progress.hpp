// What the TrainJob reconciler remembers: of an unfinished job between runs, and within one run.
#pragma once

#include <algorithm>
#include <bitset>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "api/jobset.hpp"
#include "doc/arena.hpp"
#include "reconcile/controller_core.hpp"
#include "reconcile/remote.hpp"
#include "reconcile/trainjob/look.hpp"
#include "reconcile/trainjob/metrics.hpp"
#include "reconcile/trainjob/view.hpp"
#include "runtime/elastic.hpp"
#include "runtime/object.hpp"
#include "runtime/status.hpp"

namespace cotrain::reconcile {

using compiled_ptr = std::shared_ptr<const runtime::compiled_runtime>;

// A child as our last apply left it, or as it was found after a start.
struct child_digest {
    watch::kind of{};
    std::uint64_t name = 0;  // hash
    std::uint64_t sent = 0;  // hash of what was applied; 0: it was found, and taken for right
    std::uint64_t left = 0;  // stored_object::state() then
};

// Others may undo what we apply. The first repairs are made at once, further ones once in a while. One that the API
// server refuses is none: the queue's backoff is for those.
inline constexpr unsigned repairs_at_once = 5;
inline constexpr auto repair_pause = std::chrono::minutes(1);
// So long without one, and the next ones are first repairs again.
inline constexpr auto repair_calm = std::chrono::minutes(10);

// A run that was overtaken by others begins again at once that often, then like a failure.
inline constexpr unsigned restarts_max = 5;

// What few unfinished jobs have between runs, or only for a short time.
struct rare_history {
    watch::uid premade_secret{};     // that nobody controls, and that was found to be a pair of keys
    std::string snapshot_hash{};     // that the status does not have yet
    std::uint64_t failure_told = 0;  // hash of the failure that has a log line of its own
    std::uint64_t scaled = 0;        // version of the JobSet as it was when it was scaled last
    moment last_repair{};
    std::uint16_t repairs = 0;

    [[nodiscard]] bool operator==(const rare_history&) const = default;
    [[nodiscard]] bool may_repair(moment now) const {
        return repairs < repairs_at_once || now - last_repair >= repair_pause;
    }
    void repaired(moment now) {
        if (now - last_repair >= repair_calm) repairs = 0;
        if (repairs < repairs_at_once) ++repairs;
        last_repair = now;
    }
};

// Of an unfinished job between runs. Everything can be found out again: a new process begins without.
struct job_history {
    watch::uid job{};
    std::uint64_t settled = 0;  // digest_of() the view in which nothing was left to apply; 0: none
    bool dirty = false;         // to be planned again, though neither job nor children changed
    bool known = false;         // its children are those below
    bool made_here = false;     // its snapshot was made by this operator, and so its JobSet
    bool goes_on = false;       // it had not ended when it was last looked at, and no end was written since
    std::uint8_t restarts = 0;  // in a row
    readiness pods = readiness::unseen;
    api::job_state state = api::job_state::none;  // that was told last, or was there at first
    bool state_begun = false;                     // by this process
    moment since{};                               // of the state, or when it was seen first
    std::uint64_t told = 0;                       // told_digest() of the view in which the status was as it is to be
    std::uint64_t runtime_version = 0;
    std::weak_ptr<const runtime::compiled_runtime> runtime{};  // of the snapshot in that version, if it is still kept
    std::vector<child_digest> children{};
    std::unique_ptr<look_notes> looked{};  // null: it was never looked into, or its Pods came
    std::unique_ptr<rare_history> rare{};  // null: as one that was just made

    [[nodiscard]] const child_digest* find(watch::kind of, std::uint64_t name) const {
        const auto is_it = [&](const child_digest& c) { return c.of == of && c.name == name; };
        const auto at = std::ranges::find_if(children, is_it);
        return at == children.end() ? nullptr : &*at;
    }
    child_digest& at(watch::kind of, std::uint64_t name) {
        const child_digest* const before = find(of, name);
        return before != nullptr ? const_cast<child_digest&>(*before)
                                 : children.emplace_back(child_digest{.of = of, .name = name});
    }
    [[nodiscard]] const rare_history& rarely() const {
        static const rare_history none;
        return rare == nullptr ? none : *rare;
    }
    rare_history& make_rare() {
        if (rare == nullptr) rare = std::make_unique<rare_history>();
        return *rare;
    }
    void drop_rare() {
        if (rare != nullptr && *rare == rare_history{}) rare.reset();
    }
    // The status has it.
    void hash_is_told() {
        if (rare == nullptr) return;
        rare->snapshot_hash.clear();
        drop_rare();
    }
};

// With its place in the map and two children, a job that runs and was never odd takes some 240 bytes.
static_assert(sizeof(job_history) <= 120);

// A JobSet that had ended and went (its time to live may be 0) before its TrainJob said so.
struct ended_set {
    doc::arena memory{};
    watch::uid job{};
    api::job_set set{};
};

using ended_sets = std::unordered_map<watch::text_id, std::shared_ptr<const ended_set>>;
using job_histories = std::unordered_map<watch::text_id, job_history>;

// What a run relies upon. Where the view is not like this any more, the run begins again.
struct run_base {
    watch::uid job{};
    watch::uid set{};          // empty: there is none
    std::uint64_t status = 0;  // digest
    bool suspend = false;
    std::uint64_t spec = 0;  // digest, the suspension included

    explicit run_base(const job_view& v)
        : job(v.job->id),
          set(v.set == nullptr ? watch::uid{} : v.set->id),
          status(v.body->status_print),
          suspend(v.job->suspend),
          spec(v.body->spec_print) {}
    // Of a finished job's spec only the suspension matters to its status; its time to live is looked at afresh.
    [[nodiscard]] bool holds(const job_view& v, bool finished) const {
        const run_base now(v);
        return now.job == job && now.set == set && now.status == status && now.suspend == suspend &&
               (finished || now.spec == spec);
    }
};

// One object of the plan.
struct step {
    runtime::object object;
    const child_type* type = nullptr;
    watch::kind of{};
    std::uint64_t name = 0;    // hash
    std::uint64_t digest = 0;  // of what is sent
    // stored_object::state() in which it is as planned; nothing: it has to be applied first.
    std::optional<std::uint64_t> good{};
    bool closed = false;  // it failed, or has to wait: not again in this run

    // The counts of a JobSet that runs, and nothing else of it.
    [[nodiscard]] bool scales() const { return object.manager == api::names::scale_field_manager; }
};

// Why an apply was refused, and what it was meant for.
struct refusal {
    std::size_t step = 0;
    base::error why{};
    std::string meant;              // uid; empty: a new object
    bool templates_differ = false;  // of the JobSet that is there, from the plan
};

// What the API server said of the job itself in this run.
struct job_answer {
    bool exists = true;
    bool collected = false;  // the garbage collector takes its children, or leaves them alone
    std::uint64_t version = 0;
};

// The only memory of one run. It is changed where answers come in (reconciler.cpp, plan.cpp, status.cpp), never by
// decide(). Invariants:
// - `job` is what `base` says; `set` and `next` are made anew whenever the view's JobSet is another or has changed.
// - `steps` are the plan of `runtime` for the JobSet's spec of digest `planned_for`: others, and they are dropped.
// - `runtime` is that of the snapshot in `runtime_version`, or the live one (0) where there is no snapshot.
// - `refused` points into `steps`.
struct progress {
    progress(const job_view& v, job_history& h) : history(h), base(v) {}

    doc::arena memory{doc::plan_bytes_max};
    job_history& history;
    run_base base;
    attempt tried{};

    api::train_job job{};
    bool clean = false;             // nothing is left to apply: only the status is looked at
    bool lacks_spec = false;        // it is too large to be kept, and was not read yet
    bool had_children = false;      // a child that is missing may have gone: a new job's has not
    bool ended_by_others = false;   // see runtime::status_input
    std::string queue{};            // likewise
    bool pods_start_again = false;  // so that their Secrets have to be there

    std::optional<api::job_set> set{};
    std::shared_ptr<const ended_set> end{};  // what `set` is made of, if it has left the store
    std::uint64_t set_version = 0;
    doc::ref set_spec{};  // as the API server was asked for it
    runtime::status_outcome next{};
    bool next_known = false;

    std::optional<job_answer> asked{};
    compiled_ptr runtime{};
    std::uint64_t runtime_version = 0;
    compiled_ptr at_hand{};  // where Pods start again: tells which Secrets there are
    std::bitset<child_types::size_max> secrets_asked{};
    bool lacks_secret = false;
    std::optional<std::vector<step>> steps{};
    std::uint64_t planned_for = 0;
    std::optional<refusal> refused{};
    bool remaking = false;  // a child goes, and comes anew before any other is applied

    std::optional<base::error> failure{};   // no more children are made
    std::optional<base::error> deferred{};  // a failure that keeps no other child from being applied
    bool panicked = false;                  // an exception was the failure
    std::optional<std::pair<std::string, std::string>> trouble{};  // what the status says of it
    bool overtaken = false;                                        // an answer says that the view is behind
    bool reported = false;
    bool suspended_set = false;  // asked for, at least
    bool status_done = false;
    std::vector<api::job_failure> failed_attempts{};  // found in this run
    bool made_set = false;                            // there was no JobSet before
    bool hash_now = false;                            // the snapshot's hash is to be recorded even if nothing else is
    bool status_failed = false;
    std::optional<base::error> end_failure{};  // of the status, or of what follows an end
    std::vector<watch::uid> deleted{};         // children, asked for at least
    bool deleted_job = false;                  // likewise
    bool canceled = false;                     // another replica leads
    std::optional<runtime::look> look{};       // under way
    bool looked = false;                       // as far as it may be now
    bool asked_failed_pods = false;            // of an autopsy
    bool dissected = false;                    // likewise
    std::chrono::nanoseconds pause{0};         // look again after that

    [[nodiscard]] target at(const api::resource_type& type, std::string_view name) const {
        return {&type, std::string(job.meta.ns), std::string(name)};
    }
    [[nodiscard]] look_notes& notes() const {
        if (history.looked == nullptr) history.looked = std::make_unique<look_notes>();
        return *history.looked;
    }
    [[nodiscard]] const base::error* error() const {
        if (!next.wants_children || clean) return nullptr;
        if (failure) return &*failure;
        return deferred ? &*deferred : nullptr;
    }
    // Of an elastic job whose runtime is at hand.
    [[nodiscard]] std::int32_t nodes_min() const {
        const compiled_ptr& with = runtime != nullptr ? runtime : at_hand;
        const auto policy = with == nullptr ? std::nullopt : runtime::elastic_of(job, with->ml());
        return policy ? policy->nodes.min : 0;
    }
    [[nodiscard]] runtime::status_input status_input(base::micros_time now, bool lifecycle, bool elastic) const {
        return {.job = job,
                .job_set = set ? &*set : nullptr,
                .runtime_supported = runtime::runtime_supported(job.spec.runtime),
                .trouble = trouble,
                .now = now,
                .lifecycle = lifecycle,
                .ended_by_others = ended_by_others,
                .look = history.looked == nullptr ? nullptr : &history.looked->found,
                .failures = failed_attempts,
                .queue = queue,
                .elastic = elastic,
                .nodes_min = elastic ? nodes_min() : 0,
                .scaled = set && history.rarely().scaled != 0 && history.rarely().scaled == set_version};
    }
};

}  // namespace cotrain::reconcile
