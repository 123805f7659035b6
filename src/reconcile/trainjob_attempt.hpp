// What one run of the TrainJob reconciler works with, from its first look at the stores to its last write.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "api/arena.hpp"
#include "reconcile/trainjob_reconciler.hpp"
#include "runtime/status.hpp"

namespace cotrain::reconcile {

inline constexpr std::string_view trouble_event_reason = "TrainJobResourcesCreationFailed";

struct trainjob_reconciler::attempt {
    api::arena memory{api::plan_bytes_max};
    watch::text_id key = watch::no_text;
    api::train_job job{};
    std::optional<base::error> unreadable{};  // why its spec could not be decoded
    std::uint64_t version = 0;                // of the job
    std::uint64_t status_print = 0;           // what its status looked like then
    std::uint32_t stirred = 0;
    std::optional<api::job_set> set{};
    api::ref set_spec{};                     // of `set`, in `memory`, where the API server was asked for it
    std::shared_ptr<const ended_set> end{};  // what `set` is made of, if it has left the store
    compiled runtime{};                      // of the snapshot, or to become it
    runtime::status_outcome next{};
    std::optional<std::pair<std::string, std::string>> trouble{};
    std::chrono::nanoseconds pause{0};                   // a repair has to wait that long
    std::optional<std::chrono::nanoseconds> kept_for{};  // a finished job is to go after that
    bool loses_pods = false;                             // of its running JobSet: they start again
    bool knows_secrets = false;                          // they were asked for in this run
    bool lacks_secret = false;                           // and one is not there
    bool outdated = false;                               // the job is not as it was when this run began
    bool settled = false;                                // nothing is left to apply, so only the status is looked at
    bool applied_set = false;
    bool made_set = false;  // there was no JobSet before
    bool hash_now = false;  // the snapshot's hash is to be recorded even if nothing else is
    bool lifecycle = false;
    bool ended_by_others = false;  // see runtime::status_input
    bool panicked = false;         // an exception ended what was to be made

    [[nodiscard]] target at(const api::resource_type& type, std::string_view name) const {
        return {&type, std::string(job.meta.ns), std::string(name)};
    }
    [[nodiscard]] runtime::status_input input(api::micros_time now) const {
        return {.job = job,
                .job_set = set ? &*set : nullptr,
                .runtime_supported = unreadable || runtime::runtime_supported(job.spec.runtime),
                .trouble = trouble,
                .now = now,
                .lifecycle = lifecycle,
                .ended_by_others = ended_by_others};
    }
};

// Until a Secret of a needed name that somebody else has is looked at again: nobody tells when it goes.
inline constexpr std::chrono::seconds foreign_secret_pause{10};

// A child that a runtime asks for, by what is added to the job's name.
struct needed_child {
    const api::resource_type* type;
    std::string_view suffix;
};
[[nodiscard]] std::vector<needed_child> needed_by(const runtime::compiled_runtime& r);

// Whether fewer Pods of a running job are ready or done than its status says: some start again.
[[nodiscard]] bool loses_pods(const job_records& seen);

// A patch that is refused (409) where the job is not in that version any more: a list of conditions replaces the one
// that is there, and what somebody else changed meanwhile must not come in with the answer, unheard.
[[nodiscard]] std::string body_for(api::arena& memory, api::ref patch, std::uint64_t version);

}  // namespace cotrain::reconcile
