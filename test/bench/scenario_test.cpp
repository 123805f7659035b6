// Scenarios: what is made, and when a controller is done with it.
#include "bench/scenario.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doc/json.hpp"
#include "support/temp_dir.hpp"

namespace cotrain::bench {
namespace {

using test::temp_dir;
using testing::EndsWith;
using testing::HasSubstr;

constexpr std::string_view head = "apiVersion: bench.cotrain.dev/v1alpha1\nkind: Scenario\n";
const std::string widget = "object: {apiVersion: w.io/v1, kind: Widget, metadata: {name: 'w-{n}'}}\n";

base::result<scenario> read(const std::string& text, const std::vector<std::string>& crds = {}) {
    const temp_dir dir;
    std::filesystem::create_directory(dir.path("more"));
    dir.write("more/crd.yaml", "{apiVersion: x/v1, kind: A}\n---\n{apiVersion: x/v1, kind: B}\n");
    const std::string file = dir.write("load.yaml", std::string(head) + text);
    std::vector<std::string> all;
    for (const std::string& each : crds) all.push_back(dir.path(each));
    return read_scenario(file, all);
}

std::string refusal(const std::string& text) {
    const auto done = read(text);
    return done ? std::string("nothing is wrong") : done.error().message;
}

TEST(scenario, is_read) {
    const auto all = read(widget + R"(
title: widgets
definitions: [more]
before: [{apiVersion: v1, kind: ConfigMap}]
done: {apiVersion: v1, kind: ConfigMap, name: 'of-w-{n}'}
ends: {conditions: [Ready, Broken]}
update: {patch: {spec: {size: '{n}'}}, done: {field: .status.size, value: big}}
remove: true
players: [{apiVersion: w.io/v1, kind: Part, after: 50ms, status: {ready: true}}]
)",
                          {"more/crd.yaml"});
    ASSERT_TRUE(all) << all.error().message;
    EXPECT_EQ(all->title, "widgets");
    EXPECT_EQ(all->definitions.size(), 4U);
    EXPECT_EQ(all->before.size(), 1U);
    EXPECT_EQ(all->object_of(7), R"({"apiVersion":"w.io/v1","kind":"Widget","metadata":{"name":"w-7"}})");
    EXPECT_EQ(all->update_of(7), R"({"spec":{"size":"7"}})");
    EXPECT_EQ(all->done.name.of(3), "of-w-3");
    EXPECT_EQ(all->ends->name.of(3), "w-3");
    EXPECT_EQ(all->ends->type.kind, "Widget");
    EXPECT_EQ(*all->updated->value, "big");
    EXPECT_TRUE(all->removes);
    EXPECT_EQ(all->players[0].after, std::chrono::milliseconds(50));
    EXPECT_EQ(all->players[0].status, R"({"status":{"ready":true}})");
}

TEST(scenario, without_a_title_is_called_as_its_file) {
    const auto all = read(widget + "done: {condition: Ready}\n");
    ASSERT_TRUE(all) << all.error().message;
    EXPECT_EQ(all->title, "load");
}

// File, line and the word that is wrong.
TEST(scenario, says_where_it_is_wrong) {
    const std::string done = "done: {condition: Ready}\n";
    EXPECT_THAT(refusal(widget + "done: {conditon: Ready}\n"),
                EndsWith("load.yaml:4: done.conditon: unknown field; did you mean \"condition\"?"));
    EXPECT_THAT(refusal(widget), EndsWith("load.yaml:1: done: is missing: when the controller is done with an object"));
    EXPECT_THAT(refusal(done), HasSubstr("object: is missing"));
    EXPECT_THAT(refusal(done + "object: {apiVersion: v1, kind: A, metadata: {name: a}}"),
                EndsWith("load.yaml:4: object.metadata.name: has to have {n} once: the number of the object"));
    EXPECT_THAT(refusal(widget + "done: {}\n"), HasSubstr("done: is so from the start"));
    EXPECT_THAT(refusal(widget + done + "players: [{apiVersion: v1, kind: A, after: soon, status: {}}]"),
                EndsWith("load.yaml:5: players[0].after: expected a time like 50ms or 1s"));
    EXPECT_THAT(refusal(widget + done + "before: [nowhere.yaml]"), HasSubstr("load.yaml:5: before[0]: "));
    EXPECT_THAT(refusal(widget + done + "update: {done: {condition: Ready}}"), HasSubstr("update"));
    EXPECT_THAT(refusal(widget + done + "remove: maybe"), EndsWith("remove: expected true or false, got \"maybe\""));
    const temp_dir dir;
    const auto other = read_scenario(dir.write("a.yaml", "apiVersion: v1\nkind: Pod\n"), {});
    EXPECT_THAT(other.error().message, EndsWith("a.yaml:1: expected bench.cotrain.dev/v1alpha1, kind Scenario"));
}

TEST(scenario, an_object_is_done_when_its_condition_or_field_says_so) {
    doc::arena memory;
    const auto object = doc::parse_json(
        memory, R"({"spec":{"n":3},"status":{"phase":"Up","conditions":[{"type":"Ready","status":"True"},)"
                R"({"type":"Broken","status":"False"}]}})");
    const auto holds = [&](awaited_state what) { return what.holds(*object); };
    EXPECT_TRUE(holds({}));
    EXPECT_TRUE(holds({.conditions = {"Other", "Ready"}}));
    EXPECT_FALSE(holds({.conditions = {"Broken"}}));
    EXPECT_TRUE(holds({.path = ".status.phase"}));
    EXPECT_TRUE(holds({.path = ".status.phase", .value = "Up"}));
    EXPECT_FALSE(holds({.path = ".status.phase", .value = "Down"}));
    EXPECT_TRUE(holds({.path = ".spec.n", .value = "3"}));
    EXPECT_TRUE(holds({.path = R"(.status.conditions[?(@.type=="Ready")].status)", .value = "True"}));
    EXPECT_FALSE(holds({.path = ".status.missing"}));
}

TEST(numbered_name, is_read_back_from_names_and_paths) {
    const numbered_name name("bench-{n}");
    EXPECT_EQ(name.number_of("bench-12"), 12);
    for (const char* other : {"bench-", "bench-1x", "other", "bench--1", "bench"}) EXPECT_EQ(name.number_of(other), -1);
    EXPECT_EQ(numbered_name("a-{n}-b").number_of("a-5-b"), 5);
    EXPECT_EQ(numbered_name("a-{n}-b").number_of("a-b"), -1);
    const std::string home = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets";
    EXPECT_EQ(name.number_in_path(home + "/bench-12?fieldManager=trainer&force=true"), 12);
    EXPECT_EQ(name.number_in_path("/api/v1/namespaces/default/configmaps/bench-7-runtime-snapshot"), 7);
    EXPECT_EQ(name.number_in_path(home + "/bench-3/status"), 3);
    EXPECT_EQ(name.number_in_path(home), -1);
    EXPECT_EQ(name.number_in_path(home + "/bench"), -1);
    EXPECT_EQ(name.number_in_path(home + "/workbench-1"), -1);
    EXPECT_EQ(name.number_in_path(home + "/x?name=/bench-1"), -1);
}

TEST(train_jobs, are_documents) {
    for (const bench_policy policy : {bench_policy::torch, bench_policy::mpi, bench_policy::plain}) {
        const scenario made = train_job_scenario({.nodes = 7, .policy = policy}, true);
        doc::arena memory;
        const auto runtime = doc::parse_json(memory, made.before.at(0));
        ASSERT_TRUE(runtime) << runtime.error().message;
        EXPECT_EQ(runtime->get({"spec", "template", "spec", "replicatedJobs"}).size(),
                  policy == bench_policy::mpi ? 2U : 1U);
        EXPECT_EQ(runtime->get({"spec", "mlPolicy"}).contains(to_string(policy)), policy != bench_policy::plain);
        const std::string text = made.object_of(12);
        const auto job = doc::parse_json(memory, text);
        ASSERT_TRUE(job) << text;
        EXPECT_EQ(job->get({"spec", "trainer", "numNodes"}).as_int(0), 7);
        EXPECT_EQ(made.name.number_of(job->get({"metadata", "name"}).as_string()), 12);
        EXPECT_EQ(made.title, fmt::format("{} jobs of 7 nodes", to_string(policy)));
    }
}

}  // namespace
}  // namespace cotrain::bench
