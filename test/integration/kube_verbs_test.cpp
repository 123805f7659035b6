// Every verb against the real API server: what it does, and in which words it is refused.
#include <gtest/gtest.h>

#include <stdexcept>

#include "base/task_group.hpp"
#include "doc/json.hpp"
#include "integration/control.hpp"
#include "kube/client.hpp"
#include "kube/config.hpp"
#include "reconcile/missing_rights.hpp"
#include "support/run.hpp"
#include "support/temp_dir.hpp"

namespace cotrain::kube {
namespace {

using namespace std::chrono_literals;

constexpr resource configmaps{"", "v1", "configmaps", "ConfigMap"};
constexpr resource namespaces{"", "v1", "namespaces", "Namespace", false};
constexpr resource secrets{"", "v1", "secrets", "Secret"};
constexpr resource nothing{"nothing.example.com", "v1", "nothings", "Nothing"};

struct scene {
    asio::io_context loop{1};
    std::unique_ptr<client> api;
    std::string ns;

    scene(std::string name, const cluster_config& cluster, client_options options = {}) : ns(std::move(name)) {
        auto made = client::make(loop.get_executor(), cluster, std::move(options), base::null_logger());
        if (!made) throw std::runtime_error(made.error().message);
        api = std::move(*made);
    }
    explicit scene(std::string name) : scene(std::move(name), test::real_cluster()) {}
    void run(awaitable<void> (*body)(scene&)) { test::run(loop, play(this, body)); }

   private:
    static awaitable<void> play(scene* self, awaitable<void> (*body)(scene&)) {
        const auto created = co_await self->api->create(
            namespaces, "", R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":")" + self->ns + "\"}}");
        EXPECT_TRUE(created.has_value()) << created.error().message;
        co_await body(*self);
        EXPECT_TRUE((co_await self->api->remove(namespaces, {.name = self->ns})).has_value());
        co_await self->api->stop();
    }
};

std::string config_map(std::string_view name, std::string_view value, std::string_view more_metadata = "") {
    return std::string(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":")") + std::string(name) + "\"" +
           std::string(more_metadata) + R"(},"data":{"value":")" + std::string(value) + "\"}}";
}

// What an awaited call must have been refused with.
template <class T>
void expect_refusal(const base::result<T>& got, int status, std::string_view reason, std::string_view start) {
    ASSERT_FALSE(got.has_value()) << start;
    EXPECT_EQ(got.error().http_status, status) << got.error().message;
    EXPECT_EQ(got.error().reason, reason) << got.error().message;
    EXPECT_TRUE(got.error().message.starts_with(start)) << got.error().message;
    EXPECT_EQ(got.error().message.find('\n'), std::string::npos);
}

TEST(verbs, create_get_update_patch_delete) {
    scene here("verbs-crud");
    here.run([](scene& s) -> awaitable<void> {
        const location a{s.ns, "a"};
        const auto created = co_await s.api->create(configmaps, s.ns, config_map("a", "1"), {.field_manager = "me"});
        EXPECT_TRUE(created && created->created());
        expect_refusal(co_await s.api->create(configmaps, s.ns, config_map("a", "1")), 409, "AlreadyExists",
                       "create ConfigMap in verbs-crud: 409 AlreadyExists: configmaps \"a\" already exists");

        auto got = co_await s.api->get(configmaps, a);
        EXPECT_TRUE(got && got->status == 200 && got->body.contains("\"value\":\"1\""));
        if (!got) co_return;
        doc::arena memory;
        const auto read = doc::parse_json(memory, got->body);
        EXPECT_TRUE(read.has_value());
        if (!read) co_return;
        const std::string first(read->get({"metadata", "resourceVersion"}).as_string());
        const std::string uid(read->get({"metadata", "uid"}).as_string());
        const std::string version = ",\"resourceVersion\":\"" + first + "\"";
        EXPECT_TRUE((co_await s.api->update(configmaps, a, config_map("a", "2", version))).has_value());
        expect_refusal(co_await s.api->update(configmaps, a, config_map("a", "3", version)), 409, "Conflict",
                       "update ConfigMap verbs-crud/a: 409 Conflict: ");

        EXPECT_TRUE((co_await s.api->merge_patch(configmaps, a, R"({"data":{"value":null,"b":"x"}})")).has_value());
        EXPECT_TRUE(
            (co_await s.api->json_patch(configmaps, a, R"([{"op":"add","path":"/data/c","value":"y"}])")).has_value());
        got = co_await s.api->get(configmaps, a);
        EXPECT_TRUE(got && got->body.contains(R"("data":{"b":"x","c":"y"})")) << got->body;

        expect_refusal(co_await s.api->remove(configmaps, a, {.uid = "00000000-0000-0000-0000-000000000000"}), 409,
                       "Conflict", "delete ConfigMap verbs-crud/a: 409 Conflict: ");
        expect_refusal(co_await s.api->remove(configmaps, a, {.resource_version = first}), 409, "Conflict",
                       "delete ConfigMap verbs-crud/a: 409 Conflict: ");
        EXPECT_TRUE((co_await s.api->remove(configmaps, a, {.dry_run = true})).has_value());
        EXPECT_TRUE((co_await s.api->remove(configmaps, a,
                                            {.dependents = propagation::background, .grace_seconds = 0, .uid = uid}))
                        .has_value());
        expect_refusal(co_await s.api->get(configmaps, a), 404, "NotFound",
                       "get ConfigMap verbs-crud/a: 404 NotFound: configmaps \"a\" not found");
    });
}

// Whatever is written to a Secret, no answer carries what is in it.
TEST(verbs, writes_of_secrets_bring_back_metadata_alone) {
    scene here("verbs-secrets");
    here.run([](scene& s) -> awaitable<void> {
        const location a{s.ns, "a"};
        const auto secret = [](std::string_view more) {
            return R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"},"data":{"key":"dG9wIHNlY3JldA=="})" +
                   std::string(more) + "}";
        };
        const auto expect_metadata = [](const base::result<reply>& got) {
            EXPECT_TRUE(got) << (got ? "" : got.error().message);
            if (!got) return;
            EXPECT_FALSE(got->body.contains("dG9wIHNlY3JldA=="));
            EXPECT_TRUE(got->body.contains(R"("kind":"PartialObjectMetadata")")) << got->body;
            EXPECT_TRUE(got->body.contains(R"("resourceVersion":")")) << got->body;
        };
        expect_metadata(co_await s.api->create(secrets, s.ns, secret(""), {.field_manager = "me"}));
        expect_metadata(co_await s.api->update(secrets, a, secret("")));
        expect_metadata(co_await s.api->apply(secrets, a, secret(""), true, {.field_manager = "me"}));
        expect_metadata(co_await s.api->merge_patch(secrets, a, "{}"));
        expect_metadata(co_await s.api->json_patch(secrets, a, "[]"));
        expect_metadata(co_await s.api->get(secrets, a, {.as = shape::metadata}));
        const auto gone = co_await s.api->remove(secrets, a);
        EXPECT_TRUE(gone);
        EXPECT_FALSE(gone && gone->body.contains("dG9wIHNlY3JldA=="));
    });
}

TEST(verbs, apply_owns_fields_and_takes_them_by_force) {
    scene here("verbs-apply");
    here.run([](scene& s) -> awaitable<void> {
        const location a{s.ns, "a"};
        const auto first = co_await s.api->apply(configmaps, a, config_map("a", "1"), false, {.field_manager = "one"});
        EXPECT_TRUE(first && first->created());
        const auto again = co_await s.api->apply(configmaps, a, config_map("a", "1"), false, {.field_manager = "one"});
        EXPECT_TRUE(again && !again->created());
        expect_refusal(
            co_await s.api->apply(configmaps, a, config_map("a", "2"), false, {.field_manager = "two"}), 409,
            "Conflict",
            "apply ConfigMap verbs-apply/a: 409 Conflict: Apply failed with 1 conflict: conflict with \"one\"");
        const auto forced = co_await s.api->apply(configmaps, a, config_map("a", "2"), true, {.field_manager = "two"});
        EXPECT_TRUE(forced && forced->body.contains(R"("manager":"two")"));
    });
}

TEST(verbs, a_dry_run_changes_nothing) {
    scene here("verbs-dry");
    here.run([](scene& s) -> awaitable<void> {
        const location a{s.ns, "a"};
        EXPECT_TRUE((co_await s.api->create(configmaps, s.ns, config_map("a", "1"), {.dry_run = true})).has_value());
        EXPECT_TRUE(
            (co_await s.api->apply(configmaps, a, config_map("a", "1"), true, {.field_manager = "me", .dry_run = true}))
                .has_value());
        expect_refusal(co_await s.api->get(configmaps, a), 404, "NotFound", "get ConfigMap verbs-dry/a: ");
    });
}

TEST(verbs, refusals_say_what_is_wrong) {
    scene here("verbs-refused");
    here.run([](scene& s) -> awaitable<void> {
        expect_refusal(co_await s.api->create(configmaps, s.ns, config_map("Bad_Name", "1")), 422, "Invalid",
                       "create ConfigMap in verbs-refused: 422 Invalid: ConfigMap \"Bad_Name\" is invalid: "
                       "metadata.name: Invalid value");
        expect_refusal(co_await s.api->create(configmaps, s.ns, "{"), 400, "BadRequest",
                       "create ConfigMap in verbs-refused: 400 BadRequest: ");
        expect_refusal(co_await s.api->create(configmaps, "verbs-not-there", config_map("a", "1")), 404, "NotFound",
                       "create ConfigMap in verbs-not-there: 404 NotFound: ");
        expect_refusal(co_await s.api->get(nothing, {s.ns, "a"}), 404, "",
                       "get Nothing verbs-refused/a: 404 NotFound: ");
        expect_refusal(co_await s.api->list(configmaps, s.ns, {.continue_token = "rubbish"}), 400, "BadRequest",
                       "list ConfigMap in verbs-refused: 400 BadRequest: ");
        expect_refusal(co_await s.api->json_patch(configmaps, {s.ns, "a"}, R"([{"op":"test","path":"/a","value":1}])"),
                       404, "NotFound", "patch ConfigMap verbs-refused/a: 404 NotFound: ");
    });
}

TEST(verbs, pages_bring_every_object_once) {
    scene here("verbs-pages");
    here.run([](scene& s) -> awaitable<void> {
        for (int i = 0; i < 25; ++i) {
            const std::string name = "p" + std::to_string(i);
            const std::string labels = std::string(R"(,"labels":{"odd":")") + (i % 2 == 1 ? "yes" : "no") + "\"}";
            EXPECT_TRUE((co_await s.api->create(configmaps, s.ns, config_map(name, "x", labels))).has_value());
        }
        std::string all;
        int pages = 0;
        list_pages each = s.api->pages(configmaps, s.ns, {.limit = 10});
        for (auto page = co_await each.next(); page && *page; page = co_await each.next()) {
            EXPECT_EQ((*page)->head.remaining, pages == 0 ? 15 : pages == 1 ? 5 : 0);
            all += (*page)->body;
            ++pages;
        }
        EXPECT_EQ(pages, 3);
        for (int i = 0; i < 25; ++i) {
            const std::string name = "\"name\":\"p" + std::to_string(i) + "\"";
            EXPECT_NE(all.find(name), std::string::npos) << name;
            EXPECT_EQ(all.find(name, all.find(name) + 1), std::string::npos) << name;
        }
        const auto odd = co_await s.api->list(configmaps, s.ns, {.label_selector = "odd in (yes),odd!=no"});
        EXPECT_TRUE(odd && odd->body.contains("\"p1\"") && !odd->body.contains("\"p2\""));
        const auto one = co_await s.api->list(configmaps, s.ns, {.field_selector = "metadata.name=p7"});
        EXPECT_TRUE(one && one->body.contains("\"p7\"") && !one->body.contains("\"p1\""));
        const auto slim = co_await s.api->list(configmaps, s.ns, {.limit = 1, .as = shape::metadata});
        EXPECT_TRUE(slim && slim->body.contains("PartialObjectMetadataList") && !slim->body.contains("\"data\""));
        const auto single = co_await s.api->get(configmaps, {s.ns, "p1"}, {.as = shape::metadata});
        EXPECT_TRUE(single && single->body.contains("\"PartialObjectMetadata\"") && !single->body.contains("\"data\""));
    });
}

TEST(verbs, a_watch_tells_of_changes_and_ends_when_it_should) {
    scene here("verbs-watch");
    here.run([](scene& s) -> awaitable<void> {
        const auto list = co_await s.api->list(configmaps, s.ns);
        const auto head = read_list_head(list ? list->body : "");
        EXPECT_TRUE(head.has_value());
        if (!head) co_return;
        auto stream =
            co_await s.api->watch(configmaps, s.ns, {.resource_version = head->resource_version, .timeout = 2s});
        EXPECT_TRUE(stream.has_value());
        if (!stream) co_return;
        const location a{s.ns, "a"};
        EXPECT_TRUE((co_await s.api->create(configmaps, s.ns, config_map("a", "1"))).has_value());
        EXPECT_TRUE((co_await s.api->merge_patch(configmaps, a, R"({"data":{"value":"2"}})")).has_value());
        EXPECT_TRUE((co_await s.api->remove(configmaps, a)).has_value());
        for (const char* type : {"ADDED", "MODIFIED", "DELETED"}) {
            const auto event = co_await stream->next();
            EXPECT_TRUE(event && *event && (**event).starts_with(std::string("{\"type\":\"") + type)) << type;
        }
        auto end = co_await stream->next();
        while (end && *end) end = co_await stream->next();  // bookmarks
        EXPECT_TRUE(end.has_value());

        const auto old = co_await s.api->watch(configmaps, s.ns, {.resource_version = "1"});
        EXPECT_TRUE(old.has_value() || old.error().http_status == 410);
    });
}

TEST(verbs, a_watch_streams_the_initial_state) {
    scene here("verbs-watchlist");
    here.run([](scene& s) -> awaitable<void> {
        EXPECT_TRUE((co_await s.api->create(configmaps, s.ns, config_map("a", "1"))).has_value());
        auto stream = co_await s.api->watch(configmaps, s.ns, {.send_initial_events = true, .as = shape::metadata});
        EXPECT_EQ(stream.has_value(), !test::server_before(34));
        if (!stream) {
            EXPECT_EQ(stream.error().http_status, 422) << stream.error().message;
            co_return;
        }
        const auto event = co_await stream->next();
        EXPECT_TRUE(event && *event && (**event).contains("PartialObjectMetadata"));
        const auto bookmark = co_await stream->next();
        EXPECT_TRUE(bookmark && *bookmark && (**bookmark).contains("k8s.io/initial-events-end"));
    });
}

TEST(verbs, status_is_written_apart) {
    scene here("verbs-status");
    here.run([](scene& s) -> awaitable<void> {
        const location self{.name = s.ns};
        const std::string body = R"({"status":{"conditions":[{"type":"Seen","status":"True"}]}})";
        const auto elsewhere = co_await s.api->merge_patch(namespaces, self, body);
        EXPECT_TRUE(elsewhere && !elsewhere->body.contains("\"Seen\""));
        const auto patched = co_await s.api->merge_patch(namespaces, self, body, {.sub_resource = "status"});
        EXPECT_TRUE(patched && patched->body.contains("\"Seen\""));
        expect_refusal(
            co_await s.api->merge_patch(configmaps, {s.ns, "kube-root-ca.crt"}, "{}", {.sub_resource = "status"}), 404,
            "NotFound", "patch ConfigMap verbs-status/kube-root-ca.crt/status: 404 ");
    });
}

TEST(verbs, discovery_version_and_rights) {
    scene here("verbs-questions");
    here.run([](scene& s) -> awaitable<void> {
        EXPECT_EQ(co_await s.api->exists(configmaps), true);
        EXPECT_EQ(co_await s.api->exists(nothing), false);
        EXPECT_EQ(co_await s.api->exists({"apps", "v1", "nothings", "Nothing"}), false);
        const auto served = co_await s.api->discover("authorization.k8s.io", "v1");
        EXPECT_TRUE(served && !served->empty());
        const auto version = co_await s.api->version();
        EXPECT_TRUE(version && version->major == 1 && version->minor >= 30);
        const auto may = co_await s.api->may_we({.verb = "delete", .plural = "configmaps", .ns = s.ns});
        EXPECT_TRUE(may && may->allowed);
    });
}

// The token out of an "ok …" answer of the launcher.
awaitable<std::string> token_for(std::string who, std::string seconds) {
    const std::string answer = co_await test::control("token " + who + " " + seconds);
    std::string token = answer.substr(answer.find(' ') + 1);
    while (!token.empty() && token.back() == '\n') token.pop_back();
    co_return token;
}

TEST(verbs, tokens_are_reviewed) {
    scene here("verbs-review");
    here.run([](scene& s) -> awaitable<void> {
        const auto known = co_await s.api->review_token(co_await token_for("default verbs-reviewed", "600"));
        EXPECT_TRUE(known && known->authenticated) << (known ? known->fault : known.error().message);
        EXPECT_TRUE(!known || known->username == "system:serviceaccount:default:verbs-reviewed");
        const auto unknown = co_await s.api->review_token("rubbish");
        EXPECT_TRUE(unknown && !unknown->authenticated && !unknown->fault.empty());
        const auto elsewhere =
            co_await s.api->review_token(co_await token_for("default verbs-reviewed", "600"), {"some-other-audience"});
        EXPECT_TRUE(elsewhere && !elsewhere->authenticated);
    });
}

TEST(verbs, a_bearer_token_is_enough) {
    const auto cluster = load_kubeconfig(test::test_variable("COTRAIN_TEST_TOKEN_KUBECONFIG"));
    ASSERT_TRUE(cluster) << cluster.error().message;
    scene here("verbs-token", *cluster);
    here.run([](scene& s) -> awaitable<void> {
        EXPECT_TRUE((co_await s.api->create(configmaps, s.ns, config_map("a", "1"))).has_value());
    });
}

TEST(verbs, who_may_not_is_told_so) {
    cluster_config cluster = test::real_cluster();
    cluster.user.as.user = "nobody-in-particular";
    asio::io_context loop(1);
    auto api = client::make(loop.get_executor(), cluster, {}, base::null_logger());
    ASSERT_TRUE(api) << api.error().message;
    test::run(loop, [](client* c) -> awaitable<void> {
        const auto got = co_await c->get(secrets, {"default", "a"});
        const auto may = co_await c->may_we({.verb = "get", .plural = "secrets", .ns = "default"});
        co_await c->stop();
        expect_refusal(
            got, 403, "Forbidden",
            "get Secret default/a: 403 Forbidden: secrets \"a\" is forbidden: User \"nobody-in-particular\"");
        EXPECT_TRUE(may && !may->allowed);
    }(api->get()));
}

// Both are 403: one in the authorizer's words, one in those of admission, where policies and webhooks speak too.
TEST(verbs, a_missing_right_to_delete_is_told_from_a_policy) {
    scene here("verbs-rights", test::real_cluster());
    here.run([](scene& s) -> awaitable<void> {
        cluster_config cluster = test::real_cluster();
        cluster.user.as.user = "nobody-in-particular";
        const auto nobody = client::make(s.loop.get_executor(), cluster, {}, base::null_logger());
        EXPECT_TRUE(nobody);
        if (!nobody) co_return;
        const auto without_right = co_await (*nobody)->remove(configmaps, {s.ns, "a"});
        co_await (*nobody)->stop();
        const auto refused = co_await s.api->remove(namespaces, {"", "default"});
        expect_refusal(refused, 403, "Forbidden", "delete Namespace default: 403 Forbidden:");
        EXPECT_TRUE(!without_right && reconcile::missing_rights::told_by(without_right.error()));
        EXPECT_TRUE(!refused && !reconcile::missing_rights::told_by(refused.error()));
    });
}

TEST(verbs, a_refused_token_is_an_error_that_says_so) {
    cluster_config cluster = test::real_cluster();
    cluster.user = {};
    cluster.user.token = "rubbish";
    asio::io_context loop(1);
    auto api = client::make(loop.get_executor(), cluster, {}, base::null_logger());
    ASSERT_TRUE(api) << api.error().message;
    test::run(loop, [](client* c) -> awaitable<void> {
        const auto got = co_await c->get(configmaps, {"default", "a"});
        co_await c->stop();
        expect_refusal(got, 401, "Unauthorized", "get ConfigMap default/a: 401 Unauthorized: Unauthorized");
    }(api->get()));
}

// One client whose token file changes before the token runs out, and one that keeps the old token to see it die.
struct rotation {
    asio::io_context loop{1};
    test::temp_dir dir;
    std::unique_ptr<client> follows, stays;
};

awaitable<void> rotate(rotation* r, bool* old_is_dead) {
    const cluster_config base = test::real_cluster();
    const std::string first = co_await token_for("default verbs-rotated", "-55");  // good for 5 s
    cluster_config cluster = base;
    cluster.user = {};
    cluster.user.token_file = r->dir.write("token", first);
    auto follows = client::make(r->loop.get_executor(), cluster, {}, base::null_logger());
    cluster.user = {};
    cluster.user.token = first;
    auto stays = client::make(r->loop.get_executor(), cluster, {}, base::null_logger());
    EXPECT_TRUE(follows && stays);
    if (!follows || !stays) co_return;
    r->follows = std::move(*follows);
    r->stays = std::move(*stays);
    const access_question question{.verb = "get", .plural = "configmaps", .ns = "default"};
    EXPECT_TRUE((co_await r->follows->may_we(question)).has_value());
    r->dir.write("token", co_await token_for("default verbs-rotated", "600"));
    for (*old_is_dead = false; !*old_is_dead;) {
        const auto answer = co_await r->follows->may_we(question);
        EXPECT_TRUE(answer.has_value()) << answer.error().message;
        const auto old = co_await r->stays->may_we(question);
        *old_is_dead = !old && old.error().http_status == 401;
        if (!answer || (!old && !*old_is_dead)) break;
    }
    EXPECT_TRUE((co_await r->follows->may_we(question)).has_value());
    co_await r->follows->stop();
    co_await r->stays->stop();
}

TEST(verbs, a_token_that_runs_out_is_followed_by_the_next_one) {
    rotation r;
    bool old_is_dead = false;
    test::run(r.loop, rotate(&r, &old_is_dead));
    EXPECT_TRUE(old_is_dead);
}

}  // namespace
}  // namespace cotrain::kube
