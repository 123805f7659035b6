// Which Pod failed first, and what it died of.
#include "runtime/autopsy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <ctime>

#include "pod_documents.hpp"

namespace cotrain::runtime {
namespace {

using namespace test;

// What ended until then was told.
constexpr base::seconds_time start{std::chrono::sys_days{std::chrono::year{2026} / 1 / 1} - std::chrono::seconds{1}};

std::optional<first_failure> first_of(const std::vector<pod_document>& all, std::string_view more = "",
                                      int attempt = 0) {
    std::vector<std::string> items;
    for (const pod_document& p : all) items.push_back(p.json());
    const auto page = read_pods(pods(items, more));
    EXPECT_TRUE(page);
    return find_first_failure(*page, attempt, start);
}

pod_document failed(int rank, std::string_view state) {
    return {.rank = rank, .node = "gpu-" + std::to_string(rank), .phase = "Failed", .containers = container(state)};
}

TEST(autopsy, names_the_first_and_counts_those_that_followed) {
    const auto f = first_of({failed(0, ended(1, "Error", "2026-01-01T00:01:02Z")),
                             failed(1, ended(137, "OOMKilled", "2026-01-01T00:01:00Z")),
                             failed(2, ended(143, "Error", "2026-01-01T00:01:03Z"))});
    ASSERT_TRUE(f);
    EXPECT_EQ(f->failure.rank, 1);
    EXPECT_EQ(f->failure.container, "node");
    EXPECT_EQ(f->failure.exit_code, 137);
    EXPECT_EQ(f->failure.pods, 3);
    EXPECT_EQ(base::format_time(f->failure.time), "2026-01-01T00:01:00Z");
    EXPECT_EQ(describe(*f),
              "container node of Pod job-node-0-1-x1 (rank 1) on node gpu-1 failed: OOMKilled, exit code 137; 2 others "
              "followed");
}

TEST(autopsy, of_one_second_the_one_that_was_not_ended_by_others_counts) {
    const char* const at = "2026-01-01T00:01:00Z";
    EXPECT_EQ(first_of({failed(0, ended(143, "Error", at)), failed(5, ended(1, "Error", at))})->failure.rank, 5);
    EXPECT_EQ(first_of({failed(0, ended(137, "Error", at)), failed(5, ended(137, "OOMKilled", at))})->failure.rank, 5);
    EXPECT_EQ(first_of({failed(5, ended(1, "Error", at)), failed(0, ended(2, "Error", at))})->failure.rank, 0);
}

TEST(autopsy, shows_the_last_line_of_the_termination_message) {
    const auto f = first_of({failed(0, ended(1, "Error", "2026-01-01T00:01:00Z",
                                             "Traceback:\\n  line 1\\nRuntimeError: CUDA\\u001b[31m out\\n\\n"))});
    EXPECT_EQ(f->failure.message, "RuntimeError: CUDA [31m out");
    EXPECT_EQ(describe(*f),
              "container node of Pod job-node-0-0-x0 (rank 0) on node gpu-0 failed with exit code 1: RuntimeError: "
              "CUDA [31m out");
    const std::string much(100'000, 'y');
    EXPECT_LE(first_of({failed(0, ended(1, "Error", "2026-01-01T00:01:00Z", much))})->failure.message.size(),
              api::failure_message_bytes_max);
}

TEST(autopsy, knows_pods_that_were_taken_away) {
    pod_document evicted = failed(0, ended(137, "Error", "2026-01-01T00:01:00Z"));
    evicted.more = R"("reason":"Evicted","message":"The node was low on resource: memory.",)";
    const auto f = first_of({evicted});
    EXPECT_EQ(f->failure.reason, "Evicted");
    EXPECT_EQ(f->failure.message, "The node was low on resource: memory.");
    EXPECT_EQ(f->failure.exit_code, 137);

    pod_document unseen = failed(1, ended(137, "ContainerStatusUnknown", "", "The container could not be located"));
    unseen.more = evicted.more;
    unseen.conditions =
        R"({"type":"DisruptionTarget","status":"True","reason":"TerminationByKubelet","lastTransitionTime":"2026-01-01T00:02:00Z"})";
    EXPECT_EQ(describe(*first_of({unseen})),
              "Pod job-node-0-1-x1 (rank 1) on node gpu-1 failed: Evicted: The node was low "
              "on resource: memory");

    pod_document lost{.rank = 3, .node = "n3", .phase = "Failed"};
    lost.conditions =
        R"({"type":"DisruptionTarget","status":"True","reason":"DeletionByTaintManager","message":"Taint manager: deleting due to NoExecute taint","lastTransitionTime":"2026-01-01T00:02:00Z"})";
    const auto l = first_of({lost});
    EXPECT_EQ(l->failure.reason, "NodeLost");
    EXPECT_EQ(describe(*l),
              "Pod job-node-0-3-x3 (rank 3) on node n3 failed: NodeLost: Taint manager: deleting due to "
              "NoExecute taint");

    pod_document late{.phase = "Failed", .more = R"("reason":"DeadlineExceeded","message":"Pod was active too long",)"};
    EXPECT_EQ(first_of({late})->failure.reason, "DeadlineExceeded");
}

TEST(autopsy, counts_containers_that_were_started_again_in_place) {
    const std::string running = R"({"running":{"startedAt":"2026-01-01T00:00:09Z"}})";
    pod_document p{.rank = 4, .node = "n", .phase = "Running"};
    p.containers = container(running, ended(137, "OOMKilled", "2026-01-01T00:00:08Z"));
    pod_document well{.rank = 0, .node = "n", .phase = "Running", .containers = container(running)};
    const auto f = first_of({well, p});
    ASSERT_TRUE(f);
    EXPECT_EQ(f->failure.rank, 4);
    EXPECT_EQ(f->failure.pods, 1);
    // It was told already.
    p.containers = container(running, ended(137, "OOMKilled", "2025-12-31T23:59:59Z"));
    EXPECT_FALSE(first_of({well, p}));
}

// Its end is before what was told last, of another node.
TEST(autopsy, believes_the_end_of_a_new_pod_whose_node_has_a_late_clock) {
    const auto f = first_of({failed(0, ended(137, "OOMKilled", "2025-12-31T23:00:00Z"))});
    ASSERT_TRUE(f);
    EXPECT_EQ(describe(*f),
              "container node of Pod job-node-0-0-x0 (rank 0) on node gpu-0 failed: OOMKilled, exit code 137");
    pod_document whole{.phase = "Failed"};
    EXPECT_EQ(describe(*first_of({whole})), "Pod job-node-0-0-x0 (rank 0) failed");
}

TEST(autopsy, tells_of_the_latest_attempt) {
    pod_document old = failed(0, ended(1, "Error", "2026-01-01T00:00:01Z"));
    pod_document now = failed(7, ended(2, "Error", "2026-01-01T00:05:01Z"));
    now.attempt = "1";
    for (const auto& pods : {std::vector{old, now}, std::vector{now, old}}) {
        const auto f = first_of(pods);
        EXPECT_EQ(f->failure.rank, 7);
        EXPECT_EQ(f->failure.attempt, 1);
        EXPECT_EQ(f->failure.pods, 1);
    }
    old.attempt = "";  // an older JobSet
    EXPECT_EQ(first_of({old}, "", 2)->failure.attempt, 2);
    EXPECT_FALSE(first_of({now}, "", 2)) << "it was told before";
}

TEST(autopsy, says_that_it_saw_one_page_only) {
    const auto f = first_of({failed(0, ended(1, "Error", "2026-01-01T00:00:01Z"))}, "token");
    EXPECT_TRUE(f->more);
    EXPECT_THAT(describe(*f), ::testing::EndsWith("; others followed"));
}

// 10,000 Pods that fail at once cost one page.
TEST(autopsy, of_a_page_costs_less_than_50_ms) {
    std::vector<pod_document> all;
    const std::string env(8000, 'e');
    for (int i = 0; i < 50; ++i) {
        all.push_back(failed(i, ended(1, "Error", "2026-01-01T00:01:00Z")));
        all.back().meta = R"("annotations":{"x":")" + env + R"("},)";
    }
    std::vector<std::string> items;
    for (const pod_document& p : all) items.push_back(p.json());
    const std::string body = pods(items, "more");
    std::timespec begun{};
    std::timespec done{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begun);
    const auto f = find_first_failure(*read_pods(body), 0, start);
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &done);
    ASSERT_TRUE(f);
    EXPECT_THAT(describe(*f), ::testing::EndsWith("; more than 49 others followed"));
    EXPECT_LT((done.tv_sec - begun.tv_sec) * 1000 + (done.tv_nsec - begun.tv_nsec) / 1'000'000, 50);
}

TEST(autopsy, finds_nothing_where_nothing_failed) {
    EXPECT_FALSE(first_of({}));
    EXPECT_FALSE(first_of({{.phase = "Running", .containers = container(R"({"running":{}})")}}));
}

}  // namespace
}  // namespace cotrain::runtime
