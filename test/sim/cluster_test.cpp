// The embedded cluster's rules: versions, ownership, deletion, garbage collection.
#include "sim/cluster.hpp"

#include <gtest/gtest.h>

#include <string>

#include "doc/json.hpp"

namespace cotrain::sim {
namespace {

struct scene {
    cluster all{1};
    doc::arena memory;

    scene() { (void)create("namespaces", "", R"({"metadata":{"name":"ns"}})"); }

    [[nodiscard]] const kind* of(std::string_view plural) { return all.types().find("", "v1", plural); }
    static base::seconds_time now(int later = 0) {
        return base::seconds_time{std::chrono::seconds{1'767'312'000 + later}};
    }
    doc::ref read(std::string_view text) { return *doc::parse_json_copy(memory, text); }

    outcome<written> create(std::string_view plural, std::string ns, std::string_view text) {
        return all.create({of(plural), std::move(ns)}, read(text), {.manager = "maker"}, now());
    }
    outcome<written> apply(std::string name, std::string manager, std::string_view data, bool force = false,
                           int later = 0) {
        const std::string text = R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":")" + name +
                                 R"("},"data":)" + std::string{data} + "}";
        return all.patch({of("configmaps"), "ns", std::move(name)}, patch_type::apply, read(text),
                         {.manager = std::move(manager), .force = force}, now(later));
    }
    doc::ref get(std::string_view plural, std::string ns, std::string name) {
        const auto found = all.get({of(plural), std::move(ns), std::move(name)});
        return found ? read((*found)->json) : doc::ref{};
    }
    std::string data(std::string name) { return doc::to_json(get("configmaps", "ns", std::move(name)).get("data")); }
    void collect() {
        while (all.collect(now())) {
        }
    }
    std::string owned_by(std::string_view uid, std::string_view name, bool block = false) {
        return R"({"metadata":{"name":")" + std::string{name} +
               R"(","ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"o","uid":")" + std::string{uid} +
               "\"" + (block ? R"(,"blockOwnerDeletion":true)" : "") + "}]}}";
    }
};

TEST(cluster, gives_new_objects_what_the_server_gives) {
    scene s;
    const auto made = s.create("secrets", "ns", R"({"metadata":{"name":"a"},"stringData":{"k":"v"}})");
    ASSERT_TRUE(made.has_value()) << made.error().message;
    const doc::ref object = s.read(made->json);
    EXPECT_EQ(object.get("type").as_string(), "Opaque");
    EXPECT_EQ(object.get({"data", "k"}).as_string(), "dg==");
    EXPECT_FALSE(object.contains("stringData"));
    EXPECT_EQ(object.get({"metadata", "uid"}).as_string().size(), 36U);
    EXPECT_EQ(object.get({"metadata", "creationTimestamp"}).as_string(), "2026-01-02T00:00:00Z");
    EXPECT_EQ(object.get({"metadata", "managedFields"}).at(0).get("manager").as_string(), "maker");
    EXPECT_EQ(s.create("secrets", "ns", R"({"metadata":{"name":"a"}})").error().reason, "AlreadyExists");
    EXPECT_EQ(s.create("secrets", "nowhere", R"({"metadata":{"name":"a"}})").error().code, 404);
}

TEST(cluster, refuses_to_take_a_field_from_another_applier_unless_forced) {
    scene s;
    ASSERT_TRUE(s.apply("c", "one", R"({"a":"1","b":"1"})").has_value());
    const auto second = s.apply("c", "two", R"({"a":"2"})");
    ASSERT_FALSE(second.has_value());
    EXPECT_EQ(second.error().message, R"(Apply failed with 1 conflict: conflict with "one": .data.a)");
    EXPECT_EQ(s.data("c"), R"({"a":"1","b":"1"})");
    ASSERT_TRUE(s.apply("c", "two", R"({"a":"2"})", true).has_value());
    EXPECT_EQ(s.data("c"), R"({"a":"2","b":"1"})");
    // What it lost, the first applier can drop without removing it.
    ASSERT_TRUE(s.apply("c", "one", R"({"b":"1"})").has_value());
    EXPECT_EQ(s.data("c"), R"({"a":"2","b":"1"})");
}

// As integration/apply_test shows of the real API server.
TEST(cluster, judges_the_preconditions_of_applies) {
    scene s;
    const auto apply = [&](const char* name, const std::string& precondition, std::string_view data) {
        const std::string text = R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":")" + std::string(name) +
                                 "\"," + precondition + R"(},"data":)" + std::string(data) + "}";
        return s.all.patch({s.of("configmaps"), "ns", name}, patch_type::apply, s.read(text),
                           {.manager = "one", .force = true}, scene::now());
    };
    const std::string version = R"("resourceVersion":"1")";
    ASSERT_TRUE(apply("c", version, R"({"a":"1"})").has_value());
    EXPECT_EQ(apply("c", version, R"({"b":"1"})").error().code, 409);
    EXPECT_EQ(s.data("c"), R"({"a":"1"})");
    const std::string uid(s.get("configmaps", "ns", "c").get({"metadata", "uid"}).as_string());
    EXPECT_TRUE(apply("c", R"("uid":")" + uid + "\"", R"({"b":"1"})").has_value());
    EXPECT_EQ(s.data("c"), R"({"b":"1"})");
    const auto other = apply("c", R"("uid":"another")", R"({"c":"1"})");
    EXPECT_EQ(other.error().code, 422);
    EXPECT_TRUE(other.error().message.contains("metadata.uid: Invalid value: \"another\": field is immutable"))
        << other.error().message;
    EXPECT_EQ(apply("none", R"("uid":")" + uid + "\"", R"({"c":"1"})").error().code, 409);
    EXPECT_EQ(s.data("c"), R"({"b":"1"})");
}

TEST(cluster, removes_what_is_no_longer_applied_by_anyone) {
    scene s;
    ASSERT_TRUE(s.apply("c", "one", R"({"a":"1","b":"1"})").has_value());
    ASSERT_TRUE(s.apply("c", "two", R"({"b":"1"})").has_value());
    ASSERT_TRUE(s.apply("c", "one", R"({})").has_value());
    EXPECT_EQ(s.data("c"), R"({"b":"1"})");
    ASSERT_TRUE(s.apply("c", "two", R"({})").has_value());
    EXPECT_FALSE(s.get("configmaps", "ns", "c").contains("data"));
}

TEST(cluster, writes_nothing_when_nothing_changes) {
    scene s;
    ASSERT_TRUE(s.apply("c", "one", R"({"a":"1"})").has_value());
    const std::uint64_t version = s.all.objects().version();
    ASSERT_TRUE(s.apply("c", "one", R"({"a":"1"})", false, 60).has_value());
    EXPECT_EQ(s.all.objects().version(), version);
}

TEST(cluster, refuses_updates_of_another_version) {
    scene s;
    ASSERT_TRUE(s.apply("c", "one", R"({"a":"1"})").has_value());
    const auto stale = s.all.update({s.of("configmaps"), "ns", "c"},
                                    s.read(R"({"metadata":{"name":"c","resourceVersion":"1"}})"), {}, scene::now());
    ASSERT_FALSE(stale.has_value());
    EXPECT_EQ(stale.error().reason, "Conflict");
}

TEST(cluster, keeps_an_object_until_its_finalizers_are_gone) {
    scene s;
    ASSERT_TRUE(
        s.create("configmaps", "ns", R"({"metadata":{"name":"c","finalizers":["example.com/f"]}})").has_value());
    const target at{s.of("configmaps"), "ns", "c"};
    ASSERT_TRUE(s.all.remove(at, {}, scene::now()).has_value());
    EXPECT_TRUE(s.get("configmaps", "ns", "c").get("metadata").contains("deletionTimestamp"));
    ASSERT_TRUE(s.all.patch(at, patch_type::merge, s.read(R"({"metadata":{"finalizers":null}})"), {}, scene::now())
                    .has_value());
    EXPECT_FALSE(s.all.get(at).has_value());
}

TEST(cluster, refuses_finalizers_and_annotations_without_a_proper_name) {
    scene s;
    const auto make = [&](std::string_view metadata) {
        return s.create("configmaps", "ns", R"({"metadata":{"generateName":"a-",)" + std::string{metadata} + "}}")
            .has_value();
    };
    EXPECT_FALSE(make(R"("finalizers":["mine"])"));
    EXPECT_FALSE(make(R"("finalizers":["example.com/a b"])"));
    EXPECT_TRUE(make(R"("finalizers":["example.com/mine","orphan"])"));
    EXPECT_FALSE(make(R"("annotations":{"no name":"x"})"));
    EXPECT_FALSE(make(R"("annotations":{"/name":"x"})"));
    EXPECT_TRUE(make(R"("annotations":{"Example.com/Name":"any text"})"));
}

TEST(cluster, keeps_the_namespaces_that_every_cluster_has) {
    scene s;
    (void)s.create("namespaces", "", R"({"metadata":{"name":"default"}})");
    const auto done = s.all.remove({s.of("namespaces"), "", "default"}, {}, scene::now());
    ASSERT_FALSE(done.has_value());
    EXPECT_EQ(done.error().message, "namespaces \"default\" is forbidden: this namespace may not be deleted");
}

TEST(cluster, collects_dependents_of_what_is_gone) {
    scene s;
    ASSERT_TRUE(s.create("configmaps", "ns", R"({"metadata":{"name":"o"}})").has_value());
    const std::string uid{s.get("configmaps", "ns", "o").get({"metadata", "uid"}).as_string()};
    ASSERT_TRUE(s.create("secrets", "ns", s.owned_by(uid, "d")).has_value());
    ASSERT_TRUE(s.create("secrets", "ns", s.owned_by("never-was", "e")).has_value());
    s.collect();
    EXPECT_TRUE(s.get("secrets", "ns", "d"));
    EXPECT_FALSE(s.get("secrets", "ns", "e"));
    ASSERT_TRUE(s.all.remove({s.of("configmaps"), "ns", "o"}, {}, scene::now()).has_value());
    s.collect();
    EXPECT_FALSE(s.get("secrets", "ns", "d"));
}

TEST(cluster, deletes_in_the_foreground_and_orphans) {
    for (const bool orphan : {false, true}) {
        scene s;
        ASSERT_TRUE(s.create("configmaps", "ns", R"({"metadata":{"name":"o"}})").has_value());
        const std::string uid{s.get("configmaps", "ns", "o").get({"metadata", "uid"}).as_string()};
        ASSERT_TRUE(s.create("secrets", "ns", s.owned_by(uid, "d", true)).has_value());
        s.collect();
        const removal how{.dependents = orphan ? propagation::orphan : propagation::foreground};
        ASSERT_TRUE(s.all.remove({s.of("configmaps"), "ns", "o"}, how, scene::now()).has_value());
        EXPECT_TRUE(s.get("configmaps", "ns", "o"));
        s.collect();
        EXPECT_FALSE(s.get("configmaps", "ns", "o"));
        EXPECT_EQ(static_cast<bool>(s.get("secrets", "ns", "d")), orphan);
        if (orphan) {
            EXPECT_FALSE(s.get("secrets", "ns", "d").get("metadata").contains("ownerReferences"));
        }
    }
}

TEST(cluster, empties_a_namespace_before_it_ends) {
    scene s;
    ASSERT_TRUE(s.apply("c", "one", R"({"a":"1"})").has_value());
    ASSERT_TRUE(s.all.remove({s.of("namespaces"), "", "ns"}, {}, scene::now()).has_value());
    EXPECT_EQ(s.get("namespaces", "", "ns").get({"status", "phase"}).as_string(), "Terminating");
    EXPECT_EQ(s.create("secrets", "ns", R"({"metadata":{"name":"a"}})").error().code, 403);
    s.collect();
    EXPECT_FALSE(s.get("configmaps", "ns", "c"));
    EXPECT_FALSE(s.get("namespaces", "", "ns"));
}

}  // namespace
}  // namespace cotrain::sim
