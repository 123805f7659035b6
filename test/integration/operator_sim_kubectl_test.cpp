// A session of the real kubectl with the playground, as recorded in sim_session.txt.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "integration/operator_sim_child.hpp"

namespace cotrain {
namespace {

using test::playground_child;
using test::run_shell;

struct exchange {
    int line = 0;
    std::string command;
    std::vector<std::string> expected;  // <*> stands for any text, "..." for any lines
};

// "$ command", then what it prints; # begins a comment, empty lines count for nothing.
std::vector<exchange> read_session() {
    std::ifstream in(std::string(COTRAIN_SOURCE_DIR) + "/test/integration/sim_session.txt");
    std::vector<exchange> out;
    int number = 0;
    for (std::string line; std::getline(in, line);) {
        ++number;
        if (line.empty() || line.starts_with("#")) continue;
        if (line.starts_with("$ ")) {
            out.push_back({number, line.substr(2), {}});
        } else if (!out.empty()) {
            out.back().expected.push_back(line);
        }
    }
    return out;
}

// Columns grow with what they hold: runs of spaces are one.
std::string squeezed(std::string_view line) {
    std::string out;
    for (const char c : line) {
        if (c != ' ' || out.empty() || out.back() != ' ') out += c;
    }
    while (!out.empty() && out.back() == ' ') out.pop_back();
    return out;
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> out;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);)
        if (std::string words = squeezed(line); !words.empty()) out.push_back(std::move(words));
    return out;
}

bool fits(std::string_view pattern, std::string_view line) {
    const std::size_t wild = pattern.find("<*>");
    if (wild == std::string_view::npos) return pattern == line;
    if (!line.starts_with(pattern.substr(0, wild))) return false;
    const std::string_view rest = pattern.substr(wild + 3);
    for (std::size_t at = wild; at <= line.size(); ++at)
        if (fits(rest, line.substr(at))) return true;
    return false;
}

bool fits(const std::vector<std::string>& pattern, std::size_t i, const std::vector<std::string>& lines,
          std::size_t j) {
    if (i == pattern.size()) return j == lines.size();
    if (pattern[i] == "...") {
        for (std::size_t at = j; at <= lines.size(); ++at)
            if (fits(pattern, i + 1, lines, at)) return true;
        return false;
    }
    return j < lines.size() && fits(squeezed(pattern[i]), lines[j]) && fits(pattern, i + 1, lines, j + 1);
}

// COTRAIN_RECORD=FILE writes what is printed now, to look at and to take over.
TEST(sim_kubectl, session_goes_as_recorded) {
    playground_child child({"--script", "start 20ms, ready 20ms, run 100ms"});
    const char* const record = std::getenv("COTRAIN_RECORD");
    std::ofstream to;
    if (record != nullptr) to.open(record);
    const std::vector<exchange> session = read_session();
    ASSERT_GT(session.size(), 30U);
    for (const exchange& each : session) {
        const test::finished done = run_shell(child, each.command);
        if (to.is_open()) to << "$ " << each.command << "\n" << done.output << "\n" << std::flush;
        EXPECT_TRUE(fits(each.expected, 0, lines_of(done.output), 0))
            << "sim_session.txt:" << each.line << ": $ " << each.command << "\n(exit code " << done.code << ")\n"
            << done.output;
    }
    EXPECT_EQ(child.stop(), 0) << child.said();
    EXPECT_FALSE(std::filesystem::exists(child.kubeconfig())) << "Ctrl-C leaves nothing";
}

}  // namespace
}  // namespace cotrain
