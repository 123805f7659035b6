// One TrainJob as the stores have it: its records, and the structs that planning and status work on.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/arena.hpp"
#include "api/jobset.hpp"
#include "api/trainjob.hpp"
#include "base/error.hpp"
#include "reconcile/cluster.hpp"
#include "runtime/observed.hpp"

namespace cotrain::reconcile {

// Valid until the stores change, so never across a suspension.
struct job_records {
    watch::text_id key = watch::no_text;  // "namespace/name"
    const watch::object_record* job = nullptr;
    const watch::object_body* body = nullptr;  // null: finished and collapsed
    const watch::object_record* set = nullptr;
    const watch::object_body* set_body = nullptr;

    [[nodiscard]] bool owns_set() const { return set != nullptr && set->owner == job->id; }
};

[[nodiscard]] job_records find_records(const cluster& all, watch::text_id key);

// "namespace" and "name" of a key.
struct key_parts {
    std::string_view ns;
    std::string_view name;
};
[[nodiscard]] key_parts split_key(std::string_view key);

// What everything but conditions and counts of a job and its children looks like; equal prints, equal plans.
[[nodiscard]] std::uint64_t footprint(const cluster& all, const job_records& seen);

// The job with its stored status. The error is a decoder's: an older CRD let it in.
// `object`: the whole job as the API server sent it, where the store has left its spec out.
[[nodiscard]] base::result<api::train_job> stored_job(api::arena& memory, const cluster& all, const job_records& seen,
                                                      std::string_view object = {});
// Name, uid, times, suspension and status alone: what can be said of a job whose spec cannot be read.
[[nodiscard]] api::train_job bare_job(api::arena& memory, const cluster& all, const job_records& seen);
// The JobSet of the job's name. One that is collapsed has the counts of `of`, and ended as it says.
[[nodiscard]] api::job_set stored_job_set(api::arena& memory, const cluster& all, const job_records& seen,
                                          const api::train_job_status& of);

// Which children exist, by the names that a job can need.
[[nodiscard]] std::vector<runtime::observed_child> find_children(api::arena& memory, const cluster& all,
                                                                 const job_records& seen);

// The uid as text, in `memory`.
[[nodiscard]] std::string_view uid_text(api::arena& memory, const cluster& all, const watch::uid& id);

}  // namespace cotrain::reconcile
