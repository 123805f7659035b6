// What the operator must be allowed, and what it can do without: one question to the API server for each.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/config.hpp"
#include "app/doctor_findings.hpp"
#include "kube/request.hpp"
#include "kube/review.hpp"

namespace cotrain::app {

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
// The rights about PodGroups matter only where there are such.
[[nodiscard]] bool about_pod_groups(const right& of);

// One verb of a right, in the namespace that the operator runs in.
[[nodiscard]] std::vector<kube::access_question> questions_of(const right& of, std::string_view own_namespace);
// The same question about a service account (SubjectAccessReview).
[[nodiscard]] kube::call ask_about(const kube::access_question& question, std::string_view ns,
                                   std::string_view account);
// "system:serviceaccount:ns:name".
[[nodiscard]] std::string user_of(std::string_view ns, std::string_view account);
// What of a right `who` does not have.
[[nodiscard]] finding missing_right(const right& of, const std::vector<std::string_view>& verbs, std::string_view who);

}  // namespace cotrain::app
