// Why Pods do not come, in the words of those who know.
#include "runtime/diagnosis.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pod_documents.hpp"

namespace cotrain::runtime {
namespace {

using namespace test;
using std::chrono_literals::operator""s;
using ::testing::HasSubstr;

constexpr base::seconds_time start{std::chrono::sys_days{std::chrono::year{2026} / 1 / 1}};

struct pod_case {
    const char* name;
    pod_document pod;
    hold state;
    std::string reason;
    std::string message;
};

void PrintTo(const pod_case& c, std::ostream* out) { *out << c.name; }

std::vector<pod_case> pod_cases() {
    const std::string crashed = ended(1, "Error", "2026-01-01T00:00:03Z", "Traceback\\nValueError: bad\\n");
    return {
        {"the_pull_failed",
         {.node = "n1", .containers = waiting("ErrImagePull", "failed to pull image \\\"torch:1\\\": not found")},
         hold::blocked,
         "ImagePullBackOff",
         "ImagePullBackOff: image \"torch:1\" cannot be pulled (container node of Pod job-node-0-0-x0 on node n1): "
         "failed to pull image "
         "\"torch:1\": not found"},
        {"the_pull_waits",
         {.node = "n1", .containers = waiting("ImagePullBackOff", "Back-off pulling image \\\"torch:1\\\"")},
         hold::blocked,
         "ImagePullBackOff",
         "ImagePullBackOff: image \"torch:1\" cannot be pulled (container node of Pod job-node-0-0-x0 on node n1)"},
        {"the_pull_waits_and_says_why",
         {.node = "n1",
          .containers = waiting("ImagePullBackOff",
                                "Back-off pulling image \\\"torch:1\\\": ErrImagePull: failed to pull image "
                                "\\\"torch:1\\\": not found")},
         hold::blocked,
         "ImagePullBackOff",
         "ImagePullBackOff: image \"torch:1\" cannot be pulled (container node of Pod job-node-0-0-x0 on node n1): "
         "failed to pull image "
         "\"torch:1\": not found"},
        {"no_image_name",
         {.node = "n1", .containers = waiting("InvalidImageName", "couldn't parse image name \\\"A:::\\\"")},
         hold::blocked,
         "InvalidImageName",
         "InvalidImageName: image \"torch:1\" is no image's name (container node of Pod job-node-0-0-x0 on node n1): "
         "couldn't parse "
         "image name \"A:::\""},
        {"a_secret_is_missing",
         {.node = "n1", .containers = waiting("CreateContainerConfigError", "secret \\\"hf\\\" not found")},
         hold::blocked,
         "CreateContainerConfigError",
         "container node of Pod job-node-0-0-x0 on node n1 cannot start: secret \"hf\" not found"},
        {"it_ends_again_and_again",
         {.node = "n1",
          .phase = "Running",
          .containers = waiting("CrashLoopBackOff", "back-off 2m40s restarting failed container", crashed)},
         hold::blocked,
         "CrashLoopBackOff",
         "container node of Pod job-node-0-0-x0 on node n1 ends again and again, last with exit code 1, Error: "
         "ValueError: bad"},
        {"an_init_container_runs",
         {.node = "n1",
          .init = container(R"({"running":{"startedAt":"2026-01-01T00:00:02Z"}})", "{}", "dataset"),
          .containers = waiting("PodInitializing", "")},
         hold::pending,
         "PodInitializing",
         "init container dataset of Pod job-node-0-0-x0 on node n1 is running"},
        {"an_init_container_fails",
         {.node = "n1",
          .init = R"({"name":"get","image":"i","restartCount":3,"state":{"waiting":{"reason":"CrashLoopBackOff"}},)"
                  R"("lastState":)" +
                  crashed + "}",
          .containers = waiting("PodInitializing", "")},
         hold::blocked,
         "CrashLoopBackOff",
         "init container get of Pod job-node-0-0-x0 on node n1 ends again and again, last with exit code 1, Error: "
         "ValueError: bad"},
        {"no_room",
         {.conditions = unschedulable("0/12 nodes are available: 12 Insufficient nvidia.com/gpu. preemption: 0/12 "
                                      "nodes are available: 12 No preemption victims found for incoming pod.")},
         hold::pending,
         "Unschedulable",
         "Pod job-node-0-0-x0 cannot be scheduled: 0/12 nodes are available: 12 Insufficient nvidia.com/gpu"},
        {"never_room",
         {.conditions = unschedulable(
              "0/12 nodes are available: 12 Insufficient nvidia.com/gpu. no new claims to deallocate, preemption: 0/12 "
              "nodes are available: 12 Preemption is not helpful for scheduling.")},
         hold::blocked,
         "Unschedulable",
         "Pod job-node-0-0-x0 cannot be scheduled: 0/12 nodes are available: 12 Insufficient nvidia.com/gpu"},
        {"a_claim_is_missing",
         {.conditions = unschedulable("0/1 nodes are available: persistentvolumeclaim \\\"data\\\" not found. "
                                      "preemption: not eligible.")},
         hold::blocked,
         "Unschedulable",
         "Pod job-node-0-0-x0 cannot be scheduled: 0/1 nodes are available: persistentvolumeclaim \"data\" not found"},
        {"a_claim_is_missing_and_preemption_says_so_too",
         {.conditions =
              unschedulable("0/1 nodes are available: persistentvolumeclaim \\\"data\\\" not found. not found")},
         hold::blocked,
         "Unschedulable",
         "Pod job-node-0-0-x0 cannot be scheduled: 0/1 nodes are available: persistentvolumeclaim \"data\" not found"},
        {"a_gang_waits",
         {.conditions = unschedulable("3/4 tasks in gang unschedulable: pod group is not ready, 4 minAvailable")},
         hold::pending,
         "Unschedulable",
         "Pod job-node-0-0-x0 cannot be scheduled: 3/4 tasks in gang unschedulable: pod group is not ready, 4 "
         "minAvailable"},
        {"a_gang_never_fits",
         {.conditions =
              unschedulable("0/3 nodes are available: resource gap: map[nvidia.com/gpu:{{8 0} {<nil>}  DecimalSI}]. "
                            "preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling."),
          .gang = "job"},
         hold::blocked,
         "Unschedulable",
         "Pod job-node-0-0-x0 of gang job cannot be scheduled: 0/3 nodes are available: resource gap: "
         "nvidia.com/gpu=8"},
        {"a_gang_never_fits_by_two_resources",
         {.conditions =
              unschedulable("0/3 nodes are available: resource gap: map[cpu:{{4500 -3} {<nil>} 4500m DecimalSI} "
                            "memory:{{8192 0} {<nil>}  BinarySI}].")},
         hold::blocked,
         "Unschedulable",
         "Pod job-node-0-0-x0 cannot be scheduled: 0/3 nodes are available: resource gap: cpu=4500e-3 memory=8192"},
        {"words_that_only_look_like_it",
         {.conditions = unschedulable("map[x:{{ is {{8 0} odd]")},
         hold::pending,
         "Unschedulable",
         "Pod job-node-0-0-x0 cannot be scheduled: map[x:{{ is {{8 0} odd]"},
        {"gated",
         {.conditions = R"({"type":"PodScheduled","status":"False","reason":"SchedulingGated","message":"m"})"},
         hold::pending,
         "SchedulingGated",
         "Pod job-node-0-0-x0 waits for its scheduling gates"},
        {"no_scheduler",
         {},
         hold::pending,
         "NotScheduled",
         "no scheduler has looked at Pod job-node-0-0-x0 yet (schedulerName: sched)"},
        {"a_reason_of_tomorrow",
         {.node = "n1", .containers = waiting("SnapshotMissing", "the moon is full")},
         hold::pending,
         "SnapshotMissing",
         "container node of Pod job-node-0-0-x0 on node n1 cannot start: the moon is full"},
        {"it_starts", {.node = "n1", .containers = waiting("ContainerCreating", "")}, hold::none, "", ""},
        {"it_runs",
         {.node = "n1", .phase = "Running", .containers = container(R"({"running":{}})")},
         hold::none,
         "",
         ""},
        {"it_goes",
         {.containers = waiting("ErrImagePull", "m"), .meta = R"("deletionTimestamp":"2026-01-01T00:00:09Z",)"},
         hold::none,
         "",
         ""},
    };
}

class diagnosis_of_pods : public ::testing::TestWithParam<pod_case> {};

TEST_P(diagnosis_of_pods, says_what_the_pod_says) {
    const pod_case& c = GetParam();
    const auto page = read_pods(pods({c.pod.json()}));
    ASSERT_TRUE(page) << page.error().message;
    const diagnosis said = diagnose_pods(*page);
    EXPECT_EQ(said.state, c.state);
    EXPECT_EQ(said.reason, c.reason);
    EXPECT_EQ(said.message, c.message);
}

INSTANTIATE_TEST_SUITE_P(all, diagnosis_of_pods, ::testing::ValuesIn(pod_cases()),
                         [](const auto& p) { return std::string(p.param.name); });

// As kube-scheduler 1.37 says it.
constexpr std::string_view two_of_three =
    "pod group is unschedulable, pod group is unschedulable, 0/1 placements are available, first placement status: "
    "minCount (3) cannot be satisfied: 2 scheduled, 0 remaining, pod group preemption: No preemption victims found for "
    "incoming preemptor";

constexpr std::string_view no_room = "0/2 nodes are available: 2 Insufficient cpu.";

std::string message_of_gang(std::initializer_list<std::string_view> said, std::string_view more = "") {
    std::vector<std::string> items;
    for (const std::string_view each : said)
        items.push_back(pod_document{.rank = static_cast<int>(items.size()),
                                     .conditions = unschedulable(each, "2026-01-01T00:00:07Z"),
                                     .group = "job-group-0"}
                            .json());
    const auto page = read_pods(pods(items, more));
    EXPECT_TRUE(page);
    const diagnosis found = diagnose_pods(*page);
    EXPECT_EQ(found.state, hold::pending);
    return found.message;
}

TEST(diagnosis, a_gang_of_kubernetes_says_how_many_fit_since_when_and_what_is_lacking) {
    EXPECT_EQ(message_of_gang({two_of_three, no_room}),
              "gang job-group-0 waits for room since 2026-01-01T00:00:07Z: 2 of 3 Pods fit: 0/2 nodes are available: 2 "
              "Insufficient cpu");
}

TEST(diagnosis, kubernetes_1_36_says_of_each_pod_that_it_fits) {
    constexpr std::string_view fits = "waiting for minCount pods from a gang to be scheduled";
    EXPECT_EQ(message_of_gang({fits, no_room, fits}),
              "gang job-group-0 waits for room since 2026-01-01T00:00:07Z: 2 of 3 Pods fit: 0/2 nodes are available: 2 "
              "Insufficient cpu");
    EXPECT_EQ(message_of_gang({fits, no_room, fits}, "more").find(" of 3 "), std::string::npos)
        << "others were not shown";
}

TEST(diagnosis, tells_of_the_worst_pod_and_of_the_lowest_rank) {
    const std::string full = unschedulable(
        "0/2 nodes are available: 2 Insufficient cpu. preemption: 0/2 nodes are "
        "available: 2 No preemption victims found for incoming pod.");
    const auto page = read_pods(
        pods({pod_document{.rank = 9, .conditions = full}.json(), pod_document{.rank = 7, .conditions = full}.json(),
              pod_document{.rank = 8, .node = "n1", .containers = waiting("ErrImagePull", "")}.json()}));
    EXPECT_THAT(diagnose_pods(*page).message, HasSubstr("job-node-0-8-x8"));
    const auto two = read_pods(
        pods({pod_document{.rank = 9, .conditions = full}.json(), pod_document{.rank = 7, .conditions = full}.json()}));
    EXPECT_THAT(diagnose_pods(*two).message, HasSubstr("job-node-0-7-x7"));
}

struct event_case {
    const char* name;
    const char* kind;
    std::string event;
    hold state;
    std::string reason;
    std::string message;
};

void PrintTo(const event_case& c, std::ostream* out) { *out << c.name; }

std::vector<event_case> event_cases() {
    return {
        {"quota", "Job",
         event("FailedCreate",
               "Error creating: pods \\\"job-node-0-0-k2x9d\\\" is forbidden: exceeded quota: gpus, requested: "
               "requests.nvidia.com/gpu=8, used: requests.nvidia.com/gpu=8, limited: requests.nvidia.com/gpu=8"),
         hold::blocked, "QuotaExceeded",
         "Job x gets no Pods: exceeded quota: gpus, requested: requests.nvidia.com/gpu=8, used: "
         "requests.nvidia.com/gpu=8, limited: requests.nvidia.com/gpu=8"},
        {"webhook", "Job",
         event("FailedCreate",
               "Error creating: admission webhook \\\"p.example.com\\\" denied the request: no root, please"),
         hold::blocked, "WebhookDenied",
         "Job x gets no Pods: admission webhook \"p.example.com\" denied the request: no root, please"},
        {"webhook_down", "Job",
         event("FailedCreate", "Error creating: Internal error occurred: failed calling webhook \\\"p\\\": timeout"),
         hold::blocked, "WebhookFailed",
         "Job x gets no Pods: Internal error occurred: failed calling webhook \"p\": timeout"},
        {"service_account", "Job",
         event("FailedCreate",
               "Error creating: pods \\\"job-node-0-0-\\\" is forbidden: error looking up service account ns/sa: "
               "serviceaccount \\\"sa\\\" not found"),
         hold::blocked, "ServiceAccountMissing",
         "Job x gets no Pods: error looking up service account ns/sa: serviceaccount \"sa\" not found"},
        {"invalid", "Job",
         event("FailedCreate", "Error creating: Pod \\\"job-node-0-0-k2x9d\\\" is invalid: spec.x: Required value"),
         hold::blocked, "FailedCreate", "Job x gets no Pods: spec.x: Required value"},
        {"jobs_quota", "JobSet",
         event("JobCreationFailed", "jobs.batch \\\"job-node-0\\\" is forbidden: exceeded quota: jobs, used: 4"),
         hold::blocked, "QuotaExceeded", "JobSet x gets no Jobs: exceeded quota: jobs, used: 4"},
        {"jobs_invalid", "JobSet",
         event("JobCreationFailed",
               "job \\\"job-node-0\\\" creation failed with error: Job.batch \\\"job-node-0\\\" is invalid: spec.x: "
               "Required value"),
         hold::blocked, "FailedCreate", "JobSet x gets no Jobs: spec.x: Required value"},
        {"mount", "Pod",
         event("FailedMount", "MountVolume.SetUp failed for volume \\\"v\\\" : secret \\\"s\\\" not found"),
         hold::blocked, "FailedMount",
         "Pod x does not start: MountVolume.SetUp failed for volume \"v\" : secret \"s\" not found"},
        {"sandbox", "Pod", event("FailedCreatePodSandBox", "plugin type=\\\"calico\\\" failed (add): timeout"),
         hold::pending, "FailedCreatePodSandBox", "Pod x does not start: plugin type=\"calico\" failed (add): timeout"},
        {"of_tomorrow", "Job", event("Sulking", "the moon\\nis full"), hold::pending, "Sulking",
         "Job x: the moon is full"},
        {"normal", "Job", event("SuccessfulCreate", "Created pod", "2026-01-01T00:00:05Z", "Normal"), hold::none, "",
         ""},
        {"of_earlier_pods", "Job", event("FailedCreate", "Error creating: x", "2025-12-31T23:59:59Z"), hold::none, "",
         ""},
    };
}

class diagnosis_of_events : public ::testing::TestWithParam<event_case> {};

TEST_P(diagnosis_of_events, says_what_the_event_says) {
    const event_case& c = GetParam();
    const auto page = read_warnings(events({c.event}));
    ASSERT_TRUE(page) << page.error().message;
    // creationTimestamp is the first time; the last one counts.
    const diagnosis said = diagnose_events(*page, c.kind, "x", start + 1s);
    EXPECT_EQ(said.state, c.state);
    EXPECT_EQ(said.reason, c.reason);
    EXPECT_EQ(said.message, c.message);
}

INSTANTIATE_TEST_SUITE_P(all, diagnosis_of_events, ::testing::ValuesIn(event_cases()),
                         [](const auto& p) { return std::string(p.param.name); });

// ---- What is asked, and in which order. ----

api::job_set job_set(std::vector<api::replicated_job_status> jobs) {
    api::job_set out;
    out.meta.name = "job";
    out.jobs = std::move(jobs);
    return out;
}

std::string asked(const look& l) {
    const auto q = l.next();
    return q ? q->field_selector() : "-";
}

TEST(look, asks_for_pending_pods_first_and_ends_when_they_say_why) {
    look l(job_set({{.name = "node"}}), start);
    EXPECT_EQ(l.next()->label_selector("job"), "jobset.sigs.k8s.io/jobset-name=job");
    EXPECT_EQ(asked(l), "status.phase=Pending");
    l.take(pods({pod_document{.node = "n", .containers = waiting("ErrImagePull", "m")}.json()}));
    EXPECT_EQ(asked(l), "-");
    EXPECT_EQ(l.found().state, hold::blocked);
}

TEST(look, asks_for_events_of_a_pod_that_is_scheduled_and_does_not_start) {
    look l(job_set({{.name = "node", .active = 1}}), start);
    l.take(pods({pod_document{.node = "n", .containers = waiting("ContainerCreating", "")}.json()}));
    EXPECT_EQ(asked(l), "type=Warning,regarding.kind=Pod,regarding.name=job-node-0-0-x0");
    l.take(events({}));
    EXPECT_EQ(asked(l), "-");
    EXPECT_EQ(l.found().state, hold::none);
}

TEST(look, asks_the_first_job_without_pods_and_then_the_job_set) {
    look l(job_set({{.name = "data", .succeeded = 1}, {.name = "node"}}), start);
    l.take(pods({}));
    EXPECT_EQ(asked(l), "type=Warning,regarding.kind=Job,regarding.name=job-node-0");
    l.take(events({}));
    EXPECT_EQ(asked(l), "type=Warning,regarding.kind=JobSet,regarding.name=job");
    l.take(events({}));
    EXPECT_EQ(asked(l), "-");
    EXPECT_EQ(l.found().state, hold::none);
}

TEST(look, asks_running_pods_of_a_job_that_has_some) {
    look l(job_set({{.name = "node", .active = 1}}), start);
    l.take(pods({}));
    l.take(events({}));
    EXPECT_EQ(asked(l), "status.phase=Running");
    l.take(pods({pod_document{.phase = "Running", .containers = waiting("CrashLoopBackOff", "")}.json()}));
    EXPECT_EQ(asked(l), "-");
    EXPECT_EQ(l.found().reason, "CrashLoopBackOff");
}

TEST(look, tells_of_a_job_set_that_nobody_looks_at) {
    look l(job_set({}), start);
    l.take(pods({}));
    EXPECT_EQ(asked(l), "type=Warning,regarding.kind=JobSet,regarding.name=job");
    l.take(events({}));
    EXPECT_EQ(l.found().state, hold::blocked);
    EXPECT_EQ(l.found().message, "JobSet job has no status: does JobSet's controller run?");
}

TEST(look, goes_on_without_what_it_may_not_see) {
    look l(job_set({{.name = "node"}}), start);
    l.take(base::fail(base::errc::status, "403"));
    EXPECT_EQ(asked(l), "type=Warning,regarding.kind=Job,regarding.name=job-node-0");
    l.take(std::string("{"));
    l.take(std::string("[]"));
    EXPECT_EQ(asked(l), "-");
    EXPECT_EQ(l.found().state, hold::none);
}

TEST(look, keeps_to_one_line_and_its_bound) {
    const std::string much(100'000, 'y');
    look l(job_set({{.name = "node"}}), start);
    l.take(
        pods({pod_document{.node = "n", .containers = waiting("CreateContainerError", "a\\n\\u0007b" + much)}.json()}));
    EXPECT_LE(l.found().message.size(), diagnosis_bytes_max);
    EXPECT_THAT(l.found().message, HasSubstr("cannot start: a  by"));
}

TEST(pod_reports, reads_no_more_than_it_keeps) {
    std::vector<std::string> many(1000, pod_document{}.json());
    const auto page = read_pods(pods(many, "token"));
    EXPECT_EQ(page->pods.size(), reported_pods_max);
    EXPECT_EQ(page->shown, 1000U);
    EXPECT_TRUE(page->more);
    EXPECT_FALSE(read_pods(std::string(report_page_bytes_max + 1, ' ')));
    EXPECT_FALSE(read_pods(events({})));
    EXPECT_FALSE(read_warnings(pods({})));
}

}  // namespace
}  // namespace cotrain::runtime
