// What is counted and logged of a TrainJob's life: each change once, with the run that it was made in.
#include "reconcile/trainjob/lifecycle.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doc/json.hpp"
#include "trainjob_case.hpp"

namespace cotrain::reconcile {
namespace {

using api::job_state;
using testing::ElementsAre;
using testing::IsEmpty;

// ---- Counters, of statuses alone. ----

api::train_job_status with_state(job_state state, std::string_view failed_for = {}) {
    api::train_job_status out;
    out.state = state;
    if (!failed_for.empty())
        out.conditions.push_back(
            {.type = "Failed", .status = api::condition_status::yes, .reason = std::string(failed_for)});
    return out;
}

std::uint64_t failures_of(const lifecycle_metrics& m, std::string_view reason) {
    const auto at = std::ranges::find(job_failure_reasons, reason) - job_failure_reasons.begin();
    return m.failures.at(static_cast<std::size_t>(at));
}

TEST(lifecycle_metrics, a_failure_counts_once_by_a_reason_of_a_bounded_set) {
    lifecycle_metrics m;
    for (const std::string_view reason : {"FailedJobs", "FailedJobs", "DeadlineExceeded", "TenantsOwnRule"})
        m.count(with_state(job_state::running), with_state(job_state::failed, reason));
    m.count(with_state(job_state::failed, "FailedJobs"), with_state(job_state::failed, "FailedJobs"));
    m.count(with_state(job_state::running), with_state(job_state::complete));
    EXPECT_EQ(failures_of(m, "FailedJobs"), 2U);
    EXPECT_EQ(failures_of(m, "DeadlineExceeded"), 1U);
    EXPECT_EQ(failures_of(m, "Other"), 1U);
    EXPECT_EQ(m.failures[0] + m.failures[1] + m.failures[2] + m.failures[3] + m.failures[4] + m.failures[5], 4U);
}

TEST(lifecycle_metrics, restarts_count_by_how_much_they_grow) {
    lifecycle_metrics m;
    api::train_job_status none;
    api::train_job_status three;
    three.restarts = 3;
    m.count(none, three);
    m.count(three, three);
    m.count(three, none);  // another JobSet
    EXPECT_EQ(m.restarts, 3U);
}

TEST(lifecycle_metrics, what_happened_under_another_controller_is_not_counted) {
    lifecycle_metrics m;
    api::train_job_status before = with_state(job_state::none, "FailedJobs");
    before.jobs = {{.name = "node", .failed = 1}};
    api::train_job_status after = with_state(job_state::failed, "FailedJobs");
    after.restarts = 3;
    m.count(before, after);
    EXPECT_EQ(m.failures, (lifecycle_metrics{}.failures));
    EXPECT_EQ(m.restarts, 0U);
}

TEST(lifecycle_metrics, each_attempt_that_failed_counts_once_although_others_fall_off_the_list) {
    lifecycle_metrics m;
    api::train_job_status before;
    for (int attempt = 0; attempt < 8; ++attempt) {
        api::train_job_status after = before;
        api::job_failure f;
        f.attempt = attempt;
        f.reason = attempt % 2 == 0 ? "OOMKilled" : "SomethingOfATenant";
        after.failures.push_back(f);
        if (after.failures.size() > api::failures_max) after.failures.erase(after.failures.begin());
        m.count(before, after);
        m.count(after, after);
        before = after;
    }
    EXPECT_EQ(m.pod_failures[1], 4U) << "OOMKilled";
    EXPECT_EQ(m.pod_failures.back(), 4U);
}

// ---- A job's life. ----

struct trainjob_lifecycle_test : trainjob_case {
    std::vector<std::string> lines;
    base::logger log{
        [](void* to, std::string_view line) { static_cast<std::vector<std::string>*>(to)->emplace_back(line); }, &lines,
        base::level::info};

    trainjob_lifecycle_test() {
        w.log = &log;
        w.restart();
    }
    // "message duration" of the lines since the last call; all of them are of one job and have a run.
    std::vector<std::string> told() {
        std::vector<std::string> out;
        for (const std::string& line : std::exchange(lines, {})) {
            doc::arena memory;
            const doc::ref said = *doc::parse_json(memory, line);
            EXPECT_EQ(said.get("level").as_string(), "info");
            EXPECT_EQ(said.get("controller").as_string(), "trainjob");
            EXPECT_EQ(said.get("namespace").as_string(), "ns");
            EXPECT_EQ(said.get("name").as_string(), "job");
            EXPECT_EQ(said.get("reconcileID").as_string().size(), 16U) << line;
            out.emplace_back(said.get("msg").as_string());
        }
        return out;
    }
    void pods(std::string_view counts) {
        w.patch("JobSet ns/job",
                R"({"status":{"replicatedJobsStatus":[{"name":"node",)" + std::string(counts) + "}]}}");
        w.settle();
    }
    [[nodiscard]] std::uint64_t measured(job_state s) const {
        std::uint64_t sum = 0;
        for (const auto n : w.reconciler->lifecycle().in_state[static_cast<std::size_t>(s)].counts) sum += n;
        return sum;
    }
    [[nodiscard]] double seconds_in(job_state s) const {
        return w.reconciler->lifecycle().in_state[static_cast<std::size_t>(s)].sum;
    }
};

TEST_F(trainjob_lifecycle_test, a_job_that_runs_and_completes_has_three_lines_and_its_times) {
    begin(torch_runtime, "");
    EXPECT_THAT(told(), ElementsAre("TrainJob created"));
    pods(R"("ready":0,"active":1,"succeeded":0,"failed":0,"suspended":0)");
    w.now += std::chrono::seconds(40);
    pods(R"("ready":1,"active":1,"succeeded":0,"failed":0,"suspended":0)");
    EXPECT_THAT(told(), ElementsAre("TrainJob started"));
    w.now += std::chrono::seconds(500);
    finish("Completed");
    EXPECT_THAT(told(), ElementsAre("TrainJob completed"));
    EXPECT_EQ(measured(job_state::running), 1U);
    EXPECT_EQ(seconds_in(job_state::running), 500);
    EXPECT_EQ(seconds_in(job_state::starting), 40);
    EXPECT_EQ(w.reconciler->lifecycle().failures, (lifecycle_metrics{}.failures));
}

TEST_F(trainjob_lifecycle_test, a_failure_is_told_with_its_reason) {
    begin(torch_runtime, "");
    pods(R"("ready":1,"active":1,"succeeded":0,"failed":0,"suspended":0)");
    told();
    finish("Failed");
    ASSERT_EQ(lines.size(), 1U);
    doc::arena memory;
    const doc::ref said = *doc::parse_json(memory, lines.front());
    EXPECT_EQ(said.get("msg").as_string(), "TrainJob failed");
    EXPECT_FALSE(said.get("reason").as_string().empty());
    std::uint64_t all = 0;
    for (const auto n : w.reconciler->lifecycle().failures) all += n;
    EXPECT_EQ(all, 1U);
}

TEST_F(trainjob_lifecycle_test, another_leader_neither_tells_again_nor_measures_what_it_did_not_see_begin) {
    begin(torch_runtime, "");
    pods(R"("ready":1,"active":1,"succeeded":0,"failed":0,"suspended":0)");
    told();
    w.restart();
    w.run_job();
    w.now += std::chrono::seconds(70);
    EXPECT_THAT(told(), IsEmpty());
    EXPECT_EQ(w.reconciler->in_state_for(w.texts.find("ns/job"), job_state::running), std::chrono::seconds(70));
    EXPECT_EQ(w.reconciler->in_state_for(w.texts.find("ns/job"), job_state::blocked), std::nullopt);
    finish("Completed");
    EXPECT_THAT(told(), ElementsAre("TrainJob completed"));
    EXPECT_EQ(measured(job_state::running), 0U);
}

TEST_F(trainjob_lifecycle_test, a_failure_that_repeats_has_one_line_of_its_own_and_then_those_of_all_jobs) {
    base::error no = base::make_error(base::errc::status, base::retry::later, "apply JobSet: 403 Forbidden: quota");
    no.http_status = 403;
    w.refusals["apply JobSet ns/job"] = no;
    begin(torch_runtime, "");
    std::vector<std::string> messages;
    const auto take = [&] {
        for (const std::string& line : std::exchange(lines, {})) {
            doc::arena memory;
            const doc::ref said = *doc::parse_json(memory, line);
            if (said.get("level").as_string() == "warn") messages.emplace_back(said.get("msg").as_string());
        }
    };
    for (int i = 0; i < 3; ++i) w.run_job();
    take();
    ASSERT_GE(messages.size(), 3U);
    EXPECT_EQ(messages.front(), "cannot apply the resources of a TrainJob");
    for (std::size_t i = 1; i < messages.size(); ++i)
        EXPECT_EQ(messages[i], "still cannot apply the resources of TrainJobs");
    messages.clear();
    w.refusals["apply JobSet ns/job"].message = "apply JobSet: 403 Forbidden: another text";
    w.run_job();
    take();
    EXPECT_THAT(messages, ElementsAre("cannot apply the resources of a TrainJob"));
}

}  // namespace
}  // namespace cotrain::reconcile
