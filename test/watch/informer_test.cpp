// An informer against a scripted server: every way in which lists and watches fail, and what the listener hears.
#include "watch/informer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "watch/scripted_api.hpp"

namespace cotrain::watch {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using end = step::end;

std::string added(std::string_view name) { return "LimitRange ns/" + std::string(name) + " changed added"; }

TEST(informer, streams_the_initial_state_and_what_follows) {
    scripted s(kind::limit_range,
               {streams({line("ADDED", object("a", 1)), line("ADDED", object("b", 2)), bookmark(5, true),
                         line("MODIFIED", object("a", 6)), line("DELETED", object("b", 7)), bookmark(9)},
                        end::clean)});
    s.run([](scripted& t, informer& watcher) -> awaitable<void> {
        EXPECT_FALSE(watcher.in_sync());
        EXPECT_TRUE(co_await watcher.synced());
        co_await t.listener.until("LimitRange ns/b removed");
        EXPECT_THAT(t.listener.lines, ElementsAre(added("a"), added("b"), "LimitRange synced",
                                                  "LimitRange ns/a changed spec", "LimitRange ns/b removed"));
        co_await t.requests(2);
        EXPECT_THAT(t.path(0), HasSubstr("/api/v1/limitranges?watch=1&resourceVersionMatch=NotOlderThan"));
        EXPECT_THAT(t.path(0), HasSubstr("sendInitialEvents=true"));
        EXPECT_THAT(t.path(1), HasSubstr("watch=1&resourceVersion=9&")) << "a clean end is gone on from";
        EXPECT_EQ(watcher.events(counted::added), 2U);
        EXPECT_EQ(watcher.events(counted::modified), 1U);
        EXPECT_EQ(watcher.events(counted::deleted), 1U);
        EXPECT_EQ(watcher.events(counted::bookmark), 2U);
        EXPECT_EQ(watcher.restarts(restart_reason::ended), 1U);
    });
    EXPECT_THAT(s.api.lines, ElementsAre()) << "that a watch ends is nothing to speak of";
}

TEST(informer, lists_in_pages_where_the_server_cannot_stream) {
    scripted s(kind::limit_range,
               {refuse(422, "Invalid"), answer(200, page(8, {object("a", 1), object("b", 2)}, "more")),
                answer(200, page(8, {object("c", 3)})), streams({line("ADDED", object("d", 9))}, end::held)});
    s.options.timing.page_items = 2;
    s.run([](scripted& t, informer& watcher) -> awaitable<void> {
        co_await t.listener.until(added("d"));
        EXPECT_THAT(t.listener.lines, ElementsAre(added("a"), added("b"), added("c"), "LimitRange synced", added("d")));
        EXPECT_THAT(t.path(1), HasSubstr("limitranges?limit=2"));
        EXPECT_THAT(t.path(2), HasSubstr("limit=2&continue=more"));
        EXPECT_THAT(t.path(3), HasSubstr("watch=1&resourceVersion=8&"));
        EXPECT_EQ(watcher.events(counted::listed), 3U);
        EXPECT_EQ(watcher.restarts(restart_reason::unsupported), 1U);
    });
    EXPECT_THAT(s.api.lines, ElementsAre(HasSubstr(R"("reason":"unsupported")")));
}

TEST(informer, finds_what_was_deleted_while_its_place_in_history_was_lost) {
    scripted s(kind::limit_range,
               {streams({line("ADDED", object("a", 1)), line("ADDED", object("b", 2)), line("ADDED", object("c", 3)),
                         bookmark(5, true),
                         R"({"type":"ERROR","object":{"kind":"Status","reason":"Expired","code":410,"message":"x"}})"},
                        end::held),
                // The next relist breaks off: nothing may be taken for deleted yet.
                {200, {line("ADDED", object("c", 3)) + "\n", R"({"type":"ADD)"}, end::clean},
                streams({line("ADDED", object("c", 3, "other")), line("ADDED", object("a", 8)), bookmark(9, true)},
                        end::held)});
    s.run([](scripted& t, informer& watcher) -> awaitable<void> {
        co_await t.listener.until("LimitRange synced", 4);
        EXPECT_THAT(t.listener.lines,
                    ElementsAre(added("a"), added("b"), added("c"), "LimitRange synced", "LimitRange ns/c removed",
                                added("c") + " replaced", "LimitRange ns/a changed spec", "LimitRange ns/b removed",
                                "LimitRange synced"));
        EXPECT_EQ(watcher.restarts(restart_reason::expired), 1U);
        EXPECT_EQ(watcher.restarts(restart_reason::connection), 1U);
    });
    EXPECT_THAT(s.api.lines, testing::Contains(HasSubstr(R"("reason":"expired","error":"x")")));
}

TEST(informer, goes_on_from_the_last_whole_event_of_a_broken_watch) {
    scripted s(
        kind::limit_range,
        {streams({line("ADDED", object("a", 1)), bookmark(5, true), line("MODIFIED", object("a", 6))}, end::clean),
         {200, {line("MODIFIED", object("a", 7)) + "\n", R"({"type":"MODIFIED","obj)"}, end::clean},
         streams({line("MODIFIED", object("a", 8))}, end::held)});
    s.run([](scripted& t, informer& watcher) -> awaitable<void> {
        co_await t.listener.until(5);
        EXPECT_THAT(t.path(2), HasSubstr("watch=1&resourceVersion=7&"));
        EXPECT_EQ(watcher.events(counted::modified), 3U);
        EXPECT_TRUE(watcher.in_sync());
    });
}

TEST(informer, outlives_lines_that_are_no_events) {
    const std::string huge = line("ADDED", object(std::string(5000, 'x'), 7));
    scripted s(kind::limit_range,
               {streams({bookmark(5, true), "{\"type\":\"ADDED\",\"object\":[}"}, end::held),
                streams({line("ADDED", object("a", 6)), huge}, end::held),
                streams({R"({"type":"SPARKLED","object":{"metadata":{"name":"z"}}})", line("ADDED", object("b", 9))},
                        end::held)});
    s.api.options().watch_line_bytes_max = 4096;
    s.run([](scripted& t, informer& watcher) -> awaitable<void> {
        co_await t.listener.until(added("b"));
        EXPECT_THAT(t.listener.lines, ElementsAre("LimitRange synced", added("a"), added("b")));
        EXPECT_THAT(t.path(1), HasSubstr("resourceVersion=5&"));
        EXPECT_THAT(t.path(2), HasSubstr("resourceVersion=6&"));
        EXPECT_EQ(watcher.restarts(restart_reason::garbled), 1U);
        EXPECT_EQ(watcher.restarts(restart_reason::too_large), 1U);
        EXPECT_EQ(watcher.events(counted::unknown), 1U);
    });
}

// As the answers to our own writes are, which a page may not show yet.
void take_in_besides(scripted& t, std::string_view name, int version) {
    heard nobody(t.texts);
    intake in(kind::limit_range, t.store, t.texts, nobody, t.api.log);
    object_view view;
    const std::string text = object(name, version);
    EXPECT_TRUE(decode_object(text, view));
    in.upsert(view, false);
}

TEST(informer, keeps_what_came_to_be_while_a_list_was_under_way) {
    scripted s(kind::limit_range, {refuse(422, "Invalid"), answer(200, page(10, {object("a", 1)}))});
    s.meanwhile = [&s] {
        take_in_besides(s, "newer", 20);
        take_in_besides(s, "gone-again", 7);
    };
    s.run([](scripted& t, informer& watcher) -> awaitable<void> {
        EXPECT_TRUE(co_await watcher.synced());
        EXPECT_THAT(t.listener.lines, ElementsAre(added("a"), "LimitRange ns/gone-again removed", "LimitRange synced"));
        EXPECT_TRUE(t.store.find("ns", "newer"));
    });
}

TEST(informer, begins_a_relist_anew_when_its_first_list_fails) {
    scripted s(kind::limit_range,
               {refuse(422, "Invalid"), refuse(503, "Unavailable"), answer(200, page(30, {object("a", 1)}))});
    s.meanwhile = [&s] { take_in_besides(s, "gone-again", 20); };
    s.run([](scripted& t, informer& watcher) -> awaitable<void> {
        EXPECT_TRUE(co_await watcher.synced());
        EXPECT_THAT(t.listener.lines, ElementsAre(added("a"), "LimitRange ns/gone-again removed", "LimitRange synced"));
    });
}

TEST(informer, asks_for_smaller_pages_when_one_is_too_large) {
    std::vector<std::string> large;
    for (int i = 0; i < 40; ++i) large.push_back(object("large-" + std::to_string(i) + std::string(200, 'x'), i + 1));
    scripted s(kind::limit_range,
               {refuse(400, "BadRequest"), answer(200, page(90, large)), answer(200, page(90, {object("a", 1)}))});
    s.api.options().wire.body_bytes_max = 8192;
    s.options.timing.page_items = 40;
    s.run([](scripted& t, informer& watcher) -> awaitable<void> {
        EXPECT_TRUE(co_await watcher.synced());
        EXPECT_THAT(t.path(1), HasSubstr("limit=40"));
        EXPECT_THAT(t.path(2), HasSubstr("limit=5"));
        EXPECT_EQ(t.store.size(), 1U);
    });
}

TEST(informer, waits_for_a_kind_that_is_missing_and_empties_the_store_when_it_goes) {
    scripted s(kind::coscheduling_pod_group,
               {refuse(404, "NotFound"), refuse(404, "NotFound"),
                streams({line("ADDED", object("a", 1)), bookmark(5, true)}, end::clean), refuse(404, "NotFound"),
                streams({line("ADDED", object("b", 8)), bookmark(9, true)}, end::held)});
    s.run([](scripted& t, informer& watcher) -> awaitable<void> {
        EXPECT_TRUE(co_await watcher.settled());
        EXPECT_TRUE(watcher.missing());
        EXPECT_TRUE(co_await watcher.synced());
        EXPECT_FALSE(watcher.missing());
        co_await t.listener.until(7);
        const std::string label = "PodGroup.scheduling.x-k8s.io";
        EXPECT_THAT(t.listener.lines, ElementsAre(label + " missing", label + " ns/a changed added", label + " synced",
                                                  label + " ns/a removed", label + " missing",
                                                  label + " ns/b changed added", label + " synced"));
        EXPECT_EQ(t.store.size(), 1U);
        EXPECT_EQ(watcher.restarts(restart_reason::missing), 3U);
    });
    EXPECT_EQ(s.api.lines.size(), 2U) << "one line for each time it goes missing";
}

TEST(informer, asks_for_the_older_version_of_an_api_where_the_newer_is_missing) {
    scripted s(kind::pod_group,
               {refuse(404, "NotFound"), streams({line("ADDED", object("a", 1)), bookmark(5, true)}, end::clean),
                refuse(404, "NotFound"), refuse(404, "NotFound"),
                streams({line("ADDED", object("b", 8)), bookmark(9, true)}, end::held)});
    s.run([](scripted& t, informer& watcher) -> awaitable<void> {
        EXPECT_TRUE(co_await watcher.settled());
        EXPECT_FALSE(watcher.missing()) << "it is there, in another version";
        EXPECT_EQ(watcher.version(), "v1alpha2");
        co_await t.listener.until(6);
        const std::string label = "PodGroup.scheduling.k8s.io";
        EXPECT_THAT(t.listener.lines,
                    ElementsAre(label + " ns/a changed added", label + " synced", label + " ns/a removed",
                                label + " missing", label + " ns/b changed added", label + " synced"));
        for (const auto& [request, version] :
             {std::pair(0, "/v1beta1/"), {1, "/v1alpha2/"}, {2, "/v1alpha2/"}, {3, "/v1beta1/"}, {4, "/v1alpha2/"}})
            EXPECT_THAT(t.path(static_cast<std::size_t>(request)), HasSubstr(version));
    });
}

TEST(informer, looks_for_a_missing_kind_as_soon_as_somebody_needs_it) {
    scripted s(kind::volcano_pod_group,
               {refuse(404, "NotFound"), streams({line("ADDED", object("a", 1)), bookmark(5, true)}, end::held)});
    s.options.timing.needed = false;
    s.options.timing.unneeded = {1h, 1h, 2.0, 0.0};
    s.run([](scripted& t, informer& watcher) -> awaitable<void> {
        EXPECT_TRUE(co_await watcher.settled());
        EXPECT_TRUE(watcher.missing());
        EXPECT_EQ(t.api.seen.size(), 1U);
        watcher.want();
        EXPECT_TRUE(co_await watcher.synced());
    });
}

TEST(informer, says_that_it_may_not_watch) {
    scripted s(kind::runtime_class, {refuse(403, "Forbidden"), refuse(403, "Forbidden")});
    s.run([](scripted& t, informer& watcher) -> awaitable<void> {
        EXPECT_TRUE(co_await watcher.settled());
        EXPECT_EQ(watcher.now(), informer::state::forbidden);
        EXPECT_THAT(watcher.last_error(), HasSubstr("403 Forbidden"));
        co_await t.requests(3);
    });
    EXPECT_EQ(s.api.lines.size(), 1U) << "one line for the same reason in a row";
}

TEST(informer, gives_up_an_initial_state_that_stays_silent) {
    scripted s(kind::limit_range, {answer(200, page(8, {object("b", 2)}))});
    s.silent_watches = true;
    s.options.timing.initial_idle = 1s;
    s.run([](scripted& t, informer& watcher) -> awaitable<void> {
        EXPECT_TRUE(co_await watcher.synced());
        EXPECT_THAT(t.listener.lines, ElementsAre(added("b"), "LimitRange synced"));
        EXPECT_EQ(watcher.restarts(restart_reason::unsupported), 1U);
        EXPECT_THAT(t.path(t.api.seen.size() - 1), HasSubstr("limit="));
    });
}

// The end of the initial state is there when the process wakes up, and so is the moment to give it up.
TEST(informer, outlives_being_stopped) {
    step first = streams({line("ADDED", object("a", 1)), bookmark(5, true)}, end::held);
    first.frozen = 60ms;
    scripted s(kind::limit_range, {std::move(first), answer(200, page(8, {object("b", 2)}))});
    s.options.timing.initial_idle = 50ms;
    s.run([](scripted& t, informer& watcher) -> awaitable<void> {
        EXPECT_TRUE(co_await watcher.synced());
        co_await t.requests(3);
        EXPECT_EQ(t.listener.lines.back(), "LimitRange synced");
        EXPECT_EQ(t.store.size(), 1U);
    });
}

TEST(informer, asks_for_no_more_than_metadata_of_config_maps) {
    scripted s(
        kind::config_map,
        {streams({line("ADDED", object("token", 1)), line("ADDED", object("j-mpi-ssh-auth", 2)), bookmark(5, true)},
                 end::held)});
    s.options.child_suffixes = {"-mpi-ssh-auth"};
    s.run([](scripted& t, informer& watcher) -> awaitable<void> {
        EXPECT_TRUE(co_await watcher.synced());
        EXPECT_THAT(t.api.seen.at(0).header("accept"), HasSubstr("as=PartialObjectMetadata;"));
        EXPECT_EQ(t.store.size(), 1U);
    });
}

awaitable<void> wait_for_sync(informer* watcher, bool* answer) { *answer = co_await watcher->synced(); }

TEST(informer, wakes_all_who_wait_for_it) {
    scripted s(kind::limit_range, {streams({bookmark(5, true)}, end::held)});
    s.run([](scripted& t, informer& watcher) -> awaitable<void> {
        base::task_group waiters(t.api.loop.get_executor());
        bool all[3] = {};
        for (bool& each : all) waiters.spawn("waiter", wait_for_sync(&watcher, &each));
        co_await waiters.join();
        EXPECT_TRUE(all[0] && all[1] && all[2]);
    });
}

TEST(informer, stops_while_it_connects) {
    scripted s(kind::limit_range, {});
    s.run([](scripted& t, informer& watcher) -> awaitable<void> {
        EXPECT_EQ(watcher.now(), informer::state::starting);
        EXPECT_EQ(t.store.size(), 0U);
        co_return;
    });
}

TEST(informer, stops_while_it_reads) {
    scripted s(kind::limit_range, {streams({bookmark(5, true)}, end::held)});
    s.run([](scripted&, informer& watcher) -> awaitable<void> { EXPECT_TRUE(co_await watcher.synced()); });
    EXPECT_THAT(s.api.lines, ElementsAre());
}

TEST(informer, stops_while_it_rests) {
    scripted s(kind::limit_range, {refuse(403, "Forbidden")});
    s.options.timing.denied.first = s.options.timing.denied.ceiling = 1h;
    s.run([](scripted&, informer& watcher) -> awaitable<void> { EXPECT_TRUE(co_await watcher.settled()); });
}

}  // namespace
}  // namespace cotrain::watch
