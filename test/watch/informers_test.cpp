// Informers together: when they are ready, what is missing, and what a finished job lets go of.
#include "watch/informers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "support/watch_samples.hpp"
#include "watch/together.hpp"

namespace cotrain::watch {
namespace {

using testing::ElementsAre;

std::string plain_in(std::string_view ns, std::string_view name, int version) {
    return R"({"metadata":{"name":")" + std::string(name) + R"(","namespace":")" + std::string(ns) + R"(","uid":"u-)" +
           std::string(ns) + std::string(name) + R"(","resourceVersion":")" + std::to_string(version) +
           R"("},"spec":{"limits":[]}})";
}

TEST(informers, are_ready_when_all_that_is_required_is_there) {
    together here;
    here.scripts["jobsets"] = {refuse(404, "NotFound"), refuse(404, "NotFound")};
    // Of both groups, for ever: nobody has to have them.
    for (int i = 0; i < 100; ++i) here.scripts["podgroups"].push_back(refuse(404, "NotFound"));
    here.scripts["runtimeclasses"] = {refuse(403, "Forbidden")};
    here.run([](together& t, informers& all) -> awaitable<void> {
        co_await t.listener.until("JobSet missing");
        EXPECT_THAT(all.missing(), ElementsAre(kind::job_set));
        EXPECT_FALSE(all.is_ready());
        EXPECT_TRUE(co_await all.ready());
        EXPECT_TRUE(all.is_ready());
        EXPECT_THAT(all.missing(), ElementsAre());
        EXPECT_TRUE(all.of(kind::volcano_pod_group)->missing());
    });
}

TEST(informers, ask_for_all_that_was_denied_when_one_kind_can_be_read) {
    together t;
    t.options.timing.denied = {std::chrono::milliseconds(20), std::chrono::milliseconds(20), 2.0, 0.0};
    t.options.timing.unneeded = {std::chrono::hours(1), std::chrono::hours(1), 2.0, 0.0};
    t.scripts["limitranges"] = {refuse(403, "Forbidden")};
    t.scripts["jobsets"] = {refuse(403, "Forbidden")};
    t.run([](together&, informers& all) -> awaitable<void> {
        EXPECT_TRUE(co_await all.ready());
        EXPECT_TRUE(co_await const_cast<informer*>(all.of(kind::limit_range))->synced());
    });
}

TEST(informers, watch_only_what_they_are_told_to) {
    together here;
    here.options.watched = kind_set().set(static_cast<std::size_t>(kind::limit_range));
    here.run([](together& t, informers& all) -> awaitable<void> {
        EXPECT_TRUE(co_await all.ready());
        EXPECT_EQ(t.api.seen.size(), 1U);
        EXPECT_EQ(all.of(kind::secret), nullptr);
        EXPECT_EQ(all.store(kind::secret).size(), 0U);
    });
}

TEST(informers, never_list_or_watch_secrets) {
    together here;
    here.run([](together& t, informers& all) -> awaitable<void> {
        EXPECT_TRUE(co_await all.ready());
        for (const auto& each : t.api.seen) EXPECT_FALSE(each.head.path.contains("/secrets")) << each.head.path;
        EXPECT_EQ(all.of(kind::secret), nullptr);
    });
}

TEST(informers, of_namespaces_watch_each_of_them_and_do_without_what_belongs_to_none) {
    together here;
    here.options.namespaces = {"a", "b"};
    for (const auto* wide : {"clustertrainingruntimes", "runtimeclasses", "priorityclasses"})
        for (int i = 0; i < 100; ++i) here.scripts[wide].push_back(refuse(403, "Forbidden"));
    here.scripts["a/limitranges"] = {
        streams({line("ADDED", plain_in("a", "one", 3)), bookmark(5, true)}, step::end::clean), refuse(410, "Expired"),
        streams({line("ADDED", plain_in("a", "two", 7)), bookmark(8, true)}, step::end::held)};
    here.scripts["b/limitranges"] = {
        streams({line("ADDED", plain_in("b", "one", 4)), bookmark(5, true)}, step::end::held)};
    here.run([](together& t, informers& all) -> awaitable<void> {
        EXPECT_TRUE(co_await all.ready());
        for (const auto& each : t.api.seen) {
            const bool wide = each.head.path.contains("/clustertrainingruntimes") ||
                              each.head.path.contains("/runtimeclasses") || each.head.path.contains("/priorityclasses");
            EXPECT_TRUE(wide || each.head.path.contains("/namespaces/a/") || each.head.path.contains("/namespaces/b/"))
                << each.head.path;
        }
        EXPECT_EQ(all.of(kind::limit_range, "c"), nullptr);
        EXPECT_EQ(all.of(kind::limit_range, "b")->ns(), "b");
        EXPECT_EQ(all.of(kind::cluster_training_runtime)->now(), informer::state::forbidden);
        t.let_end.notify();
        co_await t.listener.until("LimitRange a/one removed");
        EXPECT_TRUE(all.store(kind::limit_range).find("a", "two"));
        EXPECT_TRUE(all.store(kind::limit_range).find("b", "one")) << "another namespace's picture says nothing of it";
        EXPECT_TRUE(all.is_ready());
    });
}

TEST(informers, of_namespaces_wait_for_all_of_them) {
    together here;
    here.options.namespaces = {"a", "b"};
    here.scripts["b/trainjobs"] = {refuse(403, "Forbidden"), refuse(403, "Forbidden"),
                                   streams({bookmark(5, true)}, step::end::held)};
    here.run([](together& t, informers& all) -> awaitable<void> {
        EXPECT_TRUE(co_await all.ready());
        const auto said = [&t](std::string_view line) { return std::ranges::count(t.listener.lines, line); };
        EXPECT_EQ(said("TrainJob synced"), 1) << "when the last one is";
        EXPECT_EQ(said("ConfigMap synced"), 1);
    });
}

TEST(informers, let_go_of_the_job_set_of_a_job_that_has_its_last_counts) {
    together here;
    test::sample_job job;
    const std::string running = test::running_train_job(job);
    job.terminal = "Complete";
    job.active = 0;
    job.succeeded = 4;
    const std::string set = test::job_set_of(job, "0a1b2c3d-0000-4000-8000-000000000001", "90000");
    job.resource_version = "90001";
    here.scripts["trainjobs"] = {streams({line("ADDED", running), bookmark(81'234, true)}, step::end::clean),
                                 streams({line("MODIFIED", test::running_train_job(job))}, step::end::held)};
    here.scripts["jobsets"] = {streams({line("ADDED", set), bookmark(90'000, true)}, step::end::held)};
    here.run([](together& t, informers& all) -> awaitable<void> {
        EXPECT_TRUE(co_await all.ready());
        const auto at = all.store(kind::job_set).find("team-a", "torch-000123");
        EXPECT_TRUE(at);
        if (!at) co_return;
        EXPECT_NE(all.store(kind::job_set).body(*at), nullptr);
        t.let_end.notify();
        co_await t.listener.until("TrainJob team-a/torch-000123 changed status");
        EXPECT_EQ(all.store(kind::job_set).size(), 0U);
        EXPECT_GT(all.memory_bytes(), 0U);
    });
}

TEST(informers, let_go_of_job_sets_that_came_before_their_finished_jobs) {
    together here;
    test::sample_job job;
    job.terminal = "Failed";
    job.active = 0;
    here.scripts["trainjobs"] = {
        streams({line("ADDED", test::running_train_job(job)), bookmark(81'234, true)}, step::end::held)};
    here.scripts["jobsets"] = {streams(
        {line("ADDED", test::job_set_of(job, "0a1b2c3d-0000-4000-8000-000000000001", "90000")), bookmark(90'000, true)},
        step::end::held)};
    here.run([](together&, informers& all) -> awaitable<void> {
        EXPECT_TRUE(co_await all.ready());
        const auto at = all.store(kind::job_set).find("team-a", "torch-000123");
        EXPECT_TRUE(at && all.store(kind::job_set).body(*at) == nullptr);
    });
}

std::string snapshot_of(const test::sample_job& job, std::string_view uid) {
    return R"({"metadata":{"name":")" + job.name + R"(-runtime-snapshot","namespace":")" + job.ns +
           R"(","uid":"0a1b2c3d-0000-4000-8000-000000000002","resourceVersion":"90002","ownerReferences":[)"
           R"({"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob","name":")" +
           job.name + R"(","uid":")" + std::string(uid) + R"(","controller":true}]}})";
}

TEST(informers, keep_no_files_of_complete_jobs_but_those_that_belong_to_others) {
    together here;
    test::sample_job job;
    job.terminal = "Complete";
    job.active = 0;
    test::sample_job failed = job;
    failed.name = "failed";
    failed.uid = "0a1b2c3d-0000-4000-8000-0000000000f0";
    failed.terminal = "Failed";
    test::sample_job again = job;
    again.name = "again";
    again.uid = "0a1b2c3d-0000-4000-8000-0000000000a0";
    here.scripts["trainjobs"] = {
        streams({line("ADDED", test::running_train_job(job)), line("ADDED", test::running_train_job(failed)),
                 line("ADDED", test::running_train_job(again)), bookmark(81'234, true)},
                step::end::held)};
    here.scripts["configmaps"] = {
        streams({line("ADDED", snapshot_of(job, job.uid)), line("ADDED", snapshot_of(failed, failed.uid)),
                 line("ADDED", snapshot_of(again, "0a1b2c3d-0000-4000-8000-0000000000ff")), bookmark(90'000, true)},
                step::end::held)};
    here.run([](together&, informers& all) -> awaitable<void> {
        EXPECT_TRUE(co_await all.ready());
        const auto& maps = all.store(kind::config_map);
        EXPECT_FALSE(maps.find("team-a", "torch-000123-runtime-snapshot"));
        EXPECT_TRUE(maps.find("team-a", "failed-runtime-snapshot")) << "its Failed may be taken back";
        EXPECT_TRUE(maps.find("team-a", "again-runtime-snapshot")) << "it is of a namesake that is gone";
    });
}

TEST(informers, let_go_of_the_files_of_a_job_that_completes) {
    together here;
    test::sample_job job;
    const std::string running = test::running_train_job(job);
    job.terminal = "Complete";
    job.active = 0;
    job.resource_version = "90001";
    here.scripts["trainjobs"] = {streams({line("ADDED", running), bookmark(81'234, true)}, step::end::clean),
                                 streams({line("MODIFIED", test::running_train_job(job))}, step::end::held)};
    here.scripts["configmaps"] = {
        streams({line("ADDED", snapshot_of(job, job.uid)), bookmark(90'000, true)}, step::end::held)};
    here.run([](together& t, informers& all) -> awaitable<void> {
        EXPECT_TRUE(co_await all.ready());
        EXPECT_EQ(all.store(kind::config_map).size(), 1U);
        t.let_end.notify();
        co_await t.listener.until("TrainJob team-a/torch-000123 changed status");
        EXPECT_EQ(all.store(kind::config_map).size(), 0U);
    });
}

std::string runtime_in(std::string_view ns, std::string_view name, int version, std::size_t bytes) {
    return R"({"metadata":{"name":")" + std::string(name) + R"(","namespace":")" + std::string(ns) + R"(","uid":"u-)" +
           std::string(ns) + std::string(name) + R"(","resourceVersion":")" + std::to_string(version) +
           R"("},"spec":{"x":")" + std::string(bytes, 'x') + R"("}})";
}

// What was left out for want of room is asked for by name when there is room, and again when that fails.
TEST(informers, read_runtimes_that_were_left_out_when_there_is_room) {
    together here;
    here.options.runtimes.of_namespaces = {.namespace_bytes = 1000, .all_bytes = 4000};
    here.options.refill_pause = std::chrono::milliseconds(1);
    const std::string large = runtime_in("a", "large", 3, 700);
    here.scripts["trainingruntimes"] = {
        streams({line("ADDED", large), line("ADDED", runtime_in("a", "small", 4, 600)), bookmark(5, true)},
                step::end::clean),
        streams({line("DELETED", runtime_in("a", "small", 6, 600))}, step::end::held)};
    here.scripts["a/trainingruntimes/large"] = {refuse(500, "InternalError"), answer(200, large)};
    here.run([](together& t, informers& all) -> awaitable<void> {
        EXPECT_TRUE(co_await all.ready());
        const auto& store = all.store(kind::training_runtime);
        EXPECT_EQ(store.body(*store.find("a", "large")), nullptr);
        EXPECT_NE(store.body(*store.find("a", "small")), nullptr);
        t.let_end.notify();
        co_await t.listener.until("TrainingRuntime a/large changed spec");
        EXPECT_NE(store.body(*store.find("a", "large")), nullptr);
        EXPECT_EQ(store.room()->left_out(), 0U);
    });
}

TEST(informers, do_not_bring_back_a_runtime_that_went_while_it_was_read) {
    together here;
    here.options.runtimes.of_namespaces = {.namespace_bytes = 1000, .all_bytes = 4000};
    here.run([](together&, informers& all) -> awaitable<void> {
        EXPECT_TRUE(co_await all.ready());
        EXPECT_TRUE(all.all_of(kind::training_runtime).front()->take_again(runtime_in("a", "gone", 3, 700)));
        EXPECT_EQ(all.store(kind::training_runtime).size(), 0U);
        EXPECT_EQ(all.store(kind::training_runtime).room()->bytes(), 0U);
    });
}

}  // namespace
}  // namespace cotrain::watch
