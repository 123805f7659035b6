// What the doctor makes of what it is shown.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <string>

#include "api/names.hpp"
#include "app/command.hpp"
#include "app/doctor/judge.hpp"
#include "base/encoding.hpp"
#include "doc/json.hpp"
#include "plugins/builtin.hpp"
#include "support/certificates.hpp"
#include "support/temp_dir.hpp"

namespace cotrain::app {
namespace {

using testing::HasSubstr;

constexpr kube::resource train_jobs{"trainer.kubeflow.org", "v1alpha1", "trainjobs", "TrainJob"};
constexpr wanted_definition wanted{train_jobs, true, "apply them"};

std::chrono::sys_seconds now() { return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()); }

std::string definition(const std::string& properties, const std::string& version = "v1alpha1",
                       const std::string& established = "True") {
    return R"({"spec":{"versions":[{"name":")" + version +
           R"(","served":true,"schema":{"openAPIV3Schema":{"properties":{"spec":{"properties":{)" + properties +
           R"(}}}}}}]},"status":{"storedVersions":[")" + version +
           R"("],"conditions":[{"type":"Established","status":")" + established + R"("}]}})";
}

TEST(doctor, knows_whose_definitions_are_there) {
    const auto judged = [](const std::string& body) { return judge_definition(wanted, body); };
    EXPECT_EQ(judged(definition(R"("runtimePatches":{},"podTemplateOverrides":{})")).how, verdict::fine);
    const finding theirs = judged(definition(R"("runtimePatches":{})"));
    EXPECT_EQ(theirs.how, verdict::advice);
    EXPECT_THAT(theirs.remedy, HasSubstr("deploy/crds"));
    EXPECT_EQ(judged(definition(R"("podTemplateOverrides":{})")).how, verdict::problem);
    EXPECT_THAT(judged(definition("", "v1beta9")).what, HasSubstr("does not serve v1alpha1"));
    EXPECT_THAT(judged(definition("", "v1alpha1", "False")).what, HasSubstr("not established"));
    const finding gone = judge_definition(wanted, std::nullopt);
    EXPECT_EQ(gone.how, verdict::problem);
    EXPECT_EQ(gone.remedy, "apply them");
    EXPECT_EQ(judge_definition({train_jobs, false, {}}, std::nullopt).how, verdict::fine);
}

TEST(doctor, names_the_versions_that_are_supported) {
    EXPECT_EQ(judge_version({1, 36, "v1.36.3"}, "https://k", "me").how, verdict::fine);
    EXPECT_EQ(judge_version({1, 29, "v1.29.0"}, "https://k", "me").how, verdict::problem);
    EXPECT_EQ(judge_version({1, 99, "v1.99.0"}, "https://k", "me").how, verdict::advice);
}

std::string lease(const std::string& holder, const std::string& renewed) {
    return R"({"metadata":{"name":"trainer.kubeflow.org"},"spec":{"holderIdentity":")" + holder +
           R"(","leaseDurationSeconds":15,"renewTime":")" + renewed + R"("}})";
}

TEST(doctor, tells_a_fresh_lease_from_a_dead_one) {
    const auto at = std::chrono::sys_seconds(std::chrono::seconds(1'767'348'245));  // 2026-01-02T10:04:05Z
    const auto judged = [at](const std::optional<std::string>& body) {
        return judge_lease(body, "trainer.kubeflow.org", false, at);
    };
    EXPECT_THAT(judged(lease("pod-a_1", "2026-01-02T10:04:00.000000Z")).what, HasSubstr("pod-a_1 leads"));
    const finding dead = judged(lease("pod-a_1", "2026-01-02T08:00:00.000000Z"));
    EXPECT_EQ(dead.how, verdict::problem);
    EXPECT_THAT(dead.what, HasSubstr("renewed last 2 h ago"));
    EXPECT_EQ(judged(lease("", "2026-01-02T10:04:00.000000Z")).how, verdict::problem);
    EXPECT_EQ(judged("{").how, verdict::unknown);
    EXPECT_EQ(judged(std::nullopt).how, verdict::advice);
    const finding wanted_one = judge_lease(std::nullopt, "mine", true, at);
    EXPECT_EQ(wanted_one.how, verdict::problem);
    EXPECT_EQ(wanted_one.what, "there is no Lease mine: nobody leads");
}

std::string configuration(const std::string& bundle) {
    return R"({"webhooks":[{"name":"validator.trainjob.trainer.kubeflow.org","clientConfig":{"caBundle":")" +
           base::encode_base64(bundle) + R"(","service":{"namespace":"ns","name":"svc"}}},)" +
           R"({"name":"somebody.example.com","clientConfig":{}}]})";
}

findings judged_webhooks(const std::string& bundle, const test::certificate& served, std::chrono::sys_seconds at) {
    findings out;
    judge_certificate(read_webhooks("validator", configuration(bundle), out), served.certificate_pem, at, out);
    return out;
}

TEST(doctor, checks_that_the_webhooks_trust_what_is_served) {
    const test::authority ours("ours");
    const test::authority other("other");
    const auto served = ours.issue({.names = {"svc.ns.svc"}, .valid_until = std::chrono::hours(24 * 365)});
    EXPECT_EQ(exit_code(judged_webhooks(ours.pem(), served, now())), 0);
    EXPECT_EQ(exit_code(judged_webhooks(other.pem() + ours.pem(), served, now())), 0);
    const auto below =
        ours.intermediate("below").issue({.names = {"svc.ns.svc"}, .valid_until = std::chrono::hours(9999)});
    EXPECT_EQ(exit_code(judged_webhooks(ours.pem(), below, now())), 0);
    const findings strange = judged_webhooks(other.pem(), served, now());
    EXPECT_EQ(exit_code(strange), 1);
    EXPECT_THAT(to_text(strange), HasSubstr("trusts another authority"));
    EXPECT_THAT(to_text(judged_webhooks("", served, now())), HasSubstr("has no caBundle"));
    const auto elsewhere = ours.issue({.names = {"other.ns.svc"}, .valid_until = std::chrono::hours(24 * 365)});
    EXPECT_THAT(to_text(judged_webhooks(ours.pem(), elsewhere, now())),
                HasSubstr("not for svc.ns.svc, but for other.ns.svc"));
}

TEST(doctor, sees_certificates_end) {
    const test::authority ours("ours");
    const auto served = ours.issue({.names = {"svc.ns.svc"}, .valid_until = std::chrono::hours(24 * 40)});
    EXPECT_THAT(to_text(judged_webhooks(ours.pem(), served, now())), HasSubstr("is valid until"));
    const findings soon = judged_webhooks(ours.pem(), served, now() + std::chrono::days(20));
    EXPECT_EQ(exit_code(soon), 0);
    EXPECT_THAT(to_text(soon), HasSubstr("was not renewed"));
    EXPECT_THAT(to_text(judged_webhooks(ours.pem(), served, now() + std::chrono::days(41))), HasSubstr("expired on"));
    findings broken;
    judge_certificate({}, "no certificate", now(), broken);
    EXPECT_EQ(exit_code(broken), 1);
}

TEST(doctor, counts_who_answers) {
    const webhook_target target{.configuration = "v", .webhook = "w", .ns = "ns", .service = "svc"};
    EXPECT_EQ(judge_endpoints(target, R"({"items":[]})").how, verdict::problem);
    EXPECT_EQ(
        judge_endpoints(target, R"({"items":[{"endpoints":[{"addresses":["a"],"conditions":{"ready":false}}]}]})").how,
        verdict::problem);
    EXPECT_EQ(judge_endpoints(target, R"({"items":[{"endpoints":[{"addresses":["a"]}]}]})").how, verdict::fine);
}

TEST(doctor, sees_gangs_that_nobody_schedules_and_marks_of_old_controllers) {
    runtime_needs needs;
    read_runtimes(
        R"({"items":[{"metadata":{"name":"r","namespace":"ns","finalizers":["trainer.kubeflow.org/resource-in-use"]},)"
        R"("spec":{"podGroupPolicy":{"volcano":{}}}},{"metadata":{"name":"plain"},"spec":{}}]})",
        needs);
    EXPECT_EQ(exit_code(judge_gang(needs, false, true)), 0);
    const findings out = judge_gang(needs, true, false);
    EXPECT_EQ(exit_code(out), 1);
    EXPECT_THAT(to_text(out), HasSubstr("runtime ns/r asks for volcano"));
    ASSERT_EQ(judge_leftovers(needs).size(), 1U);
    EXPECT_THAT(judge_leftovers(needs)[0].what, HasSubstr("ns/r"));
    EXPECT_TRUE(judge_leftovers({}).empty());
}

std::string deployments(const std::string& image, int replicas, int ready) {
    return R"({"items":[{"metadata":{"name":"kubeflow-trainer-controller-manager","namespace":"ns"},"spec":{"replicas":)" +
           std::to_string(replicas) + R"(,"template":{"spec":{"containers":[{"image":")" + image +
           R"("}]}}},"status":{"readyReplicas":)" + std::to_string(ready) + "}}]}";
}

TEST(doctor, tells_the_old_controller_from_ours) {
    const std::string old = "ghcr.io/kubeflow/trainer/trainer-controller-manager:v2.3.0";
    const auto judged = [](const std::string& list) { return judge_deployments(list, "manager"); };
    EXPECT_THAT(to_text(judged(deployments(old, 1, 1))), HasSubstr("the old controller still runs"));
    EXPECT_EQ(exit_code(judged(deployments(old, 0, 0))), 0);
    EXPECT_EQ(exit_code(judged(deployments("r/cotrain:v1", 2, 1))), 0);
    EXPECT_EQ(exit_code(judged(deployments("r/cotrain:v1", 2, 0))), 1);
    const finding none = judged(R"({"items":[]})").at(0);
    EXPECT_EQ(none.how, verdict::advice);
    EXPECT_THAT(none.what, HasSubstr("no Deployment manager:"));
}

finding only(const findings& all) {
    EXPECT_EQ(all.size(), 1U) << to_text(all);
    return all.at(0);
}

TEST(doctor, names_definitions_that_are_installed_together_in_one_line) {
    const wanted_definition other{{"trainer.kubeflow.org", "v1alpha1", "trainingruntimes", "T"}, true, "apply them"};
    const wanted_definition job_sets{{"jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet"}, true, "install JobSet"};
    const findings all = judge_missing({wanted, other, job_sets});
    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(all[0].what, "trainjobs.trainer.kubeflow.org, trainingruntimes.trainer.kubeflow.org are not there");
    EXPECT_EQ(all[0].root, roots::not_installed);
    EXPECT_EQ(all[1].what, "jobsets.jobset.x-k8s.io is not there");
    EXPECT_EQ(all[1].root, roots::no_job_set);
}

TEST(doctor, leaves_out_what_follows_from_a_problem) {
    const finding root{.how = verdict::problem, .area = "a", .what = "nothing is there", .root = roots::not_installed};
    const finding below{.how = verdict::problem,
                        .area = "b",
                        .what = "nobody runs",
                        .root = roots::no_operator,
                        .from = roots::not_installed};
    const finding last{.how = verdict::advice, .area = "c", .what = "no answer", .from = roots::no_operator};
    const finding fine{.area = "d", .what = "well", .from = roots::no_operator};
    // In whatever order they were found.
    EXPECT_THAT(to_text(fold({last, below, root, fine})),
                testing::StartsWith("problem  a            nothing is there (2 more findings follow from this)\n"
                                    "fine     d            well\n"));
    EXPECT_EQ(fold({last, below}).front().what, "nobody runs (1 more finding follows from this)");
    // No cause, no consequence; and advice is no cause.
    finding doubt = root;
    doubt.how = verdict::advice;
    EXPECT_EQ(fold({doubt, last, below}).size(), 2U);
    EXPECT_EQ(fold({last, fine}), (findings{last, fine}));
}

TEST(doctor, sees_whether_the_operator_runs_at_all) {
    const auto at = std::chrono::sys_seconds(std::chrono::seconds(1'767'348'245));
    const finding fresh = judge_lease(lease("pod-a_1", "2026-01-02T10:04:00.000000Z"), "l", false, at);
    const finding none = judge_lease(std::nullopt, "l", false, at);
    const auto with = [](const std::string& list, const finding& l) {
        return judge_operator(judge_deployments(list, "manager"), l);
    };
    const std::string nothing = R"({"items":[]})";
    const finding dead = only(with(nothing, none));
    EXPECT_EQ(dead.how, verdict::problem);
    EXPECT_THAT(dead.what, HasSubstr("does not run: no Deployment manager"));
    EXPECT_THAT(dead.what, HasSubstr("no Lease l"));
    EXPECT_EQ(only(with(deployments("r/cotrain:v1", 0, 0), none)).root, roots::no_operator);
    // It runs, where either says so.
    EXPECT_EQ(exit_code(with(nothing, fresh)), 0);
    EXPECT_EQ(exit_code(with(deployments("r/cotrain:v1", 0, 0), fresh)), 0);
    EXPECT_EQ(exit_code(with(deployments("r/cotrain:v1", 1, 1), none)), 0);
    // Another controller in its place is the cause.
    const findings replaced = fold(with(deployments("k/trainer-controller-manager:v2", 1, 1), none));
    EXPECT_EQ(only(replaced).area, "leftovers");
}

TEST(doctor, looks_for_job_sets_controller) {
    const auto at = std::chrono::sys_seconds(std::chrono::seconds(1'767'348'245));
    const auto list = [](const std::string& item) { return R"({"items":[)" + item + "]}"; };
    const auto judged = [&](const std::string& leases, const std::string& deployments_there) {
        return judge_job_set_controller(list(leases), deployments_there, at);
    };
    const std::string fresh = lease("jobset-1", "2026-01-02T10:04:00.000000Z");
    const std::string stale = lease("jobset-1", "2026-01-02T08:00:00.000000Z");
    EXPECT_EQ(judged(fresh, list("")).how, verdict::fine);
    EXPECT_EQ(judged(stale + "," + fresh, list("")).how, verdict::fine) << "two installations, one of them is left";
    EXPECT_EQ(judged("", deployments("jobset", 1, 1)).how, verdict::fine) << "one replica without election";
    const finding gone = judged("", list(""));
    EXPECT_EQ(gone.how, verdict::problem);
    EXPECT_THAT(gone.what, HasSubstr("JobSets get no Jobs"));
    EXPECT_THAT(gone.remedy, HasSubstr("jobset.sigs.k8s.io/docs/installation"));
    const finding down = judged(stale, deployments("jobset", 1, 0));
    EXPECT_EQ(down.how, verdict::problem);
    EXPECT_THAT(down.what, HasSubstr("0 of 1 ready"));
    EXPECT_THAT(down.remedy, HasSubstr("kubectl describe deployment -n ns "));
    EXPECT_EQ(judged(stale, list("")).how, verdict::problem);
    // Where its definition is missing, that is the cause.
    EXPECT_EQ(only(fold({judge_missing({{{"jobset.x-k8s.io", "v1", "jobsets", ""}, true, ""}}).front(), gone})).area,
              "definitions");
}

TEST(doctor, says_what_elastic_jobs_lack) {
    const auto definition = [](const std::string& trainer) {
        return R"({"spec":{"versions":[{"schema":{"openAPIV3Schema":{"properties":{"spec":{"properties":{"trainer":)" +
               trainer + "}}}}}}]}}";
    };
    const auto job_set = [](const std::string& gates) {
        return R"({"items":[{"data":{"controller_manager_config.yaml":"kind: Configuration\n)" + gates + R"("}}]})";
    };
    const findings fine = judge_elastic(definition("{}"), job_set("featureGates:\\n  ElasticJobSet: true"));
    ASSERT_EQ(fine.size(), 2U);
    EXPECT_EQ(fine[0].how, verdict::fine);
    EXPECT_EQ(fine[1].how, verdict::fine);
    const findings none =
        judge_elastic(definition(R"({"x-kubernetes-validations":[{"rule":"self == oldSelf"}]})"), job_set(""));
    ASSERT_EQ(none.size(), 2U);
    EXPECT_EQ(none[0].how, verdict::problem);
    EXPECT_THAT(none[0].what, HasSubstr("no TrainJob can be scaled"));
    EXPECT_EQ(none[1].how, verdict::advice);
    EXPECT_THAT(none[1].remedy, HasSubstr("ElasticJobSet: true"));
    const auto open = read_configuration(
        "apiVersion: config.trainer.kubeflow.org/v1alpha1\nkind: Configuration\nfeatureGates: {ElasticTrainJob: "
        "true}\n");
    ASSERT_TRUE(open);
    EXPECT_TRUE(own_objects_of(*open).elastic);
    EXPECT_FALSE(own_objects{}.elastic);
}

TEST(doctor, makes_one_line_of_many_missing_rights) {
    const finding one{.how = verdict::advice, .area = "rights", .what = "less comfort", .remedy = "a"};
    const finding bad{.how = verdict::problem, .area = "rights", .what = "robot may not get things", .remedy = "b"};
    EXPECT_EQ(judge_rights({one, bad}, 2, 50, "robot").size(), 2U);
    const findings many = judge_rights({one, one, bad, one}, 7, 50, "robot");
    EXPECT_EQ(only(many).how, verdict::problem);
    EXPECT_EQ(only(many).what, "7 of 50 rights are missing; the first: robot may not get things");
    EXPECT_EQ(only(many).remedy, "b");
    EXPECT_THAT(only(judge_rights({one, one, one, one}, 50, 50, "robot")).what, HasSubstr("robot has none of the 50"));
}

// Before, the client tried again until its deadline: 10 s here, 30 s in `probe`.
TEST(doctor, tells_a_refused_port_at_once) {
    const test::temp_dir dir;
    const std::string file = dir.write("config",
                                       "apiVersion: v1\nkind: Config\ncurrent-context: a\n"
                                       "clusters: [{name: a, cluster: {server: \"https://127.0.0.1:1\"}}]\n"
                                       "contexts: [{name: a, context: {cluster: a}}]\n");
    const std::array<std::string_view, 2> words{"--kubeconfig", file};
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(run_doctor(words), 1);
    EXPECT_EQ(run_probe(words), 1);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

TEST(doctor, asks_one_question_for_each_verb) {
    std::size_t asked = 0;
    for (const right& each : operator_rights({})) {
        for (const kube::access_question& q : questions_of(each, "home")) {
            ++asked;
            EXPECT_FALSE(q.verb.contains(' '));
            EXPECT_EQ(q.ns, each.own_namespace ? "home" : "");
            // A role that names an object cannot allow its creation.
            EXPECT_TRUE(q.verb != "create" || q.name.empty());
            const kube::call about = ask_about(q, "home", "robot");
            doc::arena memory;
            const auto body = doc::parse_json(memory, about.http.body);
            ASSERT_TRUE(body) << about.http.body;
            EXPECT_EQ(body->get("kind").as_string(), "SubjectAccessReview");
            EXPECT_EQ(body->get({"spec", "user"}).as_string(), "system:serviceaccount:home:robot");
            EXPECT_EQ(body->get({"spec", "groups"}).size(), 3U);
            EXPECT_EQ(body->get({"spec", "resourceAttributes", "verb"}).as_string(), q.verb);
        }
    }
    EXPECT_GT(asked, 50U);
    const right needed{"get list", "g", "things"};
    const finding without = missing_right(needed, {"get", "list"}, "robot");
    EXPECT_EQ(without.how, verdict::problem);
    EXPECT_THAT(without.what, HasSubstr("robot may not get, list things.g"));
    const right nice{"get", "", "things", {}, {}, false, "less comfort"};
    EXPECT_EQ(missing_right(nice, {"get"}, "robot").how, verdict::advice);
}

bool asks(const std::vector<right>& all, const kube::access_question& wanted_one) {
    for (const right& each : all)
        for (const kube::access_question& q : questions_of(each, "home"))
            if (q.verb == wanted_one.verb && q.plural == wanted_one.plural && q.ns == wanted_one.ns &&
                q.name == wanted_one.name && (wanted_one.group.empty() || q.group == wanted_one.group))
                return true;
    return false;
}

TEST(doctor, says_what_gangs_of_kubernetes_lack) {
    EXPECT_EQ(judge_workloads("scheduling.k8s.io/v1beta1", {1, 37, "v1.37.1"}).how, verdict::fine);
    const finding closed = judge_workloads({}, {1, 37, "v1.37.1"});
    EXPECT_EQ(closed.how, verdict::problem);
    EXPECT_THAT(closed.remedy, HasSubstr("feature gate GenericWorkload"));
    const finding old = judge_workloads({}, {1, 35, "v1.35.2"});
    EXPECT_THAT(old.what, HasSubstr("Kubernetes v1.35.2 has no Workloads"));
    EXPECT_THAT(old.remedy, HasSubstr("1.36 or later"));
    const auto open = read_configuration(
        "apiVersion: config.trainer.kubeflow.org/v1alpha1\nkind: Configuration\nfeatureGates: "
        "{TrainJobWorkloadAwareScheduling: true}\n");
    ASSERT_TRUE(open);
    EXPECT_TRUE(asks(operator_rights(own_objects_of(*open)),
                     {.verb = "delete", .group = "scheduling.k8s.io", .plural = "podgroups"}));
    EXPECT_FALSE(asks(operator_rights({}), {.verb = "list", .group = "scheduling.k8s.io", .plural = "workloads"}));
}

// What follows from the plugins' children and event sources, and what they declare besides.
TEST(doctor, asks_for_the_rights_that_plugins_need) {
    const own_objects own{.workload_aware = true};
    const std::vector<right> all = operator_rights(own);
    const auto expect = [&](const api::resource_type& type, std::string_view verbs) {
        const right needed{verbs, type.group, type.plural};
        for (const kube::access_question& q : questions_of(needed, "home"))
            EXPECT_TRUE(asks(all, q)) << q.verb << " " << q.plural;
    };
    const plugins::builtin plugins;
    for (const runtime::child& c : plugins.children()) {
        expect(*c.type, "create patch");
        if (c.type->kind != "Secret") expect(*c.type, "list watch");
    }
    for (const runtime::event_source& e : plugins.event_sources()) expect(*e.type, "list watch");
    for (const runtime::permission& each : plugins.permissions()) expect(*each.type, each.verbs);
}

TEST(doctor, asks_for_the_rights_that_the_configuration_needs) {
    const own_objects unknown;
    const std::vector<right> usual = operator_rights(unknown);
    EXPECT_TRUE(asks(usual, {.verb = "update", .plural = "leases", .ns = "home"}));
    EXPECT_TRUE(
        asks(usual, {.verb = "get", .plural = "secrets", .ns = "home", .name = "kubeflow-trainer-webhook-cert"}));
    EXPECT_FALSE(asks(usual, {.verb = "create", .plural = "tokenreviews"}));
    EXPECT_FALSE(asks(usual, {.verb = "delete", .plural = "trainjobs"}));

    const auto config = read_configuration(
        "apiVersion: config.trainer.kubeflow.org/v1alpha1\nkind: Configuration\n"
        "leaderElection: {leaderElect: true, resourceName: mine, resourceNamespace: leases}\n"
        "certManagement: {webhookSecretName: cert}\nmetrics: {authentication: true}\n"
        "featureGates: {TrainJobTTL: true}\n");
    ASSERT_TRUE(config) << config.error().message;
    const own_objects own = own_objects_of(*config);
    EXPECT_EQ(own.lease, "mine");
    EXPECT_TRUE(own.election);
    const std::vector<right> all = operator_rights(own);
    EXPECT_TRUE(asks(all, {.verb = "update", .plural = "leases", .ns = "leases"}));
    EXPECT_FALSE(asks(all, {.verb = "update", .plural = "leases", .ns = "home"}));
    EXPECT_TRUE(asks(all, {.verb = "get", .plural = "secrets", .ns = "home", .name = "cert"}));
    EXPECT_TRUE(asks(all, {.verb = "create", .plural = "tokenreviews"}));
    EXPECT_TRUE(asks(all, {.verb = "delete", .plural = "trainjobs"}));

    const auto alone = read_configuration(
        "apiVersion: config.trainer.kubeflow.org/v1alpha1\nkind: Configuration\ncertManagement: {enable: false}\n");
    ASSERT_TRUE(alone) << alone.error().message;
    const own_objects none = own_objects_of(*alone);
    EXPECT_EQ(none.election, false);
    EXPECT_FALSE(asks(operator_rights(none), {.verb = "update", .plural = "leases", .ns = "home"}));
    EXPECT_FALSE(asks(operator_rights(none),
                      {.verb = "get", .plural = "secrets", .ns = "home", .name = "kubeflow-trainer-webhook-cert"}));
}

TEST(doctor, asks_in_the_namespaces_that_are_looked_at) {
    const auto config = read_configuration(
        "apiVersion: config.trainer.kubeflow.org/v1alpha1\nkind: Configuration\n"
        "namespaces: [a, b]\nwebhook: {enabled: false}\nfeatureGates: {TrainJobTTL: true}\n");
    ASSERT_TRUE(config) << config.error().message;
    const own_objects own = own_objects_of(*config);
    const std::vector<right> all = operator_rights(own);
    for (const auto* ns : {"a", "b"}) {
        EXPECT_TRUE(asks(all, {.verb = "create", .plural = "jobsets", .ns = ns}));
        EXPECT_TRUE(asks(all, {.verb = "get", .plural = "secrets", .ns = ns}));
        EXPECT_TRUE(asks(all, {.verb = "delete", .plural = "trainjobs", .ns = ns}));
    }
    EXPECT_FALSE(asks(all, {.verb = "create", .plural = "jobsets"}));
    EXPECT_FALSE(asks(
        all, {.verb = "update", .plural = "mutatingwebhookconfigurations", .name = "defaulter.trainer.kubeflow.org"}));
    for (const right& each : all) {
        const bool wide = each.plural == "clustertrainingruntimes" || each.plural == "runtimeclasses";
        EXPECT_EQ(each.ns.empty(), wide || each.plural == "priorityclasses" || each.own_namespace) << each.plural;
        EXPECT_TRUE(!wide || !each.without.empty()) << "it can do without " << each.plural;
    }
    EXPECT_THAT(missing_right({"get", "", "things", {}, {}, false, "", "a"}, {"get"}, "robot").what,
                HasSubstr("things in namespace a"));
}

// Kubernetes knows no right to metadata alone.
TEST(doctor, asks_for_no_right_to_list_watch_or_delete_secrets) {
    for (const auto* verb : {"list", "watch", "update", "delete"})
        EXPECT_FALSE(asks(operator_rights({}), {.verb = verb, .plural = "secrets"})) << verb;
}

TEST(doctor, prints_for_people_and_for_scripts) {
    const findings all{{.area = "connection", .what = "there"},
                       {.how = verdict::problem, .area = "lease", .what = "two\nlines \"quoted\"", .remedy = "look"}};
    EXPECT_EQ(to_text(all),
              "fine     connection   there\nproblem  lease        two lines \"quoted\"\n"
              "                      do: look\n1 problems, 0 pieces of advice, 0 things that could not be looked at\n");
    doc::arena memory;
    const std::string json = to_json(all);
    const auto document = doc::parse_json(memory, json);
    ASSERT_TRUE(document) << json;
    EXPECT_EQ(document->get("problems").as_int(), 1);
    EXPECT_EQ(document->get("unknown").as_int(), 0);
    EXPECT_TRUE(to_json({{.how = verdict::unknown, .area = "lease", .what = "403"}}).contains(R"("unknown": 1)"));
    EXPECT_EQ(document->get("findings").at(1).get("what").as_string(), "two lines \"quoted\"");
    EXPECT_EQ(document->get("findings").at(1).get("remedy").as_string(), "look");
    EXPECT_EQ(exit_code(all), 1);
    EXPECT_EQ(exit_code({}), 0);
}

TEST(doctor, is_told_when_it_is_used_wrongly) {
    const auto code = [](std::vector<std::string_view> words) { return run_doctor(words); };
    EXPECT_EQ(code({"--nonsense", "x"}), 2);
    EXPECT_EQ(code({"--kubeconfig"}), 2);
    EXPECT_EQ(code({"-o", "xml"}), 2);
    EXPECT_EQ(code({"--config", "/does/not/exist"}), 2);
    EXPECT_EQ(code({"--kubeconfig", "/does/not/exist"}), 1);
    EXPECT_EQ(code({"--kubeconfig=/does/not/exist", "-o=json"}), 1);
}

}  // namespace
}  // namespace cotrain::app
