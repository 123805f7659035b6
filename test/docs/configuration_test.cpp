// docs/configuration.md against the program: no key, gate, flag or annotation without its row, default and test.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "app/config/config.hpp"
#include "app/config/flags.hpp"
#include "doc/edit.hpp"
#include "doc/json.hpp"
#include "doc/yaml.hpp"
#include "docs/page.hpp"

namespace cotrain::test {
namespace {

using texts = std::set<std::string>;

page told() { return read_page(std::filesystem::path(COTRAIN_SOURCE_DIR) / "docs" / "configuration.md"); }

// "`key` \*" stands for the key.
std::string name_of(std::string cell) {
    std::erase(cell, '`');
    return cell.substr(0, cell.find(' '));
}

texts names_of(const std::string& header) {
    texts out;
    for (const auto& row : table(told(), header)) EXPECT_TRUE(out.insert(name_of(row.at(0))).second) << row.at(0);
    return out;
}

texts split(std::string_view list) {
    texts out;
    for (std::size_t at = 0; at <= list.size();) {
        const std::size_t end = std::min(list.find(", ", at), list.size());
        out.emplace(list.substr(at, end - at));
        at = end + 2;
    }
    return out;
}

// What the reader says may stand there; empty where any key may.
texts allowed(const std::string& before, const std::string& after) {
    const auto read = app::read_configuration(before + "no-such-key: {}" + after);
    constexpr std::string_view word = "unknown field, allowed: ";
    if (read || !read.error().message.contains(word)) return {};
    return split(std::string_view(read.error().message).substr(read.error().message.find(word) + word.size()));
}

texts keys_of_the_program() {
    texts out;
    for (const std::string& section : allowed("", "")) {
        if (section == "apiVersion" || section == "kind") continue;
        const texts below = allowed(section + ": {", "}");
        if (below.empty()) out.insert(section);
        for (const std::string& key : below) out.insert(section + "." + key);
    }
    return out;
}

TEST(docs, every_key_of_the_configuration_has_a_row) { EXPECT_EQ(names_of("key"), keys_of_the_program()); }

TEST(docs, defaults_of_the_configuration_are_those_that_are_printed) {
    doc::arena memory;
    const std::string defaults = app::to_yaml({});  // what was parsed looks into it
    const auto printed = doc::parse_yaml(memory, defaults);
    ASSERT_TRUE(printed);
    for (const auto& row : table(told(), "key")) {
        const std::string key = name_of(row.at(0));
        const std::size_t dot = key.find('.');
        if (dot == std::string::npos || row.at(0).contains('*')) continue;
        const doc::ref value = printed->get({key.substr(0, dot), key.substr(dot + 1)});
        std::string wanted = value.is_unset() || value.is_object() ? "–" : doc::to_json(value);
        if (wanted != "\"\"") std::erase(wanted, '"');
        std::string text = row.at(1);
        std::erase(text, '`');
        std::erase(text, ' ');
        EXPECT_EQ(text, wanted) << key;
    }
}

TEST(docs, every_gate_has_a_row) { EXPECT_EQ(names_of("gate"), split(app::gate_names())); }

TEST(docs, every_flag_has_a_row) {
    texts wanted;
    const std::string help = app::flag_help();
    for (std::size_t at = help.find("--"); at != std::string::npos; at = help.find("\n  --", at)) {
        at = help.find("--", at);
        wanted.insert(help.substr(at, help.find(' ', at) - at));
    }
    EXPECT_EQ(names_of("flag"), wanted);
}

TEST(docs, every_annotation_has_a_row) {
    texts wanted;
    const std::filesystem::path api = std::filesystem::path(COTRAIN_SOURCE_DIR) / "src/api";
    const std::string names = read_text(api / "names.hpp") + read_text(api / "workload.hpp");
    constexpr std::string_view mark = "_annotation = \"";
    for (std::size_t at = names.find(mark); at != std::string::npos; at = names.find(mark, at)) {
        at += mark.size();
        wanted.insert(names.substr(at, names.find('"', at) - at));
    }
    EXPECT_FALSE(wanted.empty());
    EXPECT_EQ(names_of("annotation"), wanted);
}

TEST(docs, every_row_of_the_configuration_has_a_test_that_exists) {
    for (const std::string header : {"key", "gate", "flag", "annotation"}) {
        for (const auto& row : table(told(), header)) {
            std::string test = row.back();
            std::erase(test, '`');
            const std::size_t colon = test.find(": ");
            ASSERT_NE(colon, std::string::npos) << row.at(0);
            const auto file = std::filesystem::path(COTRAIN_SOURCE_DIR) / "test" / (test.substr(0, colon) + ".cpp");
            EXPECT_TRUE(read_text(file).contains(", " + test.substr(colon + 2) + ") {")) << row.at(0) << ": " << test;
        }
    }
}

}  // namespace
}  // namespace cotrain::test
