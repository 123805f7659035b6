// Facts read out of answers, from both orders in which the API server writes lists.
#include "kube/answer.hpp"

#include <gtest/gtest.h>

namespace cotrain::kube {
namespace {

TEST(read_list_head, finds_metadata_before_or_behind_the_items) {
    const auto before = read_list_head(
        R"({"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"5","continue":"abc","remainingItemCount":7},"items":[{"metadata":{"resourceVersion":"1"}}]})");
    ASSERT_TRUE(before);
    EXPECT_EQ(before->resource_version, "5");
    EXPECT_EQ(before->continue_token, "abc");
    EXPECT_EQ(before->remaining, 7);

    const auto behind = read_list_head(
        R"({"apiVersion":"v1","items":[{"metadata":{"resourceVersion":"1"},"x":"}\"]"}],"kind":"List","metadata":{"continue":"","resourceVersion":"6"}})");
    ASSERT_TRUE(behind);
    EXPECT_EQ(behind->resource_version, "6");
    EXPECT_EQ(behind->continue_token, "");
    EXPECT_EQ(behind->remaining, 0);
}

TEST(read_list_head, refuses_what_is_no_list) {
    for (const char* body : {"", "null", "[]", "{}", R"({"items":[)", "404 page not found", R"({"metadata":7})"}) {
        const auto head = read_list_head(body);
        ASSERT_FALSE(head) << body;
        EXPECT_EQ(head.error().code, base::errc::decode) << body;
    }
}

TEST(read_served_resources, lists_names_and_verbs) {
    const auto served = read_served_resources(
        R"({"kind":"APIResourceList","groupVersion":"g/v1","resources":[{"name":"jobsets","singularName":"jobset","namespaced":true,"kind":"JobSet","verbs":["get","list"],"storageVersionHash":"x="},{"name":"jobsets/status","namespaced":true,"kind":"JobSet","verbs":null}]})");
    ASSERT_TRUE(served);
    ASSERT_EQ(served->size(), 2U);
    EXPECT_EQ(served->at(0).name, "jobsets");
    EXPECT_TRUE(served->at(0).namespaced);
    EXPECT_EQ(served->at(0).verbs, (std::vector<std::string>{"get", "list"}));
    EXPECT_TRUE(served->at(1).verbs.empty());
    EXPECT_FALSE(read_served_resources(R"({"kind":"APIGroup"})"));
}

TEST(read_server_version, understands_vendors) {
    const auto version = read_server_version(R"({"major":"1","minor":"30+","gitVersion":"v1.30.4-eks-a737599"})");
    ASSERT_TRUE(version);
    EXPECT_EQ(version->major, 1U);
    EXPECT_EQ(version->minor, 30U);
    EXPECT_EQ(version->git_version, "v1.30.4-eks-a737599");
    EXPECT_FALSE(read_server_version("{}"));
}

TEST(read_access_review, tells_yes_no_and_why) {
    const auto yes = read_access_review(R"({"status":{"allowed":true,"reason":"RBAC: allowed by x"}})");
    ASSERT_TRUE(yes);
    EXPECT_TRUE(yes->allowed);
    EXPECT_EQ(yes->reason, "RBAC: allowed by x");
    const auto no = read_access_review(R"({"status":{"allowed":false,"reason":"no","evaluationError":"role gone"}})");
    ASSERT_TRUE(no);
    EXPECT_FALSE(no->allowed);
    EXPECT_EQ(no->reason, "no; role gone");
    EXPECT_FALSE(read_access_review(R"({"status":{}})"));
}

TEST(read_token_review, tells_who) {
    const auto known = read_token_review(
        R"({"status":{"authenticated":true,"user":{"username":"u","uid":"1","groups":["g"],"extra":{"k":["v"]}},"audiences":["a"]}})");
    ASSERT_TRUE(known);
    EXPECT_TRUE(known->authenticated);
    EXPECT_EQ(known->username, "u");
    EXPECT_EQ(known->groups, std::vector<std::string>{"g"});
    EXPECT_EQ(known->audiences, std::vector<std::string>{"a"});
    const auto unknown = read_token_review(R"({"status":{"user":{},"error":"invalid bearer token"}})");
    ASSERT_TRUE(unknown);
    EXPECT_FALSE(unknown->authenticated);
    EXPECT_EQ(unknown->fault, "invalid bearer token");
}

}  // namespace
}  // namespace cotrain::kube
