// Gangs by Kubernetes itself: Workload and PodGroups on a real API server, bound by the real scheduler to Nodes without
// a machine.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "crd/crd.hpp"
#include "doc/edit.hpp"
#include "doc/json.hpp"
#include "integration/control.hpp"
#include "integration/operator_scene.hpp"
#include "integration/operator_side_plane.hpp"
#include "integration/serve_scene.hpp"

namespace cotrain::test {
namespace {

constexpr kube::resource node{"", "v1", "nodes", "Node", false};
constexpr kube::resource pod{"", "v1", "pods", "Pod"};
constexpr kube::resource workload{"scheduling.k8s.io", "v1beta1", "workloads", "Workload"};
constexpr kube::resource pod_group{"scheduling.k8s.io", "v1beta1", "podgroups", "PodGroup"};
constexpr std::string_view gate =
    "apiVersion: config.trainer.kubeflow.org/v1alpha1\nkind: Configuration\n"
    "featureGates: {TrainJobWorkloadAwareScheduling: true, MutableWhileSuspended: true}\n";
// One Pod fills a Node.
constexpr std::string_view gang_runtime = R"({
  "apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainingRuntime", "metadata": {"name": "gang"},
  "spec": {"mlPolicy": {"numNodes": 3, "torch": {}}, "scheduling": {},
   "template": {"spec": {"replicatedJobs": [
    {"name": "node", "template": {"metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
     "spec": {"template": {"spec": {"containers": [{"name": "node", "image": "registry.test/torch:1",
      "resources": {"requests": {"cpu": "700m"}}}]}}}}}]}}}})";

std::string job_of(std::string_view name, std::string_view spec, std::string_view topology = {}) {
    std::string out = R"({"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob","metadata":{"name":")";
    out.append(name).append("\"");
    if (!topology.empty())
        out.append(R"(,"annotations":{"trainer.kubeflow.org/topology":")").append(topology).append("\"}");
    return out.append(R"(},"spec":{"runtimeRef":{"name":"gang","kind":"TrainingRuntime"})").append(spec).append("}}");
}

std::vector<std::string> with_workloads() {
    std::vector<std::string> out{"--with", "kcm,jobset,scheduler",
                                 "--crds", test_variable("COTRAIN_TEST_CRDS"),
                                 "--arg",  "apiserver=--runtime-config=scheduling.k8s.io/v1beta1=true",
                                 "--arg",  "kcm=--node-monitor-grace-period=3600s"};
    for (const std::string component : {"apiserver", "kcm", "scheduler"}) {
        out.emplace_back("--arg");
        out.push_back(component + "=--feature-gates=GenericWorkload=true,TopologyAwareWorkloadScheduling=true");
    }
    return out;
}

// One that a scheduler may use, with room for one Pod.
awaitable<void> join(operator_scene* s, std::string name, std::string rack) {
    const std::string made =
        R"({"metadata":{"name":")" + name + R"(","labels":{"topology.kubernetes.io/rack":")" + rack + "\"}}}";
    EXPECT_TRUE(co_await s->api->create(node, "", made));
    const std::string ready = R"({"status":{"capacity":{"cpu":"1","memory":"4Gi","pods":"10"},)"
                              R"("allocatable":{"cpu":"1","memory":"4Gi","pods":"10"},)"
                              R"("conditions":[{"type":"Ready","status":"True","reason":"KubeletReady"}]}})";
    EXPECT_TRUE(co_await s->api->merge_patch(node, {.name = name}, ready, {.sub_resource = "status"}));
    EXPECT_TRUE(co_await s->api->merge_patch(node, {.name = name}, R"({"spec":{"taints":null}})"));
}

awaitable<void> begin(operator_scene* s) {
    EXPECT_TRUE(co_await s->api->create(kinds::runtime, s->ns, std::string(gang_runtime)));
    EXPECT_TRUE(co_await s->start_operator(std::string(gate)));
}

// The Nodes of a job's Pods; "" for one that is not bound.
std::multimap<std::string, std::string> places_of(const std::string& list) {
    std::multimap<std::string, std::string> out;
    doc::arena memory;
    const auto all = doc::parse_json(memory, list);
    if (!all) return out;
    for (const doc::ref each : all->get("items").items()) {
        if (!each.get({"metadata", "deletionTimestamp"}).is_unset()) continue;
        const doc::ref labels = each.get({"metadata", "labels"});
        out.emplace(labels.get("jobset.sigs.k8s.io/jobset-name").as_string(),
                    each.get({"spec", "nodeName"}).as_string());
    }
    return out;
}

bool all_bound(const std::string& list, std::size_t pods) {
    const auto places = places_of(list);
    return places.size() == pods && std::ranges::none_of(places, [](const auto& p) { return p.second.empty(); });
}

awaitable<void> change(operator_scene* s, std::string name, std::string body) {
    const auto done = co_await s->api->merge_patch(kinds::train_job, {.ns = s->ns, .name = name}, std::move(body));
    EXPECT_TRUE(done) << (done ? "" : done.error().message);
}

// Their Nodes have no kubelet that would say that deleted Pods have ended.
awaitable<void> bury(operator_scene* s) {
    doc::arena memory;
    const std::string pods = co_await s->list(pod);
    for (const doc::ref each : doc::parse_json(memory, pods)->get("items").items()) {
        if (each.get({"metadata", "deletionTimestamp"}).is_unset()) continue;
        const std::string name(each.get({"metadata", "name"}).as_string());
        static_cast<void>(co_await s->api->remove(pod, {.ns = s->ns, .name = name}, {.grace_seconds = 0}));
    }
}

// Until there are so many of these.
awaitable<bool> until_left(operator_scene* s, std::map<std::string_view, int> wanted) {
    const auto due = std::chrono::steady_clock::now() + std::chrono::seconds(120);
    asio::steady_timer timer(s->loop);
    for (;;) {
        co_await bury(s);
        bool good = true;
        for (const kube::resource& each : {pod, pod_group, workload}) {
            const int count = co_await s->count(each);
            good = good && count == wanted[each.plural];
        }
        if (good || std::chrono::steady_clock::now() > due) co_return good;
        timer.expires_after(std::chrono::milliseconds(100));
        co_await timer.async_wait(asio::use_awaitable);
    }
}

struct operator_workload : testing::Test {
    side_plane plane_{plane::bare, with_workloads()};
};

TEST_F(operator_workload, a_gang_of_three_waits_for_a_third_node) {
    operator_scene scene("operator-workload", plane_.kubeconfig());
    scene.play(+[](operator_scene& s) -> awaitable<void> {
        co_await begin(&s);
        co_await join(&s, "n1", "a");
        co_await join(&s, "n2", "a");
        EXPECT_TRUE(co_await s.api->create(kinds::train_job, s.ns, job_of("big", "")));
        EXPECT_TRUE(co_await s.until(pod_group, [](const std::string& all) {
            return all.contains(R"("minCount":3)") && all.contains("2 scheduled");
        })) << co_await s.list(pod_group);
        EXPECT_TRUE(co_await s.until(kinds::train_job, [](const std::string& all) {
            return all.contains("gang big-group-0 waits until all of it fits: there is room for 2 of 3 Pods");
        })) << co_await s.list(kinds::train_job);
        const auto places = places_of(co_await s.list(pod));
        EXPECT_EQ(places.size(), 3U);
        for (const auto& [job, place] : places) EXPECT_EQ(place, "");
        co_await join(&s, "n3", "a");
        EXPECT_TRUE(co_await s.until(pod, [](const std::string& all) { return all_bound(all, 3); }))
            << co_await s.list(pod);
        co_await change(&s, "big", R"({"spec":{"suspend":true}})");
        EXPECT_TRUE(co_await until_left(&s, {{"podgroups", 1}, {"workloads", 1}})) << "for when it is resumed";
        co_await change(&s, "big", R"({"spec":{"suspend":false}})");
        EXPECT_TRUE(co_await s.until(pod, [](const std::string& all) { return all_bound(all, 3); }));
        EXPECT_TRUE(co_await s.api->remove(kinds::train_job, {.ns = s.ns, .name = "big"}));
        EXPECT_TRUE(co_await until_left(&s, {}));
    });
}

TEST_F(operator_workload, the_pods_of_a_gang_share_a_rack) {
    operator_scene scene("operator-workload-rack", plane_.kubeconfig());
    scene.play(+[](operator_scene& s) -> awaitable<void> {
        co_await begin(&s);
        co_await join(&s, "a1", "a");
        co_await join(&s, "b1", "b");
        EXPECT_TRUE(co_await s.api->create(
            kinds::train_job, s.ns, job_of("near", R"(,"trainer":{"numNodes":2})", "topology.kubernetes.io/rack")));
        EXPECT_TRUE(co_await s.until(pod_group, [](const std::string& all) {
            return all.contains("topology.kubernetes.io/rack") && all.contains("Unschedulable");
        })) << co_await s.list(pod_group);
        co_await join(&s, "b2", "b");
        EXPECT_TRUE(co_await s.until(pod, [](const std::string& all) { return all_bound(all, 2); }))
            << co_await s.list(pod);
        for (const auto& [job, place] : places_of(co_await s.list(pod))) EXPECT_TRUE(place.starts_with("b")) << place;
    });
}

// Each of two fits alone, and whoever comes first has all.
TEST_F(operator_workload, two_gangs_never_hold_half_each) {
    operator_scene scene("operator-workload-two", plane_.kubeconfig());
    scene.play(+[](operator_scene& s) -> awaitable<void> {
        co_await begin(&s);
        for (const auto* name : {"n1", "n2", "n3", "n4"}) co_await join(&s, name, "a");
        for (int i = 0; i < (full_run() ? 100 : 3); ++i) {
            for (const auto* name : {"one", "two"})
                EXPECT_TRUE(co_await s.api->create(kinds::train_job, s.ns, job_of(name, "")));
            const auto held = [](const std::string& all, const char* job) {
                const auto places = places_of(all);
                const auto [from, to] = places.equal_range(job);
                return std::count_if(from, to, [](const auto& p) { return !p.second.empty(); });
            };
            EXPECT_TRUE(co_await s.until(pod, [&](const std::string& all) {
                return places_of(all).size() == 6 && held(all, "one") + held(all, "two") == 3;
            })) << co_await s.list(pod);
            const std::string pods = co_await s.list(pod);
            EXPECT_EQ(held(pods, "one") * held(pods, "two"), 0) << pods;
            for (const auto* name : {"one", "two"})
                EXPECT_TRUE(co_await s.api->remove(kinds::train_job, {.ns = s.ns, .name = name}));
            EXPECT_TRUE(co_await until_left(&s, {}));
        }
    });
}

// What cannot be changed in a PodGroup is made again while the job is suspended; an end leaves nothing.
TEST_F(operator_workload, groups_follow_a_job_that_is_suspended) {
    operator_scene scene("operator-workload-suspended", plane_.kubeconfig());
    scene.play(+[](operator_scene& s) -> awaitable<void> {
        co_await begin(&s);
        co_await join(&s, "n1", "a");
        co_await join(&s, "n2", "a");
        EXPECT_TRUE(co_await s.api->create(kinds::train_job, s.ns,
                                           job_of("moves", R"(,"suspend":true,"trainer":{"numNodes":2})")));
        EXPECT_TRUE(co_await s.until(pod_group, [](const std::string& all) {
            return all.contains(R"("minCount":2)") && !all.contains("rack");
        }));
        co_await change(
            &s, "moves",
            R"({"metadata":{"annotations":{"trainer.kubeflow.org/topology":"topology.kubernetes.io/rack"}}})");
        EXPECT_TRUE(co_await s.until(pod_group, [](const std::string& all) { return all.contains("rack"); }))
            << co_await s.list(pod_group) << co_await s.list(kinds::train_job);
        EXPECT_TRUE(co_await s.until(workload, [](const std::string& all) { return all.contains("rack"); }));
        co_await change(&s, "moves", R"({"spec":{"suspend":false}})");
        EXPECT_TRUE(co_await s.until(pod, [](const std::string& all) { return all_bound(all, 2); }))
            << co_await s.list(pod);
        doc::arena memory;
        const std::string pods = co_await s.list(pod);
        for (const doc::ref each : doc::parse_json(memory, pods)->get("items").items()) {
            const std::string name(each.get({"metadata", "name"}).as_string());
            EXPECT_EQ(each.get({"spec", "schedulingGroup", "podGroupName"}).as_string(), "moves-group-0");
            EXPECT_TRUE(co_await s.api->merge_patch(pod, {.ns = s.ns, .name = name},
                                                    R"({"status":{"phase":"Succeeded"}})", {.sub_resource = "status"}));
        }
        EXPECT_TRUE(co_await s.until(kinds::train_job, [](const std::string& all) {
            return all.contains(R"("type":"Complete")");
        })) << co_await s.list(kinds::train_job);
        EXPECT_TRUE(co_await until_left(&s, {{"pods", 2}})) << co_await s.list(pod_group);
        EXPECT_EQ(co_await s.count(kinds::train_job), 1);
    });
}

TEST(operator_workload_missing, a_server_without_the_api_is_told) {
    operator_scene scene("operator-workload-missing");
    scene.play(+[](operator_scene& s) -> awaitable<void> {
        co_await begin(&s);
        EXPECT_TRUE(co_await s.api->create(kinds::train_job, s.ns, job_of("early", "")));
        EXPECT_TRUE(co_await s.until(kinds::train_job, [](const std::string& all) {
            return all.contains("feature gate GenericWorkload") && all.contains("ResourcesReady");
        })) << co_await s.list(kinds::train_job);
        EXPECT_EQ(co_await s.count(kinds::job_set), 0) << "Pods would wait for a group that nobody makes";
    });
}

}  // namespace
}  // namespace cotrain::test
