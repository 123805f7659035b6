// Elastic jobs with JobSet's controller and webhooks: sizes by the sub-resource scale, by an autoscaler, at random,
// refused.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <random>

#include "crd/crd.hpp"
#include "doc/edit.hpp"
#include "doc/json.hpp"
#include "integration/control.hpp"
#include "integration/operator_scene.hpp"
#include "integration/operator_side_plane.hpp"
#include "integration/serve_scene.hpp"
#include "net/server.hpp"
#include "support/certificates.hpp"

namespace cotrain::test {
namespace {

constexpr kube::resource definitions{"apiextensions.k8s.io", "v1", "customresourcedefinitions",
                                     "CustomResourceDefinition", false};
constexpr kube::resource batch_job{"batch", "v1", "jobs", "Job"};
constexpr std::string_view gate =
    "apiVersion: config.trainer.kubeflow.org/v1alpha1\nkind: Configuration\nfeatureGates: {ElasticTrainJob: true}\n";
constexpr std::string_view elastic_runtime = R"({
  "apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainingRuntime", "metadata": {"name": "elastic"},
  "spec": {"mlPolicy": {"numNodes": 2, "torch": {"elasticPolicy": {"minNodes": 1, "maxNodes": 8}}},
   "template": {"spec": {"replicatedJobs": [
    {"name": "node", "template": {"metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
     "spec": {"template": {"spec": {"containers": [{"name": "node", "image": "registry.test/torch:1"}]}}}}}]}}}})";
constexpr std::string_view elastic_spec =
    R"({"runtimeRef":{"name":"elastic","kind":"TrainingRuntime"},"trainer":{"numNodes":2}})";

// As the chart renders it with gate ElasticTrainJob.
awaitable<void> free_trainer(operator_scene* s) {
    for (const crd::definition& each : crd::definitions()) {
        if (each.resource.kind != "TrainJob") continue;
        doc::arena memory;
        doc::editor crd = doc::editor::of(memory, doc::deep_copy(memory, crd::make_crd(memory, each)));
        crd.child({"spec", "versions"})
            .child(0)
            .child({"schema", "openAPIV3Schema", "properties", "spec", "properties", "trainer"})
            .remove("x-kubernetes-validations");
        const std::string name(crd.get({"metadata", "name"}).as_string());
        EXPECT_TRUE(
            co_await s->api->apply(definitions, {.name = name}, doc::to_json(crd), true, {.field_manager = "test"}));
    }
}

awaitable<void> begin(operator_scene* s, int jobs) {
    co_await free_trainer(s);
    EXPECT_TRUE(co_await s->api->create(kinds::runtime, s->ns, std::string(elastic_runtime)));
    EXPECT_TRUE(co_await s->start_operator(std::string(gate)));
    co_await s->create_many("job-", jobs, std::string(elastic_spec));
    EXPECT_TRUE(co_await s->until_count(kinds::job_set, jobs));
}

std::string name_of(int job) { return "job-" + std::to_string(job); }

// As `kubectl scale` does; until the definition without the rule is served.
awaitable<bool> scale(operator_scene* s, int job, int nodes) {
    asio::steady_timer timer(s->loop);
    const std::string body = R"({"spec":{"replicas":)" + std::to_string(nodes) + "}}";
    for (int i = 0; i < 200; ++i) {
        if (co_await s->api->merge_patch(kinds::train_job, {.ns = s->ns, .name = name_of(job)}, body,
                                         {.sub_resource = "scale"}))
            co_return true;
        timer.expires_after(std::chrono::milliseconds(50));
        co_await timer.async_wait(asio::use_awaitable);
    }
    co_return false;
}

awaitable<bool> suspend(operator_scene* s, int job, bool wanted) {
    const auto done =
        co_await s->api->merge_patch(kinds::train_job, {.ns = s->ns, .name = name_of(job)},
                                     std::string(R"({"spec":{"suspend":)") + (wanted ? "true}}" : "false}}"));
    co_return done.has_value();
}

// Nodes and suspension of what has one job `node`, by name.
struct size {
    std::int64_t nodes = 0;
    bool suspended = false;
    bool operator==(const size&) const = default;
};
using sizes = std::map<std::string, size>;

sizes sizes_of(const std::string& list) {
    sizes out;
    doc::arena memory;
    const auto all = doc::parse_json(memory, list);
    if (!all) return out;
    for (const doc::ref set : all->get("items").items()) {
        const doc::ref counts = set.get({"spec", "replicatedJobs"}).find_by("name", "node").get({"template", "spec"});
        if (equal(counts.get("parallelism"), counts.get("completions")))
            out[std::string(set.get({"metadata", "name"}).as_string())] = {counts.get("parallelism").as_int(0),
                                                                           set.get({"spec", "suspend"}).as_bool(false)};
    }
    return out;
}

struct operator_elastic : testing::Test {
    side_plane plane_{
        plane::bare,
        {"--with", "kcm,jobset", "--config", "jobset=featureGates: {ElasticJobSet: true}", "--arg",
         "kcm=--horizontal-pod-autoscaler-sync-period=1s", "--audit", "--crds", test_variable("COTRAIN_TEST_CRDS")}};
    audit_log audit_{plane_.audit()};
};

TEST_F(operator_elastic, the_sub_resource_scales_a_job_that_runs) {
    operator_scene scene("operator-elastic", plane_.kubeconfig());
    scene.play(+[](operator_scene& s) -> awaitable<void> {
        co_await begin(&s, 1);
        for (const int nodes : {6, 3, 8}) {
            EXPECT_TRUE(co_await scale(&s, 0, nodes));
            EXPECT_TRUE(co_await s.until(
                kinds::job_set, [&](const std::string& all) { return sizes_of(all) == sizes{{"job-0", {nodes}}}; },
                std::chrono::seconds(30)))
                << co_await s.list(kinds::train_job);
            const std::string count = R"("parallelism":)" + std::to_string(nodes);
            EXPECT_TRUE(co_await s.until(batch_job, [&](const std::string& all) { return all.contains(count); }));
        }
        const std::string set = co_await s.list(kinds::job_set);
        EXPECT_TRUE(set.contains(R"("generation":4)")) << set;
        EXPECT_TRUE(set.contains(R"("value":"1:8")"));
        EXPECT_TRUE(co_await s.until(kinds::train_job, [](const std::string& all) {
            return all.contains(R"("desired":8)") && all.contains("replicatedjob-name in (node)");
        }));
        EXPECT_FALSE((co_await s.list(kinds::train_job)).contains("ResourcesReady"));
    });
    int applies = 0, others = 0;
    for (const audit_entry& e : audit_.read())
        if (e.by_operator() && e.writes() && !e.is_lease() && e.resource != "events" && e.sub_resource != "status")
            ++(e.resource == "jobsets" ? applies : others);
    EXPECT_EQ(applies, 4) << "when it is made, and one for each change";
    EXPECT_LE(others, 2) << "the snapshot, and its hash";
}

awaitable<std::string> refusal_of(operator_scene* s, std::string name, int nodes) {
    const auto done = co_await s->api->merge_patch(kinds::train_job, {.ns = s->ns, .name = name},
                                                   R"({"spec":{"replicas":)" + std::to_string(nodes) + "}}",
                                                   {.sub_resource = "scale"});
    co_return done ? std::string() : done.error().message;
}

TEST_F(operator_elastic, the_sub_resource_is_judged_at_admission) {
    operator_scene scene("operator-elastic-judged", plane_.kubeconfig());
    scene.play(+[](operator_scene& s) -> awaitable<void> {
        serve_scene web(s);
        co_await free_trainer(&s);
        co_await web.prepare();
        co_await web.install_webhooks();
        EXPECT_TRUE(co_await s.start_operator(web.config("featureGates: {ElasticTrainJob: true}\n")));
        EXPECT_TRUE(co_await web.created_within("first", std::chrono::seconds(30))) << web.said;
        EXPECT_TRUE(co_await s.api->create(kinds::runtime, s.ns, std::string(elastic_runtime)));
        EXPECT_TRUE(co_await web.create_job("job-0", std::string(elastic_spec))) << web.said;
        EXPECT_TRUE(co_await web.create_job("plain", R"({"runtimeRef":{"name":"torch","kind":"TrainingRuntime"},)"
                                                     R"("trainer":{"numNodes":2}})"))
            << web.said;
        EXPECT_TRUE(co_await s.until_count(kinds::job_set, 3, std::chrono::seconds(30)));
        EXPECT_TRUE((co_await refusal_of(&s, "job-0", 9)).contains("9 is not within 1:8"));
        EXPECT_TRUE((co_await refusal_of(&s, "plain", 3)).contains("spec.trainer: Invalid value"));
        EXPECT_EQ(co_await refusal_of(&s, "job-0", 8), "");
        EXPECT_TRUE(co_await s.until(
            kinds::job_set, [](const std::string& all) { return sizes_of(all).at("job-0") == size{8}; },
            std::chrono::seconds(30)));
        co_await web.remove_webhooks();
    });
}

constexpr kube::resource autoscaler{"autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler"};
constexpr kube::resource service{"", "v1", "services", "Service"};
constexpr kube::resource api_service{"apiregistration.k8s.io", "v1", "apiservices", "APIService", false};

// What the API server takes for a metrics API: every metric has one value.
class metrics_api {
   public:
    explicit metrics_api(asio::io_context& loop) {
        const auto own = authority().issue({.common_name = "metrics", .names = {"localhost"}});
        const auto keys = net::tls::context::for_server({own.certificate_pem, own.key_pem});
        if (!keys) throw std::runtime_error(keys.error().message);
        net::server_options options;
        options.tls = [with = *keys] { return with; };
        server_.emplace(
            loop.get_executor(), options, [this](net::incoming in) { return answer(this, std::move(in)); },
            base::null_logger());
        EXPECT_TRUE(server_->start());
    }
    // By its name: a Service that is another name of this host, since there is no network of Pods.
    awaitable<void> install(operator_scene* s) {
        EXPECT_TRUE(co_await s->api->create(service, s->ns,
                                            R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"metrics"},)"
                                            R"("spec":{"type":"ExternalName","externalName":"localhost"}})"));
        EXPECT_TRUE(co_await s->api->create(
            api_service, {},
            R"({"apiVersion":"apiregistration.k8s.io/v1","kind":"APIService",)"
            R"("metadata":{"name":"v1beta1.external.metrics.k8s.io"},"spec":{"group":"external.metrics.k8s.io",)"
            R"("version":"v1beta1","groupPriorityMinimum":100,"versionPriority":100,"insecureSkipTLSVerify":true,)"
            R"("service":{"name":"metrics","namespace":")" +
                s->ns + R"(","port":)" + std::to_string(server_->port()) + "}}}"));
    }
    awaitable<void> stop() { return server_->stop(); }
    int value = 0;

   private:
    static awaitable<void> answer(metrics_api* self, net::incoming in) {
        const bool discovery = in.head().path.find("/namespaces/") == std::string::npos;
        in.respond(200, {{"content-type", "application/json"}},
                   discovery ? R"({"kind":"APIResourceList","apiVersion":"v1",)"
                               R"("groupVersion":"external.metrics.k8s.io/v1beta1","resources":[]})"
                             : R"({"kind":"ExternalMetricValueList","apiVersion":"external.metrics.k8s.io/v1beta1",)"
                               R"("metadata":{},"items":[{"metricName":"waiting","metricLabels":{},)"
                               R"("timestamp":"2026-01-01T00:00:00Z","value":")" +
                                   std::to_string(self->value) + R"("}]})");
        co_return;
    }
    std::optional<net::server> server_;
};

TEST_F(operator_elastic, an_autoscaler_doubles_and_halves_a_job) {
    operator_scene scene("operator-elastic-autoscaled", plane_.kubeconfig());
    scene.play(+[](operator_scene& s) -> awaitable<void> {
        metrics_api metrics(s.loop);
        co_await metrics.install(&s);
        co_await begin(&s, 1);
        EXPECT_TRUE(co_await scale(&s, 0, 2)) << "the definition without the rule is served";
        metrics.value = 4;
        EXPECT_TRUE(co_await s.api->create(
            autoscaler, s.ns,
            R"({"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{"name":"job"},"spec":{)"
            R"("scaleTargetRef":{"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob","name":"job-0"},)"
            R"("minReplicas":1,"maxReplicas":8,"behavior":{"scaleDown":{"stabilizationWindowSeconds":0}},"metrics":[{)"
            R"("type":"External","external":{"metric":{"name":"waiting"},"target":{"type":"AverageValue",)"
            R"("averageValue":"1"}}}]}})"));
        for (const int nodes : {4, 2}) {
            metrics.value = nodes;
            EXPECT_TRUE(co_await s.until(
                kinds::job_set, [&](const std::string& all) { return sizes_of(all) == sizes{{"job-0", {nodes}}}; },
                std::chrono::seconds(60)))
                << co_await s.list(autoscaler);
        }
        co_await metrics.stop();
    });
}

// What a user does to jobs, and what they are to be like in the end. Those that were deleted are made again.
struct player {
    operator_scene& s;
    sizes model;
    std::mt19937 dice;
    std::map<std::string, int> changes{};  // since it was made
    int all_changes = 0;

    awaitable<void> step(int jobs) {
        const int job = static_cast<int>(dice() % static_cast<unsigned>(jobs));
        const std::string name = name_of(job);
        const unsigned choice = dice() % 16;
        const auto at = model.find(name);
        if (at == model.end()) {
            co_await s.create_jobs("job-", job, job + 1, std::string(elastic_spec));
            model[name] = {2};
            changes[name] = 0;
        } else if (choice == 0) {
            EXPECT_TRUE(co_await s.api->remove(kinds::train_job, {.ns = s.ns, .name = name}));
            model.erase(at);
        } else if (choice < 5) {
            at->second.suspended = !at->second.suspended;
            EXPECT_TRUE(co_await suspend(&s, job, at->second.suspended));
            ++changes[name];
        } else {
            at->second.nodes = 1 + dice() % 8;
            EXPECT_TRUE(co_await scale(&s, job, static_cast<int>(at->second.nodes)));
            ++changes[name];
        }
        ++all_changes;
    }
};

// Writes of each JobSet since it was made.
std::map<std::string, int> writes_of(const std::string& list) {
    std::map<std::string, int> out;
    doc::arena memory;
    const auto all = doc::parse_json(memory, list);
    if (!all) return out;
    for (const doc::ref set : all->get("items").items()) {
        const doc::ref metadata = set.get("metadata");
        out[std::string(metadata.get("name").as_string())] = static_cast<int>(metadata.get("generation").as_int(0)) - 1;
    }
    return out;
}

TEST_F(operator_elastic, whatever_is_done_to_many_jobs_comes_about) {
    operator_scene scene("operator-elastic-many", plane_.kubeconfig());
    scene.play(+[](operator_scene& s) -> awaitable<void> {
        const int jobs = full_run() ? 500 : 20;
        co_await begin(&s, jobs);
        player p{.s = s, .model = {}, .dice = std::mt19937(11)};
        for (int i = 0; i < jobs; ++i) p.model[name_of(i)] = {2};
        const auto idle = s.child->used();
        const auto began = std::chrono::steady_clock::now();
        const auto lasts = std::chrono::minutes(full_run() ? 5 : 0);
        for (int i = 0; i < 10 * jobs || std::chrono::steady_clock::now() - began < lasts; ++i) co_await p.step(jobs);
        EXPECT_TRUE(co_await s.until(
            kinds::job_set, [&](const std::string& all) { return sizes_of(all) == p.model; },
            std::chrono::seconds(60)));
        EXPECT_TRUE(co_await s.until(
            kinds::train_job, [](const std::string& all) { return !all.contains("ResourcesReady"); },
            std::chrono::seconds(30)))
            << co_await s.list(kinds::train_job);
        int writes = 0;
        for (const auto& [name, count] : writes_of(co_await s.list(kinds::job_set))) {
            EXPECT_LE(count, p.changes[name]) << name << ": no change takes two writes";
            writes += count;
        }
        const std::chrono::duration<double> lasted = std::chrono::steady_clock::now() - began;
        std::printf("elastic: %d jobs, %d changes in %.0f s; of the JobSets that are left %d writes; %.1f s of CPU\n",
                    jobs, p.all_changes, lasted.count(), writes, s.child->used().cpu_seconds - idle.cpu_seconds);
    });
}

TEST(operator_inelastic, a_jobset_controller_without_the_gate_is_named) {
    side_plane plane{plane::bare, {"--with", "kcm,jobset", "--crds", test_variable("COTRAIN_TEST_CRDS")}};
    operator_scene scene("operator-inelastic", plane.kubeconfig());
    scene.play(+[](operator_scene& s) -> awaitable<void> {
        co_await begin(&s, 1);
        EXPECT_TRUE(co_await scale(&s, 0, 6));
        EXPECT_TRUE(co_await s.until(
            kinds::train_job, [](const std::string& all) { return all.contains("ElasticJobSetNeeded"); },
            std::chrono::seconds(30)))
            << co_await s.list(kinds::train_job);
        EXPECT_EQ(sizes_of(co_await s.list(kinds::job_set)), (sizes{{"job-0", {2}}}));
        EXPECT_TRUE(co_await scale(&s, 0, 2));
        EXPECT_TRUE(co_await s.until(
            kinds::train_job, [](const std::string& all) { return !all.contains("ResourcesReady"); },
            std::chrono::seconds(30)))
            << co_await s.list(kinds::train_job);
    });
}

}  // namespace
}  // namespace cotrain::test
