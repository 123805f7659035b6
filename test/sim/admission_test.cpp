// Webhooks: which are asked, what they are told, and what their answers do.
#include "sim/admission.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "base/encoding.hpp"
#include "doc/json.hpp"
#include "sim/front.hpp"

namespace cotrain::sim {
namespace {

constexpr base::seconds_time now{std::chrono::seconds{1'767'312'000}};

// UID stands for that of the review.
std::string respond(std::string_view members) {
    return R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"UID",)" +
           std::string(members) + "}}";
}
std::string allow(std::string_view more = {}) { return respond(R"("allowed":true)" + std::string(more)); }
std::string patch(std::string_view operations) {
    return allow(R"(,"patchType":"JSONPatch","patch":")" + base::encode_base64(operations) + "\"");
}

struct scene {
    cluster all{1};
    doc::arena memory;
    std::vector<doc::ref> reviews;
    std::function<hook_answer(const hook_call&)> hook = [](const hook_call&) { return hook_answer{true, allow()}; };

    scene() { (void)send("POST", "/api/v1/namespaces", R"({"metadata":{"name":"ns","labels":{"team":"a"}}})"); }

    answer send(std::string_view method, std::string_view target, std::string_view body = {},
                std::string_view type = "application/json") {
        admission_talk talk{.who = {"me", {"us"}}};
        for (int round = 0; round < 10; ++round) {
            const response said = ask(all, {method, target, {}, type, "test/1", body}, now, &talk);
            if (const auto* const call = std::get_if<hook_call>(&said)) {
                reviews.push_back(*doc::parse_json_copy(memory, call->review));
                hook_answer said_by_hook = hook(*call);
                if (const std::size_t at = said_by_hook.text.find("UID"); at != std::string::npos)
                    said_by_hook.text.replace(at, 3, reviews.back().get({"request", "uid"}).as_string());
                talk.answer(std::move(said_by_hook));
                continue;
            }
            return std::get<answer>(said);
        }
        ADD_FAILURE() << "asked too often";
        return {};
    }
    void configure(std::string_view kind_name, std::string_view more = {}) {
        const std::string text =
            R"({"metadata":{"name":"c"},"webhooks":[{"name":"h.example.com","clientConfig":{"caBundle":"YWJj",
            "service":{"namespace":"ops","name":"svc","path":"/x"}},"rules":[{"apiGroups":[""],"apiVersions":["v1"],
            "operations":["CREATE","UPDATE"],"resources":["configmaps"]}],"timeoutSeconds":3)" +
            std::string(more) + "}]}";
        const std::string path = "/apis/admissionregistration.k8s.io/v1/" + std::string(kind_name);
        EXPECT_EQ(send("POST", path, text).status, 201);
    }
    answer make(std::string_view body = R"({"metadata":{"name":"a"},"data":{"k":"v"}})") {
        return send("POST", "/api/v1/namespaces/ns/configmaps", body);
    }
    doc::ref read(const answer& of) { return *doc::parse_json_copy(memory, of.body); }
};

constexpr std::string_view mutating = "mutatingwebhookconfigurations";
constexpr std::string_view validating = "validatingwebhookconfigurations";

TEST(admission, reads_urls_as_envtest_writes_them) {
    scene s;
    s.configure(validating);
    const std::string other =
        R"({"webhooks":[{"name":"h.example.com","clientConfig":{"url":"https://127.0.0.1:9443//x//y?a=b"},"rules":[{
            "apiGroups":[""],"apiVersions":["v1"],"operations":["*"],"resources":["configmaps"]}]}]})";
    const std::string at = "/apis/admissionregistration.k8s.io/v1/" + std::string(validating) + "/c";
    ASSERT_EQ(s.send("PATCH", at, other, "application/merge-patch+json").status, 200);
    std::string path;
    s.hook = [&](const hook_call& call) {
        path = call.path;
        EXPECT_EQ(call.host, "127.0.0.1");
        EXPECT_EQ(call.port, 9443);
        return hook_answer{true, allow()};
    };
    EXPECT_EQ(s.make().status, 201);
    EXPECT_EQ(path, "/x/y?a=b");
}

TEST(admission, tells_a_webhook_all_about_a_request) {
    scene s;
    s.configure(validating);
    std::string host, path, ca;
    s.hook = [&](const hook_call& call) {
        host = call.service + " " + call.host;
        path = call.path;
        ca = call.ca_pem;
        EXPECT_EQ(call.timeout, std::chrono::seconds(3));
        return hook_answer{true, allow()};
    };
    EXPECT_EQ(s.make().status, 201);
    EXPECT_EQ(host, "ops/svc svc.ops.svc");
    EXPECT_EQ(path, "/x");
    EXPECT_EQ(ca, "abc");
    ASSERT_EQ(s.reviews.size(), 1U);
    const doc::ref request = s.reviews[0].get("request");
    EXPECT_EQ(request.get("operation").as_string(), "CREATE");
    EXPECT_EQ(request.get({"resource", "resource"}).as_string(), "configmaps");
    EXPECT_EQ(request.get({"userInfo", "username"}).as_string(), "me");
    EXPECT_EQ(request.get({"object", "metadata", "name"}).as_string(), "a");
    EXPECT_TRUE(request.get("oldObject").is_null());

    EXPECT_EQ(
        s.send("PATCH", "/api/v1/namespaces/ns/configmaps/a", R"({"data":{"k":"w"}})", "application/merge-patch+json")
            .status,
        200);
    ASSERT_EQ(s.reviews.size(), 2U);
    EXPECT_EQ(s.reviews[1].get({"request", "operation"}).as_string(), "UPDATE");
    EXPECT_EQ(s.reviews[1].get({"request", "oldObject", "data", "k"}).as_string(), "v");
    EXPECT_EQ(s.reviews[1].get({"request", "object", "data", "k"}).as_string(), "w");
}

TEST(admission, takes_a_webhooks_changes) {
    scene s;
    s.configure(mutating);
    s.configure(validating);
    s.hook = [](const hook_call&) {
        return hook_answer{true, patch(R"([{"op":"add","path":"/data/more","value":"x"}])")};
    };
    const answer made = s.make();
    EXPECT_EQ(made.status, 201) << made.body;
    EXPECT_EQ(s.read(made).get({"data", "more"}).as_string(), "x");
    ASSERT_EQ(s.reviews.size(), 2U);
    EXPECT_EQ(s.reviews[1].get({"request", "object", "data", "more"}).as_string(), "x") << "validated as changed";
    EXPECT_EQ(s.reviews[0].get({"request", "object", "metadata", "uid"}).as_string(),
              s.read(made).get({"metadata", "uid"}).as_string())
        << "one object, however often the request was played";
}

TEST(admission, denies_with_the_webhooks_words) {
    scene s;
    s.configure(validating);
    s.hook = [](const hook_call&) {
        return hook_answer{true, respond(R"("allowed":false,"status":{"code":422,"message":"no such thing"})")};
    };
    const answer made = s.make();
    EXPECT_EQ(made.status, 422);
    EXPECT_NE(made.body.find(R"(admission webhook \"h.example.com\" denied the request: no such thing)"),
              std::string::npos)
        << made.body;
    EXPECT_EQ(s.send("GET", "/api/v1/namespaces/ns/configmaps/a").status, 404);
}

TEST(admission, fails_or_goes_on_when_a_webhook_cannot_be_had) {
    scene s;
    s.configure(validating);
    s.hook = [](const hook_call&) { return hook_answer{false, "connection refused"}; };
    const answer made = s.make();
    EXPECT_EQ(made.status, 500);
    EXPECT_NE(made.body.find(R"(failed calling webhook \"h.example.com\")"), std::string::npos) << made.body;
    EXPECT_NE(made.body.find("connection refused"), std::string::npos);
    scene open;
    open.configure(validating, R"(,"failurePolicy":"Ignore")");
    open.hook = s.hook;
    EXPECT_EQ(open.make().status, 201);
}

// What a real API server does not take, must not pass here either.
TEST(admission, takes_only_answers_to_its_own_question) {
    struct wrong_answer {
        std::string text;
        const char* why;
    };
    const std::string add = base::encode_base64(R"([{"op":"add","path":"/data/more","value":"x"}])");
    for (const wrong_answer& each : {
             wrong_answer{R"({"response":{"uid":"UID","allowed":true}})", "expected webhook response of admission"},
             wrong_answer{R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"})", "no AdmissionReview"},
             wrong_answer{
                 R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"allowed":true}})",
                 "expected response.uid="},
             wrong_answer{allow(R"(,"patch":")" + add + "\""), "but not response.patchType"},
             wrong_answer{allow(R"(,"patchType":"JSONPatch")"), "but not response.patch"},
             wrong_answer{allow(R"(,"patchType":"Merge","patch":")" + add + "\""), "unsupported patch type"},
         }) {
        scene s;
        s.configure(mutating);
        s.hook = [&](const hook_call&) { return hook_answer{true, each.text}; };
        const answer made = s.make();
        EXPECT_EQ(made.status, 500) << each.text;
        EXPECT_NE(made.body.find(each.why), std::string::npos) << made.body;
    }
}

TEST(admission, asks_only_those_that_are_meant) {
    scene s;
    s.configure(validating, R"(,"objectSelector":{"matchExpressions":[{"key":"x","operator":"NotIn","values":["off"]}]},
        "namespaceSelector":{"matchLabels":{"team":"a"}})");
    EXPECT_EQ(s.make(R"({"metadata":{"name":"off","labels":{"x":"off"}}})").status, 201);
    EXPECT_TRUE(s.reviews.empty());
    EXPECT_EQ(s.send("POST", "/api/v1/namespaces/ns/secrets", R"({"metadata":{"name":"s"}})").status, 201);
    EXPECT_TRUE(s.reviews.empty());
    EXPECT_EQ(s.make().status, 201);
    EXPECT_EQ(s.reviews.size(), 1U);
}

TEST(admission, dry_run_keeps_nothing_and_says_so) {
    scene s;
    s.configure(validating);
    EXPECT_EQ(s.send("POST", "/api/v1/namespaces/ns/configmaps?dryRun=All", R"({"metadata":{"name":"a"}})").status,
              201);
    ASSERT_EQ(s.reviews.size(), 1U);
    EXPECT_TRUE(s.reviews[0].get({"request", "dryRun"}).as_bool(false));
    EXPECT_EQ(s.send("GET", "/api/v1/namespaces/ns/configmaps/a").status, 404);
}

}  // namespace
}  // namespace cotrain::sim
