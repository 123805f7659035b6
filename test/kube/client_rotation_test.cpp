// Things that change under a running client: tokens, certificates, a server that throttles, goes and comes back.
#include <gtest/gtest.h>

#include <map>

#include "kube/fake_api.hpp"
#include "support/certificates.hpp"
#include "support/temp_dir.hpp"

namespace cotrain::kube {
namespace {

using namespace std::chrono_literals;

awaitable<void> apply_one(client* c, int number, int* done) {
    const auto got =
        co_await c->apply(config_map, {"ns", "a" + std::to_string(number)}, "{}", true, {.field_manager = "me"});
    if (got)
        ++*done;
    else
        ADD_FAILURE() << got.error().message;
}

TEST(rotation, of_the_token_is_not_seen_by_callers) {
    const test::temp_dir dir;
    std::string accepted = "Bearer t0";
    dir.write("token", "t0\n");
    int turn = 0;
    fake_api api([&](fake_api& a, net::incoming in) -> awaitable<void> {
        // Every 1500 requests the old token is worth nothing and the new one is in the file.
        if (a.seen.size() % 1500 == 0) {
            accepted = "Bearer t" + std::to_string(++turn);
            dir.write("token", "t" + std::to_string(turn) + "\n");
        }
        const bool known = net::find_header(in.head().headers, "authorization") == accepted;
        return give(std::move(in), known ? canned{200} : canned{401, {}, ""});
    });
    api.cluster.user.token_file = dir.path("token");
    api.run([](fake_api& a, client& c) -> awaitable<void> {
        int done = 0;
        for (int round = 0; round < 20; ++round) {
            base::task_group flood(a.loop.get_executor());
            for (int i = 0; i < 400; ++i) flood.spawn("apply", apply_one(&c, i, &done));
            co_await flood.join();
        }
        EXPECT_EQ(done, 8000);
        EXPECT_GE(c.statistics().renewals, 4U);
    });
}

TEST(rotation, a_token_that_stays_refused_is_an_error_after_one_look) {
    const test::temp_dir dir;
    fake_api api(
        answers({{401, {}, R"({"kind":"Status","reason":"Unauthorized","message":"Unauthorized","code":401})"}}));
    api.cluster.user.token_file = dir.write("token", "old");
    api.run([](fake_api& a, client& c) -> awaitable<void> {
        const auto got = co_await c.get(config_map, {"ns", "a"});
        EXPECT_TRUE(!got && got.error().http_status == 401);
        EXPECT_EQ(a.seen.size(), 1U);
    });
}

TEST(rotation, of_a_plugins_token_is_not_seen_by_callers) {
    const test::temp_dir dir;
    fake_api api([](fake_api& a, net::incoming in) -> awaitable<void> {
        const std::string_view token = net::find_header(in.head().headers, "authorization");
        return give(std::move(in),
                    token == (a.seen.size() <= 3 ? "Bearer t1" : "Bearer t2") ? canned{200} : canned{401});
    });
    api.cluster.user.exec.command =
        dir.script("plugin", "echo x >> " + dir.path("runs") + "\nn=$(wc -l < " + dir.path("runs") + R"j()
echo "{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\",\"status\":{\"token\":\"t$((n))\"}}"
)j");
    api.cluster.user.exec.api_version = "client.authentication.k8s.io/v1";
    api.options().auth.exec.pause = 0ms;
    api.run([](fake_api& a, client& c) -> awaitable<void> {
        int done = 0;
        for (int i = 0; i < 6; ++i) co_await apply_one(&c, i, &done);
        EXPECT_EQ(done, 6);
        EXPECT_EQ(a.seen.size(), 7U);
        EXPECT_EQ(c.statistics().renewals, 1U);
    });
    EXPECT_EQ(dir.read("runs"), "x\nx\n");
}

// Presents a certificate of either of two authorities.
struct two_authorities : fake_api {
    test::authority first{"first"}, second{"second"};
    test::temp_dir dir;
    std::shared_ptr<const net::tls::context> presented = context(first);

    two_authorities() : fake_api(answers({{200}}), {.tls = [this] { return presented; }}) {
        cluster.scheme = "https";
        cluster.ca.file = dir.write("ca.crt", first.pem());
    }
    static std::shared_ptr<const net::tls::context> context(const test::authority& from) {
        const auto made = from.issue({.common_name = "api", .addresses = {"127.0.0.1"}});
        return *net::tls::context::for_server({.certificate_pem = made.certificate_pem, .key_pem = made.key_pem});
    }
};

TEST(rotation, of_the_servers_authority_is_not_seen_by_callers) {
    two_authorities api;
    api.run([](fake_api& a, client& c) -> awaitable<void> {
        auto& world = static_cast<two_authorities&>(a);
        EXPECT_TRUE((co_await c.get(config_map, {"ns", "a"})).has_value());
        world.presented = two_authorities::context(world.second);
        world.dir.write("ca.crt", world.second.pem());
        world.server().drop_connections();
        const auto got = co_await c.get(config_map, {"ns", "a"});
        EXPECT_TRUE(got.has_value()) << got.error().message;
    });
}

TEST(storm, of_429_loses_nothing_and_applies_everything_once) {
    std::map<std::string, int> refused, applied;
    fake_api api([&](fake_api&, net::incoming in) -> awaitable<void> {
        const std::string path = in.head().path;
        if (++refused[path] <= 3) return give(std::move(in), {429, {{"retry-after", "0"}}, "slow down"});
        ++applied[path];
        return give(std::move(in), {201});
    });
    api.run([](fake_api& a, client& c) -> awaitable<void> {
        int done = 0;
        base::task_group flood(a.loop.get_executor());
        for (int i = 0; i < 500; ++i) flood.spawn("apply", apply_one(&c, i, &done));
        co_await flood.join();
        EXPECT_EQ(done, 500);
        EXPECT_EQ(c.statistics().retries, 1500U);
    });
    EXPECT_EQ(applied.size(), 500U);
    for (const auto& [path, count] : applied) EXPECT_EQ(count, 1) << path;
}

awaitable<void> create_one(client* c, int* made, int* unknown, int* other) {
    const auto got = co_await c->create(config_map, "ns", "{}");
    if (got)
        ++*made;
    else
        ++*(got.error().code == base::errc::lost ? unknown : other);
}

TEST(storm, a_create_on_a_dying_connection_is_not_sent_twice) {
    int arrived = 0;
    fake_api api([&](fake_api& a, net::incoming in) -> awaitable<void> {
        if (++arrived % 10 == 0) a.server().drop_connections();
        return give(std::move(in), {201});
    });
    api.run([](fake_api& a, client& c) -> awaitable<void> {
        int made = 0, unknown = 0, other = 0;
        base::task_group flood(a.loop.get_executor());
        for (int i = 0; i < 100; ++i) flood.spawn("create", create_one(&c, &made, &unknown, &other));
        co_await flood.join();
        EXPECT_EQ(made + unknown, 100);
        EXPECT_EQ(other, 0);
        EXPECT_GT(unknown, 0);
    });
    EXPECT_LE(arrived, 100);
}

}  // namespace
}  // namespace cotrain::kube
