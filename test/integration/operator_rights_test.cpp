// What the operator needs of the API server, and what it does not: under roles that give no more.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "doc/edit.hpp"
#include "doc/json.hpp"
#include "doc/yaml.hpp"
#include "integration/control.hpp"
#include "integration/operator_scene.hpp"
#include "support/temp_dir.hpp"

namespace cotrain::test {
namespace {

using testing::IsEmpty;

constexpr auto head = "apiVersion: config.trainer.kubeflow.org/v1alpha1\nkind: Configuration\n";
constexpr auto torch_job = R"({"runtimeRef":{"name":"torch","kind":"TrainingRuntime"}})";
constexpr auto mpi_job = R"({"runtimeRef":{"name":"mpi","kind":"TrainingRuntime"},"trainer":{"numNodes":2}})";
constexpr auto suspended_mpi_job = R"({"runtimeRef":{"name":"mpi","kind":"TrainingRuntime"},"suspend":true})";

// What Kubeflow Trainer v2.3.0 gives its controller, but for webhook configurations.
constexpr auto reference_rules = R"([
  {"apiGroups":[""],"resources":["configmaps","secrets"],"verbs":["create","get","list","patch","update","watch"]},
  {"apiGroups":[""],"resources":["limitranges"],"verbs":["get","list","watch"]},
  {"apiGroups":[""],"resources":["events"],"verbs":["create","patch","update","watch"]},
  {"apiGroups":["jobset.x-k8s.io"],"resources":["jobsets"],"verbs":["create","get","list","patch","update","watch"]},
  {"apiGroups":["node.k8s.io"],"resources":["runtimeclasses"],"verbs":["get","list","watch"]},
  {"apiGroups":["scheduling.volcano.sh","scheduling.x-k8s.io"],"resources":["podgroups"],
   "verbs":["create","get","list","patch","update","watch"]},
  {"apiGroups":["trainer.kubeflow.org"],"resources":["clustertrainingruntimes","trainingruntimes","trainjobs"],
   "verbs":["get","list","patch","update","watch"]},
  {"apiGroups":["trainer.kubeflow.org"],
   "resources":["clustertrainingruntimes/finalizers","trainingruntimes/finalizers","trainjobs/finalizers","trainjobs/status"],
   "verbs":["get","patch","update"]}])";

std::string read_text(const std::filesystem::path& file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
}

// The rules of the first role in a file of deploy/.
std::string rules_of(const std::string& file, std::string_view kind) {
    const std::string text = read_text(std::filesystem::path(COTRAIN_SOURCE_DIR) / "deploy" / file);
    for (std::size_t at = 0; at != text.npos;) {
        const std::size_t end = text.find("\n---\n", at);
        doc::arena memory;
        const std::string part = text.substr(at, end == text.npos ? end : end - at);
        const auto document = doc::parse_yaml(memory, part);
        if (document && document->get("kind").as_string() == kind) return doc::to_json(document->get("rules"));
        at = end == text.npos ? end : end + 5;
    }
    throw std::runtime_error(file + " has no " + std::string(kind));
}

std::string without_secrets(const std::string& rules) {
    doc::arena memory;
    const auto all = doc::parse_json(memory, rules);
    doc::editor kept = doc::editor::array(memory);
    for (const doc::ref rule : all->items())
        if (!doc::to_json(rule.get("resources")).contains("secrets")) kept.append(rule);
    return doc::to_json(kept);
}

// The kubeconfig of the run, acting as somebody without any right but those that are granted.
class somebody {
   public:
    explicit somebody(std::string name) : name_(std::move(name)) {
        doc::arena memory;
        const std::string text = read_text(test_variable("COTRAIN_TEST_KUBECONFIG"));
        doc::editor document = doc::editor::of(memory, *doc::parse_yaml(memory, text));
        document.child("users").child(std::size_t{0}).child("user").set("as", name_);
        place_.write("kubeconfig", doc::to_json(document));
    }
    [[nodiscard]] std::string file() const { return place_.path("kubeconfig"); }
    [[nodiscard]] const std::string& name() const { return name_; }
    // In the namespace, or in the whole cluster without one.
    awaitable<void> grant(operator_scene& s, std::string ns, std::string rules) const {
        const std::string kind = ns.empty() ? "ClusterRole" : "Role";
        const std::string meta = R"("apiVersion":"rbac.authorization.k8s.io/v1","metadata":{"name":")" + name_ + "\"}";
        const kube::resource roles{"rbac.authorization.k8s.io", "v1", ns.empty() ? "clusterroles" : "roles", "Role",
                                   !ns.empty()};
        const kube::resource bindings{"rbac.authorization.k8s.io", "v1",
                                      ns.empty() ? "clusterrolebindings" : "rolebindings", "RoleBinding", !ns.empty()};
        const auto role =
            co_await s.api->create(roles, ns, R"({"kind":")" + kind + "\"," + meta + R"(,"rules":)" + rules + "}");
        EXPECT_TRUE(role) << (role ? "" : role.error().message);
        const auto bound = co_await s.api->create(
            bindings, ns,
            R"({"kind":")" + kind + R"(Binding",)" + meta + R"(,"roleRef":{"apiGroup":"rbac.authorization.k8s.io",)" +
                R"("kind":")" + kind + R"(","name":")" + name_ +
                R"("},"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":")" + name_ + R"("}]})");
        EXPECT_TRUE(bound) << (bound ? "" : bound.error().message);
    }
    awaitable<void> revoke(operator_scene& s) const {
        for (const auto* plural : {"clusterroles", "clusterrolebindings"}) {
            const kube::resource of{"rbac.authorization.k8s.io", "v1", plural, "ClusterRole", false};
            static_cast<void>(co_await s.api->remove(of, {.name = name_}));
        }
    }

   private:
    std::string name_;
    temp_dir place_;
};

awaitable<bool> start(operator_scene& s, const somebody& who, std::string config) {
    s.child = std::make_unique<operator_child>(s.loop, std::string(head) + config, who.file());
    co_return co_await s.child->said("all TrainJobs reconciled", std::chrono::seconds(120));
}

struct requests {
    std::set<std::string> refused;  // "verb resource"
    std::set<std::string> elsewhere;
    std::set<std::string> of_secrets;  // verbs
};

requests made_by(audit_log& log, const somebody& who, const std::string& ns) {
    requests out;
    for (const audit_entry& e : log.read()) {
        if (e.user != who.name() || e.resource.empty()) continue;  // the server's version is everybody's
        if (e.code == 403) out.refused.insert(e.verb + " " + e.resource);
        if (e.ns != ns && e.code != 403) out.elsewhere.insert(e.verb + " " + e.resource + " " + e.ns);
        if (e.resource == "secrets") out.of_secrets.insert(e.verb);
    }
    return out;
}

// A life of jobs with and without a Secret, which is deleted while its job is suspended.
awaitable<void> live(operator_scene& s) {
    co_await s.create_jobs("torch-", 0, 1, torch_job);
    co_await s.create_jobs("mpi-", 0, 1, mpi_job);
    co_await s.create_jobs("later-", 0, 1, suspended_mpi_job);
    EXPECT_TRUE(co_await s.until_count(kinds::job_set, 3));
    EXPECT_TRUE(co_await s.until_count(kinds::secret, 2));
    EXPECT_TRUE(co_await s.api->remove(kinds::secret, {.ns = s.ns, .name = "later-0-mpi-ssh-auth"}));
    EXPECT_TRUE(co_await s.api->merge_patch(kinds::train_job, {.ns = s.ns, .name = "later-0"},
                                            R"({"spec":{"suspend":false}})"));
    EXPECT_TRUE(
        co_await s.until(kinds::job_set, [](const std::string& all) { return !all.contains(R"("suspend":true)"); }));
    EXPECT_TRUE(co_await s.until_count(kinds::secret, 2)) << "made again before Pods need it";
    co_await s.complete_many("torch-", 1);
    EXPECT_TRUE(co_await s.until(kinds::train_job,
                                 [](const std::string& all) { return count_of(all, R"("type":"Complete")") == 1; }));
}

TEST(operator_rights, a_role_in_a_namespace_is_enough) {
    operator_scene scene("operator-rights-role");
    scene.play(+[](operator_scene& s) -> awaitable<void> {
        const somebody tenant("tenants-operator");
        co_await tenant.grant(s, s.ns, rules_of("overlays/namespaced/rights.yaml", "Role"));
        audit_log log(test_variable("COTRAIN_TEST_AUDIT"));
        EXPECT_TRUE(co_await start(s, tenant, "namespaces: [" + s.ns + "]\nwebhook: {enabled: false}\n"));
        co_await live(s);
        EXPECT_EQ(co_await s.child->stop(), 0);
        s.child.reset();
        const requests seen = made_by(log, tenant, s.ns);
        EXPECT_THAT(seen.elsewhere, IsEmpty()) << "nothing of others was asked for";
        for (const std::string& each : seen.refused)
            EXPECT_TRUE(each.ends_with(" clustertrainingruntimes") || each.ends_with(" runtimeclasses") ||
                        each.ends_with(" priorityclasses"))
                << each;
        EXPECT_EQ(seen.of_secrets, (std::set<std::string>{"get", "patch"}));
    });
}

TEST(operator_rights, the_shipped_cluster_role_is_enough) {
    operator_scene scene("operator-rights-base");
    scene.play(+[](operator_scene& s) -> awaitable<void> {
        const somebody shipped("shipped-operator");
        co_await shipped.grant(s, "", rules_of("base/rbac/manager.yaml", "ClusterRole"));
        audit_log log(test_variable("COTRAIN_TEST_AUDIT"));
        EXPECT_TRUE(co_await start(s, shipped, ""));
        co_await live(s);
        EXPECT_EQ(co_await s.child->stop(), 0);
        s.child.reset();
        const requests seen = made_by(log, shipped, s.ns);
        EXPECT_THAT(seen.refused, IsEmpty());
        EXPECT_EQ(seen.of_secrets, (std::set<std::string>{"get", "patch"}));
        co_await shipped.revoke(s);
    });
}

// Contract: a swap under the reference's own role goes unnoticed; what it lacks, ours does without.
TEST(operator_rights, the_references_cluster_role_is_enough) {
    operator_scene scene("operator-rights-reference");
    scene.play(+[](operator_scene& s) -> awaitable<void> {
        const somebody swapped("swapped-operator");
        co_await swapped.grant(s, "", reference_rules);
        audit_log log(test_variable("COTRAIN_TEST_AUDIT"));
        EXPECT_TRUE(co_await start(s, swapped, ""));
        co_await live(s);
        EXPECT_EQ(co_await s.child->stop(), 0);
        s.child.reset();
        for (const std::string& each : made_by(log, swapped, s.ns).refused)
            EXPECT_TRUE(each.ends_with(" priorityclasses") || each == "delete podgroups" || each == "create events")
                << each;
        co_await swapped.revoke(s);
    });
}

TEST(operator_rights, without_secrets_torch_jobs_run_and_mpi_jobs_say_why_they_do_not) {
    operator_scene scene("operator-rights-no-secrets");
    scene.play(+[](operator_scene& s) -> awaitable<void> {
        const somebody frugal("frugal-operator");
        co_await frugal.grant(s, "", without_secrets(rules_of("base/rbac/manager.yaml", "ClusterRole")));
        EXPECT_TRUE(co_await start(s, frugal, ""));
        co_await s.create_jobs("torch-", 0, 1, torch_job);
        co_await s.create_jobs("mpi-", 0, 1, mpi_job);
        EXPECT_TRUE(co_await s.until_count(kinds::job_set, 1));
        EXPECT_TRUE(co_await s.until(kinds::train_job, [](const std::string& all) {
            return all.contains("ResourcesReady") && all.contains("resource \\\"secrets\\\"");
        }));
        EXPECT_EQ(co_await s.count(kinds::job_set), 1);
        EXPECT_EQ(co_await s.child->stop(), 0);
        s.child.reset();
        co_await frugal.revoke(s);
    });
}

}  // namespace
}  // namespace cotrain::test
