// The issuer's keys: asked for when they are needed, followed when they rotate, and not asked for by forgers.
#include "serve/issuer_keys.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "kube/fake_api.hpp"
#include "serve/access_guard.hpp"
#include "serve/tokens.hpp"

namespace cotrain::serve {
namespace {

using kube::fake_api;
using std::chrono::seconds;
using testing::HasSubstr;

constexpr std::string_view claims =
    R"({"iss":"https://issuer","aud":["job"],"exp":4000000000,"kubernetes.io":{"namespace":"team"}})";

struct issuer {
    std::string keys;
    int status = 200;
    int asked = 0;
    issuer_keys::clock::time_point now{};

    awaitable<void> answer(net::incoming in) {
        if (in.head().path == "/openid/v1/jwks") {
            ++asked;
            in.respond(status, {}, keys);
        } else if (in.head().path == "/.well-known/openid-configuration") {
            in.respond(200, {}, R"({"issuer":"https://issuer"})");
        } else {
            in.respond(404, {}, "");
        }
        co_return;
    }
    issuer_keys::clocks clocks() {
        return {.steady = [this] { return now; },
                .wall = [] { return std::chrono::sys_seconds(seconds(2'000'000'000)); }};
    }
};

const test_signer& first() {
    static const test_signer one("ES256", "one");
    return one;
}
const test_signer& second() {
    static const test_signer one("ES256", "two");
    return one;
}

// "" when the token is believed.
awaitable<std::string> say(issuer_keys* keys, std::string text) {
    auto t = read_token(text);
    if (!t) co_return t.error().message;
    const auto verified = co_await keys->verify(std::move(*t), "job", "team");
    co_return verified ? "" : verified.error().message;
}

TEST(issuer_keys, are_asked_for_once_and_followed_when_they_rotate) {
    issuer from;
    from.keys = first().keys();
    fake_api api([&from](fake_api&, net::incoming in) { return from.answer(std::move(in)); });
    api.run([&from](fake_api& a, kube::client& c) -> awaitable<void> {
        issuer_keys keys(c, a.log, from.clocks());
        for (int i = 0; i < 3; ++i) EXPECT_EQ(co_await say(&keys, first().sign(claims)), "");
        EXPECT_EQ(from.asked, 1);
        // Forgers with names of keys that nobody has do not make us ask more than now and then.
        for (int i = 0; i < 3; ++i) EXPECT_NE(co_await say(&keys, second().sign(claims)), "");
        EXPECT_EQ(from.asked, 1);
        from.keys = second().keys();
        from.now += issuer_keys::ask_again;
        EXPECT_EQ(co_await say(&keys, second().sign(claims)), "");
        EXPECT_EQ(from.asked, 2);
        EXPECT_NE(co_await say(&keys, first().sign(claims)), "") << "withdrawn";
    });
}

TEST(issuer_keys, that_were_withdrawn_stop_working) {
    issuer from;
    from.keys = first().keys();
    fake_api api([&from](fake_api&, net::incoming in) { return from.answer(std::move(in)); });
    api.run([&from](fake_api& a, kube::client& c) -> awaitable<void> {
        issuer_keys keys(c, a.log, from.clocks());
        EXPECT_EQ(co_await say(&keys, first().sign(claims)), "");
        from.keys = second().keys();
        from.now += issuer_keys::keep - seconds(1);
        EXPECT_EQ(co_await say(&keys, first().sign(claims)), "");
        from.now += seconds(1);
        EXPECT_THAT(co_await say(&keys, first().sign(claims)), HasSubstr("not the issuer's"));
    });
}

TEST(issuer_keys, nothing_is_believed_while_they_cannot_be_had) {
    issuer from;
    from.status = 403;
    fake_api api([&from](fake_api&, net::incoming in) { return from.answer(std::move(in)); });
    api.run([&from](fake_api& a, kube::client& c) -> awaitable<void> {
        issuer_keys keys(c, a.log, from.clocks());
        EXPECT_THAT(co_await say(&keys, first().sign(claims)), HasSubstr("not at hand"));
        EXPECT_THAT(a.lines.back(), HasSubstr("403"));
        EXPECT_THAT(co_await say(&keys, first().sign(claims)), HasSubstr("not at hand"));
        EXPECT_EQ(from.asked, 1);
        from.status = 200;
        from.keys = first().keys();
        from.now += issuer_keys::ask_again;
        EXPECT_EQ(co_await say(&keys, first().sign(claims)), "");
    });
}

// A cluster that knows one token, whose user may get one path.
awaitable<void> judge_access(fake_api& a, net::incoming in) {
    if (in.head().path.ends_with("/tokenreviews")) {
        const bool known = in.body().contains("good-token");
        in.respond(201, {},
                   known ? R"({"status":{"authenticated":true,"user":{"username":"u","groups":["g"]}}})"
                         : R"({"status":{"authenticated":false}})");
    } else if (in.head().path.ends_with("/subjectaccessreviews")) {
        const bool may = in.body().contains(R"("path":"/metrics")");
        in.respond(201, {}, may ? R"({"status":{"allowed":true}})" : R"({"status":{"allowed":false}})");
    } else {
        in.respond(404, {}, "");
    }
    static_cast<void>(a);
    co_return;
}

TEST(access_guard, asks_once_for_a_while) {
    fake_api api(judge_access);
    api.run([](fake_api& a, kube::client& c) -> awaitable<void> {
        access_guard guard(c, a.log);
        EXPECT_EQ(co_await guard.judge("", "/metrics"), 401);
        EXPECT_EQ(a.seen.size(), 0U);
        for (int i = 0; i < 3; ++i) EXPECT_EQ(co_await guard.judge("good-token", "/metrics"), 200);
        EXPECT_EQ(a.seen.size(), 2U);
        EXPECT_EQ(co_await guard.judge("good-token", "/debug/state"), 403);
        for (int i = 0; i < 3; ++i) EXPECT_EQ(co_await guard.judge("bad", "/metrics"), 401);
        EXPECT_EQ(a.seen.size(), 5U);
    });
}

awaitable<void> forbid(fake_api&, net::incoming in) {
    in.respond(403, {}, R"({"kind":"Status","message":"no","code":403})");
    co_return;
}

TEST(access_guard, lets_nobody_in_while_it_may_not_ask) {
    fake_api api(forbid);
    api.run([](fake_api& a, kube::client& c) -> awaitable<void> {
        access_guard guard(c, a.log);
        EXPECT_EQ(co_await guard.judge("good-token", "/metrics"), 503);
        EXPECT_THAT(a.lines.back(), HasSubstr("cannot authorize"));
    });
}

}  // namespace
}  // namespace cotrain::serve
