// What is bounded whatever the input is: copies, frozen texts, shown values, lookups by name.
#include <gtest/gtest.h>

#include <string>

#include "doc/member_index.hpp"
#include "support/documents.hpp"

namespace cotrain::doc {
namespace {

// A document whose text is `factor` times what it takes in memory: each level holds the one below twice.
ref doubled(arena& memory, int levels) {
    ref below = from_json(memory, R"({"name":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"})");
    for (int i = 0; i < levels; ++i) {
        editor list = editor::array(memory);
        list.append(below).append(below);
        below = list;
    }
    return below;
}

TEST(bounds, a_copy_ends_where_its_memory_does) {
    arena source;
    const ref bomb = doubled(source, 40);
    arena memory(1UL << 20U);
    (void)deep_copy(memory, bomb);
    EXPECT_TRUE(memory.exceeded());
    EXPECT_LT(memory.bytes_reserved(), 3UL << 20U);
    memory.clear();
    EXPECT_FALSE(memory.exceeded());
    (void)deep_copy(memory, doubled(source, 5));
    EXPECT_FALSE(memory.exceeded());
}

TEST(bounds, a_text_is_not_frozen_where_it_does_not_fit) {
    arena memory(1UL << 20U);
    (void)freeze(memory, doubled(memory, 40));
    EXPECT_TRUE(memory.exceeded());
    EXPECT_LT(memory.bytes_reserved(), 2UL << 20U);
}

TEST(bounds, json_is_cut_soon_after_its_bound) {
    arena memory;
    const ref bomb = doubled(memory, 40);
    for (const std::size_t bytes_max : {0UL, 1UL, 100UL, 4095UL, 100'000UL}) {
        std::string text = "before";
        EXPECT_FALSE(append_json(text, bomb, bytes_max));
        EXPECT_GT(text.size(), bytes_max);
        EXPECT_LT(text.size(), bytes_max + 200);
    }
    const ref small = doubled(memory, 3);
    std::string text;
    EXPECT_TRUE(append_json(text, small, to_json(small).size()));
    EXPECT_EQ(text, to_json(small));
    text.clear();
    EXPECT_FALSE(append_json(text, small, to_json(small).size() - 1));
    EXPECT_EQ(shown_json(small, 10'000), to_json(small));
    EXPECT_LE(shown_json(bomb, 1024).size(), 1024U);
    EXPECT_TRUE(shown_json(bomb, 1024).ends_with("…"));
}

TEST(bounds, indexes_find_what_a_search_finds) {
    arena memory;
    for (const int size : {0, 1, 16, 17, 1000}) {
        editor object = editor::object(memory);
        editor list = editor::array(memory);
        for (int i = 0; i < size; ++i) {
            const std::string name = "n" + std::to_string(i * 7919 % (size + 3));
            object.set(name, i);
            list.append_object().set("name", name).set("place", i);
        }
        const member_index members(object);
        const name_index items(list);
        for (int i = -1; i < size + 4; ++i) {
            const std::string name = "n" + std::to_string(i);
            EXPECT_TRUE(members.get(name).same(object.get(name)));
            EXPECT_EQ(items.find(name), list.view().index_by("name", name));
        }
    }
}

}  // namespace
}  // namespace cotrain::doc
