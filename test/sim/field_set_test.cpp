// Field sets: their arithmetic and their form in managedFields.
#include "sim/field_set.hpp"

#include <gtest/gtest.h>

#include "doc/json.hpp"

namespace cotrain::sim {
namespace {

field_set read(std::string_view text) {
    doc::arena memory;
    const auto document = doc::parse_json(memory, text);
    EXPECT_TRUE(document.has_value()) << text;
    return read_fields(*document);
}

std::string written(const field_set& set) {
    doc::arena memory;
    return doc::to_json(write_fields(memory, set));
}

TEST(field_set, survives_the_wire) {
    for (const char* text : {R"({})", R"({"f:data":{"f:a":{},"f:b":{}}})", R"({"f:spec":{".":{},"f:x":{}}})",
                             R"({"f:env":{"k:{\"name\":\"a\"}":{".":{},"f:name":{},"f:value":{}}}})",
                             R"({"f:finalizers":{".":{},"v:\"example.com/f\"":{}}})"}) {
        EXPECT_EQ(written(read(text)), text);
    }
}

TEST(field_set, knows_equal_keys_however_they_are_written) {
    EXPECT_EQ(read(R"({"f:p":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{}}})"),
              read(R"({"f:p":{"k:{\"protocol\":\"TCP\", \"port\":8e1}":{}}})"));
}

TEST(field_set, leaves_out_elements_of_unknown_kinds) {
    EXPECT_EQ(written(read(R"({"x:new":{},"f:a":{}})")), R"({"f:a":{}})");
}

TEST(field_set, subtracts_elements_not_what_lies_below_them) {
    const field_set both = read(R"({"f:a":{".":{},"f:b":{}}})");
    EXPECT_EQ(written(subtract(both, read(R"({"f:a":{}})"))), R"({"f:a":{"f:b":{}}})");
    EXPECT_EQ(written(subtract(both, read(R"({"f:a":{"f:b":{}}})"))), R"({"f:a":{}})");
    EXPECT_EQ(written(subtract_trees(both, read(R"({"f:a":{}})"))), R"({})");
}

TEST(field_set, intersects_and_unites) {
    const field_set left = read(R"({"f:a":{},"f:b":{"f:c":{},"f:d":{}}})");
    const field_set right = read(R"({"f:b":{"f:d":{},"f:e":{}},"f:f":{}})");
    EXPECT_EQ(written(intersect(left, right)), R"({"f:b":{"f:d":{}}})");
    EXPECT_EQ(written(unite(left, right)), R"({"f:a":{},"f:b":{"f:c":{},"f:d":{},"f:e":{}},"f:f":{}})");
}

TEST(field_set, tells_paths_as_conflicts_do) {
    std::vector<std::string> paths;
    read(R"({"f:spec":{"f:env":{"k:{\"name\":\"a\"}":{"f:value":{}}},"f:list":{"v:\"x\"":{}}}})")
        .each([&](const path& p) { paths.push_back(to_string(p)); });
    EXPECT_EQ(paths, (std::vector<std::string>{R"(.spec.env[name="a"].value)", R"(.spec.list[="x"])"}));
}

}  // namespace
}  // namespace cotrain::sim
