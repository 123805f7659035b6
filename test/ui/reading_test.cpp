// What is read of objects, as API servers have them and as nobody should write them.
#include <gtest/gtest.h>

#include "doc/json.hpp"
#include "doc/yaml.hpp"
#include "support/documents.hpp"
#include "ui/reading.hpp"

namespace cotrain {
namespace {

std::string json_of(std::string_view yaml) {
    doc::arena memory;
    const auto document = doc::parse_yaml(memory, yaml);
    EXPECT_TRUE(document) << document.error().message;
    return doc::to_json(*document);
}

template <class Read>
auto read(std::string_view yaml, Read as) {
    const std::string text = json_of(yaml);
    watch::object_view view;
    const auto done = watch::decode_object(text, view);
    EXPECT_TRUE(done) << done.error().message;
    return as(view);
}

constexpr std::string_view job = R"(
metadata: {name: a, namespace: ns, uid: u1, creationTimestamp: 2026-01-02T03:04:05Z, labels: {kueue.x-k8s.io/queue-name: gold}}
spec:
  runtimeRef: {name: torch}
  trainer: {numNodes: 4, resourcesPerNode: {limits: {nvidia.com/gpu: 8}}}
status:
  state: Blocked
  message: no GPU
  startTime: 2026-01-02T03:04:15Z
  restarts: 2
  nodes: {desired: 4, ready: 1}
)";

TEST(ui_reading, a_train_job_with_the_fields_of_our_status) {
    const ui::job_facts out = read(job, ui::read_job);
    EXPECT_EQ(out.id, "u1");
    EXPECT_EQ(out.queue, "gold");
    EXPECT_EQ(out.state, "Blocked");
    EXPECT_EQ(out.message, "no GPU");
    EXPECT_EQ(out.started - out.created, 10);
    EXPECT_EQ(out.nodes_ready, 1);
    EXPECT_EQ(out.restarts, 2);
    EXPECT_EQ(out.nodes_asked, 4);
    EXPECT_EQ(out.gpus_each, 8);
}

TEST(ui_reading, a_train_job_of_another_controller_is_told_by_its_conditions) {
    const ui::job_facts out = read(R"(
metadata: {name: a, namespace: ns, uid: u1}
spec: {runtimeRef: {name: torch}}
status:
  conditions:
  - {type: Failed, status: "True", message: it broke, lastTransitionTime: 2026-01-02T03:04:15Z}
  - {type: Complete, status: "False"}
)",
                                   ui::read_job);
    EXPECT_TRUE(out.failed);
    EXPECT_FALSE(out.complete);
    EXPECT_EQ(out.message, "it broke");
    EXPECT_EQ(out.ended, 1'767'323'055);
    EXPECT_FALSE(out.nodes_ready) << "not told, which is not 0";
}

TEST(ui_reading, nodes_and_gpus_of_a_job_set_are_those_of_its_trainers) {
    const ui::set_facts out = read(R"(
metadata: {name: a, namespace: ns}
spec:
  replicatedJobs:
  - {name: dataset-initializer, template: {spec: {template: {spec: {containers: [{name: i}]}}}}}
  - name: node
    replicas: 2
    template:
      spec:
        parallelism: 3
        template: {spec: {containers: [{name: n, resources: {limits: {nvidia.com/gpu: 4}}}]}}
status:
  restarts: 1
  replicatedJobsStatus:
  - {name: dataset-initializer, succeeded: 1}
  - {name: node, ready: 1, active: 2}
)",
                                   ui::read_set);
    EXPECT_EQ(out.nodes, 6);
    EXPECT_EQ(out.ready, 3);
    EXPECT_EQ(out.gpus, 24);
    EXPECT_EQ(out.restarts, 1);
    EXPECT_FALSE(out.all_up);
}

// Every text of an object replaced by something else in turn: nothing may crash, and texts stay within their bound.
TEST(ui_reading, anything_in_any_place_is_survived) {
    const std::string odd[] = {"null",
                               "[]",
                               "{}",
                               "-1",
                               "1e300",
                               "9223372036854775807",
                               "true",
                               '"' + std::string(20'000, 'x') + '"',
                               R"("\u0001\n<script>")",
                               R"([{"name":[]},3,null])"};
    const std::string text = json_of(job);
    for (std::size_t at = text.find(':'); at != std::string::npos; at = text.find(':', at + 1)) {
        // Behind the colon of a member: its value goes to the next comma or bracket, roughly.
        const std::size_t end = text.find_first_of(",}", at);
        if (end == std::string::npos) break;
        for (const std::string& each : odd) {
            const std::string changed = text.substr(0, at + 1) + each + text.substr(end);
            watch::object_view view;
            if (!watch::decode_object(changed, view)) continue;
            const ui::job_facts out = ui::read_job(view);
            EXPECT_LE(out.message.size(), ui::row_text_bytes_max);
            EXPECT_LE(out.state.size(), 40U);
            EXPECT_EQ(out.message.find('\n'), std::string::npos);
            static_cast<void>(ui::read_set(view));
            doc::arena memory;
            if (const auto document = doc::parse_json(memory, changed); document) {
                static_cast<void>(ui::to_json(ui::read_details(*document, *document)));
                static_cast<void>(ui::read_pod(*document));
                static_cast<void>(ui::read_event(*document));
            }
        }
    }
}

TEST(ui_reading, a_pod_tells_its_rank_and_why_it_ended) {
    doc::arena memory;
    const auto pod = doc::parse_yaml(memory, R"(
metadata:
  name: a-node-1-2-xyz
  labels: {jobset.sigs.k8s.io/replicatedjob-name: node, jobset.sigs.k8s.io/job-index: "1", batch.kubernetes.io/job-completion-index: "2"}
spec: {nodeName: n7}
status:
  phase: Failed
  conditions: [{type: Ready, status: "False"}]
  containerStatuses:
  - {name: side, restartCount: 1, state: {terminated: {exitCode: 0}}}
  - {name: node, restartCount: 2, state: {terminated: {exitCode: 137, reason: OOMKilled, message: "out of memory"}}}
)");
    ASSERT_TRUE(pod);
    const ui::pod_row out = ui::read_pod(*pod);
    EXPECT_EQ(out.part, "node");
    EXPECT_EQ(out.job, 1);
    EXPECT_EQ(out.index, 2);
    EXPECT_EQ(out.node, "n7");
    EXPECT_EQ(out.restarts, 3);
    EXPECT_EQ(out.exitCode, 137);
    EXPECT_EQ(out.reason, "OOMKilled");
    EXPECT_FALSE(out.ready);
}

TEST(ui_reading, a_pod_that_waits_says_for_what) {
    doc::arena memory;
    const auto unscheduled = doc::parse_yaml(
        memory,
        R"({status: {phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: Unschedulable, message: 0/3}]}})");
    EXPECT_EQ(ui::read_pod(*unscheduled).reason, "Unschedulable");
    const auto pulling = doc::parse_yaml(
        memory,
        R"({status: {phase: Pending, containerStatuses: [{state: {waiting: {reason: ImagePullBackOff, message: no}}}]}})");
    EXPECT_EQ(ui::read_pod(*pulling).reason, "ImagePullBackOff");
}

TEST(ui_reading, host_names_are_those_of_the_pods_and_bounded) {
    doc::arena memory;
    const auto set = doc::parse_yaml(memory, R"(
metadata: {name: a}
spec:
  network: {subdomain: net}
  replicatedJobs:
  - {name: node, replicas: 1, template: {spec: {parallelism: 1000, template: {spec: {containers: [{name: n, ports: [{name: c10d, containerPort: 29500}]}]}}}}}
)");
    ASSERT_TRUE(set);
    const ui::job_details out = ui::read_details(*set, *set);
    ASSERT_EQ(out.endpoints.size(), ui::endpoints_max);
    EXPECT_EQ(out.endpoints[1].host, "a-node-0-1.net");
    EXPECT_EQ(out.endpoints[1].ports, "c10d 29500");
    EXPECT_EQ(out.endpointsLeftOut, 1000 - ui::endpoints_max);
}

TEST(ui_reading, control_bytes_of_others_leave_the_json_whole) {
    ui::event_list all;
    all.events.push_back({.message = std::string("a\0\x01\x1f\n\"\\</script>", 16)});
    doc::arena memory;
    const std::string text = ui::to_json(all);
    const auto read_back = doc::parse_json(memory, text);
    ASSERT_TRUE(read_back) << text;
    EXPECT_EQ(read_back->get("events").at(0).get("message").as_string(), all.events[0].message);
    EXPECT_EQ(text.find('\n'), std::string::npos) << "one line, as the stream needs it";
}

}  // namespace
}  // namespace cotrain
