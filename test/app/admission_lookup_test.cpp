// Reviews' questions are answered from what was watched, and from nothing else.
#include "app/operator/lookups.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/watch_samples.hpp"
#include "watch/together.hpp"

namespace cotrain::app {
namespace {

namespace names = api::names;
using runtime::presence;
using watch::bookmark;
using watch::kind;
using watch::line;
using watch::refuse;
using watch::step;
using watch::streams;
using watch::together;

constexpr std::string_view runtime_rt =
    R"({"metadata":{"name":"rt","namespace":"ns","uid":"u-rt","resourceVersion":"3"},"spec":{"mlPolicy":{"numNodes":1},)"
    R"("template":{"spec":{"replicatedJobs":[{"name":"node","template":{"spec":{"template":{"spec":{"containers":[)"
    R"({"name":"node","image":"i"}]}}}}}]}}}})";
constexpr std::string_view job =
    R"({"metadata":{"name":"job","namespace":"ns","uid":"11111111-0000-4000-8000-000000000001","resourceVersion":"4"},)"
    R"("spec":{"runtimeRef":{"name":"rt","kind":"TrainingRuntime","apiGroup":"trainer.kubeflow.org"}}})";
constexpr std::string_view owned_by_job =
    R"("ownerReferences":[{"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob","name":"job",)"
    R"("uid":"11111111-0000-4000-8000-000000000001","controller":true}])";

std::string snapshot() {
    return R"({"metadata":{"name":"job-runtime-snapshot","namespace":"ns","uid":"u-s","resourceVersion":"5",)" +
           std::string(owned_by_job) + "}}";
}
std::string job_set(int active) {
    return R"({"metadata":{"name":"job","namespace":"ns","uid":"u-j","resourceVersion":"6",)" +
           std::string(owned_by_job) +
           R"(},"spec":{"suspend":false},"status":{"replicatedJobsStatus":[{"name":"node","ready":0,"succeeded":0,)"
           R"("failed":0,"active":)" +
           std::to_string(active) + R"(,"suspended":0}]}})";
}
step all_there(std::vector<std::string> objects) {
    std::vector<std::string> lines;
    for (const std::string& each : objects) lines.push_back(line("ADDED", each));
    lines.push_back(bookmark(10, true));
    return streams(std::move(lines), step::end::held);
}

// Informers, the stores of a cluster over them, and a lookup, until the body ends.
struct looking {
    looking(together& t, watch::informers& all)
        : here(t), cluster(t.texts, stores(all), t.api.log), lookup(all, cluster, [this](watch::text_id key) {
              return key == here.texts.find("ns/job") ? snapshot : nullptr;
          }) {}
    static watch::cluster::stores stores(watch::informers& all) {
        watch::cluster::stores out{};
        for (const kind k : watch::all_kinds()) out[static_cast<std::size_t>(k)] = &all.store(k);
        return out;
    }
    awaitable<admission::answer> ask(const api::resource_type& type, std::string ns, std::string name) {
        const std::size_t before = here.api.seen.size();
        auto found = co_await lookup.look_up({.type = &type, .ns = std::move(ns), .name = std::move(name)}, &memory);
        EXPECT_EQ(here.api.seen.size(), before) << "a request was made for a review";
        co_return found;
    }

    together& here;
    doc::arena memory;
    watch::cluster cluster;
    admission_lookup::compiled snapshot;
    admission_lookup lookup;
};

TEST(admission_lookup, answers_from_what_was_watched) {
    together here;
    here.scripts["trainingruntimes"] = {all_there({std::string(runtime_rt)})};
    here.scripts["trainjobs"] = {all_there({std::string(job)})};
    here.scripts["configmaps"] = {all_there({snapshot()})};
    here.scripts["jobsets"] = {all_there({job_set(1)})};
    here.scripts["priorityclasses"] = {
        all_there({R"({"metadata":{"name":"high","uid":"u-p","resourceVersion":"2"}})"})};
    here.run([](together& t, watch::informers& all) -> awaitable<void> {
        EXPECT_TRUE(co_await all.ready());
        looking l(t, all);
        const auto runtime = co_await l.ask(names::training_runtime, "ns", "rt");
        EXPECT_EQ(runtime.state, presence::exists);
        EXPECT_NE(runtime.runtime, nullptr);
        const auto set = co_await l.ask(names::job_set, "ns", "job");
        EXPECT_TRUE(set.job_set && set.job_set->any_active());
        EXPECT_EQ((co_await l.ask(names::job_set, "ns", "other")).state, presence::missing);
        EXPECT_EQ((co_await l.ask(names::priority_class, "", "high")).state, presence::exists);
        // A snapshot that nobody has read yet is there all the same.
        const auto unread = co_await l.ask(names::config_map, "ns", "job-runtime-snapshot");
        EXPECT_EQ(unread.state, presence::exists);
        EXPECT_EQ(unread.runtime, nullptr);
        l.snapshot = runtime.runtime;
        EXPECT_EQ((co_await l.ask(names::config_map, "ns", "job-runtime-snapshot")).runtime, runtime.runtime);
        // Other ConfigMaps are nobody's business.
        EXPECT_EQ((co_await l.ask(names::config_map, "ns", "job")).state, presence::missing);
        EXPECT_EQ((co_await l.ask(names::config_map, "other", "job-runtime-snapshot")).state, presence::missing);
    });
}

// One that is there but not kept is refused at once, with the sentence that a waiting job's condition has.
TEST(admission_lookup, says_which_bound_a_runtime_is_above) {
    together here;
    here.options.kept.of_namespaces = {.namespace_bytes = 100, .all_bytes = 400};
    here.scripts["trainingruntimes"] = {all_there({std::string(runtime_rt)})};
    here.run([](together& t, watch::informers& all) -> awaitable<void> {
        EXPECT_TRUE(co_await all.ready());
        looking l(t, all);
        const auto runtime = co_await l.ask(names::training_runtime, "ns", "rt");
        EXPECT_EQ(runtime.state, presence::missing);
        EXPECT_THAT(runtime.why, testing::MatchesRegex("cannot be used: TrainingRuntime ns/rt of [0-9]+ bytes is not "
                                                       "kept: .* in namespace ns .* 100 bytes; make it smaller .*"));
    });
}

TEST(admission_lookup, waits_a_little_for_what_was_made_right_before) {
    together here;
    here.scripts["trainingruntimes"] = {streams({bookmark(1, true)}, step::end::clean),
                                        streams({line("ADDED", std::string(runtime_rt))}, step::end::held)};
    here.run([](together& t, watch::informers& all) -> awaitable<void> {
        EXPECT_TRUE(co_await all.ready());
        looking l(t, all);
        base::task_group tasks(t.api.loop.get_executor());
        tasks.spawn("come in", [](together* here, looking* l) -> awaitable<void> {
            here->let_end.notify();
            co_await here->listener.until("TrainingRuntime ns/rt changed added");
            l->lookup.came_in(kind::training_runtime);
        }(&t, &l));
        const auto found =
            co_await l.lookup.look_up({.type = &names::training_runtime, .ns = "ns", .name = "rt"}, &l.memory);
        EXPECT_EQ(found.state, presence::exists);
        co_await tasks.join();
        const auto begun = std::chrono::steady_clock::now();
        EXPECT_EQ((co_await l.ask(names::training_runtime, "ns", "none")).state, presence::missing);
        EXPECT_GE(std::chrono::steady_clock::now() - begun, admission_lookup::patience);
    });
}

TEST(admission_lookup, says_what_it_may_not_know) {
    together here;
    here.options.namespaces = {"ns"};
    for (const auto* each : {"clustertrainingruntimes", "priorityclasses"})
        for (int i = 0; i < 100; ++i) here.scripts[each].push_back(refuse(403, "Forbidden"));
    here.run([](together& t, watch::informers& all) -> awaitable<void> {
        looking l(t, all);
        EXPECT_EQ((co_await l.ask(names::training_runtime, "ns", "rt")).state, presence::unreadable) << "not in sync";
        EXPECT_TRUE(co_await all.ready());
        EXPECT_EQ((co_await l.ask(names::cluster_training_runtime, "", "rt")).state, presence::unreadable);
        EXPECT_EQ((co_await l.ask(names::priority_class, "", "high")).state, presence::unreadable);
        const auto elsewhere = co_await l.ask(names::training_runtime, "other", "rt");
        EXPECT_EQ(elsewhere.state, presence::unreadable);
        EXPECT_THAT(elsewhere.why, testing::HasSubstr("does not look at that namespace"));
    });
}

}  // namespace
}  // namespace cotrain::app
