// Answers of the API server: replies, heads of lists, versions and resources, and reviews of access and tokens.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "kube/request.hpp"

namespace cotrain::kube {

// metav1.ListMeta.
struct list_head {
    std::string resource_version;
    std::string continue_token;  // empty: this was the last page
    std::int64_t remaining = 0;
};

// Skips the items without decoding them; they may even be broken.
[[nodiscard]] base::result<list_head> read_list_head(std::string_view body);

struct served_resource {
    std::string name;  // "jobsets" or "jobsets/status"
    std::string kind;
    bool namespaced = false;
    std::vector<std::string> verbs;
};

inline constexpr std::size_t served_resources_max = 4096;

// An APIResourceList.
[[nodiscard]] base::result<std::vector<served_resource>> read_served_resources(std::string_view body);

struct server_version {
    unsigned major = 0;
    unsigned minor = 0;       // the vendors' "30+" reads as 30
    std::string git_version;  // "v1.36.3"
};

[[nodiscard]] base::result<server_version> read_server_version(std::string_view body);

// Questions to the API server about rights and identities: SelfSubjectAccessReview and TokenReview.

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
