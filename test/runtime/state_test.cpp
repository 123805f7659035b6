// The state of a TrainJob: a table of what is told of what, and what holds of every history of a JobSet.
#include "runtime/state.hpp"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>
#include <vector>

#include "api/names.hpp"
#include "runtime/diagnosis.hpp"

namespace cotrain::runtime {
namespace {

namespace names = api::names;
using api::job_state;
using namespace std::chrono_literals;

constexpr base::seconds_time start{std::chrono::sys_days{std::chrono::year{2026} / 1 / 1}};

struct history {
    api::train_job job;
    std::optional<api::job_set> set;
    std::optional<std::pair<std::string, std::string>> trouble;
    std::optional<diagnosis> look;
    std::vector<api::job_failure> failures;
    std::string queue;
    std::int32_t nodes_min = 0;
    bool scaled = false;
    base::micros_time now = start;

    history() {
        job.meta.uid = "u";
        job.meta.creation_time = start;
        job.spec.runtime = {"rt", names::trainer_group, names::training_runtime_kind};
    }
    // A JobSet of a dataset initializer and four nodes in one Job.
    void make_set() {
        set.emplace();
        set->meta.owner_references.push_back(
            {.api_version = {}, .kind = {}, .name = {}, .uid = "u", .controller = true});
        set->suspend = job.spec.suspend;
        set->nodes = 4;
    }
    void count(std::int32_t ready, std::int32_t active, std::int32_t succeeded = 0) {
        set->jobs = {
            {.name = "node", .ready = ready, .succeeded = succeeded, .active = active, .replicas = 1, .node_pods = 4}};
    }
    void finish(std::string_view type, std::string_view message) {
        api::condition c;
        c.type = type;
        c.status = api::condition_status::yes;
        c.reason = "R";
        c.message = message;
        c.last_transition_time = std::chrono::floor<std::chrono::seconds>(now);
        set->conditions = {c};
    }
    [[nodiscard]] api::train_job_status next() const {
        return next_status({.job = job,
                            .job_set = set ? &*set : nullptr,
                            .trouble = trouble,
                            .now = now,
                            .look = look ? &*look : nullptr,
                            .failures = failures,
                            .queue = queue,
                            .nodes_min = nodes_min,
                            .scaled = scaled},
                           [](api::train_job_status& status, const api::job_set& s) {
                               for (api::condition c : s.conditions) {
                                   if (c.type == names::job_set_completed) c.type = names::complete;
                                   if (!is_finished(status)) api::set_condition(status.conditions, c, start);
                               }
                               status.jobs.clear();
                               for (const auto& j : s.jobs)
                                   status.jobs.push_back(
                                       {std::string(j.name), j.ready, j.succeeded, j.failed, j.active, j.suspended});
                           })
            .status;
    }
    std::string step() {
        now += 1s;
        job.status = next();
        return std::string(to_string(job.status.state)) + ": " + job.status.message;
    }
};

TEST(state, tells_the_life_of_a_job) {
    history h;
    EXPECT_EQ(h.step(), "Pending: its JobSet is not there yet");
    h.make_set();
    EXPECT_EQ(h.step(), "Pending: waits for JobSet's controller to make its Jobs");
    h.count(0, 0);
    EXPECT_EQ(h.step(), "Pending: waits for the Pods of node");
    EXPECT_EQ(h.job.status.nodes, (api::node_counts{4, 0}));
    h.count(0, 1);
    EXPECT_EQ(h.step(), "Starting: waits for the Pods of node") << "active Pods may be Pending";
    EXPECT_FALSE(h.job.status.start_time);
    h.count(1, 1);
    EXPECT_EQ(h.step(), "Running: all 4 nodes are ready");
    EXPECT_EQ(h.job.status.nodes, (api::node_counts{4, 4}));
    EXPECT_EQ(h.job.status.start_time, start + 5s);
    h.count(0, 1);
    EXPECT_EQ(h.step(), "Restarting: waits for the Pods of node") << "a Pod was lost";
    h.set->restarts = 1;
    h.count(0, 0);
    EXPECT_EQ(h.step(), "Restarting: waits for the Pods of node after restart 1");
    EXPECT_EQ(h.job.status.restarts, 1);
    h.count(1, 1);
    EXPECT_EQ(h.step(), "Running: all 4 nodes are ready");
    EXPECT_EQ(h.job.status.start_time, start + 5s) << "a restart is no new start";
    h.count(0, 0, 1);
    h.finish(names::job_set_completed, "jobset completed successfully");
    EXPECT_EQ(h.step(), "Complete: jobset completed successfully");
    EXPECT_EQ(h.job.status.completion_time, start + 8s);
    EXPECT_EQ(h.job.status.restarts, 1);
    EXPECT_EQ(h.job.status.nodes, (api::node_counts{4, 0}));
}

TEST(state, tells_which_job_comes_first) {
    history h;
    h.make_set();
    h.set->jobs = {{.name = "dataset-initializer", .active = 1, .replicas = 1},
                   {.name = "node", .replicas = 1, .node_pods = 4}};
    EXPECT_EQ(h.step(), "Starting: waits for the Pods of dataset-initializer");
    h.set->jobs[0].ready = 1;
    EXPECT_EQ(h.step(), "Starting: runs dataset-initializer first, then node");
    h.set->jobs[0] = {.name = "dataset-initializer", .succeeded = 1, .replicas = 1};
    h.set->jobs[1].active = 1;
    EXPECT_EQ(h.step(), "Starting: waits for the Pods of node");
    h.set->jobs[1].ready = 1;
    EXPECT_EQ(h.step(), "Running: all 4 nodes are ready");
}

TEST(state, counts_replicas_and_goes_on_while_some_are_ready) {
    history h;
    h.make_set();
    h.set->jobs = {{.name = "node", .ready = 3, .active = 4, .replicas = 4, .node_pods = 1}};
    EXPECT_EQ(h.step(), "Starting: waits for the Pods of node") << "not all were there yet";
    EXPECT_EQ(h.job.status.nodes, (api::node_counts{4, 3}));
    h.set->jobs[0].ready = 4;
    EXPECT_EQ(h.step(), "Running: all 4 nodes are ready");
    h.set->jobs[0].ready = 3;
    EXPECT_EQ(h.step(), "Running: 3 of 4 nodes are ready");
    h.set->jobs[0].ready = 0;
    EXPECT_EQ(h.step(), "Restarting: waits for the Pods of node");
    h.set->jobs[0].ready = 3;
    EXPECT_EQ(h.step(), "Restarting: waits for the Pods of node");
}

TEST(state, a_job_that_grows_goes_on_with_the_nodes_that_it_has) {
    history h;
    h.make_set();
    h.count(1, 1);
    EXPECT_EQ(h.step(), "Running: all 4 nodes are ready");
    h.set->nodes = 6;
    h.scaled = true;
    EXPECT_EQ(h.step(), "Running: 4 of 6 nodes are ready") << "JobSet has not looked at its new size";
    h.scaled = false;
    h.count(0, 1);
    EXPECT_EQ(h.step(), "Running: 4 of 6 nodes: waits for the Pods of node");
    EXPECT_EQ(h.job.status.nodes, (api::node_counts{6, 4}));
    h.look = diagnosis{hold::pending, "Unschedulable", "no room for 2 Pods"};
    EXPECT_EQ(h.step(), "Running: 4 of 6 nodes: no room for 2 Pods");
    h.look.reset();
    h.set->nodes = 3;
    EXPECT_EQ(h.step(), "Running: 2 of 3 nodes: waits for the Pods of node");
    h.set->restarts = 1;
    EXPECT_EQ(h.step(), "Restarting: waits for the Pods of node after restart 1");
}

TEST(state, an_elastic_job_goes_on_without_a_node_while_enough_are_left) {
    struct row {
        std::int32_t nodes_min;
        std::int32_t active;
        std::string_view told;
        std::int32_t ready;
    };
    constexpr std::array rows{row{2, 1, "Running: 3 of 4 nodes: waits for the Pods of node", 3},
                              row{3, 1, "Running: 3 of 4 nodes: waits for the Pods of node", 3},
                              row{4, 1, "Restarting: waits for the Pods of node", 0},
                              row{0, 1, "Restarting: waits for the Pods of node", 0},
                              row{2, 0, "Restarting: waits for the Pods of node", 0}};
    for (const row& each : rows) {
        history h;
        h.make_set();
        h.nodes_min = each.nodes_min;
        h.count(1, 1);
        EXPECT_EQ(h.step(), "Running: all 4 nodes are ready");
        h.count(0, each.active);
        EXPECT_EQ(h.step(), each.told) << each.nodes_min;
        EXPECT_EQ(h.job.status.nodes->ready, each.ready);
        EXPECT_EQ(h.step(), each.told) << "and so it stays";
        h.count(1, 1);
        EXPECT_EQ(h.step(), "Running: all 4 nodes are ready");
    }
}

TEST(state, tells_suspension_and_who_ends_it) {
    history h;
    h.job.spec.suspend = true;
    h.queue = "team";
    EXPECT_EQ(h.step(), "Suspended: waits in queue team for Kueue to admit it");
    h.queue = "";
    h.make_set();
    h.count(0, 0);
    EXPECT_EQ(h.step(), "Suspended: holds no Pods until spec.suspend is set to false");
    h.job.spec.suspend = false;
    EXPECT_EQ(h.step(), "Pending: waits for its JobSet to be resumed");
    h.set->suspend = false;
    h.count(1, 1);
    EXPECT_EQ(h.step(), "Running: all 4 nodes are ready");
    h.job.spec.suspend = true;
    EXPECT_EQ(h.step(), "Suspending: waits for its Pods to end");
    h.set->suspend = true;
    EXPECT_EQ(h.step(), "Suspending: waits for its Pods to end");
    EXPECT_TRUE(h.job.status.start_time);
    h.count(0, 0);
    EXPECT_EQ(h.step(), "Suspended: holds no Pods until spec.suspend is set to false");
    EXPECT_FALSE(h.job.status.start_time) << "it starts anew";
    h.job.spec.suspend = h.set->suspend = false;
    EXPECT_EQ(h.step(), "Pending: waits for the Pods of node");
    h.count(1, 1);
    h.step();
    EXPECT_EQ(h.job.status.start_time, start + 9s);
}

TEST(state, of_a_job_that_told_by_another_controller_begins_when_it_was_made_or_resumed) {
    for (const bool resumed : {false, true}) {
        history h;
        h.make_set();
        h.count(1, 1);
        h.job.status.jobs = {{.name = "node", .ready = 1, .active = 1}};
        if (resumed) {
            api::condition c;
            c.type = names::suspended;
            c.status = api::condition_status::no;
            c.last_transition_time = start + 30s;
            h.job.status.conditions = {c};
        }
        h.now += 1h;
        EXPECT_TRUE(told_by_another(h.job.status));
        EXPECT_EQ(h.step(), "Running: all 4 nodes are ready");
        EXPECT_EQ(h.job.status.start_time, resumed ? start + 30s : start);
        EXPECT_FALSE(told_by_another(h.job.status));
        EXPECT_EQ(h.next(), h.job.status);
    }
}

TEST(state, tells_what_is_in_the_way) {
    history h;
    h.trouble = {"R", "the ConfigMap is another's"};
    EXPECT_EQ(h.step(), "Blocked: the ConfigMap is another's");
    h.trouble.reset();
    h.make_set();
    h.count(0, 1);
    h.look = {.state = hold::blocked, .message = "image busybox:typo cannot be pulled"};
    EXPECT_EQ(h.step(), "Blocked: image busybox:typo cannot be pulled");
    h.look = {.state = hold::pending, .message = "0/12 nodes are available"};
    EXPECT_EQ(h.step(), "Pending: 0/12 nodes are available");
    h.count(1, 1);
    EXPECT_EQ(h.step(), "Running: all 4 nodes are ready") << "the look is older";
    h.trouble = {"R", "a child of another"};
    EXPECT_EQ(h.step(), "Running: a child of another") << "its Pods run all the same";
    h.job.spec.suspend = true;
    EXPECT_EQ(h.step(), "Blocked: a child of another");
}

TEST(state, after_a_deadline_nothing_is_ready) {
    history h;
    h.job.spec.active_deadline_seconds = 60;
    h.make_set();
    h.count(1, 1);
    h.step();
    h.now += 60s;
    EXPECT_EQ(h.step(), "Failed: TrainJob exceeded its active deadline of 60 s");
    EXPECT_EQ(h.job.status.nodes, (api::node_counts{4, 0}));
    EXPECT_EQ(h.job.status.jobs[0].ready + h.job.status.jobs[0].active, 0) << "its JobSet goes";
    h.set.reset();
    EXPECT_EQ(h.next(), h.job.status);
}

TEST(state, a_failure_is_told_by_its_pod_and_kept_for_five_attempts) {
    history h;
    h.make_set();
    for (int attempt = 0; attempt < 7; ++attempt) {
        h.set->restarts = attempt;
        h.count(1, 1);
        h.failures.clear();
        h.step();
        h.failures = {{.attempt = attempt,
                       .time = start,
                       .pod = "job-node-0-2-x",
                       .rank = 2,
                       .node = "gpu-7",
                       .container = "node",
                       .exit_code = 137,
                       .reason = "OOMKilled",
                       .message = std::string(5000, 'm') + "\nlast",
                       .pods = 3}};
        if (attempt == 6) h.finish("Failed", "jobset failed");
        h.step();
    }
    ASSERT_EQ(h.job.status.failures.size(), api::failures_max);
    EXPECT_EQ(h.job.status.failures.front().attempt, 2);
    EXPECT_EQ(h.job.status.failures.back().attempt, 6);
    EXPECT_LE(h.job.status.failures.back().message.size(), api::failure_message_bytes_max);
    EXPECT_TRUE(h.job.status.message.starts_with(
        "container node of Pod job-node-0-2-x (rank 2) on node gpu-7 failed: OOMKilled, exit code 137: mmm"))
        << h.job.status.message;
    EXPECT_EQ(api::find_condition(h.job.status.conditions, "Failed")->message, "jobset failed") << "as the JobSet says";
    h.failures.clear();
    EXPECT_EQ(h.next(), h.job.status) << "it is told once";
}

TEST(state, says_once_that_a_pod_failed) {
    api::job_failure f{.pod = "p", .reason = "Failed"};
    EXPECT_EQ(describe(f), "Pod p failed");
    f.exit_code = 3;
    f.reason = "Error";
    EXPECT_EQ(describe(f), "Pod p failed with exit code 3");
    f.message = "out of room. ";
    EXPECT_EQ(describe(f), "Pod p failed with exit code 3: out of room");
    f.reason = "Evicted";
    EXPECT_EQ(describe(f), "Pod p failed: Evicted, exit code 3: out of room");
}

TEST(state, a_failure_that_was_found_before_the_end_is_told_with_it) {
    history h;
    h.make_set();
    h.count(1, 1);
    h.failures = {{.attempt = 0, .time = start, .pod = "job-node-0-1-x", .reason = "Evicted"}};
    h.step();
    h.failures.clear();
    h.finish("Failed", "jobset failed");
    h.step();
    EXPECT_EQ(h.job.status.message, "Pod job-node-0-1-x failed: Evicted; jobset failed");
    // One of an earlier attempt is not why this one ended.
    history later;
    later.make_set();
    later.failures = h.job.status.failures;
    later.step();
    later.failures.clear();
    later.set->restarts = 1;
    later.finish("Failed", "jobset failed");
    later.step();
    EXPECT_EQ(later.job.status.message, "jobset failed");
}

// What a JobSet and its users may do, one step at a time, whatever came before.
void change(history& h, std::mt19937& random) {
    const auto dice = [&](int sides) { return std::uniform_int_distribution<int>(0, sides - 1)(random); };
    switch (dice(12)) {
        case 0: h.job.spec.suspend = !h.job.spec.suspend; break;
        case 1:
            if (h.set) h.set->suspend = h.job.spec.suspend;
            break;
        case 2: h.set.reset(); break;
        case 3: h.make_set(); break;
        case 4:
            if (h.set) h.set->restarts += dice(2);
            break;
        case 5:
            if (h.set && dice(6) == 0) h.finish(dice(2) == 0 ? names::job_set_completed : names::job_set_failed, "m");
            break;
        case 6:
            h.trouble = dice(3) == 0 ? std::optional(std::pair{std::string("R"), std::string("t")}) : std::nullopt;
            break;
        case 7:
            h.look = dice(2) == 0 ? std::optional(diagnosis{dice(2) == 0 ? hold::blocked : hold::pending, "R", "found"})
                                  : std::nullopt;
            break;
        default:
            if (!h.set) break;
            h.set->jobs.resize(static_cast<std::size_t>(dice(3)) + 1);
            for (auto& j : h.set->jobs) {
                const std::int32_t replicas = dice(3);
                j = {.name = "node",
                     .ready = dice(3),
                     .succeeded = dice(2),
                     .failed = dice(2),
                     .active = dice(3),
                     .replicas = replicas,
                     .node_pods = dice(4)};
            }
            h.set->nodes = dice(8);
    }
}

void expect_sound(const history& h, const api::train_job_status& before) {
    const api::train_job_status& now = h.job.status;
    const bool ended = is_finished(now);
    ASSERT_NE(now.state, job_state::none);
    EXPECT_FALSE(now.message.empty());
    EXPECT_EQ(now.message.find('\n'), std::string::npos);
    EXPECT_EQ(ended, now.state == job_state::complete || now.state == job_state::failed);
    EXPECT_EQ(ended, now.completion_time.has_value());
    if (is_finished(before)) EXPECT_EQ(now.state, before.state) << "ends are for good";
    if (now.nodes) EXPECT_TRUE(now.nodes->ready >= 0 && now.nodes->ready <= now.nodes->desired);
    if (now.state == job_state::running) {
        EXPECT_TRUE(h.set && !h.job.spec.suspend && !h.set->suspend);
        EXPECT_TRUE(now.start_time);
        std::int32_t ready = 0;
        for (const auto& j : h.set->jobs) ready += j.ready;
        const bool grows = before.state == job_state::running && now.nodes && now.nodes->ready < now.nodes->desired;
        EXPECT_TRUE(ready > 0 || grows) << "Pods run";
        if (now.nodes) EXPECT_GT(now.nodes->ready, 0);
    }
    if (now.state == job_state::suspended || now.state == job_state::suspending) EXPECT_TRUE(h.job.spec.suspend);
    if (now.state == job_state::suspended) EXPECT_FALSE(now.start_time);
    if (h.trouble && !ended) EXPECT_TRUE(now.state == job_state::blocked || now.state == job_state::running);
    if (now.state == job_state::blocked) EXPECT_TRUE(h.trouble || h.look);
    EXPECT_EQ(h.next(), now) << "the same observation changes nothing";
}

TEST(state, holds_in_every_history) {
    for (unsigned seed = 0; seed < 2000; ++seed) {
        std::mt19937 random(seed);
        history h;
        for (int i = 0; i < 60 && !testing::Test::HasFailure(); ++i) {
            const api::train_job_status before = h.job.status;
            change(h, random);
            h.step();
            expect_sound(h, before);
        }
        ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
    }
}

}  // namespace
}  // namespace cotrain::runtime
