// The verbs against a server that answers as told: what goes out, what comes back, what is tried again.
#include "kube/client.hpp"

#include <gtest/gtest.h>

#include "kube/fake_api.hpp"
#include "support/temp_dir.hpp"

namespace cotrain::kube {
namespace {

using namespace std::chrono_literals;
const canned conflict{409, {}, R"({"kind":"Status","reason":"Conflict","message":"no","code":409})"};

TEST(client, sends_who_it_is_with_every_request) {
    fake_api api(answers({{200, {}, R"({"a":1})"}}));
    api.cluster.user.token = "tok";
    api.cluster.base_path = "/k8s/c-1";
    api.cluster.user.as = {.user = "other", .uid = "7", .groups = {"a", "b"}, .extra = {{"Acme/Scope", "x"}}};
    api.options().user_agent = user_agent("1.2.3");
    api.run([](fake_api& a, client& c) -> awaitable<void> {
        const auto got = co_await c.get(config_map, {"ns", "a"});
        EXPECT_TRUE(got.has_value());
        if (!got) co_return;
        EXPECT_EQ(got->status, 200);
        EXPECT_EQ(got->body, R"({"a":1})");
        EXPECT_FALSE(got->created());
        const auto& seen = a.seen.at(0);
        EXPECT_EQ(seen.head.method, "GET");
        EXPECT_EQ(seen.head.path, "/k8s/c-1/api/v1/namespaces/ns/configmaps/a");
        EXPECT_EQ(seen.header("authorization"), "Bearer tok");
        EXPECT_TRUE(seen.header("user-agent").starts_with("cotrain/1.2.3 (linux/"));
        EXPECT_EQ(seen.header("impersonate-user"), "other");
        EXPECT_EQ(seen.header("impersonate-uid"), "7");
        EXPECT_EQ(seen.header("impersonate-group"), "a");
        EXPECT_EQ(seen.header("impersonate-extra-acme%2fscope"), "x");
    });
}

TEST(client, turns_refusals_into_errors_without_another_try) {
    fake_api api(answers({conflict}));
    api.run([](fake_api& a, client& c) -> awaitable<void> {
        const auto got = co_await c.apply(job_set, {"ns", "a"}, "{}", true, {.field_manager = "me"});
        EXPECT_FALSE(got.has_value());
        if (!got) {
            EXPECT_EQ(got.error().message, "apply JobSet ns/a: 409 Conflict: no");
            EXPECT_EQ(got.error().http_status, 409);
            EXPECT_EQ(got.error().reason, "Conflict");
        }
        const auto odd = co_await c.get(job_set, {"ns", "../x"});
        EXPECT_FALSE(odd.has_value());
        EXPECT_EQ(a.seen.size(), 1U);
    });
}

TEST(client, tries_again_what_may_be_tried_again) {
    fake_api api(answers({{429}, {503, {{"retry-after", "0"}}}, {201, {}, "made"}}));
    api.run([](fake_api& a, client& c) -> awaitable<void> {
        const auto made = co_await c.create(config_map, "ns", "{\"x\":1}");
        EXPECT_TRUE(made && made->created());
        EXPECT_EQ(a.seen.size(), 3U);
        for (const auto& one : a.seen) EXPECT_EQ(one.body, "{\"x\":1}");
        const client_statistics stats = c.statistics();
        EXPECT_EQ(stats.retries, 2U);
        EXPECT_EQ(stats.requests.size(), 3U);
        if (stats.requests.size() == 3) {
            EXPECT_EQ(stats.requests[0].method, "POST");
            EXPECT_EQ(stats.requests[0].code, 429);
            EXPECT_EQ(stats.requests[2].code, 201);
        }
    });
}

TEST(client, a_create_that_may_have_happened_is_not_sent_twice) {
    fake_api api(answers({{500}}));
    api.run([](fake_api& a, client& c) -> awaitable<void> {
        EXPECT_FALSE((co_await c.create(config_map, "ns", "{}")).has_value());
        EXPECT_EQ(a.seen.size(), 1U);
        EXPECT_FALSE((co_await c.apply(config_map, {"ns", "a"}, "{}", true, {.field_manager = "me"})).has_value());
        EXPECT_EQ(a.seen.size(), 6U);  // once, and four repeats
    });
}

TEST(client, waits_no_longer_than_the_deadline_for_a_throttling_server) {
    fake_api api(answers({{429, {{"retry-after", "20"}}, "busy"}}));
    api.run([](fake_api& a, client& c) -> awaitable<void> {
        const auto start = std::chrono::steady_clock::now();
        const auto got = co_await c.get(config_map, {"ns", "a"}, {.with = {.deadline = 10s}});
        EXPECT_LT(std::chrono::steady_clock::now() - start, 5s);
        EXPECT_FALSE(got.has_value());
        if (!got) {
            EXPECT_EQ(got.error().message, "get ConfigMap ns/a: 429 TooManyRequests: busy");
            EXPECT_EQ(got.error().retry_after, 20s);
        }
        EXPECT_EQ(a.seen.size(), 1U);
    });
}

awaitable<void> hang(fake_api&, net::incoming in) { co_await in.until_gone(); }

TEST(client, a_request_without_answer_ends_at_its_deadline) {
    fake_api api(hang);
    api.options().deadline = 100ms;
    api.run([](fake_api&, client& c) -> awaitable<void> {
        const auto got = co_await c.get(config_map, {"ns", "a"});
        EXPECT_FALSE(got.has_value());
        if (got) co_return;
        EXPECT_EQ(got.error().code, base::errc::deadline);
        EXPECT_TRUE(got.error().message.starts_with("get ConfigMap ns/a: ")) << got.error().message;
    });
}

awaitable<void> get_into(client* c, base::result<reply>* out) { *out = co_await c->get(config_map, {"ns", "a"}); }

TEST(client, stop_ends_what_runs_and_what_waits) {
    fake_api api([](fake_api& a, net::incoming in) -> awaitable<void> {
        return a.seen.size() == 1 ? hang(a, std::move(in)) : give(std::move(in), {429, {{"retry-after", "9"}}, ""});
    });
    api.run([](fake_api& a, client& c) -> awaitable<void> {
        base::result<reply> runs, waits;
        base::task_group group(a.loop.get_executor());
        group.spawn("runs", get_into(&c, &runs));
        group.spawn("waits", get_into(&c, &waits));
        asio::steady_timer timer(a.loop.get_executor());
        while (c.statistics().requests.empty()) {  // until the 429 has come
            timer.expires_after(1ms);
            co_await timer.async_wait(use_tuple);
        }
        co_await c.stop();
        co_await group.join();
        EXPECT_TRUE(!runs && runs.error().code == base::errc::canceled);
        EXPECT_TRUE(!waits && waits.error().code == base::errc::canceled);
        const auto late = co_await c.get(config_map, {"ns", "a"});
        EXPECT_TRUE(!late && late.error().code == base::errc::canceled);
    });
}

awaitable<void> stop_and_mark(client* c, bool* stopped) {
    co_await c->stop();
    *stopped = true;
}

// The log is written to between the answer and what is decided about it.
struct stopper {
    fake_api* api = nullptr;
    client* running = nullptr;
    base::task_group* tasks = nullptr;
    bool stopped = false;

    static void hear(void* self, std::string_view) {
        auto& me = *static_cast<stopper*>(self);
        if (auto* c = std::exchange(me.running, nullptr)) me.tasks->spawn("stop", stop_and_mark(c, &me.stopped));
    }
};

TEST(client, does_not_begin_to_wait_for_another_try_after_stop) {
    static stopper when;
    when = {};
    fake_api api(answers({{429, {{"retry-after", "9"}, {"warning", R"(299 - "busy")"}}, ""}}));
    api.log = base::logger(&stopper::hear, &when, base::level::info);
    api.run([](fake_api& a, client& c) -> awaitable<void> {
        base::task_group tasks(a.loop.get_executor());
        when.tasks = &tasks;
        when.running = &c;
        const auto start = std::chrono::steady_clock::now();
        const auto got = co_await c.get(config_map, {"ns", "a"});
        EXPECT_TRUE(!got && got.error().code == base::errc::canceled);
        co_await tasks.join();
        EXPECT_TRUE(when.stopped);
        EXPECT_LT(std::chrono::steady_clock::now() - start, 5s);
    });
}

TEST(client, logs_each_warning_once) {
    fake_api api(answers({{200, {{"warning", R"(299 - "v1alpha1 is deprecated")"}}}}));
    api.run([](fake_api& a, client& c) -> awaitable<void> {
        for (int i = 0; i < 3; ++i) EXPECT_TRUE((co_await c.get(config_map, {"ns", "a"})).has_value());
        int said = 0;
        for (const std::string& line : a.lines) said += line.contains("v1alpha1 is deprecated") ? 1 : 0;
        EXPECT_EQ(said, 1);
    });
}

TEST(client, throttles_all_but_leases_and_counts_the_wait) {
    fake_api api(answers({{200}}));
    api.options().limit = {.qps = 50, .burst = 1};
    api.run([](fake_api&, client& c) -> awaitable<void> {
        for (int i = 0; i < 4; ++i)
            EXPECT_TRUE(
                (co_await c.get(config_map, {"ns", "a"}, {.with = {.rank = net::priority::lease}})).has_value());
        EXPECT_EQ(c.statistics().throttle.waits, 0U);
        for (int i = 0; i < 4; ++i) EXPECT_TRUE((co_await c.get(config_map, {"ns", "a"})).has_value());
        EXPECT_GE(c.statistics().throttle.waits, 1U);
        EXPECT_GT(c.statistics().throttle.waited, 0ms);
    });
}

TEST(list_pages, follow_the_continue_token) {
    fake_api api(answers({{200, {}, R"({"metadata":{"resourceVersion":"5","continue":"c1"},"items":[1]})"},
                          {200, {}, R"({"metadata":{"resourceVersion":"5","continue":"c2"},"items":[2]})"},
                          {200, {}, R"({"metadata":{"resourceVersion":"5"},"items":[3]})"}}));
    api.run([](fake_api& a, client& c) -> awaitable<void> {
        list_pages pages =
            c.pages(job_set, "ns", {.resource_version = "4", .resource_version_match = "NotOlderThan", .limit = 1});
        std::string items;
        for (auto page = co_await pages.next(); page && *page; page = co_await pages.next())
            items += (*page)->body.substr((*page)->body.size() - 3, 1);
        EXPECT_EQ(items, "123");
        EXPECT_TRUE(
            a.seen.at(0).head.path.ends_with("jobsets?resourceVersion=4&resourceVersionMatch=NotOlderThan&limit=1"));
        EXPECT_TRUE(a.seen.at(1).head.path.ends_with("jobsets?limit=1&continue=c1"));
        EXPECT_TRUE(a.seen.at(2).head.path.ends_with("jobsets?limit=1&continue=c2"));
        const auto end = co_await pages.next();
        EXPECT_TRUE(end && !*end);
        EXPECT_EQ(a.seen.size(), 3U);
    });
}

TEST(client, knows_what_the_server_serves) {
    fake_api api(
        answers({{404, {}, "404 page not found\n"},
                 {200, {}, R"({"kind":"APIResourceList","resources":[{"name":"jobsets"},{"name":"jobsets/status"}]})"},
                 {200, {}, R"({"kind":"APIResourceList","resources":[{"name":"other"}]})"},
                 {403, {}, "no"}}));
    api.run([](fake_api&, client& c) -> awaitable<void> {
        EXPECT_EQ(co_await c.exists(job_set), false);
        EXPECT_EQ(co_await c.exists(job_set), true);
        EXPECT_EQ(co_await c.exists(job_set), false);
        const auto refused = co_await c.exists(job_set);
        EXPECT_TRUE(!refused && refused.error().http_status == 403);
    });
}

TEST(client, names_the_configuration_when_it_cannot_be_used) {
    asio::io_context loop(1);
    cluster_config cluster;
    cluster.host = "x";
    cluster.origin = "kubeconfig /k, context x";
    cluster.ca.pem = "-----BEGIN CERTIFICATE-----\nrubbish\n-----END CERTIFICATE-----\n";
    const auto made = client::make(loop.get_executor(), cluster, {}, base::null_logger());
    ASSERT_FALSE(made);
    EXPECT_TRUE(made.error().message.starts_with("kubeconfig /k, context x: ")) << made.error().message;
}

}  // namespace
}  // namespace cotrain::kube
