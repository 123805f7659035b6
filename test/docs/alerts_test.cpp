// Alerts, their runbooks and tests, and the dashboard: what they name has to exist.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "doc/json.hpp"
#include "doc/yaml.hpp"
#include "docs/page.hpp"

namespace cotrain::test {
namespace {

namespace fs = std::filesystem;

std::string text_of(const std::string& path) { return read_text(fs::path(COTRAIN_SOURCE_DIR) / path); }

struct documents {
    doc::arena memory;
    std::string rules_text = text_of("deploy/monitoring/prometheus-rule.yaml");
    std::string board_text = text_of("deploy/monitoring/cotrain.json");
    doc::ref rules = doc::parse_yaml(memory, rules_text)->get("spec").get("groups").at(0).get("rules");
    doc::ref board = *doc::parse_json(memory, board_text);
};

std::string string_of(doc::ref value) { return std::string(value.as_string()); }

// As sites and code hosts make it: lower case, spaces to hyphens, punctuation dropped.
std::string anchor_of(std::string heading) {
    std::string out;
    for (const char c : heading) {
        if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_') {
            out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        } else if (c == ' ') {
            out += '-';
        }
    }
    return out;
}

std::set<std::string> anchors_of(const std::string& path) {
    std::set<std::string> out;
    for (const std::string& line : read_page(fs::path(COTRAIN_SOURCE_DIR) / path).lines)
        if (line.starts_with("## ")) out.insert(anchor_of(line.substr(3)));
    return out;
}

std::vector<doc::ref> alerts_of(const documents& all) {
    std::vector<doc::ref> out;
    for (const doc::ref rule : all.rules.items())
        if (!rule.get("alert").is_unset()) out.push_back(rule);
    return out;
}

TEST(alerts, each_has_its_runbook_and_its_two_tests) {
    const documents all;
    const std::string played = text_of("test/deploy/alerts.yaml");
    const std::set<std::string> sections = anchors_of("docs/alerts.md");
    std::set<std::string> linked;
    for (const doc::ref alert : alerts_of(all)) {
        const std::string name = string_of(alert.get("alert"));
        const std::string runbook = string_of(alert.get({"annotations", "runbook"}));
        EXPECT_EQ(runbook, "docs/alerts.md#" + anchor_of(name));
        EXPECT_TRUE(sections.contains(anchor_of(name))) << name << " has no section in docs/alerts.md";
        linked.insert(anchor_of(name));
        for (const std::string text : {"summary", "action"})
            EXPECT_FALSE(string_of(alert.get("annotations").get(text)).empty()) << name << ": " << text;
        EXPECT_TRUE(played.contains("- name: " + name + " fires\n")) << name;
        EXPECT_TRUE(played.contains("- name: " + name + " is silent, ")) << name;
    }
    EXPECT_GE(linked.size(), 15U);
    EXPECT_EQ(sections, linked) << "sections without an alert";
}

// Names of metrics in a query: what is neither a function, a label nor a number.
std::set<std::string> metrics_in(const std::string& query) {
    static const std::regex name(
        R"(\b((?:cotrain|controller_runtime|workqueue|rest_client|leader_election|process|certwatcher|go)_\w+)\b)");
    std::set<std::string> out;
    for (std::sregex_iterator at(query.begin(), query.end(), name), end; at != end; ++at) out.insert((*at)[1]);
    return out;
}

// What the program exposes, without what a histogram or summary adds to its name.
bool is_exposed(std::string metric, const std::string& sources) {
    for (const std::string part : {"", "_bucket", "_sum", "_count"}) {
        if (!metric.ends_with(part)) continue;
        if (sources.contains("\"" + metric.substr(0, metric.size() - part.size()) + "\"")) return true;
    }
    return false;
}

std::string sources() {
    std::string all;
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(COTRAIN_SOURCE_DIR) / "src"))
        if (entry.path().extension() == ".cpp") all += read_text(entry.path());
    return all;
}

std::vector<doc::ref> panels_of(const documents& all) {
    std::vector<doc::ref> out;
    for (const doc::ref panel : all.board.get("panels").items()) out.push_back(panel);
    return out;
}

TEST(alerts, what_rules_and_panels_ask_for_is_exposed) {
    const documents all;
    const std::string src = sources();
    std::set<std::string> asked;
    for (const doc::ref rule : all.rules.items()) asked.merge(metrics_in(string_of(rule.get("expr"))));
    for (const doc::ref panel : panels_of(all))
        for (const doc::ref target : panel.get("targets").items())
            asked.merge(metrics_in(string_of(target.get("expr"))));
    EXPECT_GE(asked.size(), 30U);
    for (const std::string& metric : asked) EXPECT_TRUE(is_exposed(metric, src)) << metric;
}

TEST(alerts, every_metric_that_is_told_of_is_exposed_and_the_other_way_round) {
    const std::string src = sources();
    std::set<std::string> told;
    for (const auto& row : table(read_page(fs::path(COTRAIN_SOURCE_DIR) / "docs/operate.md"), "metric")) {
        told.insert(row.at(0));
        EXPECT_TRUE(is_exposed(row.at(0), src)) << row.at(0);
    }
    static const std::regex ours(R"re("(cotrain_[a-z_]+)",)re");
    for (std::sregex_iterator at(src.begin(), src.end(), ours), end; at != end; ++at)
        EXPECT_TRUE(told.contains((*at)[1])) << (*at)[1] << " has no row in docs/operate.md";
}

TEST(dashboard, has_variables_rows_and_a_word_on_each_panel) {
    const documents all;
    std::set<std::string> variables;
    for (const doc::ref v : all.board.get("templating").get("list").items()) variables.insert(string_of(v.get("name")));
    EXPECT_EQ(variables, (std::set<std::string>{"source", "cluster", "namespace"}));
    std::vector<std::string> rows;
    std::set<std::string> titles;
    for (const doc::ref panel : panels_of(all)) {
        const std::string title = string_of(panel.get("title"));
        EXPECT_TRUE(titles.insert(title).second) << title << ": twice";
        if (string_of(panel.get("type")) == "row") {
            rows.push_back(title);
            continue;
        }
        EXPECT_GE(string_of(panel.get("description")).size(), 30U) << title;
        for (const doc::ref target : panel.get("targets").items()) {
            const std::string query = string_of(target.get("expr"));
            EXPECT_TRUE(query.contains("cluster=~\"$cluster\"")) << title << ": " << query;
        }
    }
    EXPECT_EQ(rows, (std::vector<std::string>{"Jobs", "Controller", "API server"}));
}

}  // namespace
}  // namespace cotrain::test
