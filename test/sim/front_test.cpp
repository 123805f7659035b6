// Requests as clients send them: paths, lists, pages, watches, tables, discovery.
#include "sim/front.hpp"

#include <gtest/gtest.h>

#include <string>

#include "doc/json.hpp"

namespace cotrain::sim {
namespace {

constexpr base::seconds_time now{std::chrono::seconds{1'767'312'000}};

struct scene {
    cluster all{1};
    doc::arena memory;

    scene() { (void)send("POST", "/api/v1/namespaces", R"({"metadata":{"name":"ns"}})"); }

    answer send(std::string_view method, std::string_view target, std::string_view body = {},
                std::string_view accept = {}, std::string_view type = "application/json") {
        const response said = ask(all, {method, target, accept, type, "test/1", body}, now);
        const auto* const whole = std::get_if<answer>(&said);
        EXPECT_NE(whole, nullptr) << target;
        return whole == nullptr ? answer{} : *whole;
    }
    doc::ref get(std::string_view target, std::string_view accept = {}) {
        const answer said = send("GET", target, {}, accept);
        EXPECT_EQ(said.status, 200) << said.body;
        return *doc::parse_json_copy(memory, said.body);
    }
    void make(std::string_view name, std::string_view label = "x") {
        const std::string text =
            R"({"metadata":{"name":")" + std::string{name} + R"(","labels":{"app":")" + std::string{label} + "\"}}}";
        EXPECT_EQ(send("POST", "/api/v1/namespaces/ns/configmaps", text).status, 201);
    }
    watcher watch(std::string_view query) {
        const response said = ask(all, {"GET", "/api/v1/configmaps?watch=1" + std::string{query}}, now);
        const auto* const opened = std::get_if<opened_watch>(&said);
        EXPECT_NE(opened, nullptr);
        return watcher(all, opened->wish);
    }
    // Type, name and resourceVersion of an event; empty if there is none.
    std::string next(watcher& from) {
        const auto line = from.next(now);
        if (!line) return {};
        const doc::ref event = *doc::parse_json_copy(memory, *line);
        std::string out{event.get("type").as_string()};
        if (const doc::ref name = event.get({"object", "metadata", "name"})) out += " " + std::string{name.as_string()};
        return out;
    }
};

TEST(front, serves_objects_by_path) {
    scene s;
    s.make("a");
    EXPECT_EQ(s.get("/api/v1/namespaces/ns/configmaps/a").get({"metadata", "name"}).as_string(), "a");
    EXPECT_EQ(s.get("/api/v1/namespaces/ns").get("kind").as_string(), "Namespace");
    EXPECT_EQ(s.send("GET", "/api/v1/namespaces/ns/configmaps/b").status, 404);
    EXPECT_EQ(s.send("GET", "/api/v1/namespaces/ns/unknowns").status, 404);
    EXPECT_EQ(s.send("GET", "/api/v1/configmaps/a").status, 404);
    EXPECT_EQ(s.send("PUT", "/api/v1/namespaces/ns/configmaps", "{}").status, 405);
    EXPECT_EQ(s.send("PATCH", "/api/v1/namespaces/ns/configmaps/a", "{}", {}, "text/plain").status, 415);
    EXPECT_EQ(s.send("POST", "/api/v1/namespaces/ns/configmaps", "{").status, 400);
    EXPECT_EQ(s.send("DELETE", "/api/v1/namespaces/ns/configmaps/a").status, 200);
    EXPECT_EQ(s.send("GET", "/api/v1/namespaces/ns/configmaps/a").status, 404);
}

TEST(front, writes_nothing_on_a_dry_run) {
    scene s;
    EXPECT_EQ(s.send("POST", "/api/v1/namespaces/ns/configmaps?dryRun=All", R"({"metadata":{"name":"a"}})").status,
              201);
    EXPECT_EQ(s.send("GET", "/api/v1/namespaces/ns/configmaps/a").status, 404);
    EXPECT_EQ(s.send("POST", "/api/v1/namespaces/ns/configmaps?dryRun=Some", R"({"metadata":{"name":"a"}})").status,
              400);
}

TEST(front, selects_by_labels_and_names) {
    scene s;
    s.make("a", "x");
    s.make("b", "y");
    s.make("c", "z");
    const auto count = [&](std::string_view query) {
        return s.get("/api/v1/configmaps?" + std::string{query}).get("items").size();
    };
    EXPECT_EQ(count("labelSelector=app%3Dx"), 1U);
    EXPECT_EQ(count("labelSelector=app!=x"), 2U);
    EXPECT_EQ(count("labelSelector=app+in+(x,y)"), 2U);
    EXPECT_EQ(count("labelSelector=app%20notin%20(x,y)"), 1U);
    EXPECT_EQ(count("labelSelector=app,app!=z"), 2U);
    EXPECT_EQ(count("labelSelector=!app"), 0U);
    EXPECT_EQ(count("fieldSelector=metadata.name%3Db"), 1U);
    EXPECT_EQ(count("fieldSelector=metadata.namespace%3Dns,metadata.name!=b"), 2U);
    EXPECT_EQ(s.send("GET", "/api/v1/configmaps?labelSelector=a+b").status, 400);
    EXPECT_EQ(s.send("GET", "/api/v1/configmaps?fieldSelector=spec.x%3D1").status, 400);
}

TEST(front, reads_all_pages_at_one_version) {
    scene s;
    for (const char* name : {"a", "b", "c"}) s.make(name);
    const doc::ref first = s.get("/api/v1/configmaps?limit=2");
    EXPECT_EQ(first.get("items").size(), 2U);
    EXPECT_EQ(first.get({"metadata", "remainingItemCount"}).as_int(0), 1);
    // What happens between two pages is not seen by the second.
    s.make("d");
    EXPECT_EQ(s.send("DELETE", "/api/v1/namespaces/ns/configmaps/c").status, 200);
    const std::string token{first.get({"metadata", "continue"}).as_string()};
    const doc::ref second = s.get("/api/v1/configmaps?limit=2&continue=" + token);
    ASSERT_EQ(second.get("items").size(), 1U);
    EXPECT_EQ(second.get("items").at(0).get({"metadata", "name"}).as_string(), "c");
    EXPECT_TRUE(equal(first.get({"metadata", "resourceVersion"}), second.get({"metadata", "resourceVersion"})));
    s.all.objects().compact(s.all.objects().version());
    EXPECT_EQ(s.send("GET", "/api/v1/configmaps?continue=" + token).status, 410);
}

TEST(front, watches_from_a_version) {
    scene s;
    s.make("a");
    const std::string from = std::to_string(s.all.objects().version());
    watcher all = s.watch("&resourceVersion=" + from);
    watcher some = s.watch("&labelSelector=app%3Dx&resourceVersion=" + from);
    s.make("b", "y");
    EXPECT_EQ(s.send("PATCH", "/api/v1/namespaces/ns/configmaps/a", R"({"metadata":{"labels":{"app":"y"}}})", {},
                     "application/merge-patch+json")
                  .status,
              200);
    EXPECT_EQ(s.send("DELETE", "/api/v1/namespaces/ns/configmaps/b").status, 200);
    for (const char* expected : {"ADDED b", "MODIFIED a", "DELETED b", ""}) EXPECT_EQ(s.next(all), expected);
    for (const char* expected : {"DELETED a", ""}) EXPECT_EQ(s.next(some), expected);
    s.all.objects().compact(s.all.objects().version());
    watcher late = s.watch("&resourceVersion=" + from);
    EXPECT_EQ(s.next(late), "ERROR");
    EXPECT_TRUE(late.over());
}

TEST(front, streams_initial_events_and_says_when_they_end) {
    scene s;
    s.make("a");
    watcher list = s.watch("&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true");
    s.make("b");
    EXPECT_EQ(s.next(list), "ADDED a");
    const auto line = list.next(now);
    ASSERT_TRUE(line.has_value());
    EXPECT_NE(line->find("k8s.io/initial-events-end"), std::string::npos) << *line;
    EXPECT_EQ(s.next(list), "ADDED b");
    EXPECT_EQ(s.next(list), "");
    EXPECT_NE(list.bookmark().value_or("").find(std::to_string(s.all.objects().version())), std::string::npos);
    EXPECT_EQ(s.send("GET", "/api/v1/configmaps?watch=1&sendInitialEvents=true").status, 422);
}

TEST(front, shows_tables_and_metadata) {
    scene s;
    s.make("a");
    const doc::ref table = s.get("/api/v1/configmaps", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json");
    EXPECT_EQ(table.get("kind").as_string(), "Table");
    EXPECT_EQ(table.get("rows").at(0).get("cells").at(0).as_string(), "a");
    EXPECT_EQ(table.get("rows").at(0).get("cells").at(1).as_int(), 0) << "keys";
    EXPECT_EQ(table.get("rows").at(0).get("cells").at(2).as_string(), "0s");
    EXPECT_EQ(table.get("rows").at(0).get({"object", "kind"}).as_string(), "PartialObjectMetadata");
    const doc::ref list =
        s.get("/api/v1/configmaps", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1");
    EXPECT_EQ(list.get("items").at(0).get({"metadata", "name"}).as_string(), "a");
    EXPECT_FALSE(list.get("items").at(0).contains("data"));
    s.make("b");
    const doc::ref page =
        s.get("/api/v1/namespaces/ns/configmaps?limit=1", "application/json;as=Table;v=v1;g=meta.k8s.io");
    EXPECT_TRUE(page.get("metadata").contains("continue"));
    EXPECT_FALSE(page.get("metadata").contains("remainingItemCount")) << "not counted is not none";
}

TEST(front, tells_what_it_serves) {
    scene s;
    EXPECT_TRUE(s.get("/api/v1").get("resources").find_by("name", "configmaps"));
    EXPECT_TRUE(s.get("/apis").get("groups").find_by("name", "coordination.k8s.io"));
    EXPECT_TRUE(s.get("/apis/coordination.k8s.io/v1").get("resources").find_by("name", "leases"));
    EXPECT_EQ(
        s.get("/apis", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList").get("kind").as_string(),
        "APIGroupDiscoveryList");
    EXPECT_EQ(s.get("/version").get("major").as_string(), "1");
    EXPECT_EQ(s.send("GET", "/apis/unknown.example").status, 404);
    EXPECT_TRUE(s.get("/openapi/v3/api/v1").get({"paths", "/api/v1/namespaces/{namespace}/configmaps/{name}"}));
}

TEST(front, shows_events_in_the_form_that_kubectl_reads) {
    scene s;
    EXPECT_EQ(s.send("POST", "/apis/events.k8s.io/v1/namespaces/ns/events",
                     R"({"metadata":{"name":"e"},"reason":"Made","note":"it is there","type":"Normal",
                     "regarding":{"kind":"TrainJob","name":"a","namespace":"ns","uid":"u"}})")
                  .status,
              201);
    const doc::ref event = s.get("/api/v1/namespaces/ns/events/e");
    EXPECT_EQ(event.get("apiVersion").as_string(), "v1");
    EXPECT_EQ(event.get("message").as_string(), "it is there");
    EXPECT_EQ(event.get({"involvedObject", "name"}).as_string(), "a");
    const std::string about =
        "/api/v1/namespaces/ns/events?fieldSelector=involvedObject.uid%3Du%2CinvolvedObject.name%3D";
    EXPECT_EQ(s.get(about + "a").get("items").size(), 1U);
    EXPECT_EQ(s.get(about + "b").get("items").size(), 0U);
    EXPECT_EQ(s.send("POST", "/api/v1/namespaces/ns/events",
                     R"({"metadata":{"name":"f"},"message":"from a core client","involvedObject":{"name":"b"}})")
                  .status,
              201);
    EXPECT_EQ(s.get("/apis/events.k8s.io/v1/namespaces/ns/events/f").get("note").as_string(), "from a core client");
}

TEST(front, answers_reviews) {
    scene s;
    s.all.tokens()["secret"] = {"somebody", {"them"}};
    const auto ask_about = [&](std::string_view path, std::string_view spec) {
        const answer said = s.send("POST", path, R"({"spec":)" + std::string(spec) + "}");
        EXPECT_EQ(said.status, 201) << said.body;
        return doc::parse_json_copy(s.memory, said.body)->get("status");
    };
    const std::string_view tokens = "/apis/authentication.k8s.io/v1/tokenreviews";
    EXPECT_EQ(ask_about(tokens, R"({"token":"secret"})").get({"user", "username"}).as_string(), "somebody");
    EXPECT_FALSE(ask_about(tokens, R"({"token":"other"})").get("authenticated").as_bool(true));
    const std::string_view access = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    EXPECT_TRUE(ask_about(access, R"({"user":"somebody"})").get("allowed").as_bool(false));
    EXPECT_FALSE(ask_about(access, R"({"user":"system:anonymous"})").get("allowed").as_bool(true));
}

TEST(front, defines_kinds_at_run_time) {
    scene s;
    const std::string_view definition = R"({"metadata":{"name":"things.example.com"},"spec":{"group":"example.com",
      "scope":"Namespaced","names":{"plural":"things","singular":"thing","kind":"Thing"},"versions":[{"name":"v1",
      "served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object",
      "properties":{"size":{"type":"integer","maximum":3,"description":"How big."}}}}}}}]}})";
    EXPECT_EQ(s.send("GET", "/apis/example.com/v1/things").status, 404);
    const answer made = s.send("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition);
    EXPECT_EQ(made.status, 201) << made.body;
    EXPECT_NE(made.body.find(R"("type":"Established","status":"True")"), std::string::npos);
    const std::string_view things = "/apis/example.com/v1/namespaces/ns/things";
    EXPECT_EQ(s.send("POST", things,
                     R"({"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"a"},"spec":{"size":2}})")
                  .status,
              201);
    EXPECT_EQ(s.send("POST", things,
                     R"({"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"b"},"spec":{"size":4}})")
                  .status,
              422);
    const doc::ref schemas = s.get("/openapi/v3/apis/example.com/v1").get({"components", "schemas"});
    const doc::ref told = schemas.get("example.com.v1.Thing").get("properties");
    EXPECT_EQ(told.get({"spec", "properties", "size", "description"}).as_string(), "How big.") << "for kubectl explain";
    EXPECT_TRUE(told.get({"metadata", "properties", "name"}));
}

constexpr std::string_view definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

// Of things.example.com with these properties in their spec.
std::string thing_definition(std::string_view properties, std::string_view version = "v1") {
    return R"({"metadata":{"name":"things.example.com"},"spec":{"group":"example.com","scope":"Namespaced","names":
      {"plural":"things","singular":"thing","kind":"Thing"},"versions":[{"name":")" +
           std::string{version} +
           R"(","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":
      {"spec":{"type":"object","properties":)" +
           std::string{properties} + "}}}}}]}}";
}

TEST(front, follows_what_a_definition_becomes) {
    scene s;
    const std::string at = std::string{definitions} + "/things.example.com";
    const std::string things = "/apis/example.com/v1/namespaces/ns/things";
    const auto make = [&](std::string_view name, std::string_view spec) {
        const std::string text = R"({"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":")" +
                                 std::string{name} + R"("},"spec":)" + std::string{spec} + "}";
        return s.send("POST", things + "?fieldValidation=Strict", text).status;
    };
    const auto change = [&](std::string_view to) {
        return s.send("PATCH", at, to, {}, "application/merge-patch+json").status;
    };
    ASSERT_EQ(s.send("POST", definitions, thing_definition(R"({"size":{"type":"integer"}})")).status, 201);
    EXPECT_EQ(make("a", R"({"size":9})"), 201);
    EXPECT_EQ(make("b", R"({"size":1,"colour":"red"})"), 400);
    const kind* const before = s.all.types().find("example.com", "v1", "things");
    EXPECT_EQ(change(thing_definition(R"({"size":{"type":"integer","maximum":3},"colour":{"type":"string"}})")), 200);
    EXPECT_EQ(make("b", R"({"size":1,"colour":"red"})"), 201);
    EXPECT_EQ(make("c", R"({"size":9})"), 422);
    EXPECT_EQ(s.send("GET", things + "/a").status, 200) << "what is there stays";
    EXPECT_EQ(s.all.types().find("example.com", "v1", "things"), before) << "watches point to it";
    EXPECT_EQ(change(thing_definition("{}", "v2")), 422) << "what is stored is of v1";
    EXPECT_EQ(
        change(R"({"spec":{"versions":[{"name":"v1","storage":true,"schema":{"openAPIV3Schema":{"type":"x"}}}]}})"),
        422);
    EXPECT_EQ(make("d", R"({"colour":"blue"})"), 201) << "what was refused changes nothing";
}

TEST(front, takes_the_objects_away_with_their_definition) {
    scene s;
    const std::string at = std::string{definitions} + "/things.example.com";
    const std::string_view things = "/apis/example.com/v1/namespaces/ns/things";
    const std::string_view thing =
        R"({"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"a","finalizers":["example.com/f"]}})";
    ASSERT_EQ(s.send("POST", definitions, thing_definition("{}")).status, 201);
    ASSERT_EQ(s.send("POST", things, thing).status, 201);
    const response opened = ask(s.all, {"GET", "/apis/example.com/v1/things?watch=1"}, now);
    watcher watching(s.all, std::get<opened_watch>(opened).wish);
    EXPECT_EQ(s.next(watching), "ADDED a");
    EXPECT_EQ(s.send("DELETE", at).status, 200);
    EXPECT_EQ(s.next(watching), "DELETED a");
    EXPECT_EQ(s.send("GET", things).status, 404);
    EXPECT_EQ(s.send("GET", "/apis/example.com/v1").status, 404);
    ASSERT_EQ(s.send("POST", definitions, thing_definition("{}")).status, 201);
    EXPECT_TRUE(s.get(things).get("items").empty());
    ASSERT_EQ(s.send("POST", things, thing).status, 201);
    EXPECT_EQ(s.next(watching), "ADDED a") << "who watched goes on";
}

TEST(front, wants_a_definition_to_be_called_as_what_it_defines) {
    scene s;
    std::string text = thing_definition("{}");
    text.replace(text.find("things.example.com"), 6, "others");
    EXPECT_EQ(s.send("POST", definitions, text).status, 422);
}

TEST(front, tells_kubectl_that_it_knows_no_schema_of_kinds_that_it_does_not_serve) {
    scene s;
    const answer told = s.send("GET", "/openapi/v2", {}, "application/com.github.proto-openapi.spec.v2@v1.0+protobuf");
    EXPECT_EQ(told.status, 200);
    EXPECT_TRUE(told.body.empty()) << "a document without a definition";
    EXPECT_FALSE(told.content_type.contains('@')) << "Go parses it";
    EXPECT_TRUE(s.get("/openapi/v2").get("swagger"));
}

TEST(front, answers_for_the_logs_of_pods) {
    scene s;
    ASSERT_EQ(s.send("POST", "/api/v1/namespaces/ns/pods",
                     R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}})")
                  .status,
              201);
    EXPECT_TRUE(s.send("GET", "/api/v1/namespaces/ns/pods/p/log?follow=true").body.contains("nothing runs in it"));
    EXPECT_EQ(s.send("GET", "/api/v1/namespaces/ns/pods/q/log").status, 404);
    EXPECT_EQ(s.send("GET", "/api/v1/namespaces/ns/configmaps/p/log").status, 404);
}

TEST(front, refuses_unknown_fields_of_a_patch_as_the_patch) {
    scene s;
    s.make("a");
    const answer said = s.send("PATCH", "/api/v1/namespaces/ns/configmaps/a?fieldValidation=Strict", R"({"dato":{}})",
                               {}, "application/merge-patch+json");
    EXPECT_EQ(said.status, 422);
    EXPECT_TRUE(said.body.contains(R"("field":"patch")")) << said.body;
    EXPECT_TRUE(said.body.contains("unknown field")) << said.body;
}

TEST(front, refuses_a_limit_that_is_no_number) {
    scene s;
    EXPECT_EQ(s.send("GET", "/api/v1/configmaps?limit=x").status, 400);
    EXPECT_EQ(s.send("GET", "/api/v1/configmaps?limit=-1").status, 200) << "none";
}

TEST(front, names_requests) {
    EXPECT_EQ(name_request("GET", "/api/v1/pods?watch=1").verb, "watch");
    EXPECT_EQ(name_request("GET", "/api/v1/namespaces/ns/pods").verb, "list");
    EXPECT_EQ(name_request("PATCH", "/apis/g/v1/namespaces/ns/things/a/status").resource, "things");
    EXPECT_EQ(name_request("GET", "/version").verb, "");
}

}  // namespace
}  // namespace cotrain::sim
