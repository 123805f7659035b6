// Informers together: when they are ready, and what is missing.
#include "watch/informer.hpp"

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
        EXPECT_TRUE(all.store(kind::limit_range).find("b", "one")) << "another namespace's relist says nothing of it";
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

std::string runtime_in(std::string_view ns, std::string_view name, int version, std::size_t bytes) {
    return R"({"metadata":{"name":")" + std::string(name) + R"(","namespace":")" + std::string(ns) + R"(","uid":"u-)" +
           std::string(ns) + std::string(name) + R"(","resourceVersion":")" + std::to_string(version) +
           R"("},"spec":{"x":")" + std::string(bytes, 'x') + R"("}})";
}

// What was left out for want of room is asked for by name when there is room, and again when that fails.
TEST(informers, read_runtimes_that_were_left_out_when_there_is_room) {
    together here;
    here.options.kept.of_namespaces = {.namespace_bytes = 1000, .all_bytes = 4000};
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
    here.options.kept.of_namespaces = {.namespace_bytes = 1000, .all_bytes = 4000};
    here.run([](together&, informers& all) -> awaitable<void> {
        EXPECT_TRUE(co_await all.ready());
        EXPECT_TRUE(all.all_of(kind::training_runtime).front()->take_again(runtime_in("a", "gone", 3, 700)));
        EXPECT_EQ(all.store(kind::training_runtime).size(), 0U);
        EXPECT_EQ(all.store(kind::training_runtime).room()->bytes(), 0U);
    });
}

}  // namespace
}  // namespace cotrain::watch
