// Probes and the small things that all answers share.
#include "serve/reply.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace cotrain::serve {
namespace {

using testing::HasSubstr;

class health : public testing::Test {
   protected:
    reply ask(std::string path, std::string method = "GET") {
        return answer_probe({{"/healthz", {{"ping", [] { return std::string(); }}}},
                             {"/readyz", {{"certificates", [this] { return trouble_; }}}}},
                            {.method = std::move(method), .path = std::move(path)});
    }
    std::string trouble_;
};

TEST_F(health, all_is_well) {
    EXPECT_EQ(ask("/healthz").body, "ok");
    EXPECT_EQ(ask("/readyz").status, 200);
    EXPECT_EQ(ask("/readyz?verbose").body, "[+]certificates ok\nreadyz check passed\n");
    EXPECT_EQ(ask("/healthz/ping").body, "ok");
}

TEST_F(health, what_is_wrong_is_said) {
    trouble_ = "none yet";
    EXPECT_EQ(ask("/readyz").status, 500);
    EXPECT_EQ(ask("/readyz").body, "[-]certificates failed: none yet\nreadyz check failed\n");
    EXPECT_EQ(ask("/readyz/certificates").status, 500);
    EXPECT_EQ(ask("/healthz").status, 200);
}

TEST_F(health, other_questions_are_refused) {
    for (const char* path : {"/", "/healthzz", "/healthz/other", "healthz", ""})
        EXPECT_EQ(ask(path).status, 404) << path;
    EXPECT_EQ(ask("/healthz", "POST").status, 405);
    EXPECT_EQ(ask("/healthz", "HEAD").status, 200);
}

TEST(reply, what_is_accepted) {
    EXPECT_TRUE(accepts("gzip", "gzip"));
    EXPECT_TRUE(accepts("br;q=1.0, gzip;q=0.5", "gzip"));
    EXPECT_FALSE(accepts("gzip;q=0", "gzip"));
    EXPECT_FALSE(accepts("gzip; q=0.000", "gzip"));
    EXPECT_TRUE(accepts("gzip; q=0.001", "gzip"));
    EXPECT_FALSE(accepts("gzipped", "gzip"));
    EXPECT_FALSE(accepts("", "gzip"));
    EXPECT_FALSE(accepts(",;,;;=", "gzip"));
}

TEST(reply, targets_and_parameters) {
    EXPECT_EQ(split_target("/a?b=c").path, "/a");
    EXPECT_EQ(split_target("/a").query, "");
    EXPECT_TRUE(has_parameter("x=1&verbose", "verbose"));
    EXPECT_TRUE(has_parameter("verbose=true", "verbose"));
    EXPECT_FALSE(has_parameter("verboser", "verbose"));
    EXPECT_FALSE(has_parameter("", "verbose"));
}

TEST(reply, a_status_is_kubernetes_json) {
    const reply r = status_reply(403, "Forbidden", "not \"you\"\n");
    EXPECT_EQ(r.status, 403);
    EXPECT_THAT(r.body, HasSubstr(R"("status":"Failure","message":"not \"you\"\n","reason":"Forbidden","code":403})"));
}

}  // namespace
}  // namespace cotrain::serve
