// One connection under load against the real API server: many writers, many watches, and the server going away.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <set>
#include <stdexcept>

#include "base/task_group.hpp"
#include "integration/control.hpp"
#include "kube/client.hpp"
#include "support/run.hpp"

namespace cotrain::kube {
namespace {

using namespace std::chrono_literals;

constexpr resource configmaps{"", "v1", "configmaps", "ConfigMap"};
constexpr resource namespaces{"", "v1", "namespaces", "Namespace", false};

struct scene {
    asio::io_context loop{1};
    std::unique_ptr<client> api;
    std::string ns;

    explicit scene(std::string name, client_options options = {}) : ns(std::move(name)) {
        auto made = client::make(loop.get_executor(), test::real_cluster(), options, base::null_logger());
        if (!made) throw std::runtime_error(made.error().message);
        api = std::move(*made);
    }
    template <class Body>
    void run(Body body) {
        test::run(loop, play(this, body));
    }

   private:
    static awaitable<void> play(scene* self, awaitable<void> (*body)(scene&)) {
        auto created = co_await self->api->create(
            namespaces, "", R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":")" + self->ns + "\"}}");
        EXPECT_TRUE(created.has_value()) << created.error().message;
        co_await body(*self);
        auto removed = co_await self->api->remove(namespaces, {.name = self->ns});
        EXPECT_TRUE(removed.has_value());
        co_await self->api->stop();
    }
};

std::string configmap(const std::string& name, int value) {
    return R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":")" + name + R"("},"data":{"value":")" +
           std::to_string(value) + "\"}}";
}

struct tally {
    int applied = 0;
    int failed = 0;
    std::string trouble;
};

awaitable<void> apply_some(scene* s, int from, int to, tally* t) {
    for (int i = from; i < to; ++i) {
        const std::string name = "cm-" + std::to_string(i % 500);
        const location at{.ns = s->ns, .name = name};
        auto done = co_await s->api->apply(configmaps, at, configmap(name, i), true, {.field_manager = "flood"});
        if (done) {
            ++t->applied;
        } else {
            ++t->failed;
            t->trouble = done.error().message;
        }
    }
}

std::string version_in(std::string_view event) {
    constexpr std::string_view key = "\"resourceVersion\":\"";
    const std::size_t at = event.find(key);
    return at == event.npos
               ? ""
               : std::string(event.substr(at + key.size(), event.find('"', at + key.size()) - at - key.size()));
}

struct seen {
    std::set<std::string> versions;
    int resumed = 0;
    bool ready = false;  // every version from here on is seen
    std::string broke;
};

// The server ends a watch that falls behind, cleanly: it is resumed where it stopped, and must miss nothing.
awaitable<void> watch_all(scene* s, seen* what) {
    const auto begin = co_await s->api->list(configmaps, s->ns, {.limit = 1});
    const auto head = begin ? read_list_head(begin->body) : base::fail(begin.error());
    if (!head) {
        what->broke = head.error().message;
        co_return;
    }
    std::string from = head->resource_version;
    for (;; ++what->resumed) {
        auto stream = co_await s->api->watch(configmaps, s->ns, {.resource_version = from});
        if (!stream) {
            what->broke = stream.error().message;
            co_return;
        }
        what->ready = true;
        for (;;) {
            auto event = co_await stream->next();
            if (!event) {
                what->broke = event.error().message;
                co_return;
            }
            if (!*event) break;
            from = version_in(**event);
            const bool bookmark = (*event)->starts_with("{\"type\":\"BOOKMARK\"");
            if (!bookmark) what->versions.insert(from);
        }
    }
}

TEST(flood, ten_thousand_applies_and_eight_watches_share_one_connection) {
    scene here("flood-one");
    here.run(+[](scene& s) -> awaitable<void> {
        base::task_group watchers(s.loop.get_executor());
        std::array<seen, 8> watched;
        for (seen& each : watched) watchers.spawn("watch", watch_all(&s, &each));
        const auto until = std::chrono::steady_clock::now() + 120s;
        for (bool ready = false; !ready && std::chrono::steady_clock::now() < until;) {
            EXPECT_TRUE((co_await s.api->list(configmaps, s.ns, {.limit = 1})).has_value());
            ready = std::ranges::all_of(watched, [](const seen& each) { return each.ready || !each.broke.empty(); });
        }
        tally t;
        base::task_group writers(s.loop.get_executor());
        for (int w = 0; w < 50; ++w) writers.spawn("write", apply_some(&s, w * 200, (w + 1) * 200, &t));
        co_await writers.join();
        EXPECT_EQ(t.applied, 10'000) << t.trouble;
        EXPECT_EQ(s.api->statistics().wire.connects, 1U);
        // Every apply changed something, so every watch must come to see 10,000 versions.
        for (bool all = false; !all && !testing::Test::HasFailure();) {
            EXPECT_LT(std::chrono::steady_clock::now(), until) << "a watch misses versions";
            EXPECT_TRUE((co_await s.api->list(configmaps, s.ns, {.limit = 1})).has_value());
            all = true;
            for (const seen& each : watched) {
                EXPECT_EQ(each.broke, "");
                all = all && (each.versions.size() >= 10'000 || !each.broke.empty());
            }
        }
        watchers.cancel();
        co_await watchers.join();
    });
}

awaitable<void> restart_server(bool* done) {
    static_cast<void>(co_await test::control("restart apiserver"));
    *done = true;
}

TEST(flood, a_restart_of_the_server_loses_no_apply) {
    client_options patient;
    patient.deadline = 120s;
    scene here("flood-restart", patient);
    here.run(+[](scene& s) -> awaitable<void> {
        tally t;
        bool restarted = false;
        base::task_group tasks(s.loop.get_executor());
        tasks.spawn("restart", restart_server(&restarted));
        for (int w = 0; w < 20; ++w) tasks.spawn("write", apply_some(&s, w * 100, (w + 1) * 100, &t));
        co_await tasks.join();
        EXPECT_TRUE(restarted);
        EXPECT_EQ(t.applied, 2000) << t.trouble;
        EXPECT_EQ(t.failed, 0) << t.trouble;
        auto all = co_await s.api->list(configmaps, s.ns, {.as = shape::metadata});
        EXPECT_TRUE(all.has_value());
    });
}

awaitable<void> freeze_and_thaw(bool* done) {
    static_cast<void>(co_await test::control("pause apiserver"));
    // Long enough for the client to find the connection dead; the timer is the fault, not a wait for a result.
    asio::steady_timer frozen(co_await asio::this_coro::executor, 1500ms);
    co_await frozen.async_wait(asio::use_awaitable);
    static_cast<void>(co_await test::control("cont apiserver"));
    *done = true;
}

TEST(flood, a_frozen_server_is_left_and_found_again) {
    client_options quick;
    quick.deadline = 120s;
    quick.wire.ping_idle = 200ms;
    quick.wire.ping_answer = 500ms;
    scene here("flood-frozen", quick);
    here.run(+[](scene& s) -> awaitable<void> {
        tally t;
        bool thawed = false;
        base::task_group tasks(s.loop.get_executor());
        tasks.spawn("freeze", freeze_and_thaw(&thawed));
        for (int w = 0; w < 10; ++w) tasks.spawn("write", apply_some(&s, w * 50, (w + 1) * 50, &t));
        co_await tasks.join();
        while (!thawed) static_cast<void>(co_await s.api->list(configmaps, s.ns, {.limit = 1}));
        EXPECT_EQ(t.failed, 0) << t.trouble;
        EXPECT_EQ(t.applied, 500);
    });
}

}  // namespace
}  // namespace cotrain::kube
