// Jobs whose resources cannot be brought about: what is said, and that deadlines and others do not suffer from it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <new>

#include "trainjob_case.hpp"

namespace cotrain::reconcile {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

struct trainjob_trouble : trainjob_case {};

constexpr std::string_view foreign_set =
    "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: job, namespace: ns}\nspec: {}\n";

base::error refusal(int status, std::string reason = {}) {
    base::error e = base::make_error(base::errc::status, std::to_string(status) + ", refused");
    e.http_status = status;
    e.reason = std::move(reason);
    return e;
}

// Its retries are up to a quarter of an hour apart by then, and its JobSet may hold what others wait for.
TEST_F(trainjob_trouble, a_deadline_does_not_wait_for_the_next_retry) {
    w.apply_yaml(foreign_set);
    begin(torch_runtime, "  activeDeadlineSeconds: 60\n");
    ASSERT_EQ(w.last.kind, outcome::what::failed);
    EXPECT_EQ(w.last.after, 60s);
    w.now += 45s;
    EXPECT_EQ(w.run_job("ns/job", 20).after, 15s);
    w.now += 15s;
    static_cast<void>(w.run_job("ns/job", 20));
    EXPECT_EQ(w.condition("Failed", "reason"), "DeadlineExceeded");
}

TEST_F(trainjob_trouble, an_exception_is_told_like_any_failure_and_concerns_nobody_else) {
    w.tune = [](trainjob_options& with) {
        with.make_ssh_key = []() -> base::result<runtime::ssh_key> { throw std::bad_alloc(); };
    };
    w.restart();
    begin(mpi_runtime);
    EXPECT_EQ(w.last.kind, outcome::what::panicked);
    EXPECT_EQ(w.condition("ResourcesReady", "reason"), "InternalError");
    EXPECT_THAT(w.condition("ResourcesReady", "message"), HasSubstr("bad_alloc"));
    w.tune = nullptr;
    w.restart();
    w.run_job();
    w.settle();
    EXPECT_TRUE(w.objects.contains(set));
    EXPECT_EQ(w.condition("ResourcesReady"), "-");
}

TEST_F(trainjob_trouble, without_a_deadline_only_the_backoff_counts) {
    w.apply_yaml(foreign_set);
    begin();
    EXPECT_EQ(w.last.kind, outcome::what::failed);
    EXPECT_EQ(w.last.after, std::chrono::nanoseconds::max());
}

// What is wrong with the API server, the way to it or our rights may be over soon; what is wrong with the job is not.
TEST_F(trainjob_trouble, what_is_not_the_jobs_own_fault_is_tried_again_within_seconds) {
    base::error no_right = refusal(403, "Forbidden");
    no_right.message = R"(jobsets.jobset.x-k8s.io "job" is forbidden: User "u" cannot patch resource "jobsets")";
    base::error restarting = refusal(429, "TooManyRequests");
    restarting.again = base::retry::later;
    struct {
        base::error why;
        bool passing;
    } const cases[] = {{no_right, true},
                       {restarting, true},
                       {base::make_error(base::errc::connect, "refused"), true},
                       {refusal(403, "no such cost centre"), false},
                       {refusal(422, "Invalid"), false}};
    for (const auto& [why, passing] : cases) {
        w.refusals["apply JobSet ns/job"] = why;
        if (&why == &cases[0].why) {
            begin();
        } else {
            w.last = w.run_job("ns/job", 9);
        }
        EXPECT_EQ(w.last.kind, outcome::what::failed) << why.message;
        EXPECT_EQ(w.last.passing, passing) << why.message;
    }
}

TEST_F(trainjob_trouble, kinds_that_are_planned_are_looked_for) {
    std::vector<watch::kind> wanted;
    w.known->on_want([&wanted](watch::kind k) { wanted.push_back(k); });
    begin(mpi_runtime);
    EXPECT_THAT(wanted, testing::Contains(watch::kind::coscheduling_pod_group));
    EXPECT_THAT(wanted, testing::Not(testing::Contains(watch::kind::volcano_pod_group)));
}

// A webhook's reason may be any text; as the reason of a condition the API server would refuse it, and the status with
// it.
TEST_F(trainjob_trouble, a_reason_that_no_condition_may_have_is_not_passed_on) {
    w.refusals["apply JobSet ns/job"] = refusal(403, "no such cost centre");
    begin();
    EXPECT_EQ(w.condition("ResourcesReady"), "False");
    EXPECT_EQ(w.condition("ResourcesReady", "reason"), "ResourcesCreationFailed");
    EXPECT_THAT(w.condition("ResourcesReady", "message"), HasSubstr("403, refused"));
    w.refusals["apply JobSet ns/job"] = refusal(403, "Forbidden");
    static_cast<void>(w.run_job("ns/job", 9));
    EXPECT_EQ(w.condition("ResourcesReady", "reason"), "Forbidden");
}

// Something that refuses each status as outdated must not be asked as fast as it answers.
TEST_F(trainjob_trouble, a_status_that_is_always_outdated_is_not_written_without_end) {
    w.refusals["patch TrainJob ns/job"] = refusal(409);
    w.apply_yaml(torch_runtime);
    w.apply_yaml(train_job("  suspend: true\n"));
    w.deliver();
    w.queue.clear();
    for (unsigned i = 0; i < restarts_max; ++i) {
        const outcome o = w.run_job();
        EXPECT_EQ(o.kind, outcome::what::again_after);
        EXPECT_EQ(o.after, 0s);
        w.deliver();
    }
    EXPECT_EQ(w.run_job().kind, outcome::what::failed);
    w.refusals.clear();
    w.settle();
    EXPECT_EQ(w.run_job().kind, outcome::what::done);
    EXPECT_EQ(w.condition("Suspended"), "True");
    // The next time begins from the start.
    w.refusals["patch TrainJob ns/job"] = refusal(409);
    w.patch(job, R"({"spec":{"suspend":false}})");
    w.deliver();
    EXPECT_EQ(w.run_job().kind, outcome::what::again_after);
}

// Its first state is due and cannot be written any more: that must not be tried as fast as the API server answers.
TEST_F(trainjob_trouble, a_job_whose_going_is_not_told_yet_is_not_written_without_end) {
    begin();
    w.taken();
    w.refusals["patch TrainJob ns/job"] = refusal(404);
    w.now += look_after;
    const outcome o = w.run_job();
    EXPECT_THAT(w.taken(), testing::Contains("patch TrainJob ns/job/status"));
    EXPECT_EQ(o.kind, outcome::what::again_after);
    EXPECT_GE(o.after, 100ms);
}

}  // namespace
}  // namespace cotrain::reconcile
