// Flux: wrapped commands, scripts that are shell, and a certificate that nobody can guess.
#include "plugins/builtin.hpp"

#include <gmock/gmock.h>
#include <openssl/evp.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>

#include "plan.hpp"
#include "plugins/flux.hpp"
#include "plugins/keys.hpp"

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

std::vector<std::string> strings(doc::ref list) {
    std::vector<std::string> out;
    for (const doc::ref item : list.items()) out.emplace_back(item.as_string());
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
    const doc::ref installer = p.pod_spec("worker").get("initContainers").find_by("name", "flux-installer");
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

byte_source all(unsigned char value) {
    return [value](std::span<unsigned char> out) {
        std::ranges::fill(out, value);
        return true;
    };
}

std::string from_base64(std::string_view text) {
    std::string out(text.size(), '\0');
    const int bytes =
        EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                        reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
    out.resize(static_cast<std::size_t>(std::max(bytes, 0)));
    return out.substr(0, out.find('\0'));
}

std::string certificate(plan& p) {
    return from_base64(p.object("Secret", "job-flux-curve").get({"data", "curve.cert"}).as_string());
}

// The pair of RFC 7748, 6.1, in Z85, which zmq_curve_public() derives, too.
TEST(flux, makes_the_pair_that_its_random_bytes_stand_for) {
    constexpr unsigned char alice[] = {0x77, 0x07, 0x6d, 0x0a, 0x73, 0x18, 0xa5, 0x7d, 0x3c, 0x16, 0xc1,
                                       0x72, 0x51, 0xb2, 0x66, 0x45, 0xdf, 0x4c, 0x2f, 0x87, 0xeb, 0xc0,
                                       0x99, 0x2a, 0xb1, 0x77, 0xfb, 0xa5, 0x1d, 0xb9, 0x2c, 0x2a};
    constexpr unsigned char open[] = {0x85, 0x20, 0xf0, 0x09, 0x89, 0x30, 0xa7, 0x54, 0x74, 0x8b, 0x7d,
                                      0xdc, 0xb4, 0x3e, 0xf7, 0x5a, 0x0d, 0xbf, 0x3a, 0x0d, 0x26, 0x38,
                                      0x1a, 0xf4, 0xeb, 0xa4, 0xa9, 0x8e, 0xaa, 0x9b, 0x4e, 0x6a};
    const auto key = make_curve_key([&](std::span<unsigned char> out) {
        std::ranges::copy(alice, out.begin());
        return true;
    });
    ASSERT_TRUE(key);
    EXPECT_EQ(key->secret_text, z85({reinterpret_cast<const char*>(alice), 32}));
    EXPECT_EQ(key->public_text, z85({reinterpret_cast<const char*>(open), 32}));
    EXPECT_NE(make_curve_key(all(7))->secret_text, make_curve_key(all(8))->secret_text);
    EXPECT_FALSE(make_curve_key([](std::span<unsigned char>) { return false; }));
}

// Difference 31: nothing that can be read of a job tells its key.
TEST(flux, the_key_is_random_and_immutable) {
    plan p(runtime_text("mlPolicy: {flux: {}}", worker), job_text());
    const std::string first = certificate(p);
    EXPECT_THAT(first, HasSubstr("    name = \"job\"\ncurve\n    public-key = \""));
    const std::string mark = "secret-key = \"";
    EXPECT_EQ(first.find('"', first.find(mark) + mark.size()) - first.find(mark) - mark.size(), 40U);
    EXPECT_NE(first, certificate(p));  // the same job: the UID does not make it
    EXPECT_TRUE(p.object("Secret", "job-flux-curve").get("immutable").as_bool(false));
}

TEST(flux, the_key_is_made_once) {
    plan p(runtime_text("mlPolicy: {flux: {}}", worker), job_text());
    p.seen.make_curve_key = [] {
        return base::result<runtime::curve_key>(base::fail(base::errc::internal, "not again"));
    };
    EXPECT_THAT(p.error(), HasSubstr("not again"));
    runtime::observed_child secret{&api::names::secret, "job-flux-curve", runtime::child_state::ours};
    p.seen.children = {&secret, 1};
    const auto objects = p.make();
    ASSERT_TRUE(objects) << objects.error().message;
    EXPECT_TRUE(std::ranges::none_of(*objects, [](const auto& o) { return o.type->kind == "Secret"; }));
    secret.state = runtime::child_state::foreign;
    EXPECT_THAT(p.error(), HasSubstr("not controlled by this TrainJob"));
}

// Quantities beyond all machines make no number that wraps.
TEST(flux, counts_of_huge_nodes_stay_numbers) {
    plan p(runtime_text("mlPolicy: {flux: {}}", worker),
           job_text("trainer: {numNodes: 2147483647, numProcPerNode: cpu, resourcesPerNode: {requests: {cpu: 9E}}}"));
    EXPECT_THAT(script(p, "entrypoint.sh"), HasSubstr("-N 2147483647 -n 4611686014132420609"));
}

TEST(flux, keeps_volume_names_valid_for_long_jobs) {
    plan p(runtime_text("mlPolicy: {flux: {}}", worker), job_text());
    const std::string name(60, 'j');
    p.job.meta.name = name;
    const auto objects = p.make();
    ASSERT_TRUE(objects) << objects.error().message;
    const doc::ref set = doc::parse_json_copy(p.memory, objects->back().json).value();
    const doc::ref pods = set.get({"spec", "replicatedJobs"}).at(0).get({"template", "spec", "template", "spec"});
    for (const doc::ref volume : pods.get("volumes").items()) EXPECT_LE(volume.get("name").text().size(), 63U);
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
