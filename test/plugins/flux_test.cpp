// Flux: wrapped commands, scripts that are shell, and a certificate that is the same everywhere.
#include "plugins/flux.hpp"

#include <gmock/gmock.h>

#include <cstdio>
#include <cstdlib>

#include "plan.hpp"
#include "plugins/flux_scripts.hpp"

namespace cotrain::plugins {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view worker = R"(
      network: {subdomain: mesh}
      replicatedJobs:
      - name: worker
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec:
            template:
              spec:
                containers:
                - {name: node, image: i, command: [lmp, -in], args: [a, b], resources: {limits: {x/gpu: 2}},
                   env: [{name: FLUX_QUEUE_POLICY, value: easy}]}
)";

std::string script(plan& p, std::string_view name) {
    return std::string(p.object("ConfigMap", "job-flux-entrypoint").get({"data", name}).as_string());
}

std::vector<std::string> strings(api::ref list) {
    std::vector<std::string> out;
    for (const api::ref item : list.items()) out.emplace_back(item.as_string());
    return out;
}

TEST(flux, wraps_command_and_arguments_of_the_runtime_without_a_trainer_section) {  // difference 19
    plan p(runtime_text("mlPolicy: {numNodes: 3, flux: {numProcPerNode: 4}}", worker), job_text());
    EXPECT_THAT(strings(p.container("worker").get("command")),
                ElementsAre("/bin/bash", "/etc/flux-config/entrypoint.sh", "lmp -in a b"));
    EXPECT_FALSE(p.container("worker").get("args"));
    const std::string entrypoint = script(p, "entrypoint.sh");
    EXPECT_THAT(entrypoint, HasSubstr("flags=\"-N 3 -n 12 -g 2\""));
    EXPECT_THAT(entrypoint, HasSubstr("--cores=0-3 --gpu=0-1 > "));
    const std::string init = script(p, "init.sh");
    for (const auto& text : {entrypoint, init}) EXPECT_THAT(text, HasSubstr("mainHost=\"job-worker-0-0\"\n"));
    EXPECT_THAT(init, HasSubstr("hosts=\"job-worker-0-[0-2]\"\n"));
    EXPECT_THAT(init, HasSubstr("default_connect = \"tcp://%h.mesh.ns.svc.cluster.local:%p\"\n"));
    EXPECT_THAT(init, HasSubstr("queue-policy = \"easy\"\n"));
    EXPECT_TRUE(p.pod_spec("worker").get("initContainers").find_by("name", "flux-installer"));
}

TEST(flux, takes_the_jobs_settings_first) {
    plan p(runtime_text("mlPolicy: {flux: {}}", worker),
           job_text("trainer: {numNodes: 1, command: [x], env: [{name: FLUX_QUEUE_POLICY, value: fcfs}, "
                    "{name: FLUX_VIEW_IMAGE, value: view}, {name: FLUX_NETWORK_DEVICE, valueFrom: {}}]}"));
    EXPECT_THAT(script(p, "init.sh"), HasSubstr("queue-policy = \"fcfs\"\n"));
    EXPECT_THAT(script(p, "init.sh"), HasSubstr("default_bind = \"tcp://eth0:%p\"\n"));
    EXPECT_THAT(script(p, "init.sh"), HasSubstr("hosts=\"job-worker-0-[0]\"\n"));
    const api::ref installer = p.pod_spec("worker").get("initContainers").find_by("name", "flux-installer");
    EXPECT_EQ(installer.get("image").as_string(), "view");
    EXPECT_EQ(strings(p.container("worker").get("command")).back(), "x a b");
}

TEST(flux, scripts_are_shell) {
    plan p(runtime_text("mlPolicy: {flux: {}}", worker), job_text());
    for (const auto* name : {"init.sh", "entrypoint.sh"}) {
        FILE* const shell = popen("bash -n", "w");
        ASSERT_NE(shell, nullptr);
        const std::string text = script(p, name);
        EXPECT_EQ(fwrite(text.data(), 1, text.size(), shell), text.size());
        EXPECT_EQ(pclose(shell), 0) << name;
    }
}

TEST(flux, derives_its_certificate_from_the_uid) {
    const auto text = flux_certificate("job", "8a2f9f0e-3c57-4d9c-9f5b-0d6d6f1c0001");
    ASSERT_TRUE(text);
    EXPECT_EQ(*text, flux_certificate("job", "8a2f9f0e-3c57-4d9c-9f5b-0d6d6f1c0001").value());
    EXPECT_NE(*text, flux_certificate("job", "8a2f9f0e-3c57-4d9c-9f5b-0d6d6f1c0002").value());
    const std::string mark = "secret-key = \"";
    const std::string secret = text->substr(text->find(mark) + mark.size(), 41);
    EXPECT_EQ(secret.find('"'), 40U);
}

TEST(flux, keeps_volume_names_valid_for_long_jobs) {
    plan p(runtime_text("mlPolicy: {flux: {}}", worker), job_text());
    const std::string name(60, 'j');
    p.job.meta.name = name;
    const auto objects = p.make();
    ASSERT_TRUE(objects) << objects.error().message;
    const api::ref set = api::parse_json_copy(p.memory, objects->back().json).value();
    const api::ref pods = set.get({"spec", "replicatedJobs"}).at(0).get({"template", "spec", "template", "spec"});
    for (const api::ref volume : pods.get("volumes").items()) EXPECT_LE(volume.get("name").text().size(), 63U);
}

TEST(flux, refuses_no_processes_and_its_own_container) {
    plan none(runtime_text("mlPolicy: {flux: {}}"), job_text("trainer: {numProcPerNode: 0}"));
    ASSERT_EQ(none.review().errors.size(), 1U);
    EXPECT_EQ(none.review().errors[0].path, "spec.trainer.numProcPerNode");
    plan taken(runtime_text("mlPolicy: {flux: {}}", R"(
      replicatedJobs:
      - name: node
        template:
          spec: {template: {spec: {containers: [{name: node, image: i}], initContainers: [{name: flux-installer}]}}}
)"),
               job_text());
    ASSERT_EQ(taken.review().errors.size(), 1U);
    EXPECT_EQ(taken.review().errors[0].path, "spec.trainer.initContainers");
}

}  // namespace
}  // namespace cotrain::plugins
