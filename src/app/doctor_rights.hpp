// What the operator must be allowed, and what it can do without: one question to the API server for each.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/doctor_findings.hpp"
#include "kube/request.hpp"
#include "kube/review.hpp"

namespace cotrain::app {

// Verbs on one kind. `without` says what does not work when they are missing; empty: nothing works.
struct right {
    std::string_view verbs;  // separated by spaces
    std::string_view group;
    std::string_view plural;
    std::string_view sub_resource{};
    std::string_view name{};
    bool own_namespace = false;
    std::string_view without{};
};

[[nodiscard]] std::span<const right> operator_rights();
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
