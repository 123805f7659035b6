// Requests as they go out: method, path, headers, body, rank and whether they may be repeated.
#include "kube/request.hpp"

#include <gtest/gtest.h>

#include "kube/answer.hpp"

namespace cotrain::kube {
namespace {

constexpr resource config_map{"", "v1", "configmaps", "ConfigMap"};
constexpr resource job_set{"jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet"};

std::string_view header(const call& made, std::string_view name) { return net::find_header(made.http.headers, name); }

TEST(build_get, asks_for_the_object_or_its_metadata) {
    const auto whole = build_get(config_map, {"ns", "a"}, {});
    ASSERT_TRUE(whole);
    EXPECT_EQ(whole->http.method, "GET");
    EXPECT_EQ(whole->http.path, "/api/v1/namespaces/ns/configmaps/a");
    EXPECT_EQ(header(*whole, "accept"), "application/json");
    EXPECT_TRUE(whole->http.idempotent);
    EXPECT_EQ(whole->http.rank, net::priority::read);
    EXPECT_EQ(whole->attempt, "get ConfigMap ns/a");

    const auto metadata = build_get(config_map, {"ns", "a"}, {.resource_version = "0", .as = shape::metadata});
    ASSERT_TRUE(metadata);
    EXPECT_EQ(metadata->http.path, "/api/v1/namespaces/ns/configmaps/a?resourceVersion=0");
    EXPECT_EQ(header(*metadata, "accept"), "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1");
}

// Nobody has the right to a Secret's metadata alone: what is asked for is what keeps keys out of this process.
TEST(build_writes, bring_back_no_content_of_secrets) {
    constexpr resource secret{"", "v1", "secrets", "Secret"};
    constexpr resource other_secret{"example.com", "v1", "secrets", "Secret"};
    constexpr std::string_view metadata = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
    const location at{"ns", "a"};
    for (const resource& of : {secret, other_secret, config_map}) {
        const bool is_secret = of.plural == "secrets" && of.group.empty();
        for (const auto& made :
             {build_create(of, "ns", "{}", {}), build_update(of, at, "{}", {}),
              build_apply(of, at, "{}", true, {.field_manager = "m"}), build_merge_patch(of, at, "{}", {}),
              build_json_patch(of, at, "[]", {}), build_delete(of, at, {})}) {
            ASSERT_TRUE(made);
            EXPECT_EQ(header(*made, "accept"), is_secret ? metadata : "application/json") << made->attempt;
        }
    }
}

TEST(build_get, needs_a_name) {
    EXPECT_EQ(build_get(config_map, {.ns = "ns"}, {}).error().message, "get ConfigMap: a name is needed");
    EXPECT_EQ(build_get(config_map, {"ns", ".."}, {}).error().message,
              "get ConfigMap ns/..: name of ConfigMap may not be '.' or '..': \"..\"");
}

TEST(build_list, carries_selectors_limit_and_continuation) {
    const auto made = build_list(job_set, "",
                                 {.label_selector = "app=x",
                                  .field_selector = "metadata.name!=y",
                                  .resource_version = "7",
                                  .resource_version_match = "Exact",
                                  .limit = 500,
                                  .continue_token = "abc==",
                                  .as = shape::metadata});
    ASSERT_TRUE(made);
    EXPECT_EQ(made->http.path,
              "/apis/jobset.x-k8s.io/v1alpha2/jobsets?labelSelector=app%3Dx&fieldSelector=metadata.name%21%3Dy"
              "&resourceVersion=7&resourceVersionMatch=Exact&limit=500&continue=abc%3D%3D");
    EXPECT_EQ(header(*made, "accept"), "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1");
    EXPECT_EQ(made->attempt, "list JobSet");
}

TEST(build_watch, always_ends_some_time_and_asks_for_bookmarks) {
    const auto made = build_watch(job_set, "ns", {.resource_version = "7"});
    ASSERT_TRUE(made);
    EXPECT_EQ(made->http.path,
              "/apis/jobset.x-k8s.io/v1alpha2/namespaces/ns/jobsets?watch=1&resourceVersion=7"
              "&allowWatchBookmarks=true&timeoutSeconds=290");
    EXPECT_EQ(made->http.rank, net::priority::watch);
    EXPECT_TRUE(made->http.idempotent);
    EXPECT_EQ(made->attempt, "watch JobSet in ns");
}

TEST(build_watch, streams_the_initial_state_as_the_keps_demand) {
    const auto made = build_watch(job_set, "", {.bookmarks = false, .send_initial_events = true});
    ASSERT_TRUE(made);
    EXPECT_EQ(made->http.path,
              "/apis/jobset.x-k8s.io/v1alpha2/jobsets?watch=1&resourceVersionMatch=NotOlderThan"
              "&sendInitialEvents=true&allowWatchBookmarks=true&timeoutSeconds=290");
}

TEST(build_create, is_not_repeated_unless_nothing_is_stored) {
    const auto made = build_create(config_map, "ns", "{}", {.field_manager = "me"});
    ASSERT_TRUE(made);
    EXPECT_EQ(made->http.method, "POST");
    EXPECT_EQ(made->http.path, "/api/v1/namespaces/ns/configmaps?fieldManager=me");
    EXPECT_EQ(made->http.body, "{}");
    EXPECT_EQ(header(*made, "content-type"), "application/json");
    EXPECT_FALSE(made->http.idempotent);
    EXPECT_EQ(made->http.rank, net::priority::write);

    const auto dry = build_create(config_map, "ns", "{}", {.dry_run = true});
    ASSERT_TRUE(dry);
    EXPECT_EQ(dry->http.path, "/api/v1/namespaces/ns/configmaps?dryRun=All");
    EXPECT_TRUE(dry->http.idempotent);
    EXPECT_EQ(build_create(config_map, "", "{}", {}).error().message, "create ConfigMap: a namespace is needed");
}

TEST(build_apply, names_its_manager_and_force) {
    const auto made = build_apply(job_set, {"ns", "a"}, "{}", true, {.field_manager = "trainer"});
    ASSERT_TRUE(made);
    EXPECT_EQ(made->http.method, "PATCH");
    EXPECT_EQ(made->http.path,
              "/apis/jobset.x-k8s.io/v1alpha2/namespaces/ns/jobsets/a?fieldManager=trainer&force=true");
    EXPECT_EQ(header(*made, "content-type"), "application/apply-patch+yaml");
    EXPECT_TRUE(made->http.idempotent);
    EXPECT_EQ(made->attempt, "apply JobSet ns/a");

    const auto status = build_apply(job_set, {"ns", "a"}, "{}", false,
                                    {.field_manager = "trainer", .dry_run = true, .sub_resource = "status"});
    ASSERT_TRUE(status);
    EXPECT_EQ(status->http.path,
              "/apis/jobset.x-k8s.io/v1alpha2/namespaces/ns/jobsets/a/status?fieldManager=trainer&dryRun=All");
    EXPECT_EQ(status->attempt, "apply JobSet ns/a/status");
    EXPECT_EQ(build_apply(job_set, {"ns", "a"}, "{}", true, {}).error().message,
              "apply JobSet ns/a: a field manager is needed");
}

TEST(build_patch, differs_in_type_and_in_whether_it_may_be_repeated) {
    const auto merge = build_merge_patch(job_set, {"ns", "a"}, "{}", {});
    ASSERT_TRUE(merge);
    EXPECT_EQ(header(*merge, "content-type"), "application/merge-patch+json");
    EXPECT_TRUE(merge->http.idempotent);
    const auto json = build_json_patch(job_set, {"ns", "a"}, "[]", {});
    ASSERT_TRUE(json);
    EXPECT_EQ(header(*json, "content-type"), "application/json-patch+json");
    EXPECT_FALSE(json->http.idempotent);
}

TEST(build_update, puts_the_whole_object) {
    const auto made = build_update(job_set, {"ns", "a"}, "{}", {.sub_resource = "status"});
    ASSERT_TRUE(made);
    EXPECT_EQ(made->http.method, "PUT");
    EXPECT_EQ(made->http.path, "/apis/jobset.x-k8s.io/v1alpha2/namespaces/ns/jobsets/a/status");
    EXPECT_TRUE(made->http.idempotent);
}

TEST(build_delete, may_be_repeated_only_when_it_means_one_object) {
    const auto by_name = build_delete(job_set, {"ns", "a"}, {});
    ASSERT_TRUE(by_name);
    EXPECT_EQ(by_name->http.body, R"({"kind":"DeleteOptions","apiVersion":"v1"})");
    EXPECT_FALSE(by_name->http.idempotent);

    const auto exact = build_delete(job_set, {"ns", "a"},
                                    {.dependents = propagation::foreground,
                                     .grace_seconds = 0,
                                     .uid = "u\"1",
                                     .resource_version = "9",
                                     .dry_run = true});
    ASSERT_TRUE(exact);
    EXPECT_EQ(exact->http.body,
              R"({"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":"Foreground","gracePeriodSeconds":0,)"
              R"("preconditions":{"uid":"u\"1","resourceVersion":"9"},"dryRun":["All"]})");
    EXPECT_TRUE(exact->http.idempotent);
    const auto state = build_delete(job_set, {"ns", "a"}, {.resource_version = "9"});
    ASSERT_TRUE(state);
    EXPECT_EQ(state->http.body,
              R"({"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"resourceVersion":"9"}})");
    EXPECT_FALSE(state->http.idempotent);
}

TEST(call_options, reach_the_request) {
    using namespace std::chrono_literals;
    const auto made =
        build_update(job_set, {"ns", "a"}, "{}", {.with = {.rank = net::priority::lease, .deadline = 3s}});
    ASSERT_TRUE(made);
    EXPECT_EQ(made->http.rank, net::priority::lease);
    EXPECT_EQ(made->http.deadline, 3s);
}

TEST(build_review, writes_the_questions) {
    const call access =
        build_access_review({.verb = "patch", .group = "g", .plural = "things", .sub_resource = "status"}, {});
    EXPECT_EQ(access.http.path, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews");
    EXPECT_EQ(
        access.http.body,
        R"({"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","spec":{"resourceAttributes":)"
        R"({"verb":"patch","group":"g","resource":"things","subresource":"status"}}})");
    EXPECT_TRUE(access.http.idempotent);

    const call token = build_token_review("t\"k", {"a", "b"}, {});
    EXPECT_EQ(token.http.body, R"({"kind":"TokenReview","apiVersion":"authentication.k8s.io/v1","spec":)"
                               R"({"token":"t\"k","audiences":["a","b"]}})");
    EXPECT_TRUE(token.http.idempotent);
    EXPECT_EQ(token.attempt, "review a token");
}

TEST(build_discovery, asks_one_version_of_a_group) {
    EXPECT_EQ(build_discovery("jobset.x-k8s.io", "v1alpha2", {}).http.path, "/apis/jobset.x-k8s.io/v1alpha2");
    EXPECT_EQ(build_discovery("", "v1", {}).http.path, "/api/v1");
    EXPECT_EQ(build_discovery("", "v1", {}).attempt, "discover v1");
}

}  // namespace
}  // namespace cotrain::kube
