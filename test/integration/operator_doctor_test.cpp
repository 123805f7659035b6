// `cotrain doctor` against a real API server that slowly becomes what the operator needs, and then breaks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <fmt/chrono.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "integration/control.hpp"
#include "integration/operator_child.hpp"
#include "integration/operator_side_plane.hpp"
#include "support/run.hpp"

namespace cotrain::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

constexpr auto config =
    "apiVersion: config.trainer.kubeflow.org/v1alpha1\nkind: Configuration\nleaderElection: {leaderElect: true}\n"
    "certManagement: {enable: true}\n";

// The endpoints that a cluster with Pods would have.
constexpr auto endpoints =
    "apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata:\n  name: answers\n  namespace: kubeflow-system\n"
    "  labels: {kubernetes.io/service-name: kubeflow-trainer-controller-manager}\naddressType: IPv4\n"
    "endpoints: [{addresses: [10.0.0.9], conditions: {ready: true}}]\n";

struct outcome {
    int code = -1;
    std::string out;
};

outcome run_text(const std::string& command) {
    outcome result;
    std::FILE* const pipe = ::popen((command + " 2>&1").c_str(), "r");
    if (pipe == nullptr) return result;
    std::array<char, 4096> part{};
    while (const std::size_t n = std::fread(part.data(), 1, part.size(), pipe)) result.out.append(part.data(), n);
    const int status = ::pclose(pipe);
    result.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
    return result;
}

class patient {
   public:
    [[nodiscard]] outcome examine(const std::string& options = {}) const {
        return run_text(std::string(COTRAIN_BINARY) + " doctor --kubeconfig " + plane_.kubeconfig() + " " + options);
    }
    void kubectl(const std::string& words) const {
        const outcome done =
            run_text(test_variable("COTRAIN_TEST_KUBECTL") + " --kubeconfig " + plane_.kubeconfig() + " " + words);
        EXPECT_EQ(done.code, 0) << words << ": " << done.out;
    }
    // A file with this text; the next one takes its place.
    [[nodiscard]] std::string file(const std::string& text) const {
        const fs::path path = fs::path(plane_.kubeconfig()).parent_path() / "object.yaml";
        std::ofstream(path) << text;
        return path.string();
    }
    void apply_text(const std::string& text) const { kubectl("apply --server-side -f " + file(text)); }
    [[nodiscard]] std::string kubeconfig() const { return plane_.kubeconfig(); }

   private:
    side_plane plane_{plane::bare};
};

void nothing_is_there(const patient& p) {
    const outcome said = p.examine();
    EXPECT_EQ(said.code, 1);
    EXPECT_THAT(said.out, HasSubstr("fine     connection   Kubernetes v1."));
    // Two causes; webhooks, rights, Lease, Deployment and JobSet's controller follow from them.
    EXPECT_THAT(said.out, HasSubstr("problem  definitions  trainjobs.trainer.kubeflow.org, trainingruntimes."));
    EXPECT_THAT(said.out, HasSubstr("more findings follow from this"));
    EXPECT_THAT(said.out, HasSubstr("jobset.sigs.k8s.io/docs/installation"));
    EXPECT_THAT(said.out, HasSubstr("\n2 problems, 0 pieces of advice, 0 things"));
    EXPECT_THAT(said.out, Not(HasSubstr("may not")));
    EXPECT_THAT(p.examine("-o json").out, HasSubstr(R"("verdict": "problem", "area": "definitions")"));
}

void install(const patient& p) {
    const fs::path source(COTRAIN_SOURCE_DIR);
    p.kubectl("apply --server-side -f " + test_variable("COTRAIN_TEST_CRDS") + "/jobset.yaml");
    p.kubectl("apply --server-side -f " + (source / "deploy/overlays/manager/namespace.yaml").string());
    p.kubectl("apply --server-side -k " + (source / "deploy/overlays/manager").string());
    p.kubectl("-n kubeflow-system scale deployment kubeflow-trainer-controller-manager --replicas=0");
    const outcome said = p.examine();
    EXPECT_EQ(said.code, 1);
    EXPECT_THAT(said.out, HasSubstr("trainjobs.trainer.kubeflow.org is Cotrain's"));
    EXPECT_THAT(said.out, HasSubstr("controller-manager has all "));
    // Nobody runs: that the webhooks trust nobody and nobody answers follows from it.
    EXPECT_THAT(said.out, HasSubstr("problem  operator     the operator does not run: "));
    EXPECT_THAT(said.out, HasSubstr("more findings follow from this"));
    EXPECT_THAT(said.out, Not(HasSubstr("caBundle")));
    EXPECT_THAT(said.out, HasSubstr("problem  jobset       no sign of JobSet's controller"));
    EXPECT_THAT(said.out, HasSubstr("\n2 problems, "));
}

// As JobSet's controller renews it, for as long as the test takes.
void lead_job_set(const patient& p) {
    const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    p.apply_text(
        "apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {name: 6d4f6a47.jobset.x-k8s.io, "
        "namespace: default}\nspec: {holderIdentity: jobset-1, leaseDurationSeconds: 3600, renewTime: \"" +
        fmt::format("{:%Y-%m-%dT%H:%M:%S}.000000Z", now) + "\"}\n");
}

awaitable<void> run_operator(asio::io_context* loop, const patient* p) {
    operator_child child(*loop, config, p->kubeconfig());
    EXPECT_TRUE(co_await child.said("\"leading\"")) << child.log();
    EXPECT_TRUE(co_await child.said(R"(injected into the webhook configuration","configuration":"validator)"))
        << child.log();
    EXPECT_TRUE(co_await child.said(R"(injected into the webhook configuration","configuration":"defaulter)"))
        << child.log();
    p->apply_text(endpoints);
    EXPECT_THAT(p->examine().out, HasSubstr("no sign of JobSet's controller"));
    lead_job_set(*p);
    const outcome well = p->examine();
    EXPECT_EQ(well.code, 0) << well.out;
    EXPECT_THAT(well.out, HasSubstr("0 problems"));
    EXPECT_THAT(well.out, HasSubstr("trusted by 4 webhooks"));
    EXPECT_THAT(well.out, HasSubstr(" leads\n"));
    EXPECT_EQ(co_await child.stop(), 0);
    EXPECT_THAT(p->examine().out, HasSubstr("the Lease is free"));
}

void break_it(const patient& p) {
    p.kubectl("-n kubeflow-system delete rolebinding kubeflow-trainer-controller-manager");
    p.kubectl(
        "-n kubeflow-system patch deployment kubeflow-trainer-controller-manager --type json -p "
        R"('[{"op":"replace","path":"/spec/replicas","value":1},{"op":"replace","path":)"
        R"("/spec/template/spec/containers/0/image","value":"ghcr.io/kubeflow/trainer/trainer-controller-manager:v2.3.0"}]')");
    const outcome said = p.examine();
    EXPECT_EQ(said.code, 1);
    EXPECT_THAT(said.out, HasSubstr("may not create, get, update leases.coordination.k8s.io"));
    EXPECT_THAT(said.out, Not(HasSubstr(" jobsets.jobset.x-k8s.io\n")));
    EXPECT_THAT(said.out, HasSubstr("the old controller still runs"));

    const outcome small = p.examine("--namespace nowhere");
    EXPECT_THAT(small.out,
                HasSubstr("system:serviceaccount:nowhere:kubeflow-trainer-controller-manager has none of the "));

    // Under another name everything hangs on the Service's, but for the Secret and the Lease.
    for (const auto* kind : {"mutatingwebhookconfiguration/defaulter", "validatingwebhookconfiguration/validator"})
        p.kubectl(std::string("patch ") + kind +
                  R"(.trainer.kubeflow.org --type json -p '[{"op":"replace","path":)"
                  R"("/webhooks/0/clientConfig/service/name","value":"other"}]')");
    const outcome renamed = p.examine();
    EXPECT_THAT(renamed.out, HasSubstr("system:serviceaccount:kubeflow-system:other has none of the "));
    EXPECT_THAT(renamed.out, HasSubstr("no Deployment other:"));
    const outcome configured = p.examine(
        "--config " +
        p.file("apiVersion: config.trainer.kubeflow.org/v1alpha1\nkind: Configuration\n"
               "leaderElection: {leaderElect: true, resourceName: mine}\ncertManagement: {webhookSecretName: cert}\n"));
    EXPECT_THAT(configured.out, HasSubstr("; there is no Lease mine: nobody leads"));
    EXPECT_THAT(p.examine("--service-account kubeflow-trainer-controller-manager -o json").out,
                HasSubstr("the old controller still runs"));
}

TEST(operator_doctor, follows_a_cluster_from_nothing_to_well_and_back) {
    const patient p;
    nothing_is_there(p);
    install(p);
    asio::io_context loop(1);
    test::run(loop, run_operator(&loop, &p));
    break_it(p);
}

TEST(operator_doctor, says_in_one_line_that_nobody_is_there) {
    const outcome said = run_text("KUBECONFIG=/does/not/exist " + std::string(COTRAIN_BINARY) + " doctor");
    EXPECT_EQ(said.code, 1);
    EXPECT_THAT(said.out, HasSubstr("problem  connection"));
}

}  // namespace
}  // namespace cotrain::test
