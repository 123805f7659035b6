// TrainJobs with a missing or wrong part, at a real API server: none is answered with an internal error.
#include <gtest/gtest.h>

#include <string>

#include "doc/yaml.hpp"
#include "integration/serve_scene.hpp"
#include "support/one_change.hpp"

namespace cotrain::test {
namespace {

constexpr std::string_view job_yaml = R"(
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: job, labels: {l: v}}
spec:
  runtimeRef: {name: torch, apiGroup: trainer.kubeflow.org, kind: TrainingRuntime}
  trainer:
    image: i
    command: [a]
    env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: k}}}]
    numNodes: 2
    numProcPerNode: "8"
    resourcesPerNode: {requests: {cpu: 1}}
  runtimePatches:
  - manager: a.example/b
    trainingRuntimeSpec:
      template:
        spec: {replicatedJobs: [{name: node, template: {spec: {template: {spec: {nodeSelector: {a: b}}}}}}]}
  podTemplateOverrides:
  - {targetJobs: [{name: node}], spec: {tolerations: [{key: a, operator: Exists}]}}
  suspend: true
)";

void judge(const one_change& sent, const base::result<kube::reply>& got) {
    if (got) return;
    EXPECT_LT(got.error().http_status, 500) << sent.what << ": " << got.error().message;
    EXPECT_GE(got.error().http_status, 400) << sent.what << ": " << got.error().message;
    EXPECT_FALSE(got.error().message.empty()) << sent.what;
}

awaitable<void> send_malformed(operator_scene& s) {
    serve_scene web(s);
    co_await web.prepare();
    co_await web.install_webhooks();
    EXPECT_TRUE(co_await s.start_operator(web.config("")));
    EXPECT_TRUE(co_await web.created_within("first", std::chrono::seconds(30))) << web.said;
    doc::arena memory;
    const auto job = doc::parse_yaml(memory, job_yaml);
    for (const one_change& each : every_one_change(*job))
        judge(each, co_await s.api->create(kinds::train_job, s.ns, each.json, {.dry_run = true}));
    const auto stored = co_await s.api->create(kinds::train_job, s.ns, doc::to_json(*job));
    EXPECT_TRUE(stored) << (stored ? "" : stored.error().message);
    if (!stored) co_return;
    for (const one_change& each : every_one_change(*doc::parse_json(memory, stored->body))) {
        if (!each.what.starts_with("/spec")) continue;
        judge(each, co_await s.api->update(kinds::train_job, {s.ns, "job"}, each.json, {.dry_run = true}));
    }
    co_await web.remove_webhooks();
}

TEST(serve, malformed_jobs_are_refused_and_no_error_of_ours) { operator_scene("serve-malformed").play(send_malformed); }

}  // namespace
}  // namespace cotrain::test
