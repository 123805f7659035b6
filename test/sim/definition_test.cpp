// CustomResourceDefinitions of anybody: what is wrong with one, versions, sub-resources, and what is not judged.
#include "sim/definition.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "doc/json.hpp"
#include "sim/front.hpp"

namespace cotrain::sim {
namespace {

constexpr base::seconds_time now{std::chrono::seconds{1'767'312'000}};

std::string definition(std::string_view versions, std::string_view more = "") {
    return R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
      "metadata":{"name":"things.example.com"},"spec":{"group":"example.com","scope":"Namespaced",
      "names":{"plural":"things","kind":"Thing"},)" +
           std::string{more} + R"("versions":[)" + std::string{versions} + "]}}";
}

std::string version(std::string_view name, bool stored, std::string_view spec, std::string_view more = "") {
    return R"({"name":")" + std::string{name} + R"(","served":true,"storage":)" + (stored ? "true," : "false,") +
           std::string{more} + R"("schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":)" +
           std::string{spec} + R"(,"status":{"type":"object","properties":{"there":{"type":"integer"}}}}}}})";
}

constexpr std::string_view sized = R"({"type":"object","properties":{"size":{"type":"integer"}}})";

std::string fault(const std::string& text, bool strict = true) {
    doc::arena memory;
    const auto read = doc::parse_json(memory, text);
    if (!read) return read.error().message;
    const auto found = find_fault(*read, strict);
    return found ? crd::to_string(*found) : "";
}

TEST(definition, says_which_field_is_wrong) {
    EXPECT_EQ(fault(definition(version("v1", true, sized))), "");
    EXPECT_EQ(fault(definition(version("v1", true, R"({"type":"object","propertes":{}})"))),
              "spec.versions[0].schema.openAPIV3Schema.properties.spec.propertes: Invalid value: unknown field");
    EXPECT_EQ(fault(definition(version("v1", true, R"({"type":"object","propertes":{}})")), false), "");
    EXPECT_EQ(fault(definition(version("v1", true, R"({"type":"text"})"))),
              "spec.versions[0].schema.openAPIV3Schema.properties.spec.type: Unsupported value: \"text\"");
    EXPECT_EQ(fault(definition(version("v1", true, R"({"minLength":"3","type":"string"})"))),
              "spec.versions[0].schema.openAPIV3Schema.properties.spec.minLength: Invalid value: must be an integer");
    EXPECT_EQ(fault(definition(version("v1", false, sized))),
              "spec.versions: Invalid value: must have exactly one version marked as storage version");
    EXPECT_EQ(fault(definition(version("v1", true, "{}"))),
              "spec.versions[0].schema.openAPIV3Schema.properties.spec.type: Required value: must not be empty for "
              "specified fields");
}

struct scene {
    cluster all{1};
    doc::arena memory;

    scene() { EXPECT_EQ(send("POST", "/api/v1/namespaces", R"({"metadata":{"name":"ns"}})").status, 201); }
    answer send(std::string_view method, std::string_view target, std::string_view body = {},
                std::string_view type = "application/json") {
        return std::get<answer>(ask(all, {method, target, {}, type, "test/1", body}, now));
    }
    doc::ref get(std::string_view target) {
        const answer said = send("GET", target);
        EXPECT_EQ(said.status, 200) << said.body;
        return *doc::parse_json_copy(memory, said.body);
    }
    answer define(const std::string& text) {
        return send("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", text);
    }
};
constexpr std::string_view things = "/apis/example.com/v1/namespaces/ns/things";
constexpr std::string_view old_things = "/apis/example.com/v1beta1/namespaces/ns/things";

TEST(definition, serves_an_object_in_all_versions) {
    scene s;
    const std::string text = definition(version("v1beta1", false, sized) + "," + version("v1", true, sized));
    ASSERT_EQ(s.define(text).status, 201);
    const answer made = s.send("POST", old_things, R"({"metadata":{"name":"a"},"spec":{"size":1}})");
    EXPECT_EQ(made.status, 201) << made.body;
    EXPECT_NE(made.body.find(R"("apiVersion":"example.com/v1beta1")"), std::string::npos) << made.body;
    EXPECT_EQ(s.get(std::string{things} + "/a").get("apiVersion").as_string(), "example.com/v1");
    EXPECT_EQ(s.get(old_things).get("items").at(0).get("apiVersion").as_string(), "example.com/v1beta1");
    const std::string patch = R"({"spec":{"size":2}})";
    EXPECT_EQ(s.send("PATCH", std::string{old_things} + "/a", patch, "application/merge-patch+json").status, 200);
    EXPECT_EQ(s.get(std::string{things} + "/a").get({"spec", "size"}).as_int(0), 2);
    const std::string applied = R"({"apiVersion":"example.com/v1beta1","kind":"Thing","spec":{"size":3}})";
    EXPECT_EQ(s.send("PATCH", std::string{old_things} + "/a?fieldManager=m&force=true", applied,
                     "application/apply-patch+yaml")
                  .status,
              200);
    EXPECT_EQ(s.get("/apis/example.com").get({"preferredVersion", "version"}).as_string(), "v1");
    watch_wish wish = std::get<opened_watch>(ask(s.all, {"GET", std::string{old_things} + "?watch=1"}, now)).wish;
    watcher watching(s.all, std::move(wish));
    const auto event = watching.next(now);
    ASSERT_TRUE(event);
    EXPECT_NE(event->find(R"("apiVersion":"example.com/v1beta1")"), std::string::npos) << *event;
    EXPECT_EQ(s.send("DELETE", std::string{old_things} + "/a").status, 200);
    EXPECT_EQ(s.send("GET", std::string{things} + "/a").status, 404);
}

TEST(definition, keeps_what_an_object_is_when_the_status_of_another_version_is_written) {
    scene s;
    constexpr std::string_view part = R"("subresources":{"status":{}},)";
    ASSERT_EQ(
        s.define(definition(version("v1beta1", false, sized, part) + "," + version("v1", true, sized, part))).status,
        201);
    ASSERT_EQ(s.send("POST", things, R"({"metadata":{"name":"a"},"spec":{"size":1}})").status, 201);
    const std::string status = R"({"status":{"there":2}})";
    EXPECT_EQ(s.send("PATCH", std::string{old_things} + "/a/status", status, "application/merge-patch+json").status,
              200);
    const doc::ref live = s.get(std::string{things} + "/a");
    EXPECT_EQ(live.get({"metadata", "namespace"}).as_string(), "ns");
    EXPECT_EQ(live.get({"metadata", "generation"}).as_int(0), 1);
    EXPECT_EQ(live.get({"metadata", "managedFields"}).size(), 2U);
    EXPECT_EQ(live.get({"status", "there"}).as_int(0), 2);
}

TEST(front, makes_a_lease_by_update_and_judges_pods_of_jobs) {
    scene s;
    const std::string lease = "/apis/coordination.k8s.io/v1/namespaces/ns/leases/l";
    EXPECT_EQ(s.send("PUT", lease, R"({"metadata":{"name":"l"},"spec":{"holderIdentity":"h"}})").status, 201);
    EXPECT_EQ(s.send("PUT", "/api/v1/namespaces/ns/configmaps/c", R"({"metadata":{"name":"c"}})").status, 404);
    const std::string revisions = "/apis/apps/v1/namespaces/ns/controllerrevisions";
    const answer made = s.send("POST", revisions, R"({"metadata":{"name":"r"},"revision":1,"data":{}})");
    EXPECT_NE(made.body.find(R"("data":{})"), std::string::npos) << made.body;
    const std::string jobs = "/apis/batch/v1/namespaces/ns/jobs";
    const auto job = [&](std::string_view container, std::string_view policy) {
        return s.send("POST", jobs,
                      R"({"metadata":{"generateName":"j-"},"spec":{"template":{"spec":{"restartPolicy":")" +
                          std::string{policy} + R"(","containers":[)" + std::string{container} + "]}}}}");
    };
    EXPECT_EQ(job(R"({"name":"c","image":"i"})", "Never").status, 201);
    EXPECT_EQ(job(R"({"name":"c","image":"i"})", "Always").status, 422);
    EXPECT_EQ(job(R"({"name":"c"})", "Never").status, 422);
    EXPECT_EQ(job("", "Never").status, 422);
}

TEST(definition, forgets_a_version_that_is_served_no_more) {
    scene s;
    ASSERT_EQ(s.define(definition(version("v1beta1", false, sized) + "," + version("v1", true, sized))).status, 201);
    const std::string at = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.example.com";
    const std::string only = R"({"spec":{"versions":[)" + version("v1", true, sized) + "]}}";
    EXPECT_EQ(s.send("PATCH", at, only, "application/merge-patch+json").status, 200);
    EXPECT_EQ(s.send("GET", old_things).status, 404);
    EXPECT_EQ(s.send("GET", things).status, 200);
    EXPECT_EQ(s.send("DELETE", at).status, 200);
    EXPECT_EQ(s.send("GET", things).status, 404);
}

TEST(definition, scales) {
    scene s;
    constexpr std::string_view parts =
        R"("subresources":{"status":{},"scale":{"specReplicasPath":".spec.size","statusReplicasPath":".status.there"}},)";
    ASSERT_EQ(s.define(definition(version("v1", true, sized, parts))).status, 201);
    ASSERT_EQ(s.send("POST", things, R"({"metadata":{"name":"a"},"spec":{"size":1}})").status, 201);
    const std::string at = std::string{things} + "/a/scale";
    EXPECT_EQ(s.get(at).get({"spec", "replicas"}).as_int(0), 1);
    EXPECT_EQ(s.send("PUT", at, R"({"spec":{"replicas":3}})").status, 200);
    EXPECT_EQ(s.get(std::string{things} + "/a").get({"spec", "size"}).as_int(0), 3);
    EXPECT_EQ(s.send("PATCH", at, R"({"spec":{"replicas":4}})", "application/merge-patch+json").status, 200);
    EXPECT_EQ(s.get(at).get({"spec", "replicas"}).as_int(0), 4);
    const doc::ref owners = s.get(std::string{things} + "/a").get({"metadata", "managedFields"});
    EXPECT_TRUE(owners.find_by("subresource", "scale")) << doc::to_json(owners);
    EXPECT_EQ(s.send("PUT", at, R"({"spec":{"replicas":-1}})").status, 422);
    EXPECT_EQ(s.send("PUT", at, R"({"metadata":{"resourceVersion":"1"},"spec":{"replicas":2}})").status, 409);
    EXPECT_EQ(s.send("GET", "/api/v1/namespaces/ns/configmaps/a/scale").status, 404);
    EXPECT_TRUE(s.get("/apis/example.com/v1").get("resources").find_by("name", "things/scale"));
}

TEST(definition, lists_what_is_not_judged) {
    scene s;
    constexpr std::string_view spec =
        R"({"type":"object","properties":{"size":{"type":"integer","multipleOf":2}},"required":["elsewhere"],
            "x-kubernetes-validations":[{"rule":"self.size > 1"}]})";
    ASSERT_EQ(s.define(definition(version("v1", true, spec))).status, 201);
    const kind* const of = s.all.types().find("example.com", "v1", "things");
    ASSERT_NE(of, nullptr);
    EXPECT_EQ(of->unjudged, (std::vector<std::string>{"spec.size: multipleOf 2", "spec: rule self.size > 1"}));
}

TEST(front, deletes_a_collection) {
    scene s;
    constexpr std::string_view maps = "/api/v1/namespaces/ns/configmaps";
    for (const char* name : {"a", "b", "c"}) {
        const std::string label = name == std::string_view{"c"} ? "y" : "x";
        const std::string text =
            R"({"metadata":{"name":")" + std::string{name} + R"(","labels":{"l":")" + label + R"("}}})";
        ASSERT_EQ(s.send("POST", maps, text).status, 201);
    }
    EXPECT_EQ(s.send("DELETE", std::string{maps} + "?labelSelector=l%3Dx").status, 200);
    EXPECT_EQ(s.get(maps).get("items").size(), 1U);
    EXPECT_EQ(s.send("DELETE", "/api/v1/configmaps").status, 405);
}

TEST(front, binds_evicts_and_finalizes) {
    scene s;
    constexpr std::string_view pods = "/api/v1/namespaces/ns/pods";
    ASSERT_EQ(
        s.send("POST", pods, R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}})").status,
        201);
    const std::string at = std::string{pods} + "/p";
    EXPECT_EQ(s.send("POST", at + "/binding", R"({"target":{"kind":"Node","name":"n"}})").status, 201);
    EXPECT_EQ(s.get(at).get({"spec", "nodeName"}).as_string(), "n");
    EXPECT_EQ(s.send("POST", at + "/binding", R"({"target":{"name":"m"}})").status, 409);
    EXPECT_EQ(s.send("POST", at + "/eviction", R"({"metadata":{"name":"p"}})").status, 201);
    EXPECT_EQ(s.send("GET", at).status, 404);
    // Where no controller ends namespaces somebody else takes the finalizer away.
    EXPECT_EQ(s.send("DELETE", "/api/v1/namespaces/ns").status, 200);
    EXPECT_EQ(s.get("/api/v1/namespaces/ns").get({"status", "phase"}).as_string(), "Terminating");
    EXPECT_EQ(s.send("PUT", "/api/v1/namespaces/ns/finalize", R"({"metadata":{"name":"ns"},"spec":{}})").status, 200);
    EXPECT_EQ(s.send("GET", "/api/v1/namespaces/ns").status, 404);
}

}  // namespace
}  // namespace cotrain::sim
