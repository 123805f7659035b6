// Every keyword that schemas use, at its limit and beyond.
#include "crd/support.hpp"

namespace cotrain::crd {
namespace {

struct example {
    std::string_view name;
    std::string_view schema;  // of the member "m"
    std::string_view good;
    std::string_view bad;
    paths where = {"m"};
};

std::ostream& operator<<(std::ostream& out, const example& e) { return out << e.name; }

class keyword : public testing::TestWithParam<example> {};

std::string as_member(std::string_view value) { return "{\"m\":" + std::string{value} + "}"; }

TEST_P(keyword, takes_good_values_and_refuses_bad_ones) {
    const node schema = schema_from(R"({"type":"object","properties":{"m":)" + std::string{GetParam().schema} + "}}");
    EXPECT_EQ(faults_of(schema, as_member(GetParam().good)), paths{});
    EXPECT_EQ(faults_of(schema, as_member(GetParam().bad)), GetParam().where);
}

constexpr std::string_view count =
    R"({"anyOf":[{"type":"integer"},{"type":"string"}],"x-kubernetes-int-or-string":true,)"
    R"("minimum":-5,"pattern":"^(auto|cpu|gpu|[1-9][0-9]{0,9})$"})";
constexpr std::string_view keyed =
    R"({"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],)"
    R"("items":{"type":"object","properties":{"k":{"type":"string"},"v":{"type":"string"}}}})";

INSTANTIATE_TEST_SUITE_P(
    schemas, keyword,
    testing::Values(
        example{"string", R"({"type":"string"})", R"("1")", "1"},
        example{"boolean", R"({"type":"boolean"})", "false", R"("false")"},
        example{"object", R"({"type":"object"})", "{}", "[]"}, example{"array", R"({"type":"array"})", "[]", "{}"},
        example{"integer", R"({"type":"integer"})", "3.0", "3.5"},
        example{"integer_exactness", R"({"type":"integer"})", "9007199254740991.0", "9007199254740993.0"},
        example{"integer_range", R"({"type":"integer"})", "9223372036854775807", "9223372036854775808"},
        example{"int32_above", R"({"type":"integer","format":"int32"})", "2147483647", "2147483648"},
        example{"int32_below", R"({"type":"integer","format":"int32"})", "-2147483648", "-2147483649"},
        example{"count_number", count, "8", "-6"}, example{"count_word", count, R"("auto")", R"("many")"},
        example{"count_text", count, R"("8")", R"("0")"}, example{"count_fraction", count, "2.0", "2.5"},
        example{"count_flag", count, R"("gpu")", "true"},
        example{"minimum", R"({"type":"integer","minimum":1})", "1", "0"},
        example{"maximum", R"({"type":"integer","maximum":100})", "100", "101"},
        example{"max_length_counts_characters", R"({"type":"string","maxLength":2})", R"("éé")", R"("abc")"},
        example{"min_length", R"({"type":"string","minLength":1})", R"("a")", R"("")"},
        example{"enum", R"({"type":"string","enum":["a",""]})", R"("")", R"("b")"},
        example{"time", R"({"type":"string","format":"date-time"})", R"("2024-02-29t23:59:59.5+01:00")",
                R"("2023-02-29T00:00:00Z")"},
        example{"time_without_zone", R"({"type":"string","format":"date-time"})", R"("2024-01-01T00:00:00z")",
                R"("2024-01-01T00:00:00")"},
        example{"max_items", R"({"type":"array","maxItems":1,"items":{"type":"string"}})", R"(["a"])", R"(["a","b"])"},
        example{"min_items", R"({"type":"array","minItems":1,"items":{"type":"string"}})", R"(["a"])", "[]"},
        example{"items", R"({"type":"array","items":{"type":"string"}})", R"(["a"])", R"(["a",null])", {"m[1]"}},
        example{"min_properties", R"({"type":"object","minProperties":1,"additionalProperties":{"type":"string"}})",
                R"({"a":"b"})", "{}"},
        example{"free_names",
                R"({"type":"object","additionalProperties":{"type":"string"}})",
                R"({"a.b/c":"d"})",
                R"({"a.b/c":1})",
                {"m.a.b/c"}},
        example{"required",
                R"({"type":"object","required":["r"],"properties":{"r":{"type":"string"}}})",
                R"({"r":""})",
                R"({"r":null})",
                {"m.r"}},
        example{"set",
                R"({"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}})",
                R"(["a","b"])",
                R"(["a","b","a","a"])",
                {"m[2]"}},
        example{"map", keyed, R"([{"k":"a"},{"k":"b"}])", R"([{"k":"a"},{"k":"b"},{"k":"a","v":"x"}])", {"m[2]"}},
        example{"map_without_keys", keyed, R"([{"v":"x"}])", R"([{"v":"x"},{"v":"y"}])", {"m[1]"}}),
    [](const auto& each) { return std::string{each.param.name}; });

TEST(check, reports_the_kind_and_a_message_that_says_what_to_do) {
    doc::arena memory;
    const node schema = schema_from(R"({"type":"object","properties":{"m":{"type":"array","maxItems":1,)"
                                    R"("items":{"type":"string"}},"n":{"type":"string","enum":["a","b"]}}})");
    const auto found = check(schema, json(memory, R"({"m":["x","y"],"n":"c"})"));
    ASSERT_EQ(found.size(), 2);
    EXPECT_EQ(found[0].kind, fault::too_many);
    EXPECT_EQ(to_string(found[0]), "m: Too many: 2: must have at most 1 items");
    EXPECT_EQ(to_string(found[1]), R"(n: Unsupported value: "c": supported values: "a", "b")");
}

TEST(check, lists_a_bounded_number_of_faults) {
    doc::arena memory;
    const node schema = schema_from(R"({"type":"array","items":{"type":"string"}})");
    std::string numbers = "[0";
    for (int i = 0; i < 100'000; ++i) numbers += ",0";
    EXPECT_EQ(check(schema, json(memory, numbers + "]")).size(), violations_max);
}

TEST(check, finds_duplicates_in_long_lists_without_comparing_all_pairs) {
    doc::arena memory;
    const node schema = schema_from(keyed);
    std::string items = R"([{"k":"first"})";
    for (int i = 0; i < 200'000; ++i) items += R"(,{"k":")" + std::to_string(i) + "\"}";
    items += R"(,{"k":"first"}])";
    EXPECT_EQ(paths_of(check(schema, json(memory, items))), paths{"[200001]"});
}

TEST(check, cuts_long_values_in_messages) {
    doc::arena memory;
    const node schema = schema_from(R"({"type":"integer"})");
    const auto found = check(schema, json(memory, '"' + std::string(1'000'000, 'x') + '"'));
    ASSERT_EQ(found.size(), 1);
    EXPECT_LT(to_string(found[0]).size(), 2 * shown_value_bytes_max);
}

}  // namespace
}  // namespace cotrain::crd
