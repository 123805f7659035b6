// Every line that the program logs is told of in docs/operate.md: level and message are read from the sources.
// COTRAIN_WRITE_DOCS=1 writes the table anew; a line that is new there still wants its last column.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <ranges>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "docs/page.hpp"

namespace cotrain::test {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view header = "log line";
const std::vector<std::string> levels{"error", "warn", "info", "debug"};  // as the table is sorted

using rows = std::map<std::string, std::set<std::string>>;  // message → levels

// The arguments of the call whose opening parenthesis is at `open`.
std::vector<std::string> arguments_at(std::string_view text, std::size_t open) {
    std::vector<std::string> out(1);
    int depth = 0;
    bool quoted = false;
    for (std::size_t i = open + 1; i < text.size(); ++i) {
        const char c = text[i];
        if (quoted && c == '\\') {
            out.back() += c;
            out.back() += text[++i];
            continue;
        }
        if (c == '"') quoted = !quoted;
        if (!quoted && (c == ')' || c == '}' || c == ']') && depth-- == 0) break;
        if (!quoted && (c == '(' || c == '{' || c == '[')) ++depth;
        if (!quoted && c == ',' && depth == 0) {
            out.emplace_back();
        } else {
            out.back() += c;
        }
    }
    return out;
}

std::string literals_of(const std::string& argument) {
    static const std::regex literal(R"re("((?:[^"\\]|\\.)*)")re");
    std::string out;
    for (std::sregex_iterator at(argument.begin(), argument.end(), literal), end; at != end; ++at)
        out += (*at)[1].str();
    return out;
}

// Levels that an argument names, itself or by a variable that was set before.
std::set<std::string> levels_of(const std::string& argument, const std::string& before) {
    static const std::regex named(R"(level::(\w+))");
    static const std::regex variable(R"((?:^|[^:\w.])([a-z_]+)(?![\w:.(]))");
    std::set<std::string> out;
    const auto add = [&out](const std::string& text) {
        for (std::sregex_iterator at(text.begin(), text.end(), named), end; at != end; ++at) out.insert((*at)[1]);
    };
    add(argument);
    for (std::sregex_iterator at(argument.begin(), argument.end(), variable), end; at != end; ++at) {
        const std::string set = "level " + (*at)[1].str() + " = ";
        if (const auto found = before.rfind(set); found != std::string::npos)
            add(before.substr(found, before.find(';', found) - found));
    }
    return out;
}

// Which argument is the message; those before it may name the level.
std::size_t message_index(const std::string& function) {
    return function == "write" ? 1 : function == "log_trouble" || function == "format_line" ? 2 : 0;
}

void read_calls(const std::string& text, const std::string& file, rows& out) {
    static const std::regex call(
        R"((?:\b(?:[a-z]+_)*log(?:ger)?_?(?:\(\))?(?:\.|->)(debug|info|warn|error|write)|[^:\w](log_trouble|format_line))\()");
    std::size_t begin = 0;
    for (const auto part : std::views::split(text, '\n')) {
        const std::string line(std::string_view{part});
        const std::size_t line_at = std::exchange(begin, begin + line.size() + 1);
        std::smatch found;
        if (!(line.contains("log") || line.contains("format_line")) || !std::regex_search(line, found, call)) continue;
        const std::string function = found[1].matched ? found[1] : found[2];
        const auto open = line_at + static_cast<std::size_t>(found.position() + found.length() - 1);
        const auto arguments = arguments_at(text, open);
        const std::size_t index = message_index(function);
        const std::string message = index < arguments.size() ? literals_of(arguments[index]) : std::string();
        if (message.empty()) {
            // What takes its message from its own caller, who is looked at.
            const bool passes_on = index < arguments.size() && arguments[index].ends_with(" message");
            EXPECT_TRUE(passes_on || file.starts_with("base/log")) << file << ": a log line without a constant message";
            continue;
        }
        std::set<std::string> how;
        for (std::size_t i = 0; i < index; ++i) how.merge(levels_of(arguments[i], text.substr(0, open)));
        if (index == 0) how.insert(function);
        EXPECT_FALSE(how.empty()) << file << ": the level of '" << message << "'";
        out[message].merge(how);
    }
}

rows lines_of_the_program() {
    static const std::set<std::string> apart{"sim", "playground", "bench"};
    rows out;
    const fs::path src = fs::path(COTRAIN_SOURCE_DIR) / "src";
    for (const auto& entry : fs::recursive_directory_iterator(src)) {
        const fs::path file = fs::relative(entry.path(), src);
        if (apart.contains(file.begin()->string()) || !entry.is_regular_file()) continue;
        read_calls(read_text(entry.path()), file.string(), out);
    }
    return out;
}

std::string joined(const std::set<std::string>& all) {
    std::string out;
    for (const std::string& each : levels) out += !all.contains(each) ? "" : (out.empty() ? "" : ", ") + each;
    return out;
}

std::size_t rank(const std::string& joined_levels) {
    const auto first = joined_levels.substr(0, joined_levels.find(','));
    return static_cast<std::size_t>(std::ranges::find(levels, first) - levels.begin());
}

fs::path operate() { return fs::path(COTRAIN_SOURCE_DIR) / "docs" / "operate.md"; }

void write_table(const rows& wanted, const std::map<std::string, std::string>& meanings) {
    std::vector<std::pair<std::string, std::string>> sorted;  // levels, message
    for (const auto& [message, how] : wanted) sorted.emplace_back(joined(how), message);
    std::ranges::stable_sort(sorted, {}, [](const auto& row) { return rank(row.first); });
    std::string text;
    for (const auto& [how, message] : sorted) {
        const auto meaning = meanings.find(message);
        text += "| " + message + " | " + how + " | " + (meaning == meanings.end() ? "" : meaning->second) + " |\n";
    }
    std::string all = read_text(operate());
    const auto begin = all.find("\n|---", all.find("\n| " + std::string(header))) + 1;
    const auto first = all.find('\n', begin) + 1;
    auto last = first;
    while (all.compare(last, 2, "| ") == 0) last = all.find('\n', last) + 1;
    std::ofstream(operate(), std::ios::binary) << all.replace(first, last - first, text);
}

// A row with its code marks.
std::map<std::string, std::string> meanings() {
    std::map<std::string, std::string> out;
    const std::string text = read_text(operate());
    for (const auto& row : table(read_page(operate()), std::string(header))) {
        const auto at = text.find("\n| " + row.at(0) + " | ");
        if (at == std::string::npos) continue;
        const std::string line = text.substr(at + 1, text.find('\n', at + 1) - at - 1);
        const auto last = line.rfind(" | ", line.size() - 3);
        out[row.at(0)] = line.substr(last + 3, line.size() - last - 5);
    }
    return out;
}

TEST(docs, every_log_line_has_its_row_and_every_row_its_line) {
    const rows wanted = lines_of_the_program();
    EXPECT_GT(wanted.size(), 40U);
    if (std::getenv("COTRAIN_WRITE_DOCS") != nullptr) write_table(wanted, meanings());  // NOLINT(concurrency-mt-unsafe)
    std::set<std::string> told;
    for (const auto& row : table(read_page(operate()), std::string(header))) {
        ASSERT_EQ(row.size(), 3U) << row.at(0);
        EXPECT_TRUE(told.insert(row[0]).second) << row[0] << ": twice";
        const auto found = wanted.find(row[0]);
        ASSERT_NE(found, wanted.end()) << row[0] << ": nothing logs this";
        EXPECT_EQ(row[1], joined(found->second)) << row[0];
        EXPECT_FALSE(row[2].empty()) << row[0] << ": what does it mean, and what is to be done?";
    }
    for (const auto& [message, how] : wanted)
        EXPECT_TRUE(told.contains(message))
            << "no row in docs/operate.md: | " << message << " | " << joined(how) << " |";
}

TEST(docs, calls_of_the_logger_are_found_as_they_are_written) {
    rows found;
    read_calls(R"x(
        log_.warn("a {b}", {{"error", f("x, y")}});
        if (level what = level::info; x) tools_.log.info("one "
                                                         "two");
        const base::level how = bad ? base::level::error : base::level::debug;
        log_.write(how, "by variable", {});
        stderr_logger().write(x ? level::warn : level::error, "by choice");
        log_trouble(base::level::warn, *p, "passed on", e);
        catalogue.error().message("no line");
    )x",
               "a.cpp", found);
    const rows wanted{{"a {b}", {"warn"}},
                      {"one two", {"info"}},
                      {"by variable", {"error", "debug"}},
                      {"by choice", {"warn", "error"}},
                      {"passed on", {"warn"}}};
    EXPECT_EQ(found, wanted);
}

}  // namespace
}  // namespace cotrain::test
