// JobSets as the player makes them run.
#include "sim/player.hpp"

#include <gtest/gtest.h>

#include <string>

#include "doc/json.hpp"

namespace cotrain::sim {
namespace {

using namespace std::chrono_literals;
constexpr base::seconds_time wall{std::chrono::seconds{1'767'312'000}};

cluster make_cluster() {
    cluster out{1};
    add_neighbours(out.types());
    return out;
}

struct scene {
    cluster all = make_cluster();
    player plays;
    player::time now{};

    explicit scene(std::string_view script = {}) : plays(all, *read_script(script), 1) {
        make("", "v1", "namespaces", "", R"({"metadata":{"name":"ns"}})");
    }
    const kind* of(std::string_view group, std::string_view version, std::string_view plural) {
        return all.types().find(group, version, plural);
    }
    void make(std::string_view group, std::string_view version, std::string_view plural, std::string ns,
              std::string_view text) {
        doc::arena memory;
        const auto done =
            all.create({of(group, version, plural), std::move(ns)}, *doc::parse_json(memory, text), {}, wall);
        ASSERT_TRUE(done) << done.error().message;
    }
    void make_set(std::string_view spec, std::string_view annotations = "{}") {
        make("jobset.x-k8s.io", "v1alpha2", "jobsets", "ns",
             R"({"metadata":{"name":"js","annotations":)" + std::string(annotations) + R"(},"spec":)" +
                 std::string(spec) + "}");
    }
    void pass(std::chrono::milliseconds time) {
        const player::time until = now + time;
        while (plays.act(now, wall) || plays.seen() != all.objects().version()) {
        }
        while (plays.due() && *plays.due() <= until) {
            now = *plays.due();
            while (plays.act(now, wall) || plays.seen() != all.objects().version()) {
            }
        }
        now = until;
        while (all.collect(wall)) {
        }
    }
    std::vector<std::string> list(std::string_view group, std::string_view version, std::string_view plural) {
        std::vector<std::string> out;
        for (const record_ptr& each :
             all.objects().list(*of(group, version, plural), {.version = all.objects().version()}))
            out.push_back(each->json);
        return out;
    }
    std::string status(std::string_view path) {
        doc::arena memory;
        const record_ptr state = all.objects().find(*of("jobset.x-k8s.io", "v1alpha2", "jobsets"), "ns", "js");
        return doc::to_json(open(memory, *state).get({"status", path}));
    }
    std::string condition() {
        doc::arena memory;
        const record_ptr state = all.objects().find(*of("jobset.x-k8s.io", "v1alpha2", "jobsets"), "ns", "js");
        const doc::ref last = open(memory, *state).get({"status", "conditions"});
        if (last.empty()) return {};
        const doc::ref one = last.at(last.size() - 1);
        return std::string{one.get("type").as_string()} + "=" + std::string{one.get("status").as_string()};
    }
    std::size_t pods() { return list("", "v1", "pods").size(); }
};

constexpr std::string_view torch =
    R"({"replicatedJobs":[{"name":"node","replicas":1,"template":{"spec":{"parallelism":3,"completions":3,"template":
    {"spec":{"containers":[{"name":"node","image":"i"}]}}}}}]})";

TEST(player, makes_pods_ready_and_ends) {
    scene s("start 100ms, ready 200ms, run 1s");
    s.make_set(torch);
    s.pass(99ms);
    EXPECT_EQ(s.pods(), 0U);
    s.pass(1ms);
    EXPECT_EQ(s.pods(), 3U);
    EXPECT_NE(s.list("", "v1", "pods")[0].find("ContainerCreating"), std::string::npos);
    EXPECT_NE(s.status("replicatedJobsStatus").find(R"("ready":0,"active":1)"), std::string::npos)
        << s.status("replicatedJobsStatus");
    s.pass(200ms);
    EXPECT_NE(s.status("replicatedJobsStatus").find(R"("ready":1,"active":1)"), std::string::npos);
    EXPECT_NE(s.list("", "v1", "pods")[2].find(R"("phase":"Running")"), std::string::npos);
    EXPECT_EQ(s.condition(), "");
    s.pass(1s);
    EXPECT_EQ(s.condition(), "Completed=True");
    EXPECT_EQ(s.status("terminalState"), R"("Completed")");
    EXPECT_NE(s.list("batch", "v1", "jobs")[0].find("CompletionsReached"), std::string::npos);
}

TEST(player, fails_and_never_ends_by_script) {
    scene s;
    s.make_set(torch, R"({"playground.cotrain/script":"start 1ms, ready 1ms, run 1ms, fail"})");
    s.pass(10ms);
    EXPECT_EQ(s.condition(), "Failed=True");
    scene forever("never");
    forever.make_set(torch);
    forever.pass(std::chrono::hours(24));
    EXPECT_EQ(forever.condition(), "");
    EXPECT_EQ(forever.pods(), 3U);
}

TEST(player, ends_when_the_named_jobs_end_and_takes_the_others_away) {
    scene s("start 1ms, ready 1ms, run 10ms");
    s.make_set(R"({"successPolicy":{"operator":"All","targetReplicatedJobs":["launcher"]},"replicatedJobs":[
      {"name":"launcher","template":{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"i"}]}}}}},
      {"name":"node","template":{"spec":{"parallelism":2,"template":{"spec":{"containers":[{"name":"c","image":"i"}]}}}}}]})");
    s.pass(5ms);
    EXPECT_EQ(s.pods(), 3U);
    s.pass(20ms);
    EXPECT_EQ(s.condition(), "Completed=True");
    EXPECT_EQ(s.pods(), 1U) << "only the launcher's is left";
}

TEST(player, starts_jobs_after_those_that_they_depend_on) {
    scene s("start 10ms, ready 10ms, run 20ms");
    s.make_set(R"({"replicatedJobs":[
      {"name":"init","template":{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"i"}]}}}}},
      {"name":"node","dependsOn":[{"name":"init","status":"Complete"}],
       "template":{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"i"}]}}}}}]})");
    s.pass(25ms);
    EXPECT_EQ(s.pods(), 1U);
    s.pass(20ms);
    EXPECT_EQ(s.pods(), 2U);
    s.pass(100ms);
    EXPECT_EQ(s.condition(), "Completed=True");
}

TEST(player, holds_and_resumes_what_is_suspended) {
    scene s("start 1ms, ready 1ms, run 1s");
    s.make_set(torch);
    s.pass(10ms);
    const auto suspend = [&](bool on) {
        doc::arena memory;
        const std::string text = std::string(R"({"spec":{"suspend":)") + (on ? "true}}" : "false}}");
        ASSERT_TRUE(s.all.patch({s.of("jobset.x-k8s.io", "v1alpha2", "jobsets"), "ns", "js"}, patch_type::merge,
                                *doc::parse_json(memory, text), {}, wall));
    };
    suspend(true);
    s.pass(10ms);
    EXPECT_EQ(s.condition(), "Suspended=True");
    EXPECT_EQ(s.pods(), 0U);
    s.pass(2s);
    EXPECT_EQ(s.condition(), "Suspended=True") << "what was planned before is void";
    suspend(false);
    s.pass(10ms);
    EXPECT_EQ(s.condition(), "Suspended=False");
    EXPECT_EQ(s.pods(), 3U);
    s.pass(2s);
    EXPECT_EQ(s.condition(), "Completed=True");
}

TEST(player, scripts_that_cannot_be_read_say_why) {
    EXPECT_NE(read_script("run fast").error().message.find("behind 'run' comes a time"), std::string::npos);
    EXPECT_NE(read_script("explode").error().message.find("'explode' is unknown"), std::string::npos);
    EXPECT_EQ(read_script("run 2m, never")->run, std::chrono::minutes(2));
}

}  // namespace
}  // namespace cotrain::sim
