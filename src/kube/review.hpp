// Questions to the API server about rights and identities: SelfSubjectAccessReview and TokenReview.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "kube/request.hpp"

namespace cotrain::kube {

// May we do this? Empty fields mean "any" where Kubernetes lets them.
struct access_question {
    std::string_view verb;  // get, list, watch, create, update, patch, delete
    std::string_view group{};
    std::string_view plural{};
    std::string_view sub_resource{};
    std::string_view ns{};  // empty: the whole cluster
    std::string_view name{};
};

struct access_answer {
    bool allowed = false;
    std::string reason;  // why, when the authorizer says so; evaluation errors included
};

struct token_answer {
    bool authenticated = false;
    std::string username;
    std::string uid;
    std::vector<std::string> groups;
    std::vector<std::string> audiences;
    std::string fault;  // why not
};

// Both are idempotent: nothing is stored.
[[nodiscard]] call build_access_review(const access_question& question, const call_options& with);
[[nodiscard]] call build_token_review(std::string_view token, const std::vector<std::string>& audiences,
                                      const call_options& with);

[[nodiscard]] base::result<access_answer> read_access_review(std::string_view body);
[[nodiscard]] base::result<token_answer> read_token_review(std::string_view body);

}  // namespace cotrain::kube
