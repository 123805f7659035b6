// The tables of docs/ against what they are about: the API's schema, and the phases of the built-in plugins.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "crd/crd.hpp"
#include "docs/page.hpp"
#include "plugins/builtin.hpp"

namespace cotrain::test {
namespace {

namespace schema = crd;

page read(const std::string& name) { return read_page(std::filesystem::path(COTRAIN_SOURCE_DIR) / "docs" / name); }

struct field {
    std::string fallback;
    bool required = false;
    bool operator==(const field&) const = default;
};

// Members of spec that are ours: what Kubernetes' own types have is told elsewhere.
void list_fields(const schema::node& of, const std::string& prefix, std::map<std::string, field>& out) {
    static const std::set<std::string> sections{"runtimeRef", "initializer", "initializer.dataset", "initializer.model",
                                                "trainer"};
    for (const auto& p : of.properties) {
        const std::string path = prefix + p.name;
        if (sections.contains(path)) {
            list_fields(*p.value, path + ".", out);
        } else {
            std::string fallback = p.value->fallback;
            std::erase(fallback, '"');
            out[path] = {fallback, p.required};
        }
    }
}

TEST(docs, every_field_of_spec_is_told_with_its_default) {
    std::map<std::string, field> wanted;
    list_fields(*schema::schema_of("TrainJob")->find("spec")->value, "", wanted);
    std::map<std::string, field> told;
    for (const auto& row : table(read("trainjob.md"), "field")) {
        const std::string& text = row.at(2);
        told[row.at(0)] = {text == "–" || text == "required" ? "" : text, text == "required"};
    }
    for (const auto& [path, f] : wanted) {
        ASSERT_TRUE(told.contains(path)) << path << " has no row";
        EXPECT_EQ(told[path], f) << path << ": default is '" << f.fallback << "', required " << f.required;
    }
    for (const auto& [path, f] : told) EXPECT_TRUE(wanted.contains(path)) << path << " is no field";
}

TEST(docs, every_difference_has_a_test_that_exists) {
    int number = 0;  // ascending; some belong to what is not told of here
    for (const auto& row : table(read("differences.md"), "nr")) {
        EXPECT_GT(std::stoi(row.at(0)), number);
        number = std::stoi(row.at(0));
        const std::string& test = row.at(4);
        const std::size_t colon = test.find(": ");
        ASSERT_NE(colon, std::string::npos) << test;
        const auto file = std::filesystem::path(COTRAIN_SOURCE_DIR) / "test" / (test.substr(0, colon) + ".cpp");
        EXPECT_TRUE(read_text(file).contains(", " + test.substr(colon + 2) + ") {")) << test;
    }
    EXPECT_EQ(number, 43);
}

// "attack: name" is one of test/attack, "folder/file: name" a GoogleTest of that file, "folder/file.sh" a script.
bool exists(const std::string& test) {
    const auto tests = std::filesystem::path(COTRAIN_SOURCE_DIR) / "test";
    const std::size_t colon = test.find(": ");
    if (colon == std::string::npos) return std::filesystem::exists(tests / test);
    const std::string name = test.substr(colon + 2);
    if (test.starts_with("attack: ")) return read_text(tests / "attack" / "attacks.go").contains('"' + name + '"');
    return read_text(tests / (test.substr(0, colon) + ".cpp")).contains(", " + name + ") {");
}

TEST(docs, every_row_of_who_may_do_what_has_a_test_that_exists) {
    const page security = read_page(std::filesystem::path(COTRAIN_SOURCE_DIR) / "SECURITY.md");
    std::size_t rows = 0;
    for (const auto& row : table(security, "who")) {
        ++rows;
        EXPECT_TRUE(exists(row.at(3))) << row.at(1) << ": " << row.at(3);
    }
    EXPECT_GE(rows, 20U);
}

template <class P>
std::vector<std::string> phases_of() {
    const auto mark = [](bool taken) { return std::string(taken ? "x" : ""); };
    return {std::string(P::name),
            mark(runtime::enforces_ml_policy<P>),
            mark(runtime::enforces_pod_group_policy<P>),
            mark(runtime::identifies_pod_network<P>),
            mark(runtime::syncs_parallelism<P>),
            mark(runtime::builds_objects<P> || runtime::builds_job_set<P>),
            mark(runtime::validates_jobs<P>),
            mark(runtime::reports_status<P>)};
}

template <class... Plugins>
std::vector<std::vector<std::string>> phases(const runtime::framework<Plugins...>&) {
    return {phases_of<Plugins>()...};
}

TEST(docs, plugins_are_told_in_their_order_and_with_their_phases) {
    EXPECT_EQ(table(read("plugins.md"), "plugin"), phases(plugins::builtin()));
}

TEST(docs, every_condition_is_told) {
    std::set<std::string> told;
    for (const auto& row : table(read("conditions.md"), "condition")) told.insert(row.at(0));
    const std::set<std::string> wanted{std::string(api::names::suspended), std::string(api::names::complete),
                                       std::string(api::names::failed), std::string(api::names::resources_ready)};
    EXPECT_EQ(told, wanted);
}

}  // namespace
}  // namespace cotrain::test
