// What a user is told of mishaps, on a real API server: test/troubleshooting plays all of them with more around it.
// What other controllers and kubelets would say is written here in their words.
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "doc/json.hpp"
#include "integration/operator_scene.hpp"

namespace cotrain::test {
namespace {

constexpr kube::resource pods{"", "v1", "pods", "Pod"};

struct mishap {
    const char* name;  // of the TrainJob
    const char* more;  // members of its spec, each after a comma
    const char* state;
    const char* says;        // status.message
    const char* job_set;     // status of its JobSet; null: nobody says anything of it
    const char* pod_status;  // of a Pod of it; null: there is none
    const char* warning;     // of the Job controller; null: none
};

constexpr const char* waits =
    R"({"replicatedJobsStatus":[{"name":"node","active":1,"ready":0,"succeeded":0,"failed":0,"suspended":0}]})";
constexpr const char* no_pods =
    R"({"replicatedJobsStatus":[{"name":"node","active":0,"ready":0,"succeeded":0,"failed":0,"suspended":0}]})";
constexpr const char* failed = R"({"conditions":[{"type":"Failed","status":"True","reason":"FailedJobs",
    "message":"jobset failed","lastTransitionTime":"2126-01-01T00:00:00Z"}]})";

constexpr std::array mishaps{
    mishap{"suspended", R"(,"suspend":true)", "Suspended", "spec.suspend", nullptr, nullptr, nullptr},
    mishap{"foreign-set", "", "Blocked", "JobSet foreign-set exists and is not controlled by this TrainJob", nullptr,
           nullptr, nullptr},
    mishap{"foreign-map", "", "Blocked", "ConfigMap foreign-map-runtime-snapshot exists", nullptr, nullptr, nullptr},
    mishap{"late", R"(,"activeDeadlineSeconds":1)", "Failed", "deadline", waits, nullptr, nullptr},
    mishap{"image", "", "Blocked", R"(image "registry.test/x:2" cannot be pulled)", waits, R"({"phase":"Pending",
        "conditions":[{"type":"PodScheduled","status":"True"}],"containerStatuses":[{"name":"node","image":"registry.test/x:2",
        "imageID":"","ready":false,"restartCount":0,"state":{"waiting":{"reason":"ImagePullBackOff",
        "message":"Back-off pulling image \"registry.test/x:2\": ErrImagePull: not found"}}}]})",
           nullptr},
    mishap{"gpus", "", "Blocked", "0/3 nodes are available: 3 Insufficient nvidia.com/gpu", waits,
           R"({"phase":"Pending",
        "conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable","message":
        "0/3 nodes are available: 3 Insufficient nvidia.com/gpu. preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling."}]})",
           nullptr},
    mishap{
        "quota", "", "Blocked", "exceeded quota: team", no_pods, nullptr,
        R"(Error creating: pods \"quota-node-0-0-x\" is forbidden: exceeded quota: team, requested: pods=1, used: pods=4, limited: pods=4)"},
    mishap{"memory", "", "Failed", "", failed, R"({"phase":"Failed","containerStatuses":[{"name":"node",
        "image":"registry.test/torch:1","imageID":"","ready":false,"restartCount":0,"state":{"terminated":{"exitCode":137,
        "reason":"OOMKilled","startedAt":"2126-01-01T00:00:00Z","finishedAt":"2126-01-01T00:00:00Z"}}}]})",
           nullptr},
};

awaitable<void> make_what_is_in_the_way(operator_scene* s) {
    const auto set =
        co_await s->api->create(kinds::job_set, s->ns, R"({"apiVersion":"jobset.x-k8s.io/v1alpha2","kind":"JobSet",
        "metadata":{"name":"foreign-set"},"spec":{"suspend":true}})");
    EXPECT_TRUE(set) << set.error().message;
    const auto map = co_await s->api->create(
        kinds::config_map, s->ns,
        R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"foreign-map-runtime-snapshot"}})");
    EXPECT_TRUE(map) << map.error().message;
}

awaitable<void> make_job(operator_scene* s, const mishap* m) {
    const auto made = co_await s->api->create(
        kinds::train_job, s->ns,
        std::string(R"({"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob","metadata":{"name":")") +
            m->name + R"("},"spec":{"runtimeRef":{"name":"torch","kind":"TrainingRuntime"})" + m->more + "}}");
    EXPECT_TRUE(made) << m->name << ": " << made.error().message;
}

awaitable<void> patch_status(operator_scene* s, kube::resource of, std::string name, std::string status) {
    const auto done = co_await s->api->merge_patch(of, {.ns = s->ns, .name = name}, R"({"status":)" + status + "}",
                                                   {.sub_resource = "status"});
    EXPECT_TRUE(done) << name << ": " << done.error().message;
}

awaitable<void> make_pod(operator_scene* s, const mishap* m) {
    const std::string name = m->name;
    const std::string pod = name + "-node-0-0-abcde";
    const auto made = co_await s->api->create(
        pods, s->ns,
        R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + pod +
            R"(","labels":{"jobset.sigs.k8s.io/jobset-name":")" + name +
            R"(","jobset.sigs.k8s.io/replicatedjob-name":"node","jobset.sigs.k8s.io/restart-attempt":"0","batch.kubernetes.io/job-name":")" +
            name + R"(-node-0"},"annotations":{"batch.kubernetes.io/job-completion-index":"0"}},
        "spec":{"containers":[{"name":"node","image":"registry.test/torch:1"}]}})");
    EXPECT_TRUE(made) << pod << ": " << made.error().message;
    co_await patch_status(s, pods, pod, m->pod_status);
}

awaitable<void> warn(operator_scene* s, const mishap* m) {
    const std::string name = m->name;
    const auto made = co_await s->api->create(
        kinds::event, s->ns,
        R"({"apiVersion":"events.k8s.io/v1","kind":"Event","metadata":{"name":")" + name + R"("},
        "eventTime":"2126-01-01T00:00:00.000000Z","reportingController":"job-controller","reportingInstance":"test","action":"Create",
        "type":"Warning","reason":"FailedCreate","regarding":{"apiVersion":"batch/v1","kind":"Job","name":")" +
            name + R"(-node-0","namespace":")" + s->ns + R"("},"note":")" + m->warning + R"("})");
    EXPECT_TRUE(made) << name << ": " << made.error().message;
}

// "Blocked: why" of a TrainJob in a list.
std::string told_of(const std::string& list, std::string_view name) {
    doc::arena memory;
    const auto all = doc::parse_json(memory, list);
    if (!all) return "no list";
    for (const doc::ref job : all->get("items").items()) {
        if (job.get({"metadata", "name"}).as_string() != name) continue;
        const doc::ref status = job.get("status");
        return std::string(status.get("state").as_string()) + ": " + std::string(status.get("message").as_string());
    }
    return "no such TrainJob";
}

bool tells(const std::string& list, const mishap& m) {
    const std::string told = told_of(list, m.name);
    return told.starts_with(std::string(m.state) + ": ") && told.contains(m.says);
}

TEST(operator_told, state_and_message_of_each_mishap_name_its_cause) {
    operator_scene scene("operator-told");
    scene.play(+[](operator_scene& s) -> awaitable<void> {
        EXPECT_TRUE(co_await s.start_operator());
        co_await make_what_is_in_the_way(&s);
        for (const mishap& m : mishaps) co_await make_job(&s, &m);
        for (const mishap& m : mishaps) {
            if (m.job_set == nullptr) continue;
            const std::string quoted_name = '"' + std::string(m.name) + '"';
            if (m.name != std::string_view("late"))
                EXPECT_TRUE(co_await s.until(kinds::job_set, [&](const std::string& all) {
                    return all.contains(quoted_name);
                })) << m.name;
            if (m.pod_status != nullptr) co_await make_pod(&s, &m);
            if (m.warning != nullptr) co_await warn(&s, &m);
            if (m.name != std::string_view("late")) co_await patch_status(&s, kinds::job_set, m.name, m.job_set);
        }
        for (const mishap& m : mishaps) {
            const bool told = co_await s.until(
                kinds::train_job, [&](const std::string& all) { return tells(all, m); }, std::chrono::seconds(60));
            EXPECT_TRUE(told) << m.name << " is told as " << told_of(co_await s.list(kinds::train_job), m.name);
        }
        EXPECT_TRUE(co_await s.until(kinds::event, [](const std::string& all) {
            return all.contains("TrainJobPodFailed") && all.contains("failed: OOMKilled, exit code 137");
        }));
    });
}

}  // namespace
}  // namespace cotrain::test
