// Who may report on a job: names of Pods as Kubernetes makes them, tokens of namesakes, and each job's own rate.
#include "serve/progress.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace cotrain::serve {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

// As k8s.io/kubernetes names Pods of a Job: podGenerateNameWithIndex, then generateName.
std::string pod_of(const std::string& job, int index, bool indexed = true) {
    constexpr std::size_t base_max = 58;
    std::string name = job + "-";
    if (indexed) {
        const std::string tail = "-" + std::to_string(index) + "-";
        name = job + tail;
        if (name.size() > base_max) name = name.substr(0, base_max - tail.size()) + tail;
    }
    return name.substr(0, base_max) + "x7k2p";
}

std::string job_of(const std::string& train_job, const std::string& part, int replica) {
    return train_job + "-" + part + "-" + std::to_string(replica);
}

TEST(reporter, pods_of_a_job_are_known_by_the_names_that_kubernetes_gives_them) {
    EXPECT_TRUE(is_pod_of("one-node-0-0-abcde", "one", "node"));
    EXPECT_TRUE(is_pod_of("one-node-0-12-abcde", "one", "node"));
    EXPECT_TRUE(is_pod_of("one-node-3-abcde", "one", "node")) << "a Job without indexes";
    for (const char* other : {"", "abcde", "-abcde", "one", "one-node", "one-node-0", "one-abcde", "one-node-abcde",
                              "one-node--0-abcde", "one-node-0-0-abcd", "one-node-0-0-0-abcde", "two-node-0-0-abcde",
                              "one-nodes-0-0-abcde", "one-b-node-0-0-abcde", "xone-node-0-0-abcde",
                              "one-node-x-0-abcde", "one-node-0-x-abcde", "one-node-0-0abcde"})
        EXPECT_FALSE(is_pod_of(other, "one", "node")) << other;
}

// Whatever the lengths: a job's own Pods pass, Pods of another job do not. Where names are cut so far that two Jobs
// share all that is left, nobody can tell.
TEST(reporter, of_any_two_jobs_each_has_its_own_pods) {
    std::mt19937 random(3);
    const auto name = [&random](std::size_t bytes_max) {
        std::string out;
        for (std::size_t n = 1 + random() % bytes_max; n != 0; --n) out += "ab0-"[random() % 4];
        out.front() = 'a';
        out.back() = 'b';
        return out;
    };
    int told_apart = 0;
    for (int i = 0; i < 20'000; ++i) {
        const std::string job = name(63);
        const std::string part = name(20);
        const bool indexed = random() % 2 == 0;
        const int replica = static_cast<int>(random() % 12);
        const int index = static_cast<int>(random() % 2'000);
        const std::string pod = pod_of(job_of(job, part, replica), index, indexed);
        ASSERT_TRUE(is_pod_of(pod, job, part)) << pod << " of " << job << " " << part;
        const std::string other_job = random() % 2 == 0 ? job.substr(0, 1 + random() % job.size()) : name(8);
        const std::string other_part = random() % 2 == 0 ? part : name(8);
        if (other_job + "-" + other_part == job + "-" + part || pod.size() == 63) continue;
        ASSERT_FALSE(is_pod_of(pod, other_job, other_part)) << pod << " not of " << other_job << " " << other_part;
        ++told_apart;
    }
    EXPECT_GT(told_apart, 1'000);
}

TEST(reporter, tokens_are_of_a_pod_of_this_very_job) {
    const reported_job job{"team", "one"};
    const known_job known{.created = std::chrono::sys_seconds(seconds(1'000)), .replicated_jobs = {"launcher", "node"}};
    token_claims claims;
    claims.pod = "one-node-0-0-abcde";
    claims.issued = 1'003;
    EXPECT_TRUE(check_reporter(claims, job, known));
    const auto why = [&](auto change) {
        token_claims other = claims;
        change(other);
        const auto judged = check_reporter(other, job, known);
        return judged ? std::string() : judged.error().message;
    };
    EXPECT_THAT(why([](token_claims& c) { c.pod.clear(); }), HasSubstr("not bound to a Pod"));
    EXPECT_THAT(why([](token_claims& c) { c.pod = "one-b-node-0-0-abcde"; }), HasSubstr("none of the job's"));
    EXPECT_THAT(why([](token_claims& c) { c.pod = "mine"; }), HasSubstr("none of the job's"));
    EXPECT_EQ(why([](token_claims& c) { c.issued = 995; }), "") << "clocks differ a little";
    EXPECT_THAT(why([](token_claims& c) { c.issued = 994; }), HasSubstr("a namesake's"));
    EXPECT_THAT(why([](token_claims& c) { c.issued = 0; }), HasSubstr("a namesake's"));
    const auto ended = check_reporter(claims, job, {.created = known.created});
    ASSERT_FALSE(ended);
    EXPECT_EQ(ended.error().code, base::errc::auth);
}

TEST(reporter, a_job_that_reports_in_a_loop_leaves_the_others_their_share) {
    job_rates rates;
    job_rates::clock::time_point now{};
    int admitted = 0;
    for (int i = 0; i < 1'000; ++i) admitted += rates.admit({"team", "loud"}, now += milliseconds(10));
    EXPECT_EQ(admitted, 5 + 9);
    EXPECT_TRUE(rates.admit({"team", "quiet"}, now));
    EXPECT_TRUE(rates.admit({"other", "loud"}, now));
}

TEST(reporter, rates_remember_a_bounded_number_of_jobs) {
    job_rates rates;
    const job_rates::clock::time_point now{};
    std::size_t admitted = 0;
    for (std::size_t i = 0; i < job_rates::jobs_max + 100; ++i)
        admitted += rates.admit({"team", std::to_string(i)}, now) ? 1U : 0U;
    EXPECT_EQ(admitted, job_rates::jobs_max);
    EXPECT_EQ(rates.size(), job_rates::jobs_max);
    EXPECT_TRUE(rates.admit({"team", "0"}, now));
    EXPECT_TRUE(rates.admit({"team", "new"}, now + seconds(5))) << "full buckets are forgotten";
    EXPECT_EQ(rates.size(), 1U);
}

}  // namespace
}  // namespace cotrain::serve
