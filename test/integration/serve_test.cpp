// What the operator serves, seen by a real API server, by pods with real tokens, and by a scraper.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "integration/serve_scene.hpp"

namespace cotrain::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::StartsWith;

constexpr auto heal_time = 30s;

awaitable<void> be_reviewed(operator_scene& s, serve_scene& web) {
    EXPECT_TRUE(co_await s.start_operator(web.config("")));
    EXPECT_TRUE(co_await web.created_within("first", heal_time)) << web.said;
    // Refused with a sentence that helps.
    EXPECT_FALSE(co_await web.create_job("none", R"({"runtimeRef":{"name":"none","kind":"TrainingRuntime"}})"));
    EXPECT_THAT(web.said, HasSubstr("validator.trainjob.trainer.kubeflow.org"));
    EXPECT_THAT(web.said, HasSubstr("spec.runtimeRef: Invalid value"));
    EXPECT_FALSE(co_await web.create_job(
        "minus", R"({"runtimeRef":{"name":"torch","kind":"TrainingRuntime"},"trainer":{"numNodes":-1}})"));
    EXPECT_THAT(web.said, HasSubstr("spec.trainer.numNodes"));
    // Defaulted: patches get their time.
    EXPECT_TRUE(co_await web.create_job("patched",
                                        R"({"runtimeRef":{"name":"torch","kind":"TrainingRuntime"},"suspend":true,)"
                                        R"("runtimePatches":[{"manager":"team.example/x","trainingRuntimeSpec":{}}]})"))
        << web.said;
    EXPECT_THAT(web.said, HasSubstr(R"("time":")"));
    const auto wrong = co_await s.api->create(
        kinds::runtime, s.ns,
        R"({"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainingRuntime","metadata":{"name":"wrong"},"spec":)"
        R"({"template":{"spec":{"replicatedJobs":[{"name":"node","replicas":2,"template":{"metadata":{"labels":)"
        R"({"trainer.kubeflow.org/trainjob-ancestor-step":"trainer"}},"spec":{"template":{"spec":{"containers":)"
        R"([{"name":"node","image":"a.test/b"}]}}}}}]}}}})");
    EXPECT_FALSE(wrong);
    EXPECT_THAT(wrong ? "created" : wrong.error().message, HasSubstr("validator.trainingruntime.trainer.kubeflow.org"));
}

awaitable<void> heal(operator_scene& s, serve_scene& web) {
    const auto gone = co_await s.api->remove(kinds::secret, {.ns = operator_ns, .name = certificate_secret});
    EXPECT_TRUE(gone);
    for (const auto& [of, name] : {std::pair(kinds::validating, validating_name), {kinds::mutating, mutating_name}}) {
        const auto cut = co_await s.api->json_patch(of, {.name = name},
                                                    R"([{"op":"remove","path":"/webhooks/0/clientConfig/caBundle"}])");
        EXPECT_TRUE(cut) << (cut ? "" : cut.error().message);
    }
    EXPECT_TRUE(co_await web.created_within("healed", heal_time)) << web.said;
    const auto due = std::chrono::steady_clock::now() + heal_time;
    bool there = false;
    while (!there && std::chrono::steady_clock::now() < due) {
        const auto got = co_await s.api->get(kinds::secret, {.ns = operator_ns, .name = certificate_secret});
        there = got.has_value();
    }
    EXPECT_TRUE(there);
    // A secret that somebody damaged, and an authority of others in the configuration.
    const auto damaged = co_await s.api->merge_patch(kinds::secret, {.ns = operator_ns, .name = certificate_secret},
                                                     R"({"data":{"tls.crt":"eA==","ca.crt":null}})");
    EXPECT_TRUE(damaged);
    const auto forged =
        co_await s.api->json_patch(kinds::validating, {.name = validating_name},
                                   R"([{"op":"replace","path":"/webhooks/0/clientConfig/caBundle","value":"eA=="}])");
    static_cast<void>(forged);  // the API server refuses what is no certificate
    EXPECT_TRUE(co_await web.created_within("again", heal_time)) << web.said;
}

awaitable<void> webhooks(operator_scene& s) {
    serve_scene web(s);
    co_await web.prepare();
    co_await web.install_webhooks();
    co_await be_reviewed(s, web);
    co_await heal(s, web);
    // Without an operator jobs are refused, and nothing else is.
    EXPECT_EQ(co_await s.child->stop(), 0);
    EXPECT_FALSE(co_await web.create_job("late", R"({"runtimeRef":{"name":"torch","kind":"TrainingRuntime"}})"));
    const auto other = co_await s.api->create(kinds::config_map, s.ns,
                                              R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"free"}})");
    EXPECT_TRUE(other);
    co_await web.remove_webhooks();
}

TEST(serve, webhooks_review_and_heal) { operator_scene("serve-webhooks").play(webhooks); }

// Whether both ports show a certificate of the secret's authority.
awaitable<bool> agree(serve_scene* web, std::uint16_t one, std::uint16_t two, std::chrono::seconds within) {
    const auto due = std::chrono::steady_clock::now() + within;
    do {
        net::request what;
        what.path = "/nothing";
        what.deadline = 2s;
        const int first = (co_await web->ask(one, what)).status;
        const int second = (co_await web->ask(two, what)).status;
        if (first == 404 && second == 404) co_return true;
    } while (std::chrono::steady_clock::now() < due);
    co_return false;
}

awaitable<void> replicas(operator_scene& s) {
    serve_scene web(s);
    co_await web.prepare();
    co_await web.install_webhooks();
    serve_scene second(s);
    // Both find no certificates and make their own: one of them is first.
    operator_child other(s.loop, second.config(""), s.kubeconfig);
    EXPECT_TRUE(co_await s.start_operator(web.config("")));
    EXPECT_TRUE(co_await other.said("all TrainJobs reconciled"));
    EXPECT_TRUE(co_await agree(&web, web.webhook_port, second.webhook_port, heal_time)) << web.said;
    EXPECT_TRUE(co_await web.created_within("agreed", heal_time)) << web.said;
    // An authority that went bad is replaced by both.
    const auto damaged = co_await s.api->merge_patch(kinds::secret, {.ns = operator_ns, .name = certificate_secret},
                                                     R"({"data":{"ca.key":"eA==","ca.crt":"eA=="}})");
    EXPECT_TRUE(damaged);
    EXPECT_TRUE(co_await agree(&web, web.webhook_port, second.webhook_port, heal_time)) << web.said;
    EXPECT_TRUE(co_await web.created_within("still", heal_time)) << web.said;
    EXPECT_EQ(co_await other.stop(), 0);
    co_await web.remove_webhooks();
}

TEST(serve, replicas_agree_on_certificates) { operator_scene("serve-replicas").play(replicas); }

net::request report(const std::string& ns, const std::string& job, const std::string& token, std::string body) {
    net::request r;
    r.method = "POST";
    r.path = "/apis/trainer.kubeflow.org/v1alpha1/namespaces/" + ns + "/trainjobs/" + job + "/status";
    if (!token.empty()) r.headers = {{"authorization", "Bearer " + token}};
    r.body = std::move(body);
    return r;
}

std::string audience(const std::string& ns, const std::string& job) {
    return "trainer.kubeflow.org/v1alpha1/namespaces/" + ns + "/trainjobs/" + job + "/status";
}

constexpr const char* good_report =
    R"({"trainerStatus":{"progressPercentage":45,"lastUpdatedTime":"2026-01-02T03:04:05Z"}})";

awaitable<void> progress(operator_scene& s) {
    serve_scene web(s);
    co_await web.prepare();
    const std::uint16_t port = free_port();
    EXPECT_TRUE(co_await s.start_operator(
        web.config("statusServer: {port: " + std::to_string(port) + "}\nfeatureGates: {TrainJobStatus: true}\n")));
    EXPECT_TRUE(co_await web.create_job("one", R"({"runtimeRef":{"name":"torch","kind":"TrainingRuntime"}})"));
    // Its JobSet says which Pods it has: the JobSet controller does not run here.
    EXPECT_TRUE(
        co_await s.until(kinds::job_set, [](const std::string& all) { return all.contains(R"("name":"one")"); }));
    const auto told = co_await s.api->merge_patch(
        kinds::job_set, {.ns = s.ns, .name = "one"},
        R"({"status":{"replicatedJobsStatus":[{"name":"node","active":1,"failed":0,"ready":1,"succeeded":0,)"
        R"("suspended":0}]}})",
        {.sub_resource = "status"});
    EXPECT_TRUE(told) << (told ? "" : told.error().message);
    const std::string token = co_await web.token(s.ns, "pod", audience(s.ns, "one"), "one-node-0-0-abcde");
    EXPECT_TRUE(co_await s.until(kinds::train_job, [](const std::string& all) { return all.contains("jobsStatus"); }));
    EXPECT_EQ((co_await web.ask(port, report(s.ns, "one", token, good_report))).status, 200) << web.said;
    EXPECT_EQ(web.said, std::string(good_report) + "\n");
    const auto job = co_await s.api->get(kinds::train_job, {.ns = s.ns, .name = "one"});
    EXPECT_TRUE(job && job->body.contains(R"("progressPercentage":45)"));

    // Pods are told where to report, and whom to trust.
    EXPECT_TRUE(co_await s.until(kinds::config_map, [](const std::string& all) {
        return all.contains(R"("name":"one-tls-config")") && all.contains("BEGIN CERTIFICATE");
    }));
    const auto set = co_await s.api->get(kinds::job_set, {.ns = s.ns, .name = "one"});
    EXPECT_TRUE(set && set->body.contains("kubeflow-trainer-controller-manager.kubeflow-system.svc:" +
                                          std::to_string(port) + "/apis/trainer.kubeflow.org"));

    // Nobody else, and for nothing else.
    const std::string other_job = co_await web.token(s.ns, "pod", audience(s.ns, "two"));
    const std::string other_ns = co_await web.token("default", "stranger", audience(s.ns, "one"));
    const std::string api_token = co_await web.token(s.ns, "pod", "");
    const std::string no_pod = co_await web.token(s.ns, "pod", audience(s.ns, "one"));
    const std::string others_pod = co_await web.token(s.ns, "pod", audience(s.ns, "one"), "one-b-node-0-0-abcde");
    std::string forged = token;
    forged.back() = forged.back() == 'A' ? 'B' : 'A';
    forged[forged.size() - 10] = forged[forged.size() - 10] == 'A' ? 'B' : 'A';
    const std::string none =
        "eyJhbGciOiJub25lIn0" + token.substr(token.find('.'), token.rfind('.') - token.find('.') + 1);
    for (const std::string& bad :
         {std::string(), other_job, other_ns, api_token, no_pod, others_pod, forged, none, std::string("x.y.z")})
        EXPECT_EQ((co_await web.ask(port, report(s.ns, "one", bad, good_report))).status, 403) << bad;

    EXPECT_EQ((co_await web.ask(port, report(s.ns, "two", other_job, good_report))).status, 404);
    EXPECT_EQ((co_await web.ask(port, report(s.ns, "one", token, "{"))).status, 422);
    EXPECT_EQ(
        (co_await web.ask(port, report(s.ns, "one", token, R"({"trainerStatus":{"progressPercentage":101}})"))).status,
        422);
    EXPECT_THAT(web.said, HasSubstr("progressPercentage"));
    EXPECT_EQ((co_await web.ask(port, report(s.ns, "one", token, std::string(65'537, ' ')))).status, 413);
    EXPECT_EQ((co_await web.ask(port, report(s.ns, "one", token, "{}"))).status, 200);
}

TEST(serve, progress_reports_of_the_jobs_own_pods_only) { operator_scene("serve-progress").play(progress); }

awaitable<void> metrics(operator_scene& s) {
    serve_scene web(s);
    co_await web.prepare();
    const std::uint16_t port = free_port();
    EXPECT_TRUE(co_await s.start_operator(
        web.config("metrics: {bindAddress: '127.0.0.1:" + std::to_string(port) + "', authentication: true}\n" +
                   "controller: {groupKindConcurrency: {TrainJob.trainer.kubeflow.org: 3, "
                   "TrainingRuntime.trainer.kubeflow.org: 4, ClusterTrainingRuntime.trainer.kubeflow.org: 5}}\n")));
    const auto ask = [&](std::string token, std::string path = "/metrics") {
        net::request r;
        r.path = std::move(path);
        if (!token.empty()) r.headers = {{"authorization", "Bearer " + token}};
        return web.ask(port, std::move(r));
    };
    EXPECT_EQ((co_await ask("")).status, 401);
    EXPECT_EQ((co_await ask("nonsense")).status, 401);
    EXPECT_EQ((co_await ask(co_await web.token(s.ns, "reader", ""))).status, 403);
    constexpr kube::resource roles{"rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", false};
    constexpr kube::resource bindings{"rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding",
                                      false};
    static_cast<void>(co_await s.api->create(
        roles, "",
        R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"serve-metrics"},)"
        R"("rules":[{"nonResourceURLs":["/metrics","/debug/state"],"verbs":["get"]}]})"));
    static_cast<void>(co_await s.api->create(
        bindings, "",
        R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRoleBinding","metadata":)"
        R"({"name":"serve-metrics"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole",)"
        R"("name":"serve-metrics"},"subjects":[{"kind":"ServiceAccount","name":"scraper","namespace":")" +
            s.ns + R"("}]})"));
    const std::string scraper = co_await web.token(s.ns, "scraper", "");
    const auto state = co_await ask(scraper, "/debug/state");
    EXPECT_THAT(state.body,
                StartsWith(R"({"leading":true,"leader":"","synced":true,"queues":{"trainjob_controller":)"));
    EXPECT_THAT(state.body, HasSubstr(R"("caches":{"TrainJob":{"objects":0,"synced":true,)"));
    const auto answer = co_await ask(scraper);
    EXPECT_EQ(answer.status, 200) << web.said;
    for (const char* name :
         {"controller_runtime_reconcile_total{controller=\"trainjob_controller\",result=\"success\"}",
          "controller_runtime_max_concurrent_reconciles{controller=\"trainjob_controller\"} 3",
          "controller_runtime_max_concurrent_reconciles{controller=\"trainingruntime_controller\"} 4",
          "controller_runtime_max_concurrent_reconciles{controller=\"clustertrainingruntime_controller\"} 5",
          "workqueue_depth{controller=\"trainjob_controller\",name=\"trainjob_controller\"} 0",
          "rest_client_requests_total{code=\"200\",host=\"127.0.0.1:",
          "leader_election_master_status{name=\"trainer.kubeflow.org\"} 1",
          "controller_runtime_webhook_requests_total{webhook=\"/mutate-trainer-kubeflow-org-v1alpha1-trainjob\"",
          "cotrain_apply_total{kind=\"JobSet\",result=\"applied\"} 0",
          "cotrain_watch_events_total{kind=\"TrainJob\"",
          "cotrain_trainjobs{state=\"Running\"} 0",
          "cotrain_trainjobs{state=\"Blocked\"} 0",
          "cotrain_trainjobs_blocked_longest_seconds 0",
          "cotrain_watch_synced{kind=\"TrainJob\"} 1",
          "cotrain_trainjob_failures_total{reason=\"Other\"} 0",
          "cotrain_trainjob_restarts_total 0",
          "cotrain_trainjob_state_seconds_count{state=\"Blocked\"} 0",
          "cotrain_memory_limit_bytes ",
          "cotrain_certificate_not_after_timestamp_seconds 1",
          "process_resident_memory_bytes "})
        EXPECT_THAT(answer.body, HasSubstr(name));
    static_cast<void>(co_await s.api->remove(bindings, {.name = "serve-metrics"}));
    static_cast<void>(co_await s.api->remove(roles, {.name = "serve-metrics"}));
}

TEST(serve, metrics_are_for_those_who_may_read_them) { operator_scene("serve-metrics").play(metrics); }

}  // namespace
}  // namespace cotrain::test
