#include "app/operator/job_census.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "watch/cluster.hpp"

namespace cotrain::app {

using api::job_state;

void job_counts::add(const job_counts& more) {
    for (std::size_t s = 0; s < in_state.size(); ++s) in_state[s] += more.in_state[s];
    longest_blocked = std::max(longest_blocked, more.longest_blocked);
}

std::uint64_t job_counts::all() const { return std::accumulate(in_state.begin(), in_state.end(), std::uint64_t{0}); }

job_state state_of(const watch::object_record& job, const watch::object_body* body) {
    if (job.complete) return job_state::complete;
    if (job.failed) return job_state::failed;
    const auto told = body == nullptr ? job_state::none : static_cast<job_state>(body->state);
    if (told != job_state::none) return told;
    return job.suspend ? job_state::suspended : job_state::pending;
}

job_census count_jobs(const watch::object_store& jobs, const watch::text_table& texts, bool by_namespace,
                      const blocked_for& blocked) {
    job_census out;
    jobs.for_each([&](watch::handle h, const watch::object_record& job) {
        if (job.elsewhere) return;
        job_counts one;
        const job_state state = state_of(job, jobs.body(h));
        one.in_state[static_cast<std::size_t>(state)] = 1;
        if (state == job_state::blocked) one.longest_blocked = blocked(job.key).value_or(one.longest_blocked);
        out.all.add(one);
        if (by_namespace) out.by_namespace[watch::split_key(texts.view(job.key)).ns].add(one);
    });
    return out;
}

void bound_namespaces(job_census& census, std::size_t most) {
    job_counts rest;
    if (census.by_namespace.size() > most) {
        std::vector<std::pair<std::uint64_t, std::string_view>> sizes;
        for (const auto& [ns, counts] : census.by_namespace) sizes.emplace_back(counts.all(), ns);
        // Of equal ones those with the first names.
        std::ranges::sort(sizes, [](const auto& a, const auto& b) {
            return a.first != b.first ? a.first > b.first : a.second < b.second;
        });
        for (std::size_t i = most; i < sizes.size(); ++i) {
            const auto at = census.by_namespace.find(sizes[i].second);
            rest.add(at->second);
            census.by_namespace.erase(at);
        }
    }
    census.by_namespace.emplace(other_namespaces, rest);
}

}  // namespace cotrain::app
