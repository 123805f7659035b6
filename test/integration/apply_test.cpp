// What the API server makes of the preconditions of our applies (docs/decisions/0004-apply-preconditions.md).
#include <gtest/gtest.h>

#include <stdexcept>

#include "doc/json.hpp"
#include "integration/control.hpp"
#include "kube/client.hpp"
#include "reconcile/write_gate.hpp"
#include "support/run.hpp"

namespace cotrain::reconcile {
namespace {

using namespace std::chrono_literals;

constexpr kube::resource namespaces{"", "v1", "namespaces", "Namespace", false};
constexpr kube::resource definitions{"apiextensions.k8s.io", "v1", "customresourcedefinitions",
                                     "CustomResourceDefinition", false};
constexpr api::resource_type custom{"things.example.com", "v1", "Thing", "things", true, "things.example.com/v1"};
constexpr std::string_view definition = R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
  "metadata":{"name":"things.things.example.com"},"spec":{"group":"things.example.com","scope":"Namespaced",
  "names":{"kind":"Thing","plural":"things"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{
  "openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}})";

kube::resource resource_of(const api::resource_type& t) { return {t.group, t.version, t.plural, t.kind, t.namespaced}; }

std::string object(const api::resource_type& type, std::string_view name, std::string_view data) {
    return R"({"apiVersion":")" + std::string(type.api_version) + R"(","kind":")" + std::string(type.kind) +
           R"(","metadata":{"name":")" + std::string(name) + R"("},"data":{)" + std::string(data) + "}}";
}

struct scene {
    asio::io_context loop{1};
    std::unique_ptr<kube::client> api;
    std::unique_ptr<write_gate> gate;
    std::string ns = "apply-preconditions";
    const api::resource_type* type = nullptr;

    void run(awaitable<void> (*body)(scene&)) {
        auto made = kube::client::make(loop.get_executor(), test::real_cluster(), {}, base::null_logger());
        if (!made) throw std::runtime_error(made.error().message);
        api = std::move(*made);
        gate = std::make_unique<write_gate>(*api, [] { return std::optional<write_permit>(10s); });
        test::run(loop, play(this, body));
    }
    awaitable<std::string> text(std::string name) {
        const auto got = co_await api->get(resource_of(*type), {.ns = ns, .name = name});
        co_return got ? got->body : std::string();
    }

   private:
    static awaitable<void> play(scene* self, awaitable<void> (*body)(scene&)) {
        EXPECT_TRUE(co_await self->api->apply(definitions, {.name = "things.things.example.com"},
                                              std::string(definition), true, {.field_manager = "test"}));
        const auto due = std::chrono::steady_clock::now() + 60s;
        while (std::chrono::steady_clock::now() < due)
            if (co_await self->api->list(resource_of(custom), "", {.limit = 1})) break;
        EXPECT_TRUE(co_await self->api->create(
            namespaces, "", R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":")" + self->ns + "\"}}"));
        for (const auto* type : {&api::names::config_map, &custom}) {  // answers about Secrets are metadata alone
            self->type = type;
            co_await body(*self);
        }
        EXPECT_TRUE(co_await self->api->remove(namespaces, {.name = self->ns}));
        EXPECT_TRUE(co_await self->api->remove(definitions, {.name = "things.things.example.com"}));
        co_await self->api->stop();
    }
};

std::string uid_of(const std::string& object) {
    doc::arena memory;
    return std::string(doc::parse_json(memory, object)->get({"metadata", "uid"}).as_string());
}

// managedFields without their times.
std::string owners_of(const std::string& object) {
    doc::arena memory;
    std::string out;
    for (const doc::ref entry : doc::parse_json(memory, object)->get({"metadata", "managedFields"}).items()) {
        out.append(entry.get("manager").as_string()).append(" ").append(entry.get("operation").as_string());
        out.append(" ").append(doc::to_json(entry.get("fieldsV1"))).append("\n");
    }
    return out;
}

// Of each kind: made once, changed by its uid, and what is not meant is not touched.
awaitable<void> preconditions(scene& s) {
    SCOPED_TRACE(s.type->kind);
    const target at{s.type, s.ns, "mine"};
    const std::string body = object(*s.type, "mine", R"("a":"MQ==")");
    const std::string other = object(*s.type, "mine", R"("b":"Mg==")");  // no field that anybody else owns

    const auto made = co_await s.gate->apply(at, body, "");
    EXPECT_TRUE(made) << (made ? "" : made.error().message);
    if (!made) co_return;
    const std::string first = co_await s.text("mine");
    const auto plain = co_await s.api->apply(resource_of(*s.type), {.ns = s.ns, .name = "plain"},
                                             object(*s.type, "plain", R"("a":"MQ==")"), true,
                                             {.field_manager = api::names::field_manager});
    EXPECT_TRUE(plain);
    if (plain) EXPECT_EQ(owners_of(*made), owners_of(plain->body)) << "as an apply without a precondition";

    const auto again = co_await s.gate->apply(at, other, "");
    EXPECT_TRUE(!again && is_another(again.error())) << (again ? "applied" : again.error().message);
    EXPECT_EQ(co_await s.text("mine"), first);

    const std::string uid = uid_of(first);
    const auto changed = co_await s.gate->apply(at, other, uid);
    EXPECT_TRUE(changed) << (changed ? "" : changed.error().message);
    const std::string second = co_await s.text("mine");
    EXPECT_EQ(uid_of(second), uid);
    EXPECT_TRUE(second.contains("Mg==") && !second.contains("MQ==")) << second;
    EXPECT_FALSE(owners_of(second).contains("uid")) << owners_of(second);

    const auto wrong = co_await s.gate->apply(at, body, "11111111-2222-4333-8444-555555555555");
    EXPECT_TRUE(!wrong && is_another(wrong.error())) << (wrong ? "applied" : wrong.error().message);
    EXPECT_EQ(co_await s.text("mine"), second);

    const auto gone = co_await s.gate->apply({s.type, s.ns, "none"}, object(*s.type, "none", ""), uid);
    EXPECT_TRUE(!gone && is_another(gone.error())) << (gone ? "applied" : gone.error().message);
    EXPECT_EQ(co_await s.text("none"), "");
}

TEST(apply, touches_the_object_that_it_means_and_no_other) { scene().run(preconditions); }

}  // namespace
}  // namespace cotrain::reconcile
