// The state machine, transition by transition.
#include "runtime/status.hpp"

#include <gtest/gtest.h>

#include "api/names.hpp"
#include "doc/json.hpp"

namespace cotrain::runtime {
namespace {

namespace names = api::names;
using namespace std::chrono_literals;

constexpr base::seconds_time start{std::chrono::sys_days{std::chrono::year{2026} / 1 / 1}};

api::condition condition(std::string_view type, api::condition_status status, std::string_view reason,
                         base::seconds_time when = start) {
    api::condition c;
    c.type = type;
    c.status = status;
    c.reason = reason;
    c.last_transition_time = when;
    return c;
}

std::vector<std::string> types(const api::train_job_status& status) {
    std::vector<std::string> out;
    for (const auto& c : status.conditions) {
        out.push_back(c.type + (c.status == api::condition_status::yes ? "" : "=False"));
    }
    return out;
}

using list = std::vector<std::string>;

class machine : public testing::Test {
   protected:
    machine() {
        job.meta.uid = "u";
        job.meta.creation_time = start;
        job.spec.runtime = {"rt", names::trainer_group, names::training_runtime_kind};
        set.meta.creation_time = start;
        set.meta.owner_references.push_back(
            {.api_version = {}, .kind = {}, .name = {}, .uid = "u", .controller = true});
    }
    status_outcome next(bool with_set = true) {
        if (!lags) set.suspend = job.spec.suspend;
        return next_status({.job = job,
                            .job_set = with_set ? &set : nullptr,
                            .runtime_supported = supported,
                            .trouble = trouble,
                            .now = now,
                            .lifecycle = lifecycle,
                            .ended_by_others = ended_by_others},
                           [this](api::train_job_status& status, const api::job_set& s) {
                               ++reports;
                               for (const auto& c : s.conditions) {
                                   if (!is_finished(status)) api::set_condition(status.conditions, c, start);
                               }
                           });
    }

    api::train_job job;
    api::job_set set;
    bool supported = true;
    std::optional<std::pair<std::string, std::string>> trouble;
    base::micros_time now = start + 10s;
    bool lifecycle = false;
    bool ended_by_others = false;
    bool lags = false;  // the JobSet is not yet suspended, or resumed, as the job is
    int reports = 0;
};

TEST_F(machine, lifecycle_conditions_tell_how_far_a_job_is) {
    lifecycle = true;
    const auto step = [&](std::vector<api::replicated_job_status> jobs) {
        set.jobs = std::move(jobs);
        job.status = next().status;
        return types(job.status);
    };
    EXPECT_EQ(types(next(false).status), (list{"Running=False", "Ready=False", "Pending"}));
    EXPECT_EQ(step({}), (list{"Running=False", "Ready=False", "Pending"}));
    EXPECT_EQ(step({{.name = "a", .active = 1}, {.name = "b"}}), (list{"Ready=False", "Pending=False", "Running"}));
    EXPECT_EQ(step({{.name = "a", .ready = 1, .active = 1}, {.name = "b"}}),
              (list{"Ready=False", "Pending=False", "Running"}));
    EXPECT_EQ(step({{.name = "a", .ready = 1, .active = 1}, {.name = "b", .succeeded = 1}}),
              (list{"Pending=False", "Ready", "Running"}));
    EXPECT_EQ(step({{.name = "a", .succeeded = 1}, {.name = "b", .failed = 1}}),
              (list{"Pending=False", "Ready=False", "Running=False"}));
    job.spec.suspend = true;
    EXPECT_EQ(step({}), (list{"Pending=False", "Ready=False", "Running=False", "Suspended"}));
    job.spec.suspend = false;
    set.conditions = {condition(names::complete, api::condition_status::yes, "Done")};
    EXPECT_EQ(step({{.name = "a", .succeeded = 1}, {.name = "b", .succeeded = 1}}),
              (list{"Pending=False", "Ready=False", "Running=False", "Suspended=False", "Complete"}));
}

TEST_F(machine, a_job_that_never_had_pods_does_not_say_so) {
    lifecycle = true;
    job.spec.suspend = true;
    const auto pending = [&] {
        job.status = next().status;
        const api::condition* const c = api::find_condition(job.status.conditions, "Pending");
        return std::string(c->reason) + ": " + std::string(c->message);
    };
    EXPECT_EQ(pending(), "Suspended: the TrainJob is suspended");
    set.conditions = {condition(names::failed, api::condition_status::yes, "R")};
    EXPECT_EQ(pending(), "Finished: the TrainJob has ended");
    set.jobs = {{.name = "a", .failed = 1}};
    EXPECT_EQ(pending(), "PodsCreated: pods of the TrainJob are or were active");
    lifecycle = false;
    EXPECT_EQ(types(next().status), (list{"Suspended", "Failed"}));
}

TEST_F(machine, without_the_gate_its_conditions_go_and_those_of_others_stay) {
    lifecycle = true;
    job.status = next().status;
    job.status.conditions.push_back(condition("Ready", api::condition_status::yes, "SomebodyElse"));
    std::erase_if(job.status.conditions, [](const auto& c) { return c.type == "Ready" && c.reason != "SomebodyElse"; });
    lifecycle = false;
    EXPECT_EQ(types(next().status), list{"Ready"});
}

TEST_F(machine, a_running_job_has_no_conditions) {
    const auto out = next();
    EXPECT_EQ(types(out.status), list{});
    EXPECT_TRUE(out.wants_children);
    EXPECT_FALSE(out.wake_at);
    EXPECT_FALSE(out.delete_job_set);
}

TEST_F(machine, is_idempotent) {
    job.spec.suspend = true;
    trouble = {"R", "message"};
    job.status = next().status;
    now += 100s;
    EXPECT_EQ(next().status, job.status);
}

TEST_F(machine, suspends_and_resumes) {
    job.spec.suspend = true;
    job.status = next().status;
    EXPECT_EQ(types(job.status), list{"Suspended"});
    job.spec.suspend = false;
    now += 5s;
    job.status = next().status;
    EXPECT_EQ(types(job.status), list{"Suspended=False"});
    EXPECT_EQ(job.status.conditions[0].reason, "Resumed");
    EXPECT_EQ(job.status.conditions[0].last_transition_time, start + 15s);
}

TEST_F(machine, is_suspended_and_resumed_when_its_job_set_is) {
    lags = true;
    job.spec.suspend = true;
    EXPECT_EQ(types(next().status), list{});
    EXPECT_EQ(types(next(false).status), list{"Suspended"}) << "nothing runs";
    set.suspend = true;
    job.status = next().status;
    EXPECT_EQ(types(job.status), list{"Suspended"});
    job.spec.suspend = false;
    job.spec.active_deadline_seconds = 5;
    EXPECT_EQ(types(next().status), list{"Suspended"}) << "its clock stands, too";
    set.suspend = false;
    EXPECT_EQ(types(next().status), list{"Suspended=False"});
}

TEST_F(machine, finishes_for_good) {  // difference 1
    set.conditions = {condition(names::complete, api::condition_status::yes, "Done")};
    job.status = next().status;
    EXPECT_EQ(types(job.status), list{"Complete"});
    for (const bool with_set : {true, false}) {
        set.conditions.clear();
        const auto out = next(with_set);
        EXPECT_EQ(types(out.status), list{"Complete"});
        EXPECT_TRUE(out.finished);
        EXPECT_FALSE(out.wants_children) << "a vanished JobSet never starts a finished job again";
    }
}

TEST_F(machine, a_failure_outlives_its_job_set) {  // difference 1
    job.status.conditions = {condition(names::failed, api::condition_status::yes, "FailedJobs")};
    EXPECT_TRUE(next(false).finished);
    set.meta.creation_time = start + 60s;  // a replaced one, which runs
    EXPECT_TRUE(next().finished);
}

TEST_F(machine, a_failure_of_others_goes) {
    job.status.conditions = {condition(names::failed, api::condition_status::yes, "Fake", start + 5s)};
    EXPECT_EQ(types(next().status), list{"Failed"}) << "nobody knows whose it is";
    ended_by_others = true;
    EXPECT_EQ(types(next(false).status), list{"Failed"}) << "the JobSet that it is about may have gone";
    EXPECT_EQ(types(next().status), list{});
    set.conditions = {condition(names::complete, api::condition_status::yes, "Done")};
    set.conditions[0].type = names::job_set_completed;
    EXPECT_EQ(types(next().status), list{"Failed"}) << "it was first";
}

TEST_F(machine, listens_to_its_own_job_set_only) {
    set.meta.owner_references[0].uid = "other";
    set.conditions = {condition(names::complete, api::condition_status::yes, "Done")};
    EXPECT_EQ(types(next().status), list{});
    EXPECT_EQ(reports, 0);
}

TEST_F(machine, unsupported_runtimes_fail_for_good) {  // difference 1
    supported = false;
    job.status = next().status;
    ASSERT_EQ(types(job.status), list{"Failed"});
    EXPECT_EQ(job.status.conditions[0].reason, names::reason_not_supported);
    EXPECT_FALSE(next().wants_children);
    supported = true;
    EXPECT_EQ(types(next().status), list{"Failed"});
}

TEST_F(machine, wakes_for_the_deadline_and_enforces_it) {  // difference 2
    job.spec.active_deadline_seconds = 30;
    EXPECT_EQ(next().wake_at, base::micros_time{start + 30s});
    now = start + 30s;
    auto out = next();
    EXPECT_EQ(types(out.status), list{"Failed"});
    EXPECT_EQ(out.status.conditions[0].reason, names::reason_deadline);
    EXPECT_TRUE(out.delete_job_set);
    EXPECT_FALSE(out.wants_children);
    EXPECT_FALSE(out.wake_at);
    job.status = out.status;
    EXPECT_TRUE(next().delete_job_set) << "until it is gone";
    EXPECT_FALSE(next(false).delete_job_set);
    EXPECT_EQ(types(next(false).status), list{"Failed"});
}

TEST_F(machine, a_resumed_job_has_all_its_time_again) {
    job.spec.active_deadline_seconds = 30;
    job.status.conditions = {condition(names::suspended, api::condition_status::no, "Resumed", start + 100s)};
    now = start + 110s;
    EXPECT_EQ(next().wake_at, base::micros_time{start + 130s});
    job.spec.suspend = true;
    now = start + 500s;
    EXPECT_FALSE(next().wake_at) << "the clock of a suspended job stands";
    EXPECT_FALSE(next().finished);
}

TEST_F(machine, deadlines_beyond_the_calendar_are_none) {
    job.spec.active_deadline_seconds = INT64_MAX;
    EXPECT_FALSE(next().wake_at);
    EXPECT_FALSE(next().finished);
}

TEST_F(machine, trouble_shows_and_goes) {  // difference 6
    trouble = {"ApplyFailed", std::string(5000, 'x') + "\nline"};
    job.spec.suspend = true;
    job.status = next().status;
    EXPECT_EQ(types(job.status), (list{"ResourcesReady=False", "Suspended"})) << "never the last";
    EXPECT_LE(job.status.conditions[0].message.size(), condition_message_bytes_max);
    EXPECT_EQ(job.status.conditions[0].reason, "ApplyFailed");
    trouble.reset();
    EXPECT_EQ(types(next().status), list{"Suspended"});
}

TEST(status, knows_whose_jobs_are_whose) {
    api::train_job job;
    EXPECT_FALSE(managed_elsewhere(job));
    job.spec.managed_by = names::managed_by_self;
    EXPECT_FALSE(managed_elsewhere(job));
    job.spec.managed_by = "kueue.x-k8s.io/multikueue";
    EXPECT_TRUE(managed_elsewhere(job));
}

}  // namespace
}  // namespace cotrain::runtime
