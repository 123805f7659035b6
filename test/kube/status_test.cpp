// Refusals in words: Kubernetes' Status, what proxies answer instead, and whether to come again.
#include "kube/status.hpp"

#include <gtest/gtest.h>

namespace cotrain::kube {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view conflict =
    R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Apply failed with 1 conflict: conflict with \"kubectl\": .data.a","reason":"Conflict","details":{"causes":[{"reason":"FieldManagerConflict","message":"conflict with \"kubectl\"","field":".data.a"}]},"code":409})";

TEST(status_error, says_attempt_code_reason_and_message) {
    const base::error e = status_error("apply JobSet ns/a", 409, {}, conflict);
    EXPECT_EQ(e.message,
              "apply JobSet ns/a: 409 Conflict: Apply failed with 1 conflict: conflict with \"kubectl\": .data.a");
    EXPECT_EQ(e.code, base::errc::status);
    EXPECT_EQ(e.http_status, 409);
    EXPECT_EQ(e.reason, "Conflict");
    EXPECT_EQ(e.again, base::retry::never);
    EXPECT_FALSE(e.retry_after);
}

TEST(status_error, adds_causes_that_the_message_leaves_out) {
    const base::error e =
        status_error("create Pod ns/a", 422, {},
                     R"({"kind":"Status","reason":"Invalid","message":"Pod \"a\" is invalid","code":422,
        "details":{"causes":[{"field":"spec.x","message":"Required value"},{"field":null,"message":null},{"field":"spec.y"}]}})");
    EXPECT_EQ(e.message, "create Pod ns/a: 422 Invalid: Pod \"a\" is invalid; spec.x: Required value; spec.y");
}

TEST(status_error, keeps_a_megabyte_of_message_short_and_on_one_line) {
    const std::string body =
        R"({"kind":"Status","reason":"Invalid","message":"line\nline )" + std::string(900'000, 'x') + R"("})";
    const base::error e = status_error("get X a/b", 422, {}, body);
    EXPECT_LT(e.message.size(), status_message_bytes_max + 100);
    EXPECT_EQ(e.message.find('\n'), std::string::npos);
    EXPECT_TRUE(e.message.starts_with("get X a/b: 422 Invalid: line line xxx"));
    EXPECT_TRUE(e.message.contains("…"));
}

struct other_body {
    const char* name;
    std::string body;
    std::string message;
};

// As JobSet's webhook says it: the value first.
TEST(status_error, keeps_the_end_of_a_long_message) {
    const std::string end = std::string(234, 'y') + "]: field is immutable";
    const std::string body = R"({"kind":"Status","reason":"Invalid","message":"spec.replicatedJobs: Invalid value: [)" +
                             std::string(2000, 'x') + "ä" + end + R"("})";
    const base::error e = status_error("patch", 422, {}, body);
    EXPECT_TRUE(e.message.starts_with("patch: 422 Invalid: spec.replicatedJobs: Invalid value: [xx"));
    EXPECT_TRUE(e.message.ends_with("x…" + end)) << "no half character: " << e.message;
    EXPECT_LT(e.message.size(), status_message_bytes_max + 100);
}

TEST(status_error, quotes_what_is_no_status) {
    const other_body cases[] = {
        {"html", "<html>\n<h1>502 Bad Gateway</h1>\r\n</html>\n",
         "get X a/b: 502 BadGateway: <html> <h1>502 Bad Gateway</h1>  </html>"},
        {"empty", "", "get X a/b: 502 BadGateway"},
        {"other json", R"({"kind":"Pod"})", "get X a/b: 502 BadGateway: {\"kind\":\"Pod\"}"},
        {"cut", R"({"kind":"Status","mess)", "get X a/b: 502 BadGateway: {\"kind\":\"Status\",\"mess"},
        {"array", "[]", "get X a/b: 502 BadGateway: []"},
        {"null", "null", "get X a/b: 502 BadGateway: null"},
        {"number as code", R"({"kind":"Status","code":"x"})",
         "get X a/b: 502 BadGateway: {\"kind\":\"Status\",\"code\":\"x\"}"},
    };
    for (const other_body& c : cases) {
        const base::error e = status_error("get X a/b", 502, {}, c.body);
        EXPECT_EQ(e.message, c.message) << c.name;
        EXPECT_EQ(e.reason, "") << c.name;
        EXPECT_EQ(e.again, base::retry::idempotent) << c.name;
    }
    EXPECT_LT(status_error("get", 500, {}, std::string(5'000'000, 'x')).message.size(), 300U);
}

TEST(status_error, says_that_a_definition_is_missing) {
    const std::string wanted =
        "apply X a/b: 404 NotFound: the API server does not serve this kind: is its CustomResourceDefinition "
        "installed?";
    EXPECT_EQ(status_error("apply X a/b", 404, {}, "404 page not found\n").message, wanted);
    constexpr auto of_group =
        R"({"kind":"Status","code":404,"reason":"NotFound","message":"the server could not find the requested resource"})";
    EXPECT_EQ(status_error("apply X a/b", 404, {}, of_group).message, wanted);
    constexpr auto of_object =
        R"({"kind":"Status","code":404,"reason":"NotFound","message":"xs.example.com \"b\" not found"})";
    EXPECT_EQ(status_error("get X a/b", 404, {}, of_object).message,
              "get X a/b: 404 NotFound: xs.example.com \"b\" not found");
}

struct again_case {
    int code;
    net::header_list headers;
    base::retry again;
};

TEST(status_error, knows_when_to_come_again) {
    const again_case cases[] = {
        {400, {}, base::retry::never},
        {401, {}, base::retry::never},
        {403, {}, base::retry::never},
        {404, {}, base::retry::never},
        {408, {}, base::retry::idempotent},
        {409, {}, base::retry::never},
        {410, {}, base::retry::never},
        {422, {}, base::retry::never},
        {429, {}, base::retry::later},
        {429, {{"retry-after", "1"}}, base::retry::later},
        {500, {}, base::retry::idempotent},
        {500, {{"retry-after", "1"}}, base::retry::idempotent},
        {502, {}, base::retry::idempotent},
        {503, {}, base::retry::idempotent},
        {503, {{"retry-after", "1"}}, base::retry::later},
        {504, {}, base::retry::idempotent},
    };
    for (const again_case& c : cases)
        EXPECT_EQ(status_error("x", c.code, c.headers, "").again, c.again) << c.code << " " << c.headers.size();
}

TEST(status_error, takes_the_wait_from_header_or_details) {
    EXPECT_EQ(status_error("x", 429, {{"retry-after", " 7 "}}, "").retry_after, 7s);
    EXPECT_EQ(status_error("x", 429, {}, R"({"kind":"Status","details":{"retryAfterSeconds":3}})").retry_after, 3s);
    EXPECT_EQ(status_error("x", 429, {{"retry-after", "1"}}, R"({"kind":"Status","details":{"retryAfterSeconds":3}})")
                  .retry_after,
              1s);
    for (const char* odd : {"", "soon", "-1", "1.5", "99999999999999999999", "Fri, 31 Dec 1999 23:59:59 GMT"})
        EXPECT_FALSE(status_error("x", 429, {{"retry-after", odd}}, "").retry_after) << odd;
    EXPECT_FALSE(status_error("x", 429, {}, R"({"kind":"Status","details":{"retryAfterSeconds":-3}})").retry_after);
}

TEST(status_error, of_a_watch_event_uses_the_code_inside) {
    auto said = read_status(
        R"j({"kind":"Status","status":"Failure","message":"too old resource version: 1 (2)","reason":"Expired","code":410})j");
    ASSERT_TRUE(said);
    const base::error e = status_error("watch JobSet", *said);
    EXPECT_EQ(e.message, "watch JobSet: 410 Expired: too old resource version: 1 (2)");
    EXPECT_EQ(e.http_status, 410);
}

TEST(read_status, reads_every_field_and_bounds_the_causes) {
    std::string body =
        R"({"kind":"Status","status":"Success","details":{"name":"a","kind":"pods","uid":"u","causes":[)";
    for (int i = 0; i < 100; ++i)
        body += std::string(i == 0 ? "" : ",") + R"({"field":"f","message":"m","reason":"r"})";
    body += "]}}";
    const auto said = read_status(body);
    ASSERT_TRUE(said);
    EXPECT_TRUE(said->success);
    EXPECT_EQ(said->name, "a");
    EXPECT_EQ(said->kind, "pods");
    EXPECT_EQ(said->uid, "u");
    EXPECT_EQ(said->causes.size(), status_causes_max);
    EXPECT_EQ(said->causes[0].field, "f");
}

TEST(read_status, refuses_a_huge_body_unread) {
    const std::string body = R"({"kind":"Status","message":")" + std::string(status_bytes_max, 'x') + "\"}";
    EXPECT_EQ(read_status(body).error().code, base::errc::too_large);
}

}  // namespace
}  // namespace cotrain::kube
