// One connection under load against the real API server: many writers, many watches, and what goes wrong under them.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <set>
#include <stdexcept>

#include "base/task_group.hpp"
#include "integration/control.hpp"
#include "kube/client.hpp"
#include "support/run.hpp"
#include "support/tcp_proxy.hpp"
#include "support/temp_dir.hpp"

namespace cotrain::kube {
namespace {

using namespace std::chrono_literals;

constexpr resource configmaps{"", "v1", "configmaps", "ConfigMap"};
constexpr resource namespaces{"", "v1", "namespaces", "Namespace", false};

struct scene {
    asio::io_context loop{1};
    std::unique_ptr<client> api;
    std::unique_ptr<test::tcp_proxy> relay;  // between the client and the server, if there is one
    test::temp_dir dir;
    std::string ns;

    // `adapt` changes the way to the cluster before the client is made.
    explicit scene(std::string name, const client_options& options = {},
                   void (*adapt)(scene& self, cluster_config& cluster) = nullptr)
        : ns(std::move(name)) {
        cluster_config cluster = test::real_cluster();
        if (adapt != nullptr) adapt(*this, cluster);
        api = connect(cluster, options);
    }
    std::unique_ptr<client> connect(const cluster_config& cluster, const client_options& options) {
        auto made = client::make(loop.get_executor(), cluster, options, base::null_logger());
        if (!made) throw std::runtime_error(made.error().message);
        return std::move(*made);
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
        if (self->relay) co_await self->relay->stop();
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
    std::string from;  // the version that is known
    std::set<std::string> versions;
    std::size_t wanted = std::numeric_limits<std::size_t>::max();
    bool ready = false;  // every version from here on is seen
    std::string broke;

    [[nodiscard]] bool over() const { return versions.size() >= wanted || !broke.empty(); }
};

awaitable<base::result<watch_stream>> open_watch(scene* s, seen* what) {
    if (what->from.empty()) {
        const auto begin = co_await s->api->list(configmaps, s->ns, {.limit = 1});
        const auto head = begin ? read_list_head(begin->body) : base::fail(begin.error());
        if (!head) co_return base::fail(head.error());
        what->from = head->resource_version;
    }
    auto stream = co_await s->api->watch(configmaps, s->ns, {.resource_version = what->from});
    what->ready = stream.has_value();
    co_return stream;
}

// The server ends a watch that falls behind, cleanly: it is resumed where it stopped, and must miss nothing.
awaitable<void> read_on(scene* s, base::result<watch_stream> stream, seen* what) {
    while (!what->over()) {
        if (!stream) {
            what->broke = stream.error().message;
            co_return;
        }
        const auto event = co_await stream->next();
        if (!event) {
            what->broke = event.error().message;
        } else if (!*event) {
            stream = co_await open_watch(s, what);
        } else {
            what->from = version_in(**event);
            const bool bookmark = (*event)->starts_with("{\"type\":\"BOOKMARK\"");
            if (!bookmark) what->versions.insert(what->from);
        }
    }
}

awaitable<void> watch_all(scene* s, seen* what) {
    auto stream = co_await open_watch(s, what);
    co_await read_on(s, std::move(stream), what);
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

TEST(flood, a_watch_that_nobody_reads_holds_up_no_apply_and_misses_nothing) {
    client_options narrow;
    narrow.wire.limits.stream_window_bytes = 64U << 10U;
    scene here("flood-slow", narrow);
    here.run(+[](scene& s) -> awaitable<void> {
        seen slow{.wanted = 2000};
        auto unread = co_await open_watch(&s, &slow);
        tally t;
        base::task_group writers(s.loop.get_executor());
        for (int w = 0; w < 20; ++w) writers.spawn("write", apply_some(&s, w * 100, (w + 1) * 100, &t));
        co_await writers.join();
        EXPECT_EQ(t.applied, 2000) << t.trouble;
        EXPECT_EQ(s.api->statistics().wire.connects, 1U);
        co_await read_on(&s, std::move(unread), &slow);
        EXPECT_EQ(slow.broke, "");
        EXPECT_EQ(slow.versions.size(), 2000U);
    });
}

awaitable<void> until_applied(scene* s, const tally* t, int goal) {
    while (t->applied < goal && t->failed == 0)
        EXPECT_TRUE((co_await s->api->list(configmaps, s->ns, {.limit = 1})).has_value());
}

TEST(flood, a_black_hole_on_the_way_loses_no_apply) {
    client_options quick;
    quick.deadline = 120s;
    quick.wire.ping_idle = 200ms;
    quick.wire.ping_answer = 1s;
    scene here("flood-hole", quick, [](scene& self, cluster_config& cluster) {
        self.relay = std::make_unique<test::tcp_proxy>(self.loop.get_executor(), cluster.port);
        cluster.port = self.relay->port();
    });
    here.run(+[](scene& s) -> awaitable<void> {
        tally t;
        base::task_group writers(s.loop.get_executor());
        for (int w = 0; w < 20; ++w) writers.spawn("write", apply_some(&s, w * 50, (w + 1) * 50, &t));
        co_await until_applied(&s, &t, 300);
        s.relay->swallow();
        co_await writers.join();
        EXPECT_EQ(t.applied, 1000) << t.trouble;
        EXPECT_GE(s.api->statistics().wire.connects, 2U);
    });
}

TEST(flood, files_of_certificates_that_change_replace_the_connection_and_no_caller_notices) {
    client_options attentive;
    attentive.auth.files_every = 10ms;
    scene here("flood-certificates", attentive, [](scene& self, cluster_config& cluster) {
        cluster.ca = {.pem = {}, .file = self.dir.write("ca.crt", cluster.ca.pem)};
        cluster.user.certificate = {.pem = {}, .file = self.dir.write("client.crt", cluster.user.certificate.pem)};
        cluster.user.key = {.pem = {}, .file = self.dir.write("client.key", cluster.user.key.pem)};
    });
    here.run(+[](scene& s) -> awaitable<void> {
        tally t;
        base::task_group writers(s.loop.get_executor());
        for (int w = 0; w < 20; ++w) writers.spawn("write", apply_some(&s, w * 100, (w + 1) * 100, &t));
        for (const int goal : {400, 800, 1200}) {
            co_await until_applied(&s, &t, goal);
            s.dir.write("ca.crt", s.dir.read("ca.crt") + "\n");
        }
        co_await writers.join();
        EXPECT_EQ(t.applied, 2000) << t.trouble;
        EXPECT_GE(s.api->statistics().wire.connects, 4U);
    });
}

// A user to whom the server gives a share of nearly nothing, and 429 for all that is beyond it.
constexpr std::string_view storm = "cotrain-storm";
constexpr resource bindings{"rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding", false};
constexpr resource levels{"flowcontrol.apiserver.k8s.io", "v1", "prioritylevelconfigurations",
                          "PriorityLevelConfiguration", false};
constexpr resource schemas{"flowcontrol.apiserver.k8s.io", "v1", "flowschemas", "FlowSchema", false};

awaitable<void> make_storm(scene* s) {
    const write_options as{.field_manager = "flood"};
    const location at{.name = storm};
    const auto bound = co_await s->api->apply(
        bindings, at,
        R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRoleBinding","metadata":{"name":"cotrain-storm"},
"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"cluster-admin"},
"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"cotrain-storm"}]})",
        true, as);
    EXPECT_TRUE(bound.has_value()) << bound.error().message;
    const auto level =
        co_await s->api->apply(levels, at,
                               R"({"apiVersion":"flowcontrol.apiserver.k8s.io/v1","kind":"PriorityLevelConfiguration",
"metadata":{"name":"cotrain-storm"},"spec":{"type":"Limited","limited":{"nominalConcurrencyShares":1,
"lendablePercent":0,"borrowingLimitPercent":0,"limitResponse":{"type":"Reject"}}}})",
                               true, as);
    EXPECT_TRUE(level.has_value()) << level.error().message;
    const auto schema = co_await s->api->apply(
        schemas, at,
        R"({"apiVersion":"flowcontrol.apiserver.k8s.io/v1","kind":"FlowSchema","metadata":{"name":"cotrain-storm"},
"spec":{"priorityLevelConfiguration":{"name":"cotrain-storm"},"matchingPrecedence":2,
"rules":[{"subjects":[{"kind":"User","user":{"name":"cotrain-storm"}}],
"resourceRules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"],"namespaces":["*"]}]}]}})",
        true, as);
    EXPECT_TRUE(schema.has_value()) << schema.error().message;
}

std::uint64_t refused_for_now(const client& c) {
    std::uint64_t count = 0;
    for (const request_count& each : c.statistics().requests)
        if (each.code == 429) count += each.count;
    return count;
}

awaitable<void> list_once(client* c, std::string ns) {
    static_cast<void>(co_await c->list(configmaps, ns, {.limit = 1}));
}

awaitable<void> create_one(client* c, std::string ns, int number, tally* t) {
    const auto done = co_await c->create(configmaps, ns, configmap("once-" + std::to_string(number), number));
    if (done && done->created()) {
        ++t->applied;
    } else {
        ++t->failed;
        t->trouble = done ? "not made" : done.error().message;
    }
}

TEST(flood, a_storm_of_429_loses_no_create_and_repeats_none_that_happened) {
    scene here("flood-storm");
    here.run(+[](scene& s) -> awaitable<void> {
        co_await make_storm(&s);
        cluster_config cluster = test::real_cluster();
        cluster.user.as.user = storm;
        client_options patient;
        patient.deadline = 120s;
        patient.retry.throttled_max = 100;
        patient.retry.wait_max = 500ms;
        const auto stormy = s.connect(cluster, patient);
        // Until the server goes by the new rules.
        while (refused_for_now(*stormy) == 0 && !testing::Test::HasFailure()) {
            base::task_group probes(s.loop.get_executor());
            for (int i = 0; i < 60; ++i) probes.spawn("probe", list_once(stormy.get(), s.ns));
            co_await probes.join();
        }
        const std::uint64_t before = refused_for_now(*stormy);
        tally t;
        base::task_group writers(s.loop.get_executor());
        for (int i = 0; i < 60; ++i) writers.spawn("create", create_one(stormy.get(), s.ns, i, &t));
        co_await writers.join();
        EXPECT_EQ(t.applied, 60) << t.trouble;
        EXPECT_GT(refused_for_now(*stormy), before);
        co_await stormy->stop();
        for (const resource& each : {schemas, levels, bindings})
            EXPECT_TRUE((co_await s.api->remove(each, {.name = storm})).has_value());
    });
}

}  // namespace
}  // namespace cotrain::kube
