// The keeper against a small store of objects: who loses a race takes the winner's certificates, nothing is told twice.
#include "certs/keeper.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>

#include "certs/certificate_set.hpp"
#include "doc/edit.hpp"
#include "doc/json.hpp"
#include "kube/fake_api.hpp"

namespace cotrain::certs {
namespace {

using kube::fake_api;

const certificate_names names{.hosts = {"svc.ns.svc"}};
constexpr std::string_view secret_path = "/api/v1/namespaces/ns/secrets/cert";
constexpr std::string_view map_path = "/api/v1/namespaces/ns/configmaps/cert";
constexpr std::string_view hooks = "/apis/admissionregistration.k8s.io/v1/";

std::string path_of(const net::h2::head& head) { return head.path.substr(0, head.path.find('?')); }

// Objects by path with resourceVersions, as the API server checks them. A watch tells of each change of anything.
struct object_server {
    std::map<std::string, std::string> objects;
    int version = 1;
    int writes = 0;  // but for the ConfigMap
    int refused_maps = 0;
    int failures = 0;  // that are still to come, of reading the secret
    int refusals = 0;  // the same, which nobody tries again at once
    // What another replica stores just before our first write comes in.
    std::string rival;
    std::string rival_path;
    // What somebody else puts there each time that we have written, as soon as that is heard.
    std::string other;
    std::string other_path;
    int gets = 0;
    int watches = 0;
    bool watchable = true;

    void put(const std::string& path, const std::string& body) {
        doc::arena memory;
        doc::editor object = doc::editor::of(memory, *doc::parse_json(memory, body));
        object.ensure_object("metadata").set("resourceVersion", std::to_string(++version));
        objects[path] = doc::to_json(object);
    }
    [[nodiscard]] static std::string version_of(const std::string& body) {
        doc::arena memory;
        const auto document = doc::parse_json(memory, body);
        return std::string(document->get({"metadata", "resourceVersion"}).as_string());
    }

    awaitable<void> answer(net::incoming in) {
        const std::string path = path_of(in.head());
        const std::string& method = in.head().method;
        if (in.head().path.contains("watch=")) {
            ++watches;
            if (!watchable) co_return in.respond(403, {}, "{}");
            co_return co_await tell(std::move(in));
        }
        gets += method == "GET" ? 1 : 0;
        if (method == "GET" && path == secret_path && failures > 0) {
            --failures;
            in.respond(500, {}, "{}");
            co_return;
        }
        if (method == "GET" && path == secret_path && refusals > 0) {
            --refusals;
            in.respond(403, {}, "{}");
            co_return;
        }
        if (method == "GET") {
            const auto found = objects.find(path);
            in.respond(found == objects.end() ? 404 : 200, {}, found == objects.end() ? "{}" : found->second);
            co_return;
        }
        if (method == "PATCH" && path == map_path) {
            if (refused_maps > 0) {
                --refused_maps;
                in.respond(403, {}, "{}");
                co_return;
            }
            put(path, std::string(in.body()));
            in.respond(200, {}, objects[path]);
            co_return;
        }
        ++writes;
        if (!rival.empty()) put(rival_path, std::exchange(rival, {}));
        const std::string body(in.body());
        if (method == "POST") {
            const std::string at = path + "/cert";
            const bool there = objects.contains(at);
            if (!there) put(at, body);
            in.respond(there ? 409 : 201, {}, there ? "{}" : objects[at]);
            co_return;
        }
        const bool same = objects.contains(path) && version_of(objects[path]) == version_of(body);
        if (same) put(path, body);
        in.respond(same ? 200 : 409, {}, same ? objects[path] : "{}");
        if (same && path == other_path) put(path, other);
    }
    awaitable<void> tell(net::incoming in) {
        in.begin(200, {});
        asio::steady_timer timer(co_await asio::this_coro::executor);
        for (int seen = version;;) {
            timer.expires_after(std::chrono::milliseconds(1));
            co_await timer.async_wait(asio::use_awaitable);
            if (std::exchange(seen, version) == version) continue;
            if (!co_await in.write("{\"type\":\"MODIFIED\",\"object\":{}}\n")) co_return;
        }
    }
};

keeper_options options() {
    keeper_options o{.ns = "ns", .secret = "cert", .names = names};
    o.pace.pause = std::chrono::milliseconds(2);
    o.pace.failed.first = std::chrono::milliseconds(1);
    return o;
}

awaitable<void> until_settled(const certificate_keeper* keeper) {
    asio::steady_timer timer(co_await asio::this_coro::executor);
    while (!keeper->settled()) {
        timer.expires_after(std::chrono::milliseconds(1));
        co_await timer.async_wait(asio::use_awaitable);
    }
}

// Runs a keeper until what it serves is saved; gives what it serves.
awaitable<certificate_set> keep(kube::client* api, base::logger* log) {
    served_certificate serving({});
    certificate_keeper keeper(co_await asio::this_coro::executor, *api, serving, options(), *log);
    keeper.start();
    co_await until_settled(&keeper);
    EXPECT_TRUE(serving.ready());
    const certificate_set out = keeper.current();
    co_await keeper.stop();
    co_return out;
}

wall_time now() { return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()); }

certificate_set some_set() { return *renew({}, standing::renew_all, names, now()); }

struct keeper : testing::Test {
    object_server server;
    fake_api api{[this](fake_api&, net::incoming in) { return server.answer(std::move(in)); }};
    std::string validating = std::string(hooks) + "validatingwebhookconfigurations/validator.trainer.kubeflow.org";
    std::string mutating = std::string(hooks) + "mutatingwebhookconfigurations/defaulter.trainer.kubeflow.org";

    keeper() {
        for (const std::string& path : {validating, mutating})
            server.put(path, R"({"webhooks":[{"name":"x","clientConfig":{"url":"https://x"}}]})");
    }
    certificate_set run() {
        certificate_set out;
        api.run([&out](fake_api& a, kube::client& c) -> awaitable<void> { out = co_await keep(&c, &a.log); });
        return out;
    }
    [[nodiscard]] certificate_set stored() { return *read_secret(server.objects.at(std::string(secret_path))); }
};

TEST_F(keeper, makes_saves_and_tells) {
    const certificate_set mine = run();
    EXPECT_EQ(judge(mine, names, now()).what, standing::good);
    EXPECT_EQ(stored(), mine);
    for (const std::string& path : {validating, mutating})
        EXPECT_FALSE(*inject_authority(server.objects.at(path), mine.ca_crt)) << "it trusts already";
    EXPECT_EQ(server.writes, 3);
}

TEST_F(keeper, takes_what_is_good_and_writes_nothing) {
    const certificate_set theirs = some_set();
    server.put(std::string(secret_path), *write_secret("", "ns", "cert", theirs));
    for (const std::string& path : {validating, mutating})
        server.put(path, **inject_authority(server.objects.at(path), theirs.ca_crt));
    EXPECT_EQ(run(), theirs);
    EXPECT_EQ(server.writes, 0);
}

TEST_F(keeper, what_cannot_be_read_is_not_taken_for_missing) {
    const certificate_set theirs = some_set();
    server.put(std::string(secret_path), *write_secret("", "ns", "cert", theirs));
    for (const std::string& path : {validating, mutating})
        server.put(path, **inject_authority(server.objects.at(path), theirs.ca_crt));
    server.failures = 12;  // more than one request tries
    EXPECT_EQ(run(), theirs);
    EXPECT_EQ(server.writes, 0);
}

TEST_F(keeper, tells_once_what_is_wrong) {
    server.refusals = 5;
    run();
    EXPECT_EQ(server.refusals, 0);
    EXPECT_EQ(std::ranges::count_if(
                  api.lines,
                  [](const std::string& line) { return line.contains("cannot maintain the serving certificate"); }),
              1);
}

TEST_F(keeper, who_comes_second_takes_the_firsts_certificates) {
    const certificate_set theirs = some_set();
    server.rival = *write_secret("", "ns", "cert", theirs);
    server.rival_path = secret_path;
    EXPECT_EQ(run(), theirs);
    EXPECT_EQ(stored(), theirs);
}

TEST_F(keeper, an_update_does_not_overrun_anothers) {
    server.put(std::string(secret_path), R"({"kind":"Secret","metadata":{"name":"cert"},"data":{}})");
    const certificate_set theirs = some_set();
    server.rival = *write_secret("", "ns", "cert", theirs);
    server.rival_path = secret_path;
    EXPECT_EQ(run(), theirs);
    EXPECT_EQ(stored(), theirs);
}

// Prometheus and others who verify us read the ConfigMap: nobody but the operator needs the Secret with the CA's key.
TEST_F(keeper, the_authoritys_certificate_can_be_had_without_its_key) {
    const certificate_set mine = run();
    const std::string& map = server.objects.at(std::string(map_path));
    doc::arena memory;
    const auto document = doc::parse_json(memory, map);
    ASSERT_TRUE(document);
    EXPECT_EQ(document->get({"data", "ca.crt"}).as_string(), mine.ca_crt);
    EXPECT_EQ(document->get("data").size(), 1U);
    EXPECT_FALSE(map.contains("PRIVATE KEY"));
}

TEST_F(keeper, without_the_right_to_write_the_config_map_all_else_goes_on) {
    server.refused_maps = 100;
    EXPECT_EQ(run(), stored());
    EXPECT_EQ(server.refused_maps, 99) << "it is not tried again and again";
    EXPECT_EQ(std::ranges::count_if(api.lines, [](const std::string& line) { return line.contains("ConfigMap"); }), 1);
}

TEST_F(keeper, a_cluster_without_our_webhooks_is_fine) {
    server.objects.clear();
    const certificate_set mine = run();
    EXPECT_EQ(mine, stored());
    EXPECT_EQ(server.writes, 1);
}

// Runs a keeper for that long.
awaitable<void> keep_for(kube::client* api, base::logger* log, keeper_options how, std::chrono::milliseconds time) {
    served_certificate serving({});
    certificate_keeper keeper(co_await asio::this_coro::executor, *api, serving, std::move(how), *log);
    keeper.start();
    asio::steady_timer timer(co_await asio::this_coro::executor, time);
    co_await timer.async_wait(asio::use_awaitable);
    co_await keeper.stop();
}

bool said(const fake_api& a, std::string_view text) {
    return std::ranges::any_of(a.lines, [text](const std::string& line) { return line.contains(text); });
}

// Another operator with an authority of its own, or cert-manager beside us.
TEST_F(keeper, who_wants_another_authority_is_answered_ever_more_slowly_and_named) {
    server.put(std::string(secret_path), *write_secret("", "ns", "cert", some_set()));
    server.other_path = validating;
    server.other =
        R"({"metadata":{"managedFields":[{"manager":"helm","time":"2026-01-01T00:00:00Z","fieldsV1":{"f:webhooks":{}}},)"
        R"({"manager":"cainjector","time":"2026-02-01T00:00:00Z","fieldsV1":{"f:webhooks":{}}},)"
        R"({"manager":"labels","time":"2026-03-01T00:00:00Z","fieldsV1":{"f:metadata":{}}}]},)"
        R"("webhooks":[{"name":"x","clientConfig":{"url":"https://x","caBundle":"b3RoZXI="}}]})";
    api.run([](fake_api& a, kube::client& c) -> awaitable<void> {
        keeper_options how = options();
        how.pace.contested = {std::chrono::milliseconds(100), std::chrono::milliseconds(60'000), 2.0, 0.5};
        served_certificate serving({});
        certificate_keeper keeper(a.loop.get_executor(), c, serving, how, a.log);
        keeper.start();
        asio::steady_timer timer(a.loop);
        const auto due = std::chrono::steady_clock::now() + std::chrono::seconds(30);
        while (!said(a, "another field manager keeps changing") && std::chrono::steady_clock::now() < due) {
            timer.expires_after(std::chrono::milliseconds(1));
            co_await timer.async_wait(asio::use_awaitable);
        }
        timer.expires_after(std::chrono::milliseconds(500));
        co_await timer.async_wait(asio::use_awaitable);
        co_await keeper.stop();
    });
    // The other configuration, six repairs, and the few that fit in pauses of 50 ms and more that double.
    EXPECT_GE(server.writes, 8);
    EXPECT_LE(server.writes, 13);
    EXPECT_LE(server.gets, 60) << "neither looked at at each event";
    EXPECT_TRUE(said(api, "\"fieldManager\":\"cainjector\""));
}

TEST_F(keeper, what_it_may_not_watch_it_looks_at_now_and_then) {
    server.watchable = false;
    server.put(std::string(secret_path), *write_secret("", "ns", "cert", some_set()));
    api.run([](fake_api& a, kube::client& c) -> awaitable<void> {
        keeper_options how = options();
        how.unwatched = {std::chrono::milliseconds(100), std::chrono::milliseconds(400), 2.0, 0.5};
        co_await keep_for(&c, &a.log, how, std::chrono::milliseconds(1'000));
    });
    EXPECT_LE(server.watches, 3 * 8);
    EXPECT_LE(server.gets, 3 * 3 * 8 + 3);
    EXPECT_GT(server.gets, 6) << "changes are found without a watch";
}

TEST_F(keeper, goes_on_after_exceptions) {
    int calls = 0;
    api.run([&calls](fake_api& a, kube::client& c) -> awaitable<void> {
        return [](fake_api* a, kube::client* c, int* calls) -> awaitable<void> {
            served_certificate serving({});
            keeper_options given = options();
            given.mistake_retry = {std::chrono::milliseconds(1), std::chrono::milliseconds(2), 2.0, 0.5};
            given.now = [calls] {
                if (++*calls < 4) throw std::runtime_error("no time");
                return now();
            };
            certificate_keeper keeper(co_await asio::this_coro::executor, *c, serving, given, a->log);
            keeper.start();
            co_await until_settled(&keeper);
            EXPECT_TRUE(serving.ready());
            co_await keeper.stop();
        }(&a, &c, &calls);
    });
    EXPECT_GE(calls, 4);
    EXPECT_TRUE(std::ranges::any_of(api.lines, [](const std::string& line) {
        return line.contains(R"("task":"certificates")") && line.contains("no time");
    }));
}

}  // namespace
}  // namespace cotrain::certs
