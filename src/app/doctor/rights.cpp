// The table of rights, as deploy/base/rbac/manager.yaml grants them.
#include "app/doctor/judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "api/names.hpp"
#include "base/json_text.hpp"

namespace cotrain::app {

namespace {

constexpr std::string_view trainer = api::names::trainer_group;
constexpr std::string_view webhooks = "admissionregistration.k8s.io";
constexpr std::string_view no_authority =
    "webhooks are not told which certificate to trust, unless another tool does it";
constexpr std::string_view stays = "PodGroups of ended jobs stay and hold their queue's share";

constexpr std::array rights{
    right{"get list watch", trainer, "trainjobs"},
    right{"get list watch", trainer, "trainingruntimes"},
    right{"get list watch", trainer, "clustertrainingruntimes"},
    right{"patch", trainer, "trainjobs", "status"},
    right{"update",
          trainer,
          "trainjobs",
          "finalizers",
          {},
          false,
          "where OwnerReferencesPermissionEnforcement is on, no child can be made"},
    right{"patch", trainer, "trainingruntimes", {}, {}, false, "finalizers of old versions stay on runtimes"},
    right{"patch", trainer, "clustertrainingruntimes", {}, {}, false, "finalizers of old versions stay on runtimes"},
    right{"create delete get list patch watch", "jobset.x-k8s.io", "jobsets"},
    right{"create list patch watch", "scheduling.x-k8s.io", "podgroups"},
    right{"delete", "scheduling.x-k8s.io", "podgroups", {}, {}, false, stays},
    right{"create list patch watch", "scheduling.volcano.sh", "podgroups"},
    right{"delete", "scheduling.volcano.sh", "podgroups", {}, {}, false, stays},
    right{"create get list patch watch", "", "configmaps"},
    right{"create get patch", "", "secrets", {}, {}, false, "MPI and Flux jobs do not start"},
    right{"list watch", "", "limitranges"},
    right{"list watch", "node.k8s.io", "runtimeclasses"},
    right{"list watch",
          "scheduling.k8s.io",
          "priorityclasses",
          {},
          {},
          false,
          "Volcano's priority classes are not checked at admission"},
    right{"create patch", "events.k8s.io", "events", {}, {}, false, "no events are written"},
    right{"list", "", "pods", {}, {}, false, "nothing is said of Pods that do not start or failed"},
    right{"list", "events.k8s.io", "events", {}, {}, false, "nothing is said of Pods that cannot be made"},
    right{"list", "kueue.x-k8s.io", "workloads", {}, {}, false, "nothing is said of what Kueue's queues wait for"},
};

// Where the certificate is ours.
constexpr std::array configuration_rights{
    right{"get update watch",
          webhooks,
          "mutatingwebhookconfigurations",
          {},
          "defaulter.trainer.kubeflow.org",
          false,
          no_authority},
    right{"get update watch",
          webhooks,
          "validatingwebhookconfigurations",
          {},
          "validator.trainer.kubeflow.org",
          false,
          no_authority},
};

// Who looks at some namespaces only may do without what belongs to none.
constexpr std::array cluster_wide_kinds{
    std::pair<std::string_view, std::string_view>{"clustertrainingruntimes", "ClusterTrainingRuntimes cannot be used"},
    std::pair<std::string_view, std::string_view>{"runtimeclasses",
                                                  "gangs are sized without the overhead of RuntimeClasses"},
    std::pair<std::string_view, std::string_view>{"priorityclasses", {}},
};

// With gate TrainJobWorkloadAwareScheduling.
constexpr std::string_view kept =
    "Workloads and PodGroups of ended jobs stay, and suspended jobs whose gang changes do not go on";
constexpr std::array workload_rights{
    right{"create list patch watch", "scheduling.k8s.io", "workloads"},
    right{"delete", "scheduling.k8s.io", "workloads", {}, {}, false, kept},
    right{"create list patch watch", "scheduling.k8s.io", "podgroups"},
    right{"delete", "scheduling.k8s.io", "podgroups", {}, {}, false, kept},
};

// The rights in each of these namespaces.
std::vector<right> by_namespace(const std::vector<right>& all, const std::vector<std::string>& namespaces) {
    std::vector<right> out;
    for (right each : all) {
        const auto* const wide =
            std::ranges::find(cluster_wide_kinds, each.plural, [](const auto& k) { return k.first; });
        if (wide != cluster_wide_kinds.end()) {
            if (each.without.empty()) each.without = wide->second;
            out.push_back(each);
            continue;
        }
        for (const std::string& ns : namespaces) {
            each.ns = ns;
            out.push_back(each);
        }
    }
    return out;
}

constexpr std::string_view deletes = "jobs whose ttlSecondsAfterFinished is over stay";
constexpr std::string_view scraped = "nobody may read /metrics";

}  // namespace

own_objects own_objects_of(const configuration& config) {
    return {.secret = config.certificates.secret,
            .lease = config.election.lease_name,
            .lease_ns = config.election.ns,
            .election = config.election.enabled,
            .managed_certificates = config.certificates.managed,
            .metrics_authentication = config.metrics.authentication,
            .deletes_finished = config.effective_gates().train_job_ttl,
            .elastic = config.effective_gates().elastic,
            .workload_aware = config.effective_gates().workload_aware,
            .webhooks = config.webhook.enabled,
            .namespaces = config.namespaces};
}

std::vector<right> operator_rights(const own_objects& own) {
    std::vector<right> out(rights.begin(), rights.end());
    if (own.workload_aware)
        for (const right& each : workload_rights) out.push_back(each);
    if (!own.namespaces.empty()) out = by_namespace(out, own.namespaces);
    if (own.deletes_finished && own.namespaces.empty())
        out.push_back({"delete", trainer, "trainjobs", {}, {}, false, deletes});
    for (const std::string& ns : own.namespaces)
        if (own.deletes_finished) out.push_back({"delete", trainer, "trainjobs", {}, {}, false, deletes, ns});
    if (own.managed_certificates && own.webhooks)
        out.insert(out.end(), configuration_rights.begin(), configuration_rights.end());
    if (own.metrics_authentication) {
        out.push_back({"create", "authentication.k8s.io", "tokenreviews", {}, {}, false, scraped});
        out.push_back({"create", "authorization.k8s.io", "subjectaccessreviews", {}, {}, false, scraped});
    }
    if (own.managed_certificates)
        out.push_back({"get update watch",
                       "",
                       "secrets",
                       {},
                       own.secret,
                       true,
                       "the operator cannot keep a certificate of its own"});
    if (own.election.value_or(true)) {
        out.push_back({"create get update",
                       "coordination.k8s.io",
                       "leases",
                       {},
                       {},
                       true,
                       "leader election does not work, and it must be off",
                       own.lease_ns});
        out.push_back({"watch",
                       "coordination.k8s.io",
                       "leases",
                       {},
                       {},
                       true,
                       "a leader notices only at its next renewal that its Lease was deleted",
                       own.lease_ns});
    }
    return out;
}

std::vector<kube::access_question> questions_of(const right& of, std::string_view own_namespace) {
    std::vector<kube::access_question> out;
    for (std::string_view rest = of.verbs; !rest.empty();) {
        const std::string_view verb = rest.substr(0, rest.find(' '));
        rest.remove_prefix(std::min(rest.size(), verb.size() + 1));
        // Nothing can be created under a name that a role gives.
        out.push_back({.verb = verb,
                       .group = of.group,
                       .plural = of.plural,
                       .sub_resource = of.sub_resource,
                       .ns = of.own_namespace && of.ns.empty() ? own_namespace : of.ns,
                       .name = verb == "create" ? std::string_view{} : of.name});
    }
    return out;
}

std::string user_of(std::string_view ns, std::string_view account) {
    return fmt::format("system:serviceaccount:{}:{}", ns, account);
}

kube::call ask_about(const kube::access_question& question, std::string_view ns, std::string_view account) {
    // The same body as about ourselves, with the account that it is about.
    kube::call out = kube::build_access_review(question, {});
    out.http.path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    out.attempt = fmt::format("ask whether the operator may {} {}", question.verb, question.plural);
    std::string& body = out.http.body;
    body.replace(body.find("SelfSubjectAccessReview"), 23, "SubjectAccessReview");
    std::string subject = R"("user":)";
    base::append_json_string(subject, user_of(ns, account));
    subject += R"(,"groups":["system:serviceaccounts","system:authenticated",)";
    base::append_json_string(subject, fmt::format("system:serviceaccounts:{}", ns));
    subject += "],";
    constexpr std::string_view spec = R"("spec":{)";
    body.insert(body.find(spec) + spec.size(), subject);
    return out;
}

finding missing_right(const right& of, const std::vector<std::string_view>& verbs, std::string_view who) {
    const std::string kind = fmt::format(
        "{}{}{}{}{}{}{}{}{}", of.plural, of.group.empty() ? "" : ".", of.group, of.sub_resource.empty() ? "" : "/",
        of.sub_resource, of.name.empty() ? "" : " ", of.name, of.ns.empty() ? "" : " in namespace ", of.ns);
    return {.how = of.without.empty() ? verdict::problem : verdict::advice,
            .area = "rights",
            .what = fmt::format("{} may not {} {}{}{}", who, fmt::join(verbs, ", "), kind,
                                of.without.empty() ? "" : ": ", of.without),
            .remedy =
                "kubectl apply --server-side -k deploy/overlays/manager, or upgrade the Helm release: both bring the "
                "roles"};
}

}  // namespace cotrain::app
