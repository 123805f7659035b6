// One TrainJob as the stores have it now: its records, and the structs that planning and status work on.
#pragma once

#include <cstdint>
#include <string_view>

#include "reconcile/stored_objects.hpp"
#include "reconcile/trainjob/children.hpp"
#include "watch/cluster.hpp"

namespace cotrain::reconcile {

// Valid until the stores change: taken afresh before each decision, never kept across a suspension.
struct job_view {
    const watch::cluster* all = nullptr;
    const child_types* children = nullptr;
    watch::text_id key = watch::no_text;  // "namespace/name"
    bool leading = true;
    const watch::object_record* job = nullptr;
    const watch::object_body* body = nullptr;
    const watch::object_record* set = nullptr;  // the JobSet of the job's name, whoever owns it
    const watch::object_body* set_body = nullptr;

    [[nodiscard]] std::string_view ns() const { return watch::split_key(all->texts().view(key)).ns; }
    [[nodiscard]] std::string_view name() const { return watch::split_key(all->texts().view(key)).name; }
    [[nodiscard]] bool owns(const watch::object_record* r) const { return r != nullptr && r->owner == job->id; }
    [[nodiscard]] bool owns_set() const { return owns(set); }
    [[nodiscard]] stored_object find(watch::kind of, std::string_view name) const;
    [[nodiscard]] stored_object find(const child_type& c) const;
    [[nodiscard]] stored_object snapshot() const { return find(children->snapshot()); }
    // Fewer Pods of the running job are ready or done than its status says: some start again.
    [[nodiscard]] bool pods_start_again() const;
    // Of the JobSet, while it is suspended.
    [[nodiscard]] std::string_view set_spec() const;
};

[[nodiscard]] job_view view_of(const watch::cluster& all, const child_types& children, watch::text_id key);

// Of all but conditions and counts of a job and its children: equal digests, equal plans.
[[nodiscard]] std::uint64_t digest_of(const job_view& v);
// Of the fields of our own in the job's status, and of what their JobSet says beside conditions and counts.
[[nodiscard]] std::uint64_t told_digest(const job_view& v);

}  // namespace cotrain::reconcile
