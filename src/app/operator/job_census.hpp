// How many TrainJobs there are in each state: one walk over the store for all metrics that need it.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string_view>

#include "api/trainjob.hpp"
#include "watch/object_store.hpp"

namespace cotrain::app {

// Of so many namespaces, those with most TrainJobs, each has its own series; the others are counted together.
inline constexpr std::size_t counted_namespaces_max = 200;
// Their namespace label: no namespace can have that name.
inline constexpr std::string_view other_namespaces = "(other)";

struct job_counts {
    std::array<std::uint64_t, api::job_states> in_state{};
    std::chrono::nanoseconds longest_blocked{0};

    void add(const job_counts& more);
    [[nodiscard]] std::uint64_t all() const;
};

struct job_census {
    job_counts all;
    std::map<std::string_view, job_counts> by_namespace;  // names look into the store's texts
};

// How long a job is Blocked, as far as this process saw it; nothing: not known.
using blocked_for = std::function<std::optional<std::chrono::nanoseconds>(watch::text_id job)>;

// The state that a record shows: a job that nobody has looked at yet is Pending, or Suspended.
[[nodiscard]] api::job_state state_of(const watch::object_record& job, const watch::object_body* body);

// Jobs of other controllers are left out. `by_namespace`: counts each namespace for itself, too.
[[nodiscard]] job_census count_jobs(const watch::object_store& jobs, const watch::text_table& texts, bool by_namespace,
                                    const blocked_for& blocked);
// The largest stay, the rest becomes one entry, which is there even if it is empty.
void bound_namespaces(job_census& census, std::size_t most = counted_namespaces_max);

}  // namespace cotrain::app
