// Names, labels and paths that the API server takes and refuses.
#include "api/validation.hpp"

#include <gtest/gtest.h>

namespace cotrain::api {
namespace {

TEST(validation, dns1123_labels) {
    for (const std::string_view good : {"a", "1", "a-b", "123-abc", "a--b"})
        EXPECT_TRUE(check_dns1123_label(good).empty()) << good;
    for (const std::string_view bad : {"", "-a", "a-", "A", "a.b", "a_b", "a b", "é", "a\n"}) {
        EXPECT_EQ(check_dns1123_label(bad).size(), 1U) << bad;
    }
    EXPECT_TRUE(check_dns1123_label(std::string(63, 'a')).empty());
    EXPECT_EQ(check_dns1123_label(std::string(64, 'a')), faults{"must be no more than 63 bytes"});
    EXPECT_EQ(check_dns1123_label(std::string(64, 'A')).size(), 2U);
}

TEST(validation, dns1123_subdomains) {
    for (const std::string_view good : {"a", "a.b", "1.2.3", "example.com", "a-b.c"}) {
        EXPECT_TRUE(check_dns1123_subdomain(good).empty()) << good;
    }
    for (const std::string_view bad : {"", ".", "a.", ".a", "a..b", "A.b", "a_b.c", "-a.b", "a-.b"}) {
        EXPECT_FALSE(check_dns1123_subdomain(bad).empty()) << bad;
    }
    EXPECT_FALSE(check_dns1123_subdomain(std::string(254, 'a')).empty());
}

TEST(validation, qualified_names) {
    for (const std::string_view good : {"a", "A_b.c-1", "example.com/MyName", "1", "a.b/c"}) {
        EXPECT_TRUE(check_qualified_name(good).empty()) << good;
    }
    for (const std::string_view bad : {"", "/a", "a/", "a/b/c", "A.b/c", "_a", "a_", "a b", "a:b"}) {
        EXPECT_FALSE(check_qualified_name(bad).empty()) << bad;
    }
    EXPECT_TRUE(check_qualified_name("example.com/" + std::string(63, 'a')).empty());
    EXPECT_EQ(check_qualified_name(std::string(64, 'a')), faults{"name part must be no more than 63 bytes"});
    EXPECT_EQ(join(check_qualified_name("/a")), "prefix part must be non-empty");
}

TEST(validation, label_values_may_be_empty) {
    EXPECT_TRUE(check_label_value("").empty());
    EXPECT_TRUE(check_label_value("a.B_c-1").empty());
    EXPECT_FALSE(check_label_value("-a").empty());
    EXPECT_FALSE(check_label_value("a/b").empty());
    EXPECT_FALSE(check_label_value(std::string(64, 'a')).empty());
}

TEST(validation, domain_prefixed_paths) {
    for (const std::string_view good : {"acme.io/foo", "a/b", "t.test/m/n", "a.b/~x%20"}) {
        EXPECT_TRUE(check_domain_prefixed_path(good).empty()) << good;
    }
    for (const std::string_view bad : {"", "foo", "/foo", "acme.io/", "Acme.io/foo", "acme.io/a b", "acme.io/é"}) {
        EXPECT_FALSE(check_domain_prefixed_path(bad).empty()) << bad;
    }
    EXPECT_EQ(join(check_domain_prefixed_path("foo")), "must be a domain-prefixed path (such as \"acme.io/foo\")");
}

TEST(validation, faults_are_one_line) { EXPECT_EQ(join({"a", "b"}), "a; b"); }

}  // namespace
}  // namespace cotrain::api
