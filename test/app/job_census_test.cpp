// How many TrainJobs are in which state: by records alone, bounded by namespace, in one walk.
#include "app/operator/job_census.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <string>

namespace cotrain::app {
namespace {

using api::job_state;
using namespace std::chrono_literals;

struct fleet {
    watch::text_table texts;
    watch::object_store jobs{texts};
    unsigned last = 0;

    void add(const std::string& ns, std::string_view state, watch::projection p = {}) {
        const std::string name = "job-" + std::to_string(++last);
        const std::string version = std::to_string(last);
        watch::train_job_status_view told;
        told.state.raw = state;
        p.ns = ns;
        p.name = name;
        p.uid = name;
        p.resource_version = version;
        p.status = &told;
        p.told = &told;
        jobs.upsert(p);
    }
    [[nodiscard]] job_census count(bool by_namespace = false, const blocked_for& blocked = unknown) const {
        return count_jobs(jobs, texts, by_namespace, blocked);
    }
    static std::optional<std::chrono::nanoseconds> unknown(watch::text_id) { return std::nullopt; }
};

std::uint64_t in(const job_counts& counts, job_state s) { return counts.in_state[static_cast<std::size_t>(s)]; }

TEST(job_census, each_state_is_counted_and_what_is_not_told_is_seen_by_its_record) {
    fleet all;
    for (const std::string_view state :
         {"Pending", "Starting", "Running", "Running", "Restarting", "Suspending", "Suspended", "Blocked"})
        all.add("ns", state);
    all.add("ns", "");
    all.add("ns", "", {.suspend = true});
    all.add("ns", "Running", {.complete = true});
    all.add("ns", "", {.failed = true});
    all.add("ns", "", {.elsewhere = true});
    const job_counts found = all.count().all;
    EXPECT_EQ(in(found, job_state::pending), 2U);
    EXPECT_EQ(in(found, job_state::starting), 1U);
    EXPECT_EQ(in(found, job_state::running), 2U);
    EXPECT_EQ(in(found, job_state::restarting), 1U);
    EXPECT_EQ(in(found, job_state::suspending), 1U);
    EXPECT_EQ(in(found, job_state::suspended), 2U);
    EXPECT_EQ(in(found, job_state::blocked), 1U);
    EXPECT_EQ(in(found, job_state::complete), 1U);
    EXPECT_EQ(in(found, job_state::failed), 1U);
    EXPECT_EQ(in(found, job_state::none), 0U);
    EXPECT_EQ(found.all(), 12U) << "another controller's job is not ours to count";
}

TEST(job_census, of_blocked_jobs_the_one_that_is_so_for_longest_counts) {
    fleet all;
    for (int i = 0; i < 3; ++i) all.add(i == 2 ? "b" : "a", "Blocked");
    all.add("c", "Running");
    std::multiset<std::string> asked;
    const auto found = all.count(true, [&](watch::text_id job) -> std::optional<std::chrono::nanoseconds> {
        const std::string key(all.texts.view(job));
        asked.insert(key);
        if (key == "a/job-2") return std::nullopt;
        return key == "a/job-1" ? 70s : 900s;
    });
    EXPECT_EQ(asked, (std::multiset<std::string>{"a/job-1", "a/job-2", "b/job-3"}));
    EXPECT_EQ(found.all.longest_blocked, 900s);
    EXPECT_EQ(found.by_namespace.at("a").longest_blocked, 70s);
    EXPECT_EQ(found.by_namespace.at("b").longest_blocked, 900s);
    EXPECT_EQ(found.by_namespace.at("c").longest_blocked, 0s);
}

TEST(job_census, namespaces_beyond_the_bound_are_counted_together) {
    fleet all;
    for (int ns = 0; ns < 10; ++ns)
        for (int i = 0; i <= ns; ++i) all.add("ns-" + std::to_string(ns), i % 2 == 0 ? "Running" : "Blocked");
    job_census found = all.count(true, [](watch::text_id) { return std::optional<std::chrono::nanoseconds>(5s); });
    bound_namespaces(found, 3);
    ASSERT_EQ(found.by_namespace.size(), 4U);
    job_counts sum;
    for (const auto& [ns, counts] : found.by_namespace) sum.add(counts);
    EXPECT_EQ(sum.in_state, found.all.in_state) << "nothing is lost";
    for (const std::string ns : {"ns-7", "ns-8", "ns-9"}) EXPECT_TRUE(found.by_namespace.contains(ns)) << ns;
    EXPECT_EQ(found.by_namespace.at(other_namespaces).all(), 28U);
    EXPECT_EQ(found.by_namespace.at(other_namespaces).longest_blocked, 5s);
    EXPECT_TRUE(all.count().by_namespace.empty()) << "only where it is asked for";
}

TEST(job_census, without_jobs_there_is_a_series_all_the_same) {
    job_census none;
    bound_namespaces(none);
    ASSERT_EQ(none.by_namespace.size(), 1U);
    EXPECT_EQ(none.by_namespace.begin()->first, other_namespaces);
    EXPECT_EQ(none.by_namespace.begin()->second.all(), 0U);
}

}  // namespace
}  // namespace cotrain::app
