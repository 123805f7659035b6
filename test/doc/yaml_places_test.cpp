// Lines of fields in YAML and JSON texts.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "doc/edit.hpp"
#include "doc/json.hpp"
#include "doc/yaml.hpp"
#include "doc/yaml_places.hpp"

namespace cotrain::doc {
namespace {

constexpr std::string_view text =
    "# a comment\n"
    "a: 1\n"
    "b:\n"
    "  c: [x, {d: 2}]\n"
    "  a.b/c: {k: v}\n"
    "  'e f': |\n"
    "    text\n"
    "list:\n"
    "- name: one\n"
    "  value: 1\n"
    "-\n"
    "  name: two\n"
    "a: again\n"
    "---\n"
    "# empty\n"
    "---\n"
    "b: {c: other}\n";

TEST(yaml_places, knows_the_line_of_each_field) {
    const yaml_places places(text);
    const auto line = [&](std::string_view path) { return places.find(2, path).line; };
    EXPECT_EQ(line("b"), 3U);
    EXPECT_EQ(places.find(2, "b.c"), (text_place{4, 3}));
    EXPECT_EQ(places.find(2, "b.c[1].d"), (text_place{4, 11}));
    EXPECT_EQ(line("b.a.b/c.k"), 5U) << "names may have dots";
    EXPECT_EQ(line("b[a.b/c].k"), 5U);
    EXPECT_EQ(line("b.e f"), 6U);
    EXPECT_EQ(line("list[0].value"), 10U);
    EXPECT_EQ(line("list[1].name"), 12U);
    EXPECT_EQ(line("a"), 13U) << "of two the last counts";
    EXPECT_EQ(line(""), 2U);
    EXPECT_EQ(places.find(17, "b.c").line, 17U) << "another document";
}

TEST(yaml_places, of_what_is_not_there_names_what_is_above) {
    const yaml_places places(text);
    const auto line = [&](std::string_view path) { return places.find(2, path).line; };
    EXPECT_EQ(line("b.missing.further"), 3U);
    EXPECT_EQ(line("list[7].name"), 8U);
    EXPECT_EQ(line("list.name"), 8U);
    EXPECT_EQ(line("nothing"), 2U);
    EXPECT_EQ(places.find(99, "a"), text_place{}) << "no document begins there";
    EXPECT_EQ(yaml_places("a: [").find(1, "a").line, 1U) << "what stands before a mistake";
    EXPECT_EQ(yaml_places("").find(1, "a"), text_place{});
    for (const char* odd : {".", "[", "]", "[x", "b..c", "list[-1]", "list[99999999999999999999]"})
        EXPECT_LE(line(odd), 13U) << odd;
}

// A random document, and the path of each of its members.
class random_document {
   public:
    explicit random_document(unsigned seed) : random_(seed) { value_ = object(0, {}); }

    [[nodiscard]] ref value() const { return value_; }
    std::vector<std::pair<std::string, std::string>> paths;  // and the member's name

   private:
    ref object(unsigned depth, const std::string& path) {
        editor out = editor::object(memory_);
        const unsigned count = 1 + random_() % 4;
        for (unsigned i = 0; i < count; ++i) {
            const std::string name = std::string(1, static_cast<char>('a' + i)) + "_" + std::to_string(paths.size());
            const std::string below = path.empty() ? name : path + "." + name;
            paths.emplace_back(below, name);
            out.set(name, any(depth + 1, below));
        }
        return freeze(memory_, out);
    }
    ref any(unsigned depth, const std::string& path) {
        const unsigned kind = depth > 4 ? 0 : random_() % 3;
        if (kind == 0) return ref::make_int(memory_, random_() % 100);
        if (kind == 1) return object(depth, path);
        editor out = editor::array(memory_);
        for (unsigned i = 0; i < random_() % 4; ++i) out.append(any(depth + 1, path + "[" + std::to_string(i) + "]"));
        return freeze(memory_, out);
    }

    std::mt19937 random_;
    arena memory_;
    ref value_;
};

TEST(yaml_places, finds_every_member_of_any_document) {
    for (unsigned seed = 1; seed <= 200; ++seed) {
        const random_document made(seed);
        for (const std::string& written : {to_yaml(made.value()), to_json(made.value())}) {
            std::vector<std::string> lines;
            std::istringstream in(written);
            for (std::string line; std::getline(in, line);) lines.push_back(line);
            const yaml_places places(written);
            for (const auto& [path, name] : made.paths) {
                const text_place at = places.find(1, path);
                ASSERT_GE(at.line, 1U) << path;
                ASSERT_LE(at.line, lines.size()) << path;
                const std::string_view rest = std::string_view(lines[at.line - 1]).substr(at.column - 1);
                EXPECT_TRUE(rest.starts_with(name + ":") || rest.starts_with("\"" + name + "\":")) << path << " in\n"
                                                                                                   << written;
            }
        }
    }
}

TEST(yaml_places, keeps_no_more_than_it_may) {
    std::string many = "first: 1\nlist: [";
    for (std::size_t i = 0; i < yaml_places_max + 10; ++i) many += "0,";
    many += "]\nlast: 1\n";
    const yaml_places places(many);
    EXPECT_EQ(places.find(1, "first").line, 1U);
    EXPECT_EQ(places.find(1, "list").line, 2U);
    EXPECT_EQ(places.find(1, "last").line, 1U) << "behind the bound: the document";
}

}  // namespace
}  // namespace cotrain::doc
