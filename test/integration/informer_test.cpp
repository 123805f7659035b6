// Informers on the real API server: what they show is what is there, whatever happens meanwhile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "integration/control.hpp"
#include "kube/client.hpp"
#include "support/run.hpp"
#include "watch/heard.hpp"
#include "watch/informer.hpp"

namespace cotrain::watch {
namespace {

using namespace std::chrono_literals;
using kube::resource;

constexpr resource definitions{"apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition",
                               false};
constexpr resource namespaces{"", "v1", "namespaces", "Namespace", false};
constexpr resource limit_ranges{"", "v1", "limitranges", "LimitRange"};
constexpr resource config_maps{"", "v1", "configmaps", "ConfigMap"};
constexpr std::string_view label = "PodGroup.scheduling.volcano.sh";

struct scene {
    asio::io_context loop{1};
    std::string ns;
    text_table texts;
    heard listener{texts};
    base::random_source random{11};
    std::unique_ptr<kube::client> api;
    base::task_group group{loop.get_executor()};

    explicit scene(std::string name) : ns(std::move(name)) {
        auto made = kube::client::make(loop.get_executor(), test::real_cluster(), {}, base::null_logger());
        if (!made) throw std::runtime_error(made.error().message);
        api = std::move(*made);
    }
    void run(awaitable<void> (*body)(scene&)) { test::run(loop, play(this, body)); }
    [[nodiscard]] informer_tools tools() { return {group, *api, texts, listener, random, base::null_logger()}; }
    [[nodiscard]] informer_options here() const { return {.ns = ns}; }

   private:
    static awaitable<void> play(scene* self, awaitable<void> (*body)(scene&)) {
        auto created = co_await self->api->create(
            namespaces, "", R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":")" + self->ns + "\"}}");
        EXPECT_TRUE(created.has_value()) << created.error().message;
        co_await body(*self);
        self->group.cancel();
        co_await self->group.join();
        EXPECT_TRUE((co_await self->api->remove(namespaces, {.name = self->ns})).has_value());
        co_await self->api->stop();
    }
};

std::string limits(const std::string& name, int cpus) {
    return R"({"apiVersion":"v1","kind":"LimitRange","metadata":{"name":")" + name +
           R"("},"spec":{"limits":[{"type":"Container","default":{"cpu":")" + std::to_string(cpus) + R"("}}]}})";
}

awaitable<void> put(scene* s, std::string name, int cpus) {
    const auto done =
        co_await s->api->apply(limit_ranges, {s->ns, name}, limits(name, cpus), true, {.field_manager = "test"});
    EXPECT_TRUE(done.has_value()) << done.error().message;
}

awaitable<void> drop(scene* s, std::string name) {
    EXPECT_TRUE((co_await s->api->remove(limit_ranges, {s->ns, name})).has_value());
}

std::string said(const scene& s, std::string_view name, std::string_view what) {
    return "LimitRange " + s.ns + "/" + std::string(name) + " " + std::string(what);
}

TEST(informer, follows_what_happens) {
    scene here("informer-follows");
    here.run([](scene& s) -> awaitable<void> {
        co_await put(&s, "before", 1);
        object_store store(s.texts);
        informer watcher(kind::limit_range, store, s.tools(), s.here());
        watcher.start();
        EXPECT_TRUE(co_await watcher.synced());
        EXPECT_EQ(store.size(), 1U);
        co_await put(&s, "during", 1);
        co_await s.listener.until(said(s, "during", "changed added"));
        co_await put(&s, "before", 2);
        co_await s.listener.until(said(s, "before", "changed spec"));
        co_await drop(&s, "during");
        co_await s.listener.until(said(s, "during", "removed"));
        EXPECT_EQ(store.size(), 1U);
        const auto at = store.find(s.ns, "before");
        EXPECT_TRUE(at && store.body(*at)->spec().contains(R"("cpu":"2")"));
        s.group.cancel();
        co_await s.group.join();
    });
}

// Every change is seen, or seen to have been outlived, while the server comes and goes.
TEST(informer, misses_nothing_while_the_server_restarts) {
    scene here("informer-restart");
    here.run([](scene& s) -> awaitable<void> {
        object_store store(s.texts);
        informer_options options = s.here();
        options.timing.retry.ceiling = options.timing.costly.ceiling = 500ms;
        informer watcher(kind::limit_range, store, s.tools(), options);
        watcher.start();
        for (int i = 0; i < 20; ++i) co_await put(&s, "l-" + std::to_string(i), 1);
        EXPECT_TRUE(co_await watcher.synced());
        static_cast<void>(co_await test::control("restart apiserver"));
        for (int i = 0; i < 10; ++i) co_await drop(&s, "l-" + std::to_string(i));
        for (int i = 10; i < 15; ++i) co_await put(&s, "l-" + std::to_string(i), 2);
        co_await put(&s, "last", 1);
        co_await s.listener.until(said(s, "last", "changed added"));
        std::set<std::string> left;
        store.for_each([&](handle h, const object_record& r) {
            left.insert(std::string(s.texts.view(r.key)) +
                        (store.body(h)->spec().contains(R"("cpu":"2")") ? " 2" : " 1"));
        });
        std::set<std::string> expected{s.ns + "/last 1"};
        for (int i = 10; i < 20; ++i) expected.insert(s.ns + "/l-" + std::to_string(i) + (i < 15 ? " 2" : " 1"));
        EXPECT_EQ(left, expected);
        s.group.cancel();
        co_await s.group.join();
    });
}

// Paged lists and a plain watch, as on servers without WatchList; then both ways show the same.
TEST(informer, shows_the_same_by_lists_and_by_streams) {
    scene here("informer-pages");
    here.run([](scene& s) -> awaitable<void> {
        for (int i = 0; i < 25; ++i) co_await put(&s, "l-" + std::to_string(i), i + 1);
        object_store listed(s.texts);
        object_store streamed(s.texts);
        informer_options options = s.here();
        informer by_stream(kind::limit_range, streamed, s.tools(), options);
        options.timing.stream_initial_state = false;
        options.timing.page_items = 4;
        informer by_list(kind::limit_range, listed, s.tools(), options);
        by_list.start();
        by_stream.start();
        EXPECT_TRUE(co_await by_list.synced());
        EXPECT_TRUE(co_await by_stream.synced());
        EXPECT_EQ(by_list.events(counted::listed), 25U);
        const auto heard_of = s.listener.lines.size();
        co_await drop(&s, "l-3");
        co_await s.listener.until(heard_of + 2);
        EXPECT_EQ(listed.size(), 24U);
        EXPECT_EQ(streamed.size(), 24U);
        listed.for_each([&](handle, const object_record& r) {
            const auto other = streamed.find(r.key);
            EXPECT_TRUE(other && streamed.get(*other)->print == r.print && streamed.get(*other)->version == r.version);
        });
        s.group.cancel();
        co_await s.group.join();
    });
}

constexpr std::string_view pod_groups_crd =
    R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{)"
    R"("name":"podgroups.scheduling.volcano.sh"},"spec":{"group":"scheduling.volcano.sh","scope":"Namespaced",)"
    R"("names":{"kind":"PodGroup","plural":"podgroups","singular":"podgroup","listKind":"PodGroupList"},)"
    R"("versions":[{"name":"v1beta1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object",)"
    R"("x-kubernetes-preserve-unknown-fields":true}}}]}})";

awaitable<void> make_pod_group(scene* s, std::string name) {
    const resource& of = info_of(kind::volcano_pod_group).of;
    const std::string body = R"({"apiVersion":"scheduling.volcano.sh/v1beta1","kind":"PodGroup","metadata":{"name":")" +
                             name + R"("},"spec":{"minMember":1}})";
    for (;;) {
        const auto made = co_await s->api->create(of, s->ns, body);
        if (made) co_return;
        // A definition is served a moment after it was taken.
        EXPECT_EQ(made.error().http_status, 404) << made.error().message;
        if (made.error().http_status != 404) co_return;
    }
}

TEST(informer, appears_and_vanishes_with_its_definition) {
    scene here("informer-crd");
    here.run([](scene& s) -> awaitable<void> {
        const kube::location crd{.name = "podgroups.scheduling.volcano.sh"};
        object_store store(s.texts);
        informer_options options = s.here();
        options.timing.retry.ceiling = options.timing.costly.ceiling = 500ms;
        informer watcher(kind::volcano_pod_group, store, s.tools(), options);
        watcher.start();
        EXPECT_TRUE(co_await watcher.settled());
        EXPECT_TRUE(watcher.missing());
        for (const std::string name : {"one", "two"}) {
            const auto from = s.listener.lines.size();
            const auto made =
                co_await s.api->apply(definitions, crd, std::string(pod_groups_crd), true, {.field_manager = "test"});
            EXPECT_TRUE(made.has_value()) << made.error().message;
            co_await make_pod_group(&s, name);
            co_await s.listener.until(std::string(label) + " " + s.ns + "/" + name + " changed added", from);
            EXPECT_TRUE((co_await s.api->remove(definitions, crd)).has_value());
            co_await s.listener.until(std::string(label) + " missing", from);
            EXPECT_EQ(store.size(), 0U);
            EXPECT_THAT(s.listener.lines, testing::Contains(std::string(label) + " " + s.ns + "/" + name + " removed"));
            while (co_await s.api->get(definitions, crd)) {
            }
        }
        s.group.cancel();
        co_await s.group.join();
    });
}

TEST(informers, are_ready_together_and_keep_no_foreign_config_maps) {
    scene here("informers-ready");
    here.run([](scene& s) -> awaitable<void> {
        for (const std::string name : {"token", "job-mpi-hostfile"}) {
            const std::string body = R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":")" + name +
                                     R"("},"data":{"secret":"never to be seen"}})";
            EXPECT_TRUE((co_await s.api->create(config_maps, s.ns, body)).has_value());
        }
        kind_set watched;
        for (const kind k : {kind::config_map, kind::limit_range, kind::runtime_class, kind::priority_class})
            watched.set(static_cast<std::size_t>(k));
        informers all(s.tools(), {.watched = watched, .namespaces = {s.ns}, .child_suffixes = {"-mpi-hostfile"}});
        EXPECT_FALSE(all.is_ready());
        all.start();
        EXPECT_TRUE(co_await all.ready());
        EXPECT_TRUE(all.is_ready());
        EXPECT_EQ(all.missing().size(), 0U);
        EXPECT_EQ(all.store(kind::config_map).size(), 1U) << "kube-root-ca.crt, if it is there, is foreign";
        EXPECT_TRUE(all.store(kind::config_map).find(s.ns, "job-mpi-hostfile"));
        EXPECT_TRUE(all.store(kind::priority_class).find("", "system-node-critical"));
        s.group.cancel();
        co_await s.group.join();
    });
}

}  // namespace
}  // namespace cotrain::watch
