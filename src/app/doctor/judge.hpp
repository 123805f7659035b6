// What the doctor finds: findings, judgements of what was read, and the rights that the operator needs.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/config/config.hpp"
#include "kube/answer.hpp"
#include "kube/request.hpp"

namespace cotrain::app {

// What `cotrain doctor` has to say: findings with what to do about them, for people and for scripts.

enum class verdict : std::uint8_t {
    fine,
    unknown,  // could not be looked at
    advice,   // works, but something is missing or will go wrong
    problem
};

struct finding {
    verdict how = verdict::fine;
    std::string_view area;  // "connection", "definitions", …
    std::string what;
    std::string remedy{};  // empty where nothing is to be done
    // What others follow from, and what this may follow from itself: words of `roots`, separated by spaces.
    std::string_view root{};
    std::string_view from{};
    bool operator==(const finding&) const = default;
};

using findings = std::vector<finding>;

namespace roots {
inline constexpr std::string_view not_installed = "not-installed";  // our definitions are missing
inline constexpr std::string_view no_operator = "no-operator";      // nobody runs
inline constexpr std::string_view no_job_set = "no-jobset";         // JobSet's definition is missing
}  // namespace roots

// One cause, one line: what follows from a problem that is told is counted there and left out.
[[nodiscard]] findings fold(findings all);
// Whether the operator runs, from its Deployments and its Lease: where neither says so, one problem instead of all.
[[nodiscard]] findings judge_operator(findings deployments, finding lease);

// A line for each, its remedy below, then a line of sums.
[[nodiscard]] std::string to_text(const findings& all);
// {"problems": 1, "unknown": 0, "findings": [{"verdict": …, "area": …, "what": …, "remedy": …}]}
[[nodiscard]] std::string to_json(const findings& all);
// 1 if there is a problem, else 0.
[[nodiscard]] int exit_code(const findings& all);

// Judging what the cluster shows: objects in, findings out. No I/O, and the time is an argument.

// Kubernetes versions that releases are tested with; newer ones usually work.
inline constexpr unsigned server_minor_min = 30;
inline constexpr unsigned server_minor_max = 37;

// A certificate that ends within this time should have been renewed.
inline constexpr std::chrono::days certificate_warning_days{30};

// A definition that something stands on.
struct wanted_definition {
    kube::resource of;
    bool needed = true;  // otherwise only where somebody asks for it
    std::string_view install;
};

[[nodiscard]] finding judge_version(const kube::server_version& version, std::string_view server, std::string_view who);

// A CustomResourceDefinition's text; nothing: it is not there.
[[nodiscard]] finding judge_definition(const wanted_definition& wanted, const std::optional<std::string>& body);
// Those of them that are not there although they are needed: one line for all that are installed alike.
[[nodiscard]] findings judge_missing(const std::vector<wanted_definition>& missing);
// What can be said without reading it.
[[nodiscard]] finding judge_served(const wanted_definition& wanted, bool served);

// Who a webhook configuration sends reviews to, and whom it trusts.
struct webhook_target {
    std::string configuration;
    std::string webhook;
    std::string ns{};  // of the Service; empty when it is a URL
    std::string service{};
    std::string ca_pem{};
};
// The webhooks of a configuration that are ours; `found` gets what is wrong with it.
[[nodiscard]] std::vector<webhook_target> read_webhooks(std::string_view name, std::string_view body, findings& found);
[[nodiscard]] finding missing_webhooks(const std::vector<std::string>& names);
// Whether what is served (the certificate of the Secret) passes with those who call.
void judge_certificate(const std::vector<webhook_target>& targets, std::string_view certificate_pem,
                       std::chrono::sys_seconds now, findings& found);
// EndpointSlices of the webhooks' Service.
[[nodiscard]] finding judge_endpoints(const webhook_target& target, std::string_view slices);

// A Lease's text; nothing: there is none, which is worse where the configuration is known to want one.
[[nodiscard]] finding judge_lease(const std::optional<std::string>& body, std::string_view name, bool wanted,
                                  std::chrono::sys_seconds now);

// A list of runtimes: which gang schedulers they ask for, and the marks that old controllers left on them.
struct runtime_needs {
    std::string coscheduling{};  // a runtime that asks for it
    std::string volcano{};
    std::vector<std::string> held{};  // by a finalizer of an old version
};
void read_runtimes(std::string_view list, runtime_needs& needs);
[[nodiscard]] findings judge_gang(const runtime_needs& needs, bool coscheduling_there, bool volcano_there);
// With gate TrainJobWorkloadAwareScheduling: the version of scheduling.k8s.io that has Workloads and PodGroups, or
// none.
[[nodiscard]] finding judge_workloads(std::string_view served, const kube::server_version& server);
[[nodiscard]] findings judge_leftovers(const runtime_needs& needs);
// Deployments by the operator's name: ours, and the old controller's where it still runs.
[[nodiscard]] findings judge_deployments(std::string_view list, std::string_view name);

// JobSet's controller, without which JobSets get no Jobs: lists of its Leases and Deployments in all namespaces.
inline constexpr std::string_view job_set_lease = "6d4f6a47.jobset.x-k8s.io";
inline constexpr std::string_view job_set_deployments = "app.kubernetes.io/name=jobset";  // a label selector
[[nodiscard]] finding judge_job_set_controller(std::string_view leases, std::string_view deployments,
                                               std::chrono::sys_seconds now);

// With gate ElasticTrainJob: what else it needs. The CRD of TrainJobs, and a list of ConfigMaps of JobSet's controller.
[[nodiscard]] findings judge_elastic(std::string_view definition, std::string_view configurations);

// What the operator must be allowed, and what it can do without: one question to the API server for each.

// The objects that the operator has for itself, and what it does only where its configuration says so. Without a
// configuration: what all installations begin with, and nothing of the election.
struct own_objects {
    std::string secret = certificate_config{}.secret;
    std::string lease = election_config{}.lease_name;
    std::string lease_ns{};          // empty: the operator's namespace
    std::optional<bool> election{};  // whether there is one, where that is known
    bool managed_certificates = true;
    bool metrics_authentication = false;
    bool deletes_finished = false;
    bool elastic = false;
    bool workload_aware = false;
    bool webhooks = true;
    std::vector<std::string> namespaces{};  // that are looked at; empty: all
};
[[nodiscard]] own_objects own_objects_of(const configuration& config);

// Verbs on one kind. `without` says what does not work when they are missing; empty: nothing works.
struct right {
    std::string_view verbs;  // separated by spaces
    std::string_view group;
    std::string_view plural;
    std::string_view sub_resource{};
    std::string_view name{};
    bool own_namespace = false;
    std::string_view without{};
    std::string_view ns{};  // instead of all namespaces, or of the operator's
};

// Refers to `own`.
[[nodiscard]] std::vector<right> operator_rights(const own_objects& own);

// One verb of a right, in the namespace that the operator runs in.
[[nodiscard]] std::vector<kube::access_question> questions_of(const right& of, std::string_view own_namespace);
// The same question about a service account (SubjectAccessReview).
[[nodiscard]] kube::call ask_about(const kube::access_question& question, std::string_view ns,
                                   std::string_view account);
// "system:serviceaccount:ns:name".
[[nodiscard]] std::string user_of(std::string_view ns, std::string_view account);
// More lines than this about missing rights become one.
inline constexpr std::size_t right_lines_max = 3;
[[nodiscard]] findings judge_rights(findings missing, std::size_t missing_rights, std::size_t asked,
                                    std::string_view who);
// What of a right `who` does not have.
[[nodiscard]] finding missing_right(const right& of, const std::vector<std::string_view>& verbs, std::string_view who);

}  // namespace cotrain::app
