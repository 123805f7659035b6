// Gangs by Kubernetes itself: Workload and PodGroups on a real API server, bound by the real scheduler to Nodes without
// a machine.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

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
// As the API server of the run has them.
std::string_view version() { return server_before(37) ? "v1alpha2" : "v1beta1"; }
kube::resource workload() { return {"scheduling.k8s.io", version(), "workloads", "Workload"}; }
kube::resource pod_group() { return {"scheduling.k8s.io", version(), "podgroups", "PodGroup"}; }
constexpr std::string_view gates =
    "apiVersion: config.trainer.kubeflow.org/v1alpha1\nkind: Configuration\n"
    "featureGates: {TrainJobWorkloadAwareScheduling: true, MutableWhileSuspended: true, ElasticTrainJob: true}\n";

// A replicated job, one Pod of which fills a Node: members of its metadata and of its Pods' spec; `more` of its own.
std::string replicated_job(std::string_view name, std::string_view role, std::string_view more = {},
                           std::string_view pod_members = {}, std::string_view container = "node") {
    std::string out = R"({"name":")";
    out.append(name).append("\"").append(more).append(R"(,"template":{)");
    if (!role.empty())
        out.append(R"("metadata":{"labels":{"trainer.kubeflow.org/trainjob-ancestor-step":")")
            .append(role)
            .append("\"}},");
    out.append(R"("spec":{"template":{"spec":{)").append(pod_members).append(R"("containers":[{"name":")");
    return out.append(container).append(
        R"(","image":"registry.test/torch:1","resources":{"requests":{"cpu":"700m"}}}]}}}}})");
}

std::string runtime_of(std::string_view name, std::string_view policies, std::string_view jobs) {
    std::string out = R"({"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainingRuntime","metadata":{"name":")";
    return out.append(name)
        .append(R"("},"spec":{)")
        .append(policies)
        .append(R"(,"template":{"spec":{"replicatedJobs":[)")
        .append(jobs)
        .append("]}}}}");
}

constexpr std::string_view torch_gang = R"("mlPolicy":{"numNodes":3,"torch":{}},"scheduling":{})";

std::string job_of(std::string_view name, std::string_view spec, std::string_view topology = {},
                   std::string_view runtime = "gang") {
    std::string out = R"({"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob","metadata":{"name":")";
    out.append(name).append("\"");
    if (!topology.empty())
        out.append(R"(,"annotations":{"trainer.kubeflow.org/topology":")").append(topology).append("\"}");
    out.append(R"(},"spec":{"runtimeRef":{"name":")").append(runtime).append(R"(","kind":"TrainingRuntime"})");
    return out.append(spec).append("}}");
}

std::vector<std::string> with_workloads() {
    std::vector<std::string> out{
        "--with", "kcm,jobset,scheduler",
        "--crds", test_variable("COTRAIN_TEST_CRDS"),
        "--arg",  "apiserver=--runtime-config=scheduling.k8s.io/" + std::string(version()) + "=true",
        "--arg",  "kcm=--node-monitor-grace-period=3600s"};
    std::string wanted = "=--feature-gates=GenericWorkload=true,TopologyAwareWorkloadScheduling=true";
    if (server_before(37)) wanted += ",GangScheduling=true,WorkloadAwarePreemption=true";
    for (const std::string component : {"apiserver", "kcm", "scheduler"}) {
        if (component == "kcm" && server_before(37)) continue;  // it is of the newest version
        out.emplace_back("--arg");
        out.push_back(component + wanted);
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

awaitable<void> define_runtime(operator_scene* s, std::string name, std::string_view policies, std::string jobs) {
    const auto made = co_await s->api->create(kinds::runtime, s->ns, runtime_of(name, policies, jobs));
    EXPECT_TRUE(made) << (made ? "" : made.error().message);
}

awaitable<void> begin(operator_scene* s) {
    co_await define_runtime(s, "gang", torch_gang, replicated_job("node", "trainer"));
    EXPECT_TRUE(co_await s->start_operator(std::string(gates)));
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

// How many Pods of a job, and how many of them are bound.
struct standing {
    std::ptrdiff_t pods = 0;
    std::ptrdiff_t bound = 0;
    bool operator==(const standing&) const = default;
};
standing standing_of(const std::string& list, const std::string& job) {
    const auto places = places_of(list);
    const auto [from, to] = places.equal_range(job);
    return {std::distance(from, to), std::count_if(from, to, [](const auto& p) { return !p.second.empty(); })};
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

// All Pods that are there.
awaitable<void> succeed(operator_scene* s) {
    doc::arena memory;
    const std::string pods = co_await s->list(pod);
    for (const doc::ref each : doc::parse_json(memory, pods)->get("items").items()) {
        const std::string name(each.get({"metadata", "name"}).as_string());
        EXPECT_TRUE(co_await s->api->merge_patch(pod, {.ns = s->ns, .name = name},
                                                 R"({"status":{"phase":"Succeeded"}})", {.sub_resource = "status"}));
    }
}

// Until there are so many of these.
awaitable<bool> until_left(operator_scene* s, std::map<std::string_view, int> wanted) {
    const auto due = std::chrono::steady_clock::now() + std::chrono::seconds(120);
    asio::steady_timer timer(s->loop);
    for (;;) {
        co_await bury(s);
        bool good = true;
        for (const kube::resource& each : {pod, pod_group(), workload()}) {
            const int count = co_await s->count(each);
            good = good && count == wanted[each.plural];
        }
        if (good || std::chrono::steady_clock::now() > due) co_return good;
        timer.expires_after(std::chrono::milliseconds(100));
        co_await timer.async_wait(asio::use_awaitable);
    }
}

// Kubernetes before 1.36 has none of it: operator_workload_missing.
struct operator_workload : testing::Test {
    void play(const char* name, awaitable<void> (*body)(operator_scene&)) {
        if (server_before(36)) return;
        const side_plane plane(plane::of_run, with_workloads());
        operator_scene scene(name, plane.kubeconfig());
        scene.play(body);
    }
};

TEST_F(operator_workload, a_gang_of_three_waits_for_a_third_node) {
    play(
        "operator-workload", +[](operator_scene& s) -> awaitable<void> {
            co_await begin(&s);
            co_await join(&s, "n1", "a");
            co_await join(&s, "n2", "a");
            EXPECT_TRUE(co_await s.api->create(kinds::train_job, s.ns, job_of("big", "")));
            EXPECT_TRUE(co_await s.until(pod_group(), [](const std::string& all) {
                return all.contains(R"("minCount":3)") && all.contains("Unschedulable");
            })) << co_await s.list(pod_group());
            EXPECT_TRUE(co_await s.until(kinds::train_job, [](const std::string& all) {
                return all.contains("gang big-group-0 waits for room since 2") &&
                       all.contains(": 2 of 3 Pods fit: 0/2 nodes");
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
    play(
        "operator-workload-rack", +[](operator_scene& s) -> awaitable<void> {
            co_await begin(&s);
            co_await join(&s, "a1", "a");
            co_await join(&s, "b1", "b");
            EXPECT_TRUE(co_await s.api->create(
                kinds::train_job, s.ns, job_of("near", R"(,"trainer":{"numNodes":2})", "topology.kubernetes.io/rack")));
            EXPECT_TRUE(co_await s.until(pod_group(), [](const std::string& all) {
                return all.contains("topology.kubernetes.io/rack") && all.contains("Unschedulable");
            })) << co_await s.list(pod_group());
            co_await join(&s, "b2", "b");
            EXPECT_TRUE(co_await s.until(pod, [](const std::string& all) { return all_bound(all, 2); }))
                << co_await s.list(pod);
            for (const auto& [job, place] : places_of(co_await s.list(pod)))
                EXPECT_TRUE(place.starts_with("b")) << place;
        });
}

// Each of two fits alone, and whoever comes first has all.
TEST_F(operator_workload, two_gangs_never_hold_half_each) {
    play(
        "operator-workload-two", +[](operator_scene& s) -> awaitable<void> {
            co_await begin(&s);
            for (const auto* name : {"n1", "n2", "n3", "n4"}) co_await join(&s, name, "a");
            const unsigned seed = std::random_device{}();
            SCOPED_TRACE("seed " + std::to_string(seed));
            std::mt19937 random(seed);
            std::map<std::string, std::ptrdiff_t> sizes{{"one", 0}, {"two", 0}};
            for (int i = 0; i < (full_run() ? 100 : 10); ++i) {
                for (auto& [name, size] : sizes) size = 3 + static_cast<std::ptrdiff_t>(random() % 2);
                std::vector<std::string> order{"one", "two"};
                std::ranges::shuffle(order, random);
                for (const std::string& name : order)
                    EXPECT_TRUE(co_await s.api->create(
                        kinds::train_job, s.ns,
                        job_of(name, R"(,"trainer":{"numNodes":)" + std::to_string(sizes[name]) + "}")));
                bool both = false;
                EXPECT_TRUE(co_await s.until(pod, [&](const std::string& all) {
                    const standing one = standing_of(all, "one");
                    const standing two = standing_of(all, "two");
                    both = both || (one.bound > 0 && two.bound > 0);
                    return one.pods == sizes["one"] && two.pods == sizes["two"] &&
                           (one.bound == one.pods || two.bound == two.pods);
                })) << co_await s.list(pod);
                EXPECT_FALSE(both) << co_await s.list(pod);
                for (const std::string& name : order)
                    EXPECT_TRUE(co_await s.api->remove(kinds::train_job, {.ns = s.ns, .name = name}));
                EXPECT_TRUE(co_await until_left(&s, {}));
            }
        });
}

// Of three Pods two would make room enough: all go, since the runtime says so.
TEST_F(operator_workload, a_higher_gang_preempts_a_lower_one_as_a_whole) {
    play(
        "operator-workload-preemption", +[](operator_scene& s) -> awaitable<void> {
            constexpr kube::resource priority_class{"scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass",
                                                    false};
            EXPECT_TRUE(co_await s.api->create(priority_class, "", R"({"metadata":{"name":"high"},"value":1000})"));
            co_await begin(&s);
            constexpr std::string_view together =
                R"("mlPolicy":{"numNodes":3,"torch":{}},"scheduling":{"disruptionMode":{"all":{}}})";
            co_await define_runtime(&s, "low", together, replicated_job("node", "trainer"));
            co_await define_runtime(&s, "high", together,
                                    replicated_job("node", "trainer", {}, R"("priorityClassName":"high",)"));
            for (const auto* name : {"n1", "n2", "n3"}) co_await join(&s, name, "a");
            EXPECT_TRUE(co_await s.api->create(kinds::train_job, s.ns, job_of("lower", "", {}, "low")));
            EXPECT_TRUE(co_await s.until(pod, [](const std::string& all) { return all_bound(all, 3); }))
                << co_await s.list(pod);
            EXPECT_TRUE(co_await s.api->create(kinds::train_job, s.ns,
                                               job_of("higher", R"(,"trainer":{"numNodes":2})", {}, "high")));
            EXPECT_TRUE(co_await s.until(pod, [](const std::string& all) {
                return count_of(all, R"("type":"DisruptionTarget")") == 3;
            })) << co_await s.list(pod);
            co_await bury(&s);
            EXPECT_TRUE(co_await s.until(pod, [](const std::string& all) {
                return standing_of(all, "higher") == standing{2, 2};
            })) << co_await s.list(pod);
            EXPECT_EQ(standing_of(co_await s.list(pod), "lower").bound, 0) << "one Node is free, and that is too few";
        });
}

// A gang that its own initialiser is part of would never start: there is one Node for the initialiser, and it goes
// first.
TEST_F(operator_workload, initialisers_go_before_the_gang_that_waits_for_them) {
    play(
        "operator-workload-initialisers", +[](operator_scene& s) -> awaitable<void> {
            co_await begin(&s);
            co_await define_runtime(
                &s, "initialised", torch_gang,
                replicated_job("dataset-initializer", "dataset-initializer", {}, {}, "dataset-initializer") + "," +
                    replicated_job("node", "trainer",
                                   R"(,"dependsOn":[{"name":"dataset-initializer","status":"Complete"}])"));
            for (const auto* name : {"n1", "n2", "n3"}) co_await join(&s, name, "a");
            EXPECT_TRUE(co_await s.api->create(
                kinds::train_job, s.ns,
                job_of("first", R"(,"initializer":{"dataset":{"storageUri":"hf://a/b"}})", {}, "initialised")));
            EXPECT_TRUE(co_await s.until(pod, [](const std::string& all) { return all_bound(all, 1); }))
                << co_await s.list(pod);
            co_await succeed(&s);
            EXPECT_TRUE(co_await s.until(pod, [](const std::string& all) {
                return standing_of(all, "first") == standing{4, 4};
            })) << co_await s.list(pod);
        });
}

// With the launcher it is one more than the Nodes hold.
TEST_F(operator_workload, launcher_and_nodes_of_mpi_come_together) {
    play(
        "operator-workload-mpi", +[](operator_scene& s) -> awaitable<void> {
            co_await begin(&s);
            co_await define_runtime(&s, "mpi-gang", R"("mlPolicy":{"numNodes":2,"mpi":{}},"scheduling":{})",
                                    replicated_job("launcher", "trainer") + "," + replicated_job("node", ""));
            for (const auto* name : {"n1", "n2"}) co_await join(&s, name, "a");
            EXPECT_TRUE(co_await s.api->create(kinds::train_job, s.ns, job_of("pi", "", {}, "mpi-gang")));
            EXPECT_TRUE(co_await s.until(kinds::train_job, [](const std::string& all) {
                return all.contains(": 2 of 3 Pods fit");
            })) << co_await s.list(kinds::train_job);
            EXPECT_EQ(standing_of(co_await s.list(pod), "pi"), (standing{3, 0}));
            co_await join(&s, "n3", "a");
            EXPECT_TRUE(co_await s.until(pod, [](const std::string& all) { return all_bound(all, 3); }))
                << co_await s.list(pod);
        });
}

TEST_F(operator_workload, an_elastic_gang_begins_with_the_fewest_nodes) {
    play(
        "operator-workload-elastic", +[](operator_scene& s) -> awaitable<void> {
            co_await begin(&s);
            co_await define_runtime(
                &s, "elastic",
                R"("mlPolicy":{"numNodes":3,"torch":{"elasticPolicy":{"minNodes":2,"maxNodes":4}}},"scheduling":{})",
                replicated_job("node", "trainer"));
            co_await join(&s, "n1", "a");
            EXPECT_TRUE(co_await s.api->create(kinds::train_job, s.ns, job_of("grows", "", {}, "elastic")));
            EXPECT_TRUE(co_await s.until(pod_group(), [](const std::string& all) {
                return all.contains(R"("minCount":2)") && all.contains("Unschedulable");
            })) << co_await s.list(pod_group());
            co_await join(&s, "n2", "a");
            EXPECT_TRUE(co_await s.until(pod, [](const std::string& all) {
                return standing_of(all, "grows") == standing{3, 2};
            })) << co_await s.list(pod);
        });
}

// What cannot be changed in a PodGroup is made again while the job is suspended; an end leaves nothing.
TEST_F(operator_workload, groups_follow_a_job_that_is_suspended) {
    play(
        "operator-workload-suspended", +[](operator_scene& s) -> awaitable<void> {
            co_await begin(&s);
            co_await join(&s, "n1", "a");
            co_await join(&s, "n2", "a");
            EXPECT_TRUE(co_await s.api->create(kinds::train_job, s.ns,
                                               job_of("moves", R"(,"suspend":true,"trainer":{"numNodes":2})")));
            EXPECT_TRUE(co_await s.until(pod_group(), [](const std::string& all) {
                return all.contains(R"("minCount":2)") && !all.contains("rack");
            }));
            co_await change(
                &s, "moves",
                R"({"metadata":{"annotations":{"trainer.kubeflow.org/topology":"topology.kubernetes.io/rack"}}})");
            EXPECT_TRUE(co_await s.until(pod_group(), [](const std::string& all) { return all.contains("rack"); }))
                << co_await s.list(pod_group()) << co_await s.list(kinds::train_job);
            EXPECT_TRUE(co_await s.until(workload(), [](const std::string& all) { return all.contains("rack"); }));
            co_await change(&s, "moves", R"({"spec":{"suspend":false}})");
            EXPECT_TRUE(co_await s.until(pod, [](const std::string& all) { return all_bound(all, 2); }))
                << co_await s.list(pod);
            EXPECT_EQ(count_of(co_await s.list(pod), R"("podGroupName":"moves-group-0")"), 2);
            co_await succeed(&s);
            EXPECT_TRUE(co_await s.until(kinds::train_job, [](const std::string& all) {
                return all.contains(R"("type":"Complete")");
            })) << co_await s.list(kinds::train_job);
            EXPECT_TRUE(co_await until_left(&s, {{"pods", 2}})) << co_await s.list(pod_group());
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
