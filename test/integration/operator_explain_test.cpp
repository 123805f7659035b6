// Against a real API server: the lists by which a job is explained select what they are meant to, and what is found
// stands in the job's status and in an Event.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/time.hpp"
#include "doc/json.hpp"
#include "integration/control.hpp"
#include "integration/operator_scene.hpp"
#include "integration/operator_sim_child.hpp"
#include "support/temp_dir.hpp"

namespace cotrain::test {
namespace {

constexpr kube::resource pods{"", "v1", "pods", "Pod"};
constexpr auto torch_job = R"({"runtimeRef":{"name":"torch","kind":"TrainingRuntime"}})";
constexpr std::chrono::seconds patience{60};

awaitable<void> patch_set(operator_scene* s, std::string name, std::string status) {
    const auto done = co_await s->api->merge_patch(kinds::job_set, {.ns = s->ns, .name = name},
                                                   R"({"status":)" + status + "}", {.sub_resource = "status"});
    EXPECT_TRUE(done.has_value()) << (done ? "" : done.error().message);
}

// A Pod as JobSet and Job make it, which no kubelet ever sees.
awaitable<void> make_pod(operator_scene* s, std::string job, int rank, std::string status) {
    const std::string name = fmt::format("{}-node-0-{}-abcde", job, rank);
    const auto made = co_await s->api->create(
        pods, s->ns,
        fmt::format(R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}","labels":{{)"
                    R"("jobset.sigs.k8s.io/jobset-name":"{}","jobset.sigs.k8s.io/replicatedjob-name":"node",)"
                    R"("jobset.sigs.k8s.io/restart-attempt":"0","batch.kubernetes.io/job-name":"{}-node-0",)"
                    R"("batch.kubernetes.io/job-completion-index":"{}"}}}},)"
                    R"("spec":{{"nodeName":"n{}","containers":[{{"name":"node","image":"torch:1"}}]}}}})",
                    name, job, job, rank, rank));
    EXPECT_TRUE(made.has_value()) << (made ? "" : made.error().message);
    const auto told = co_await s->api->merge_patch(pods, {.ns = s->ns, .name = name}, R"({"status":)" + status + "}",
                                                   {.sub_resource = "status"});
    EXPECT_TRUE(told.has_value()) << (told ? "" : told.error().message);
}

std::string container_status(std::string_view state) {
    return fmt::format(
        R"("containerStatuses":[{{"name":"node","image":"torch:1","imageID":"","ready":false,"restartCount":0,)"
        R"("state":{}}}])",
        state);
}

awaitable<void> make_event(operator_scene* s, std::string kind, std::string name, std::string reason,
                           std::string note) {
    const auto now =
        base::format_micros(std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now()));
    const auto made = co_await s->api->create(
        kinds::event, s->ns,
        fmt::format(R"({{"apiVersion":"events.k8s.io/v1","kind":"Event","metadata":{{"generateName":"e-"}},)"
                    R"("eventTime":"{}","reportingController":"job-controller","reportingInstance":"test",)"
                    R"("action":"Creating","type":"Warning","reason":"{}","note":"{}",)"
                    R"("regarding":{{"kind":"{}","namespace":"{}","name":"{}"}}}})",
                    now, reason, note, kind, s->ns, name));
    EXPECT_TRUE(made.has_value()) << (made ? "" : made.error().message);
}

constexpr auto one_active =
    R"({"replicatedJobsStatus":[{"name":"node","ready":0,"succeeded":0,"failed":0,"active":1,"suspended":0}]})";
constexpr auto none_active =
    R"({"replicatedJobsStatus":[{"name":"node","ready":0,"succeeded":0,"failed":0,"active":0,"suspended":0}]})";

TEST(operator_explain, says_why_pods_do_not_come_and_which_failed_first) {
    operator_scene scene("operator-explain");
    scene.play(+[](operator_scene& s) -> awaitable<void> {
        EXPECT_TRUE(co_await s.start_operator());
        co_await s.create_many("job-", 4, torch_job);
        EXPECT_TRUE(co_await s.until_count(kinds::job_set, 4));
        // One whose image is missing among Pods that run, and Pods of other jobs beside it.
        co_await patch_set(&s, "job-0", one_active);
        co_await make_pod(&s, "job-0", 1,
                          R"({"phase":"Pending",)" +
                              container_status(R"({"waiting":{"reason":"ErrImagePull","message":"not found"}})") + "}");
        co_await make_pod(&s, "job-0", 0, R"({"phase":"Running",)" + container_status(R"({"running":{}})") + "}");
        // One whose Job gets no Pods.
        co_await patch_set(&s, "job-1", none_active);
        co_await make_event(&s, "Job", "job-1-node-0", "FailedCreate",
                            R"(Error creating: pods \"job-1-node-0-0-x\" is forbidden: exceeded quota: gpus)");
        co_await make_event(&s, "Job", "other-node-0", "FailedCreate", "Error creating: of another");
        // One whose Pods failed; a Pod that ended well and one of another phase beside them.
        co_await patch_set(&s, "job-2", one_active);
        co_await make_pod(&s, "job-2", 0, R"({"phase":"Succeeded"})");
        co_await make_pod(&s, "job-2", 1,
                          R"({"phase":"Failed",)" +
                              container_status(R"({"terminated":{"exitCode":137,)"
                                               R"("reason":"OOMKilled","finishedAt":"2031-02-03T04:05:06Z"}})") +
                              "}");
        co_await make_pod(&s, "job-2", 2,
                          R"({"phase":"Failed",)" +
                              container_status(R"({"terminated":{"exitCode":1,)"
                                               R"("reason":"Error","finishedAt":"2031-02-03T04:05:07Z"}})") +
                              "}");
        co_await patch_set(&s, "job-2",
                           R"({"conditions":[{"type":"Failed","status":"True","reason":"FailedJobs","message":"jobset )"
                           R"(failed","lastTransitionTime":"2031-02-03T04:05:08Z"}]})");
        // job-3: nobody works at its JobSet.
        const auto has = [](std::string text) {
            return [text = std::move(text)](const std::string& all) { return all.contains(text); };
        };
        EXPECT_TRUE(co_await s.until(
            kinds::train_job,
            has(R"("container node of Pod job-2-node-0-1-abcde (rank 1) on node n1 failed: OOMKilled, exit code 137; )"
                R"(jobset failed")"),
            patience));
        EXPECT_TRUE(co_await s.until(
            kinds::event, has("rank 1) on node n1 failed: OOMKilled, exit code 137; 1 other followed"), patience));
        EXPECT_TRUE(co_await s.until(kinds::train_job, has(R"("exitCode":137)"), patience));
        EXPECT_TRUE(co_await s.until(
            kinds::train_job,
            has(R"("message":"ImagePullBackOff: image \"torch:1\" cannot be pulled (container node of Pod job-0-node-0-1-abcde on node )"
                R"(n1): not found")"),
            patience));
        EXPECT_TRUE(co_await s.until(
            kinds::train_job, has(R"("message":"Job job-1-node-0 gets no Pods: exceeded quota: gpus")"), patience));
        EXPECT_TRUE(co_await s.until(kinds::train_job,
                                     has(R"("message":"JobSet job-3 has no status: does JobSet's controller run?")"),
                                     patience));
    });
}

// Reads the job and writes its status as a client with the Go types of the Kubeflow Trainer does. What it wrote.
awaitable<std::string> write_status_as_typed_client(operator_scene* s, std::string name) {
    constexpr int tries = 20;
    const std::string typed =
        (std::filesystem::path(test_variable("COTRAIN_TEST_CRDS")).parent_path() / "bin/typed").string();
    const temp_dir dir;
    for (int i = 0; i < tries; ++i) {
        const auto now = co_await s->api->get(kinds::train_job, {.ns = s->ns, .name = name});
        EXPECT_TRUE(now) << (now ? "" : now.error().message);
        if (!now) co_return "";
        const finished passed = run_shell(typed + " < " + dir.write("job.json", now->body));
        EXPECT_EQ(passed.code, 0) << "it does not fail on our fields: " << passed.output;
        const auto done = co_await s->api->update(kinds::train_job, {.ns = s->ns, .name = name}, passed.output,
                                                  {.sub_resource = "status"});
        if (!done && done.error().http_status == 409) continue;
        EXPECT_TRUE(done) << (done ? "" : done.error().message);
        co_return done ? done->body : "";
    }
    ADD_FAILURE() << "a conflict each time";
    co_return "";
}

std::string status_of(const std::string& job) {
    doc::arena memory;
    const auto parsed = doc::parse_json(memory, job);
    std::string out;
    if (parsed) doc::append_sorted_json(out, parsed->get("status"));
    return out;
}

awaitable<void> lose_fields(operator_scene* s) {
    co_await s->create_many("job-", 1, torch_job);
    EXPECT_TRUE(co_await s->until_count(kinds::job_set, 1));
    const auto reads = [](std::string text) {
        return [text = std::move(text)](const std::string& all) { return all.contains(text); };
    };
    const auto counts = [](int restarts) {
        return fmt::format(R"({{"restarts":{},"replicatedJobsStatus":[{{"name":"node","ready":1,"succeeded":0,)"
                           R"("failed":0,"active":1,"suspended":0}}]}})",
                           restarts);
    };
    co_await patch_set(s, "job-0", counts(0));
    EXPECT_TRUE(co_await s->until(kinds::train_job, reads(R"("startTime")"), patience));
    co_await make_pod(s, "job-0", 1,
                      R"({"phase":"Failed",)" +
                          container_status(R"({"terminated":{"exitCode":137,)"
                                           R"("reason":"OOMKilled","finishedAt":"2031-02-03T04:05:06Z"}})") +
                          "}");
    co_await patch_set(s, "job-0", counts(1));
    EXPECT_TRUE(co_await s->until(kinds::train_job, reads(R"("exitCode":137)"), patience));
    const auto before = co_await s->api->get(kinds::train_job, {.ns = s->ns, .name = "job-0"});
    EXPECT_TRUE(before);
    for (const char* member : {"state", "message", "startTime", "restarts", "nodes", "failures"})
        EXPECT_TRUE(status_of(before->body).contains('"' + std::string(member) + '"')) << before->body;
    EXPECT_FALSE(status_of(co_await write_status_as_typed_client(s, "job-0")).contains(R"("state")"))
        << "these types have no such field";
    EXPECT_TRUE(co_await s->until(kinds::train_job, reads(R"("exitCode":137)"), patience));
    const auto after = co_await s->api->get(kinds::train_job, {.ns = s->ns, .name = "job-0"});
    EXPECT_EQ(status_of(after->body), status_of(before->body));

    co_await patch_set(
        s, "job-0",
        R"({"conditions":[{"type":"Completed","status":"True","reason":"AllJobsCompleted","message":"m",)"
        R"("lastTransitionTime":"2031-02-03T04:05:08Z"}]})");
    EXPECT_TRUE(co_await s->until(kinds::train_job, reads(R"("completionTime")"), patience));
    co_await write_status_as_typed_client(s, "job-0");
    EXPECT_TRUE(co_await s->until(kinds::train_job, reads(R"("completionTime")"), patience));
    EXPECT_TRUE(co_await s->until(kinds::train_job, reads(R"("state":"Complete")"), patience));
}

TEST(operator_explain, its_fields_come_back_when_a_typed_client_writes_the_status) {
    operator_scene scene("operator-typed-status");
    scene.play(+[](operator_scene& s) -> awaitable<void> {
        EXPECT_TRUE(co_await s.start_operator());
        co_await lose_fields(&s);
    });
}

}  // namespace
}  // namespace cotrain::test
