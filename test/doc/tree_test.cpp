// Lookups, numbers, equality and copies of documents.
#include "doc/tree.hpp"

#include <gtest/gtest.h>

#include "support/documents.hpp"

namespace cotrain::doc {
namespace {

class tree : public ::testing::Test {
   protected:
    ref json(std::string_view text) { return from_json(memory_, text); }
    arena memory_;
};

TEST_F(tree, absent_values_answer_every_question_with_nothing) {
    const ref nothing;
    EXPECT_FALSE(nothing);
    EXPECT_FALSE(nothing.get("a").get("b").at(3));
    EXPECT_EQ(nothing.as_string("x"), "x");
    EXPECT_FALSE(nothing.as_int());
    EXPECT_TRUE(nothing.items().empty());
    EXPECT_TRUE(nothing.is_unset());
    EXPECT_TRUE(json("null").is_unset());
    EXPECT_FALSE(json("0").is_unset());
}

TEST_F(tree, looks_up_by_name_path_place_and_key) {
    const ref d = json(R"({"a":{"b":[{"name":"x","v":1},{"name":"y","v":2},{"name":"y","v":3}]}})");
    EXPECT_EQ(d.get({"a", "b"}).size(), 3U);
    EXPECT_EQ(d.get({"a", "b"}).at(1).get("v").as_int(), 2);
    EXPECT_EQ(d.get({"a", "b"}).find_by("name", "y").get("v").as_int(), 2);
    EXPECT_EQ(d.get({"a", "b"}).index_by("name", "z"), std::nullopt);
    EXPECT_FALSE(d.get({"a", "c", "d"}));
    EXPECT_FALSE(d.at(0)) << "an object has no places";
    EXPECT_FALSE(d.get({"a", "b"}).get("name")) << "a list has no names";
}

TEST_F(tree, integers_however_they_are_written) {
    EXPECT_EQ(json("3").as_int(), 3);
    EXPECT_EQ(json("-3.0").as_int(), -3);
    EXPECT_EQ(json("3e2").as_int(), 300);
    EXPECT_EQ(json("9223372036854775807").as_int(), INT64_MAX);
    EXPECT_EQ(json("-9223372036854775808").as_int(), INT64_MIN);
    EXPECT_EQ(json("9223372036854775808").as_int(), std::nullopt);
    EXPECT_EQ(json("1e19").as_int(), std::nullopt);
    EXPECT_EQ(json("1.5").as_int(), std::nullopt);
    EXPECT_EQ(json("\"3\"").as_int(), std::nullopt);
    EXPECT_EQ(json("1e999").as_double(), std::nullopt);
    EXPECT_DOUBLE_EQ(*json("2.5e-3").as_double(), 0.0025);
}

TEST_F(tree, equality_ignores_order_of_members_and_spelling_of_numbers) {
    EXPECT_TRUE(equal(json(R"({"a":1,"b":[2,3]})"), json(R"({"b":[2.0,3],"a":1e0})")));
    EXPECT_FALSE(equal(json(R"({"a":1})"), json(R"({"a":1,"b":null})")));
    EXPECT_FALSE(equal(json("[1,2]"), json("[2,1]")));
    EXPECT_FALSE(equal(json("1"), json("\"1\"")));
    EXPECT_FALSE(equal(json("null"), ref{}));
    EXPECT_TRUE(equal(json("null"), json("null")));
    EXPECT_TRUE(equal(ref{}, ref{}));
    EXPECT_FALSE(equal(json("true"), json("false")));
    EXPECT_FALSE(identical(json(R"({"a":1,"b":2})"), json(R"({"b":2,"a":1})")));
    EXPECT_FALSE(identical(json("1"), json("1.0")));
    EXPECT_TRUE(identical(json(R"({"a":[1,"x"]})"), json(R"({"a":[1,"x"]})")));
}

TEST_F(tree, equality_of_large_objects_in_another_order) {
    std::string forward = "{";
    std::string backward = "{";
    for (int i = 0; i < 500; ++i) {
        forward += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":" + std::to_string(i);
        backward += (i == 0 ? "\"" : ",\"") + std::to_string(499 - i) + "\":" + std::to_string(499 - i);
    }
    EXPECT_TRUE(equal(json(forward + "}"), json(backward + "}")));
    EXPECT_FALSE(equal(json(forward + ",\"x\":1}"), json(backward + ",\"y\":1}")));
}

TEST_F(tree, a_deep_copy_outlives_its_source) {
    auto source = std::make_unique<arena>();
    const std::string text = R"({"a":[1,"twenty characters long",{}],"b":null,"c":{"d":true}})";
    const ref copy = deep_copy(memory_, from_json(*source, text));
    source.reset();
    EXPECT_EQ(to_json(copy), text);
}

TEST_F(tree, an_arena_is_reused_without_growing) {
    arena memory;
    for (int i = 0; i < 3; ++i) {
        (void)from_json(memory, R"({"a":[1,2,3]})");
        EXPECT_EQ(memory.bytes_reserved(), arena::first_chunk_bytes);
        memory.clear();
        EXPECT_EQ(memory.bytes_used(), 0U);
    }
    (void)memory.allocate(arena::chunk_bytes_max * 2);
    EXPECT_GE(memory.bytes_used(), arena::chunk_bytes_max * 2);
    memory.clear();
    EXPECT_EQ(memory.bytes_reserved(), arena::first_chunk_bytes);
}

TEST_F(tree, an_arena_knows_when_it_holds_too_much) {
    arena memory(100'000);
    EXPECT_FALSE(memory.exceeded());
    (void)memory.allocate(200'000);
    EXPECT_TRUE(memory.exceeded());
    memory.clear();
}

TEST_F(tree, odd_text_does_not_misalign_what_follows) {
    for (const std::size_t bytes : {1U, 3U, 7U, 8U, 13U}) {
        (void)memory_.allocate_text(bytes);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory_.allocate(16)) % alignof(void*), 0U);
    }
}

}  // namespace
}  // namespace cotrain::doc
