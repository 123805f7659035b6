// A job whose Pods do not come, or failed, is looked into: seldom, and never more than the API server bears.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <queue>

#include "../runtime/pod_documents.hpp"
#include "trainjob_world.hpp"

namespace cotrain::reconcile {
namespace {

using namespace runtime::test;
using namespace std::chrono_literals;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char* set = "JobSet ns/job";
constexpr const char* pending = "list pods ns jobset.sigs.k8s.io/jobset-name=job&status.phase=Pending&20";
constexpr const char* failed_pods = "list pods ns jobset.sigs.k8s.io/jobset-name=job&status.phase=Failed&50";
constexpr const char* status_patch = "patch TrainJob ns/job/status";

std::string train_job(std::string_view more = "", std::string_view name = "job") {
    return fmt::format(R"(
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {{name: {}, namespace: ns}}
spec:
  runtimeRef: {{name: rt, kind: TrainingRuntime}}
{})",
                       name, more);
}

struct trainjob_look : testing::Test {
    void begin(std::string_view more = "") {
        w.apply_yaml(torch_runtime);
        w.apply_yaml(train_job(more));
        w.settle();
        counts(R"({"name":"node","active":1})");
        w.taken();
    }
    void counts(std::string_view job) {
        w.patch(set, R"({"status":{"replicatedJobsStatus":[)" + std::string(job) + "]}}");
        w.settle();
    }
    // The queue's part: when a run is due, it comes.
    void pass(std::chrono::seconds time) {
        for (; time > 0s; time -= 1s) {
            w.now += 1s;
            if (w.last.kind != outcome::what::again_after) continue;
            if (left -= 1s; left > 0s) continue;
            w.last = w.run_job();
            left = w.last.after;
        }
    }
    void start_clock() {
        w.last = w.run_job();
        left = w.last.after;
    }
    std::vector<std::string> lists() {
        std::vector<std::string> out = w.taken();
        std::erase_if(out, [](const std::string& r) { return !r.starts_with("list"); });
        return out;
    }
    [[nodiscard]] std::string status(std::string_view member) const {
        doc::arena memory;
        return std::string(w.object(memory, "TrainJob ns/job").get({"status", member}).as_string());
    }
    [[nodiscard]] std::string failures() const {
        doc::arena memory;
        return doc::to_json(w.object(memory, "TrainJob ns/job").get({"status", "failures"}));
    }
    [[nodiscard]] std::ptrdiff_t blocked_events() const {
        return std::ranges::count_if(w.events, [](const std::string& e) { return e.starts_with("Blocked: "); });
    }
    void answer(std::string page) {
        w.on_list = [page = std::move(page)](const list_page&) { return page; };
    }

    trainjob_world w;
    std::chrono::nanoseconds left{0};
};

const std::string no_image =
    pods({pod_document{.node = "n1", .containers = waiting("ErrImagePull", "not found")}.json()});

TEST_F(trainjob_look, waits_for_pods_that_may_still_come) {
    begin();
    start_clock();
    pass(9s);
    EXPECT_THAT(w.taken(), IsEmpty());
    answer(no_image);
    pass(1s);
    EXPECT_THAT(lists(), ElementsAre(pending));
}

TEST_F(trainjob_look, is_once_a_minute_and_less_often_where_nothing_is_new) {
    begin();
    answer(no_image);
    start_clock();
    pass(10s);
    EXPECT_THAT(lists(), ElementsAre(pending));
    for (const auto pause : {60s, 120s, 240s, 480s, 480s}) {
        pass(pause - 1s);
        EXPECT_THAT(w.taken(), IsEmpty()) << pause;
        pass(1s);
        EXPECT_THAT(lists(), ElementsAre(pending)) << pause;
    }
    answer(pods({pod_document{.node = "n1", .containers = waiting("CreateContainerConfigError", "m")}.json()}));
    pass(480s);
    EXPECT_THAT(lists(), ElementsAre(pending));
    pass(60s);
    EXPECT_THAT(lists(), ElementsAre(pending)) << "something new";
}

TEST_F(trainjob_look, is_not_for_jobs_whose_pods_are_there) {
    begin();
    counts(R"({"name":"node","active":1,"ready":1})");
    start_clock();
    pass(3600s);
    EXPECT_THAT(lists(), IsEmpty());
    EXPECT_EQ(w.run_job().kind, outcome::what::done);
}

TEST_F(trainjob_look, is_not_for_suspended_jobs_and_begins_anew_when_they_are_resumed) {
    begin("  suspend: true\n");
    start_clock();
    pass(3600s);
    EXPECT_THAT(lists(), IsEmpty());
    w.patch("TrainJob ns/job", R"({"spec":{"suspend":false}})");
    w.settle();
    answer(no_image);
    start_clock();
    pass(9s);
    EXPECT_THAT(lists(), IsEmpty()) << "since it was resumed";
    pass(1s);
    EXPECT_THAT(lists(), ElementsAre(pending));
}

TEST_F(trainjob_look, asks_three_times_at_most) {
    begin();
    w.on_list = [](const list_page& what) { return what.type == &api::names::pod ? pods({}) : events({}); };
    start_clock();
    pass(10s);
    EXPECT_THAT(lists(),
                ElementsAre(pending, "list events ns &type=Warning,regarding.kind=Job,regarding.name=job-node-0&20",
                            "list pods ns jobset.sigs.k8s.io/jobset-name=job&status.phase=Running&20"));
}

base::error forbidden(std::string_view what) {
    base::error e = base::make_error(base::errc::status, "list: 403 Forbidden: " + std::string(what) +
                                                             R"( is forbidden: User "u" cannot list resource ")" +
                                                             std::string(what) + R"(" in API group "")");
    e.http_status = 403;
    return e;
}

TEST_F(trainjob_look, does_without_rights_and_tries_again_after_ten_minutes) {
    begin();
    w.refusals["list pods"] = forbidden("pods");
    answer(events({event("FailedCreate", "Error creating: pods \\\"x\\\" is forbidden: exceeded quota: q",
                         "2026-01-01T00:00:05Z")}));
    start_clock();
    pass(10s);
    EXPECT_THAT(lists(), ElementsAre(pending, HasSubstr("list events")));
    pass(60s);
    EXPECT_THAT(lists(), ElementsAre(HasSubstr("list events")));
    pass(1200s);
    EXPECT_THAT(lists(), Contains(pending));
    EXPECT_EQ(w.last.kind, outcome::what::again_after) << "it is no failure";
}

TEST_F(trainjob_look, says_in_the_status_what_it_found_and_patches_once) {
    begin();
    answer(no_image);
    start_clock();
    pass(9s);
    EXPECT_EQ(status("state"), "Starting");
    pass(1s);
    EXPECT_THAT(w.taken(), ElementsAre(pending, status_patch));
    EXPECT_EQ(status("state"), "Blocked");
    const std::string why =
        "ImagePullBackOff: image \"torch:1\" cannot be pulled (container node of Pod job-node-0-0-x0 on node n1): not "
        "found";
    EXPECT_EQ(status("message"), why);
    EXPECT_THAT(w.events, Contains("Blocked: " + why));
    pass(60s);
    EXPECT_THAT(w.taken(), ElementsAre(pending)) << "nothing new";
    answer(pods({pod_document{.node = "n1",
                              .containers = waiting("ImagePullBackOff",
                                                    "Back-off pulling image "
                                                    "\\\"torch:1\\\"")}
                     .json()}));
    pass(120s);
    EXPECT_THAT(w.taken(), ElementsAre(pending)) << "the same in fewer words";
    w.restart();
    w.settle();
    EXPECT_EQ(blocked_events(), 1) << "of each text";
    counts(R"({"name":"node","active":1,"ready":1})");
    EXPECT_EQ(status("state"), "Running");
    EXPECT_THAT(status("message"), Not(HasSubstr("image")));
}

TEST_F(trainjob_look, a_blocked_job_has_an_event_for_each_text) {
    begin();
    answer(no_image);
    start_clock();
    pass(10s);
    answer(pods({pod_document{.node = "n1", .containers = waiting("CreateContainerConfigError", "m")}.json()}));
    pass(60s);
    EXPECT_EQ(blocked_events(), 2);
}

TEST_F(trainjob_look, a_child_of_another_is_told_by_one_event) {
    w.apply_yaml(torch_runtime);
    w.apply_yaml("{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, metadata: {name: job, namespace: ns}}");
    w.apply_yaml(train_job());
    w.settle();
    EXPECT_EQ(status("state"), "Blocked");
    EXPECT_EQ(status("message"),
              "JobSet job exists and is not controlled by this TrainJob: delete it, or give the TrainJob another name");
    EXPECT_THAT(w.events, ElementsAre("TrainJobResourcesCreationFailed: the TrainJob's resources cannot be made: " +
                                      status("message")));
}

TEST_F(trainjob_look, says_that_nobody_works_at_the_job_set) {
    w.apply_yaml(torch_runtime);
    w.apply_yaml(train_job());
    w.settle();
    w.on_list = [](const list_page& what) { return what.type == &api::names::pod ? pods({}) : events({}); };
    start_clock();
    pass(10s);
    EXPECT_EQ(status("state"), "Blocked");
    EXPECT_EQ(status("message"), "JobSet job has no status: does JobSet's controller run?");
}

// Kueue has suspended it.
TEST_F(trainjob_look, says_what_kueue_waits_for) {
    w.apply_yaml(torch_runtime);
    std::string job = train_job("  suspend: true\n");
    job.replace(job.find("name: job,"), 9, "labels: {kueue.x-k8s.io/queue-name: team}, name: job");
    w.apply_yaml(job);
    w.settle();
    w.taken();
    answer(R"({"kind":"WorkloadList","metadata":{},"items":[{"status":{"conditions":[{"type":"QuotaReserved",)"
           R"("status":"False","reason":"Pending","message":"couldn't assign flavors to pod set node: insufficient )"
           R"(unused quota for nvidia.com/gpu in flavor default, 4 more needed"}]}}]})");
    start_clock();
    pass(10s);
    EXPECT_THAT(lists(), ElementsAre(testing::StartsWith("list workloads ns kueue.x-k8s.io/job-uid=")));
    EXPECT_EQ(status("state"), "Suspended");
    EXPECT_EQ(status("message"),
              "waits in queue team for Kueue to admit it: couldn't assign flavors to pod set node: insufficient unused "
              "quota for nvidia.com/gpu in flavor default, 4 more needed");
    // Kueue went.
    w.refusals["list workloads"] = refused(404).error();
    pass(700s);
    EXPECT_THAT(lists(), testing::SizeIs(1)) << "and not again for ten minutes";
}

// ---- All jobs together. ----

// Blocked jobs of some namespaces, each run when it asked to be.
struct look_storm : testing::Test {
    void add(std::string_view ns, int jobs) {
        w.apply_yaml(in_namespace(std::string(torch_runtime), ns));
        for (int i = 0; i < jobs; ++i) {
            const std::string name = "job" + std::to_string(i);
            w.apply_yaml(in_namespace(train_job("", name), ns));
            queue.push({w.now, fmt::format("{}/{}", ns, name)});
        }
        w.deliver();
    }
    static std::string in_namespace(std::string text, std::string_view ns) {
        const auto at = text.find("namespace: ns");
        return text.replace(at, 13, fmt::format("namespace: {}", ns));
    }
    void run_for(std::chrono::seconds time) {
        const base::micros_time end = w.now + time;
        w.on_list = [this](const list_page& what) {
            if (what.type != &api::names::pod) return events({});
            if (what.field_selector == "status.phase=Pending") note(fmt::format("{} {}", what.ns, what.label_selector));
            return pods({});
        };
        while (!queue.empty() && queue.top().first <= end) {
            const auto [at, name] = queue.top();
            queue.pop();
            w.now = std::max(w.now, at);
            const outcome o = w.run_job(name);
            w.deliver();
            w.queue.clear();
            if (o.kind == outcome::what::again_after)
                queue.push({w.now + std::chrono::ceil<std::chrono::microseconds>(o.after), name});
        }
        w.now = std::max(w.now, end);
    }
    void note(const std::string& who) {
        asked.push_back(w.now);
        const auto before = looks.find(who);
        if (before != looks.end() && w.now - before->second < look_pause) ++too_soon;
        looks.insert_or_assign(who, w.now);
    }
    [[nodiscard]] std::size_t above_the_rate() const {
        std::size_t out = 0;
        for (std::size_t i = 3; i < asked.size(); ++i) out += asked[i] - asked[i - 3] < 1s ? 1 : 0;
        return out;
    }

    using due = std::pair<base::micros_time, std::string>;
    trainjob_world w;
    std::priority_queue<due, std::vector<due>, std::greater<>> queue;
    std::vector<base::micros_time> asked;
    std::map<std::string, base::micros_time> looks;
    std::size_t too_soon = 0;
};

TEST_F(look_storm, of_5000_blocked_jobs_keeps_to_three_looks_a_second) {
    constexpr auto time = 1800s;
    add("ns", 5000);
    run_for(time);
    EXPECT_EQ(above_the_rate(), 0U);
    EXPECT_GT(asked.size(), 29U * static_cast<std::size_t>(time / 10s)) << "and it goes on";
    EXPECT_EQ(too_soon, 0U);
}

// Before namespaces had parts, the last of these waited for 1,667 s.
TEST_F(look_storm, of_one_namespace_does_not_hold_up_others) {
    add("ns", 5000);
    run_for(30s);
    for (int i = 0; i < 20; ++i) add(fmt::format("other{}", i), 1);
    run_for(look_after + 9s);
    const auto others = std::ranges::count_if(looks, [](const auto& look) { return look.first.starts_with("other"); });
    EXPECT_EQ(others, 20);
    EXPECT_EQ(above_the_rate(), 0U);
}

// ---- Jobs whose Pods failed. ----

const std::string two_failed =
    pods({pod_document{.rank = 0,
                       .node = "n0",
                       .phase = "Failed",
                       .containers = container(ended(143, "Error", "2026-01-01T00:01:01Z"))}
              .json(),
          pod_document{.rank = 1,
                       .node = "n1",
                       .phase = "Failed",
                       .containers = container(ended(137, "OOMKilled", "2026-01-01T00:01:00Z"))}
              .json()});
constexpr const char* told =
    "TrainJobPodFailed: container node of Pod job-node-0-1-x1 (rank 1) on node n1 failed: OOMKilled, exit code 137; 1 "
    "other followed";
constexpr const char* set_failed =
    R"({"status":{"conditions":[{"type":"Failed","status":"True","reason":"FailedJobs","message":"m",
        "lastTransitionTime":"2026-01-01T00:01:02Z"}]}})";

TEST_F(trainjob_look, tells_which_pod_failed_first_when_the_job_fails) {
    begin();
    answer(two_failed);
    w.patch(set, set_failed);
    w.settle();
    EXPECT_THAT(w.taken(), ElementsAre(failed_pods, status_patch)) << "before it is written that it failed";
    EXPECT_THAT(w.events, Contains(told));
    EXPECT_EQ(w.condition("Failed", "message"), "m") << "the reference's, byte for byte";
    EXPECT_EQ(status("message"),
              "container node of Pod job-node-0-1-x1 (rank 1) on node n1 failed: OOMKilled, exit code 137; m");
    EXPECT_EQ(failures(), R"([{"attempt":0,"time":"2026-01-01T00:01:00Z","pod":"job-node-0-1-x1","rank":1,"node":"n1",)"
                          R"("container":"node","exitCode":137,"reason":"OOMKilled","pods":2}])");
    w.patch(set, R"({"metadata":{"labels":{"a":"b"}}})");
    w.settle();
    EXPECT_THAT(lists(), IsEmpty()) << "once";
    w.restart();
    w.settle();
    EXPECT_THAT(lists(), IsEmpty());
}

TEST_F(trainjob_look, says_that_no_failed_pod_is_left) {
    begin();
    answer(pods({}));
    w.patch(set, set_failed);
    w.settle();
    constexpr auto gone =
        "no failed Pod is left: its node is gone, its Job's own deadline passed, or somebody deleted it";
    EXPECT_THAT(w.events, Contains(std::string("TrainJobPodFailed: ") + gone));
    EXPECT_EQ(status("message"), std::string(gone) + "; m");
    EXPECT_THAT(failures(), HasSubstr(R"("reason":"PodGone")"));
}

TEST_F(trainjob_look, tells_of_pods_that_failed_or_were_started_again_while_the_job_goes_on) {
    begin();
    counts(R"({"name":"node","active":1,"ready":1})");
    w.taken();
    w.on_list = [](const list_page& what) {
        if (what.field_selector == "status.phase=Failed") return pods({});
        return pods({pod_document{
            .rank = 2,
            .node = "n2",
            .phase = "Running",
            .containers = container(R"({"running":{}})", ended(1, "Error", "2026-01-01T00:00:30Z", "bad"))}
                         .json()});
    };
    counts(R"({"name":"node","active":1})");
    EXPECT_THAT(lists(),
                ElementsAre(failed_pods, "list pods ns jobset.sigs.k8s.io/jobset-name=job&status.phase=Running&50"));
    EXPECT_THAT(w.events, Contains(HasSubstr("(rank 2) on node n2 failed with exit code 1: bad")));
    counts(R"({"name":"node","active":1,"ready":1})");
    counts(R"({"name":"node","active":1})");
    EXPECT_THAT(lists(), IsEmpty()) << "once a minute";
}

TEST_F(trainjob_look, a_failed_job_is_told_as_failed_even_where_its_pods_may_not_be_seen) {
    begin();
    w.refusals["list pods"] = forbidden("pods");
    w.patch(set, set_failed);
    w.settle();
    EXPECT_EQ(w.condition("Failed"), "True");
    EXPECT_THAT(w.events, Not(Contains(HasSubstr("TrainJobPodFailed"))));
}

// JobSet counts restarts, and deletes what failed.
TEST_F(trainjob_look, tells_of_each_attempt_that_failed_once) {
    begin();
    counts(R"({"name":"node","active":1,"ready":1})");
    w.taken();
    for (int attempt = 0; attempt < 7; ++attempt) {
        answer(pods({pod_document{
            .rank = attempt,
            .node = "n",
            .phase = "Failed",
            .containers = container(ended(10 + attempt, "Error", "2026-01-01T00:0" + std::to_string(attempt) + ":30Z")),
            .attempt = std::to_string(attempt)}
                         .json()}));
        w.patch(set, R"({"status":{"restarts":)" + std::to_string(attempt + 1) + "}}");
        w.settle();
        EXPECT_THAT(w.taken(), ElementsAre(failed_pods, status_patch)) << attempt;
        w.patch(set, R"({"metadata":{"labels":{"a":")" + std::to_string(attempt) + R"("}}})");
        w.settle();
        EXPECT_THAT(lists(), IsEmpty()) << attempt;
        w.now += 1s;
    }
    doc::arena memory;
    const doc::ref last = w.object(memory, "TrainJob ns/job").get({"status", "failures"});
    ASSERT_EQ(last.size(), 5U) << "the last ones";
    for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(last.at(static_cast<std::size_t>(i)).get("attempt").as_int(), i + 2);
        EXPECT_EQ(last.at(static_cast<std::size_t>(i)).get("exitCode").as_int(), i + 12);
    }
    EXPECT_EQ(std::ranges::count_if(w.events, [](const std::string& e) { return e.starts_with("TrainJobPodFailed"); }),
              7);
    // Another process tells nothing twice.
    w.restart();
    w.settle();
    EXPECT_THAT(lists(), IsEmpty());
}

// A client with the reference's types writes the status back without them.
TEST_F(trainjob_look, fields_of_our_own_come_back_at_once_when_a_client_drops_them) {
    begin();
    counts(R"({"name":"node","active":1,"ready":1})");
    answer(pods({pod_document{.rank = 1,
                              .node = "n",
                              .phase = "Failed",
                              .containers = container(ended(1, "Error", "2026-01-01T00:00:30Z", "bad"))}
                     .json()}));
    w.patch(set, R"({"status":{"restarts":1}})");
    w.settle();
    w.now += 100s;
    const auto all = [&] {
        doc::arena memory;
        std::string out;
        doc::append_sorted_json(out, w.object(memory, "TrainJob ns/job").get("status"));
        return out;
    };
    const std::string before = all();
    for (const char* member : {"state", "message", "startTime", "restarts", "nodes", "failures", "runtimeSnapshotHash"})
        EXPECT_THAT(before, HasSubstr('"' + std::string(member) + '"'));
    const std::size_t events = w.events.size();
    for (int i = 0; i < 2; ++i) {
        w.taken();
        w.patch("TrainJob ns/job", R"({"status":{"state":null,"message":null,"startTime":null,"restarts":null,
            "nodes":null,"failures":null,"runtimeSnapshotHash":null}})");
        w.settle();
        EXPECT_THAT(w.taken(), ElementsAre(status_patch));
        EXPECT_EQ(all(), before);
    }
    EXPECT_EQ(w.events.size(), events) << "nothing has happened";
}

// Those for which there is no place at once are told as failed at once, and why later.
TEST(autopsy_storm, of_1000_jobs_keeps_its_rate_and_tells_of_failures_at_once) {
    constexpr int jobs = 1000;
    trainjob_world w;
    w.apply_yaml(torch_runtime);
    for (int i = 0; i < jobs; ++i) {
        w.apply_yaml(train_job("", "job" + std::to_string(i)));
    }
    const auto run_all = [&w] {
        std::vector<outcome> out;
        w.deliver();
        w.queue.clear();
        for (int i = 0; i < jobs; ++i) out.push_back(w.run_job("ns/job" + std::to_string(i)));
        w.deliver();
        w.queue.clear();
        return out;
    };
    run_all();
    w.on_list = [](const list_page&) { return two_failed; };
    for (int i = 0; i < jobs; ++i) w.patch("JobSet ns/job" + std::to_string(i), set_failed);
    w.taken();
    const std::vector<outcome> first = run_all();
    for (int i = 0; i < jobs; ++i)
        EXPECT_THAT(w.objects["TrainJob ns/job" + std::to_string(i)], HasSubstr(R"("type":"Failed")")) << i;
    EXPECT_EQ(w.reconciler->counts().lists, static_cast<std::uint64_t>(autopsies_at_once));
    EXPECT_EQ(first.back().kind, outcome::what::done)
        << "too many failed at once: nobody asks later than after minutes";
    EXPECT_EQ(first[100].kind, outcome::what::again_after);
    w.now += 60s;
    run_all();
    EXPECT_GT(w.reconciler->counts().lists, 100U);
    EXPECT_LE(w.reconciler->counts().lists, static_cast<std::uint64_t>(autopsies_at_once) + 120U + 1);
    w.now += 3600s;
    run_all();
    const auto lists = w.reconciler->counts().lists;
    EXPECT_EQ(w.reconciler->remembered(), 0U);
    w.now += 3600s;
    run_all();
    EXPECT_EQ(w.reconciler->counts().lists, lists) << "once for each";
}

}  // namespace
}  // namespace cotrain::reconcile
