// Schemas survive writing and reading, and what cannot be judged is refused.
#include "crd/build.hpp"
#include "crd/node.hpp"
#include "crd/support.hpp"

namespace cotrain::crd {
namespace {

std::string refusal(std::string_view text) {
    doc::arena memory;
    const auto read = read_schema(json(memory, text));
    return read ? "" : read.error().message;
}

TEST(read_schema, refuses_rules_and_patterns_that_have_no_meaning_here) {
    EXPECT_EQ(
        refusal(
            R"({"type":"object","properties":{"a":{"type":"string","x-kubernetes-validations":[{"rule":"self != ''"}]}}})"),
        "schema.properties.a: unknown rule \"self != ''\"");
    EXPECT_EQ(refusal(R"({"type":"string","pattern":"^a+$"})"), "schema: unknown pattern \"^a+$\"");
    EXPECT_TRUE(refusal(R"({"type":"string","x-kubernetes-validations":[{"rule":"self == oldSelf","reason":"x"}]})")
                    .contains("reason is not supported"));
}

TEST(read_schema, refuses_keywords_that_it_would_have_to_ignore) {
    EXPECT_TRUE(refusal(R"({"type":"string","not":{}})").contains("not: {} is not supported"));
    EXPECT_TRUE(refusal(R"({"type":"number","multipleOf":2})").contains("multipleOf"));
    EXPECT_TRUE(refusal(R"({"type":"string","format":"ipv4"})").contains("\"ipv4\" is not supported"));
    EXPECT_TRUE(refusal(R"({"type":"integer","minimum":0.5})").contains("only integers"));
    EXPECT_TRUE(refusal(R"({"type":"integer","enum":[1]})").contains("only strings"));
    EXPECT_TRUE(refusal(R"({"type":"array","x-kubernetes-list-type":"map"})").contains("needs keys"));
    EXPECT_TRUE(refusal(R"({"type":"object","required":["a"]})").contains("there is no property a"));
    EXPECT_TRUE(refusal(R"({"$ref":"Volume"})").contains("$ref"));
    EXPECT_TRUE(refusal("{}").contains("no type"));
    EXPECT_TRUE(refusal("[]").contains("expected an object"));
}

TEST(library, refuses_types_that_are_missing_or_contain_themselves) {
    doc::arena memory;
    const auto missing = library::read(json(memory, R"({"A":{"$ref":"B"}})"));
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().message, "schema: there is no type B");
    const auto endless = library::read(json(memory, R"({"A":{"type":"array","items":{"$ref":"A"}}})"));
    ASSERT_FALSE(endless);
    EXPECT_TRUE(endless.error().message.contains("nested too deeply")) << endless.error().message;
}

TEST(build, refuses_rules_and_patterns_that_have_no_meaning_here) {
    EXPECT_THROW((void)text().rule("self.size() < 3", "too long"), std::logic_error);
    EXPECT_THROW((void)text().pattern("^a$"), std::logic_error);
    EXPECT_THROW((void)foreign("Nothing"), std::logic_error);
}

TEST(definitions, read_back_as_they_were_written) {
    for (const definition& each : definitions()) {
        doc::arena memory;
        const doc::ref crd = make_crd(memory, each);
        const doc::ref schema = crd.get({"spec", "versions"}).at(0).get({"schema", "openAPIV3Schema"});
        const auto read = read_schema(schema);
        ASSERT_TRUE(read) << read.error().message;
        EXPECT_TRUE(doc::equal(write_schema(memory, *read), schema)) << each.resource.kind;
    }
}

// Client-side apply keeps the whole definition in an annotation.
TEST(definitions, fit_into_kubectls_annotation) {
    for (const definition& each : definitions()) {
        doc::arena memory;
        EXPECT_LT(doc::to_json(make_crd(memory, each)).size(), 100'000) << each.resource.kind;
    }
}

TEST(definitions, describe_our_fields_and_not_those_of_embedded_types) {
    doc::arena memory;
    const doc::ref crd = make_crd(memory, definitions()[0]);
    const doc::ref spec =
        crd.get({"spec", "versions"}).at(0).get({"schema", "openAPIV3Schema", "properties", "spec", "properties"});
    for (const doc::member& m : spec.members()) EXPECT_TRUE(m.value.get("description").is_string()) << m.key();
    EXPECT_FALSE(doc::to_json(spec.get({"trainer", "properties", "env", "items"})).contains("description"));
}

TEST(definitions, have_the_columns_that_people_look_for) {
    doc::arena memory;
    const doc::ref columns =
        make_crd(memory, definitions()[0]).get({"spec", "versions"}).at(0).get("additionalPrinterColumns");
    std::vector<std::string> narrow;
    for (const doc::ref column : columns.items()) {
        if (!column.contains("priority")) narrow.emplace_back(column.get("name").as_string());
    }
    EXPECT_EQ(narrow, (std::vector<std::string>{"State", "Nodes", "Restarts", "Runtime", "Age"}));
    EXPECT_GT(columns.size(), narrow.size());
}

}  // namespace
}  // namespace cotrain::crd
