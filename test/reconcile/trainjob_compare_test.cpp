// When an object counts as already so, and what applies look like to a server that reads YAML.
#include <gtest/gtest.h>

#include <string_view>

#include "doc/json.hpp"
#include "doc/yaml.hpp"
#include "reconcile/job_set_templates.hpp"
#include "reconcile/write_gate.hpp"

namespace cotrain::reconcile {
namespace {

bool same(std::string_view wanted, std::string_view found) {
    doc::arena memory;
    return already_so(*doc::parse_json(memory, wanted), *doc::parse_json(memory, found));
}

TEST(already_so, ignores_what_fills_itself_in_and_what_is_empty) {
    EXPECT_TRUE(same(R"({"a":1,"l":[{"name":"x"}]})", R"({"l":[{"name":"x","groupName":"default"}],"a":1})"));
    EXPECT_TRUE(same(R"({"a":{}})", R"({})"));
    EXPECT_TRUE(same(R"({})", R"({"resources":{},"creationTimestamp":null})"));
    EXPECT_TRUE(same(R"({"spec":{}})", R"({"spec":{"network":{"enableDNSHostnames":true}}})"));
}

TEST(already_so, sees_what_is_missing_changed_or_too_much) {
    EXPECT_FALSE(same(R"({"a":1})", R"({})"));
    EXPECT_FALSE(same(R"({"a":1})", R"({"a":2})"));
    EXPECT_FALSE(same(R"({"l":["x","y"]})", R"({"l":["x"]})"));
    EXPECT_FALSE(same(R"({"l":["x"]})", R"({"l":["x","y"]})"));
    EXPECT_FALSE(same(R"({"l":["x","y"]})", R"({"l":["y","x"]})"));
    EXPECT_FALSE(same(R"({})", R"({"nodeSelector":{"disk":"ssd"}})"));
}

TEST(yaml_safe, reads_the_same_as_json_and_as_yaml) {
    const std::string json =
        "{\"a\":\"q\\\" \xE2\x80\xA8 \xE2\x80\xA9 \x7F \xC2\x85 \xEF\xBB\xBF \xEF\xBF\xBE 日本語\"}";
    const std::string safe = yaml_safe(json);
    EXPECT_EQ(safe, "{\"a\":\"q\\\" \\u2028 \\u2029 \\u007f \\u0085 \\ufeff \\ufffe 日本語\"}");
    doc::arena memory;
    EXPECT_TRUE(equal(*doc::parse_json(memory, json), *doc::parse_json(memory, safe)));
    EXPECT_EQ(yaml_safe("{\"a\":\"plain\"}"), "{\"a\":\"plain\"}");
    for (std::size_t at = 0; at != 20; ++at) {
        std::string text(20, '~');
        EXPECT_EQ(yaml_safe(text), text);
        text[at] = '\x7f';
        EXPECT_EQ(yaml_safe(text).find("\\u007f"), at);
    }
}

}  // namespace
}  // namespace cotrain::reconcile
