// Many jobs at once, and very large ones: what they cost the operator, counted by the kernel and the audit log.
#include <gtest/gtest.h>

#include <map>

#include "integration/control.hpp"
#include "integration/operator_scene.hpp"
#include "reconcile/event_recorder.hpp"

namespace cotrain::test {
namespace {

int jobs_wanted() { return full_run() ? 10000 : 2000; }
constexpr auto torch_job = R"({"runtimeRef":{"name":"torch","kind":"TrainingRuntime"},"trainer":{"numNodes":4}})";

std::string mpi_job(int nodes) {
    return R"({"runtimeRef":{"name":"mpi","kind":"TrainingRuntime"},"trainer":{"numNodes":)" + std::to_string(nodes) +
           "}}";
}

// Writes of operators in a namespace, by "verb resource[/subresource]", and their reads by "get …".
std::map<std::string, int> tally(audit_log& log, const std::string& ns) {
    std::map<std::string, int> out;
    for (const audit_entry& e : log.read()) {
        if (!e.by_operator() || e.ns != ns || e.is_lease()) continue;
        ++out[e.verb + " " + e.resource + (e.sub_resource.empty() ? "" : "/" + e.sub_resource)];
    }
    return out;
}

// Takes a count out of a tally.
int take(std::map<std::string, int>& of, const std::string& what) {
    const auto found = of.extract(what);
    return found ? found.mapped() : 0;
}

TEST(operator_load, thousands_of_jobs_cost_two_applies_and_one_patch_each_and_a_restart_nothing) {
    operator_scene scene("operator-load");
    scene.play(+[](operator_scene& s) -> awaitable<void> {
        audit_log audit(test_variable("COTRAIN_TEST_AUDIT"));
        const int jobs = jobs_wanted();
        const auto begun = std::chrono::steady_clock::now();
        EXPECT_TRUE(co_await s.start_operator());
        const auto idle = s.child->used();
        co_await s.create_many("job-", jobs, torch_job);
        EXPECT_TRUE(co_await s.until_count(kinds::job_set, jobs, std::chrono::seconds(900)));
        const auto made = s.child->used();
        const std::map<std::string, int> expected{{"patch configmaps", jobs}, {"patch jobsets", jobs}};
        // Nobody plays JobSet's controller here: after ten seconds jobs say that they are Pending, once each, and some
        // are looked into.
        auto asked = tally(audit, s.ns);
        int told = take(asked, "patch trainjobs/status");
        int lists = take(asked, "list pods") + take(asked, "list events");
        int events = take(asked, "create events");
        EXPECT_EQ(asked, expected);

        co_await s.complete_many("job-", jobs);
        EXPECT_TRUE(co_await s.until(
            kinds::train_job, [jobs](const std::string& all) { return count_of(all, R"("type":"Complete")") == jobs; },
            std::chrono::seconds(600)));
        const auto done = s.child->used();
        asked = tally(audit, s.ns);
        told += take(asked, "patch trainjobs/status");
        lists += take(asked, "list pods") + take(asked, "list events");
        events += take(asked, "create events");
        EXPECT_TRUE(asked.empty()) << asked.begin()->first;
        EXPECT_GE(told, jobs);
        EXPECT_LE(told, 2 * jobs + lists) << "and once more for a job of which a look found something";
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
        EXPECT_LE(events, 10 + took.count() * reconcile::normal_events_qps);
        EXPECT_LE(lists, 10 + took.count() * 9) << "three looks a second, of three lists at most";

        EXPECT_EQ(co_await s.child->stop(), 0);
        EXPECT_TRUE(co_await s.start_operator());
        EXPECT_EQ(tally(audit, s.ns), (std::map<std::string, int>{}));
        const auto again = s.child->used();
        std::printf(
            "goal 3: 2 applies and 1 status patch a state and job, restart with %d finished jobs: 0 requests\n"
            "goal 8: %.1f MiB resident idle, %.1f MiB anonymous (this build)\n"
            "goal 9: %.2f KiB an active job, %.2f KiB a finished one after a restart, peak %.2f of steady (this "
            "build)\n"
            "goal 16: %.2f s of CPU per 1,000 jobs until the JobSets exist, %.2f s until Complete (this build)\n",
            jobs, static_cast<double>(idle.resident) / (1 << 20), static_cast<double>(idle.anonymous) / (1 << 20),
            (static_cast<double>(made.anonymous) - static_cast<double>(idle.anonymous)) / 1024 / jobs,
            (static_cast<double>(again.anonymous) - static_cast<double>(idle.anonymous)) / 1024 / jobs,
            static_cast<double>(again.peak) / static_cast<double>(again.resident),
            (made.cpu_seconds - idle.cpu_seconds) * 1000 / jobs, (done.cpu_seconds - idle.cpu_seconds) * 1000 / jobs);
    });
}

TEST(operator_load, unchanged_jobs_of_all_sorts_cost_no_write_after_a_restart) {
    operator_scene scene("operator-restart");
    scene.play(+[](operator_scene& s) -> awaitable<void> {
        EXPECT_TRUE(co_await s.start_operator());
        const std::string suspended = R"(,"suspend":true})";
        std::string torch = torch_job;
        std::string mpi = mpi_job(3);
        const int each = full_run() ? 2500 : 40;
        const std::chrono::seconds patience(full_run() ? 1800 : 240);
        co_await s.create_many("torch-", each, torch);
        co_await s.create_many("mpi-", each, mpi);
        torch.replace(torch.size() - 1, 1, suspended);
        mpi.replace(mpi.size() - 1, 1, suspended);
        co_await s.create_many("torch-s-", each, torch);
        co_await s.create_many("mpi-s-", each, mpi);
        EXPECT_TRUE(co_await s.until_count(kinds::job_set, 4 * each, patience));
        // One whose Pods do not come is looked into, and told of, after ten seconds.
        co_await s.start_many("torch-", each, {"node"});
        co_await s.start_many("mpi-", each, {"launcher", "node"});
        const auto settled = [each](const std::string& all) {
            return count_of(all, R"("state":"Suspended")") == 2 * each &&
                   count_of(all, R"("state":"Running")") == 2 * each;
        };
        EXPECT_TRUE(co_await s.until(kinds::train_job, settled, patience));
        EXPECT_EQ(co_await s.child->stop(), 0);
        audit_log audit(test_variable("COTRAIN_TEST_AUDIT"));
        EXPECT_TRUE(co_await s.start_operator());
        int reads = 0;
        for (const auto& [what, count] : tally(audit, s.ns)) {
            EXPECT_TRUE(what == "get configmaps" || what == "get secrets") << what << " " << count;
            reads += count;
        }
        EXPECT_LE(reads, 3 * each);  // snapshots of suspended jobs, and keys where they have one, once each
        std::printf("a restart with %d jobs that run or are suspended: no write, %d reads\n", 4 * each, reads);
    });
}

TEST(operator_load, a_job_of_five_thousand_nodes_is_four_requests_and_its_pod_group) {
    operator_scene scene("operator-large");
    scene.play(+[](operator_scene& s) -> awaitable<void> {
        audit_log audit(test_variable("COTRAIN_TEST_AUDIT"));
        EXPECT_TRUE(co_await s.start_operator());
        co_await s.create_jobs("large-", 0, 1, mpi_job(5000));
        EXPECT_TRUE(co_await s.until_count(kinds::job_set, 1));
        const std::string maps = co_await s.list(kinds::config_map);
        EXPECT_EQ(count_of(maps, "slots=8\\n"), 5000);
        EXPECT_TRUE(maps.contains("large-0-node-0-4999.large-0 slots=8"));
        const std::map<std::string, int> expected{
            {"patch configmaps", 2}, {"patch secrets", 1}, {"patch podgroups", 1}, {"patch jobsets", 1}};
        auto asked = tally(audit, s.ns);
        take(asked, "create events");
        EXPECT_EQ(asked, expected);
    });
}

}  // namespace
}  // namespace cotrain::test
