// Paths of objects: where they point, and what may not get into them.
#include "kube/request.hpp"

#include <gtest/gtest.h>

namespace cotrain::kube {
namespace {

constexpr resource config_map{"", "v1", "configmaps", "ConfigMap"};
constexpr resource job_set{"jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet"};
constexpr resource node{"", "v1", "nodes", "Node", false};

TEST(path_of, follows_group_namespace_name_and_sub_resource) {
    EXPECT_EQ(path_of(config_map, {"ns", "a"}), "/api/v1/namespaces/ns/configmaps/a");
    EXPECT_EQ(path_of(job_set, {"ns", "a", "status"}), "/apis/jobset.x-k8s.io/v1alpha2/namespaces/ns/jobsets/a/status");
    EXPECT_EQ(path_of(job_set, {.ns = "ns"}), "/apis/jobset.x-k8s.io/v1alpha2/namespaces/ns/jobsets");
    EXPECT_EQ(path_of(job_set, {}), "/apis/jobset.x-k8s.io/v1alpha2/jobsets");
    EXPECT_EQ(path_of(node, {.name = "n1"}), "/api/v1/nodes/n1");
}

TEST(path_of, encodes_what_names_may_hold_and_paths_may_not) {
    constexpr resource role{"rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", false};
    EXPECT_EQ(path_of(role, {.name = "system:node"}), "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:node");
    EXPECT_EQ(path_of(role, {.name = "a?b#c"}), "/apis/rbac.authorization.k8s.io/v1/clusterroles/a%3Fb%23c");
}

TEST(path_of, refuses_names_that_would_lead_elsewhere) {
    for (const char* name : {"../secrets/x", "..", ".", "a/b", "a%2fb", "a b", "a\nb"}) {
        const auto path = path_of(config_map, {"ns", name});
        ASSERT_FALSE(path) << name;
        EXPECT_EQ(path.error().code, base::errc::invalid);
        EXPECT_TRUE(path.error().message.starts_with("name of ConfigMap ")) << path.error().message;
    }
    EXPECT_FALSE(path_of(config_map, {"..", "a"}));
    EXPECT_FALSE(path_of(config_map, {"ns", std::string(254, 'a')}));
    EXPECT_TRUE(path_of(config_map, {"ns", std::string(253, 'a')}));
}

TEST(path_of, refuses_the_wrong_scope) {
    EXPECT_EQ(path_of(config_map, {.name = "a"}).error().message, "ConfigMap needs a namespace");
    EXPECT_EQ(path_of(node, {"ns", "a"}).error().message, "Node is not namespaced, but a namespace was given");
    EXPECT_FALSE(path_of(config_map, {.ns = "ns", .sub_resource = "status"}));
}

TEST(describe, says_which_object_is_meant) {
    EXPECT_EQ(describe(job_set, {"ns", "a"}), "JobSet ns/a");
    EXPECT_EQ(describe(job_set, {"ns", "a", "status"}), "JobSet ns/a/status");
    EXPECT_EQ(describe(node, {.name = "n1"}), "Node n1");
    EXPECT_EQ(describe(job_set, {.ns = "ns"}), "JobSet in ns");
    EXPECT_EQ(describe(job_set, {}), "JobSet");
}

TEST(query_writer, separates_and_encodes) {
    std::string path = "/p";
    query_writer query(path);
    query.add("empty", "");
    query.add("labelSelector", "a in (b,c),d=e");
    query.add("limit", 500LL);
    EXPECT_EQ(path, "/p?labelSelector=a%20in%20%28b%2Cc%29%2Cd%3De&limit=500");
}

TEST(header_name, keeps_tokens_and_encodes_the_rest) {
    std::string name;
    append_header_name(name, "impersonate-extra-acme.io/scopes\r\n");
    EXPECT_EQ(name, "impersonate-extra-acme.io%2fscopes%0d%0a");
}

}  // namespace
}  // namespace cotrain::kube
