// Who may read metrics: what is asked, and how long an answer counts.
#include "serve/access_guard.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace cotrain::serve {
namespace {

using std::chrono::seconds;

TEST(access_guard, the_question_is_about_a_path) {
    const kube::call what =
        build_path_review({.authenticated = true, .username = "a\"b", .uid = "u", .groups = {"g", "h"}}, "/metrics");
    EXPECT_EQ(what.http.method, "POST");
    EXPECT_EQ(what.http.path, "/apis/authorization.k8s.io/v1/subjectaccessreviews");
    EXPECT_EQ(what.http.body, R"({"kind":"SubjectAccessReview","apiVersion":"authorization.k8s.io/v1","spec":{"user":)"
                              R"("a\"b","uid":"u","groups":["g","h"],"nonResourceAttributes":)"
                              R"({"verb":"get","path":"/metrics"}}})");
}

TEST(verdict_cache, verdicts_count_for_a_moment_and_for_one_path) {
    verdict_cache cache;
    const verdict_cache::time_point now{};
    const auto asked = verdict_cache::digest_of("token", "/metrics");
    EXPECT_EQ(cache.find(asked, now), 0);
    cache.remember(asked, 200, now);
    EXPECT_EQ(cache.find(asked, now + verdict_cache::allowed_for - seconds(1)), 200);
    EXPECT_EQ(cache.find(asked, now + verdict_cache::allowed_for), 0);
    cache.remember(asked, 403, now);
    EXPECT_EQ(cache.find(asked, now + verdict_cache::refused_for - seconds(1)), 403);
    EXPECT_EQ(cache.find(asked, now + verdict_cache::refused_for), 0);
    EXPECT_EQ(cache.find(verdict_cache::digest_of("token", "/debug/state"), now), 0);
    EXPECT_EQ(cache.find(verdict_cache::digest_of("tokens", "/metrics"), now), 0);
    EXPECT_NE(verdict_cache::digest_of("a", "b/c"), verdict_cache::digest_of("ab", "/c"));
}

TEST(verdict_cache, it_stays_small_whoever_guesses) {
    verdict_cache cache;
    const verdict_cache::time_point now{};
    for (std::size_t i = 0; i < 3 * verdict_cache::entries_max; ++i)
        cache.remember(verdict_cache::digest_of(std::to_string(i), "/"), 401, now);
    EXPECT_LE(cache.size(), verdict_cache::entries_max);
}

}  // namespace
}  // namespace cotrain::serve
