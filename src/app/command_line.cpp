#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <string>

#include "app/build_info.hpp"
#include "app/command.hpp"
#include "doc/edit.hpp"
#include "doc/json.hpp"

namespace cotrain::app {

namespace {

void print_row(std::string_view name, std::string_view help) {
    std::printf("  %-11.*s %.*s\n", static_cast<int>(name.size()), name.data(), static_cast<int>(help.size()),
                help.data());
}

int print_help(std::span<const command> known) {
    std::puts("usage: cotrain COMMAND [options]\n");
    for (const command& each : known) print_row(each.name, each.help);
    print_row("version", "print the version");
    print_row("help", "this text, or that of a command: cotrain help render");
    std::puts(
        "\nFlags alone mean operator. Exit codes: 0 done, 1 failed, 2 used wrongly; operator: 3 the Lease was lost.");
    return 0;
}

base::result<> refused(std::string_view wanted, std::string_view value) {
    return base::fail(base::errc::invalid, std::string(wanted) + ", not '" + base::one_line(value, 80) + "'");
}

suggester suggest = nullptr;

template <class List>
std::string meant(std::string_view word, const List& known) {
    if (suggest == nullptr) return {};
    std::vector<std::string_view> names;
    for (const auto& each : known) names.push_back(each.name);
    return suggest(word, names);
}

// One dash stands for two.
bool is_called(const option& one, std::string_view name) {
    return one.name == name || (name.starts_with('-') && one.name.starts_with("--") && one.name.substr(1) == name);
}

}  // namespace

void use_suggester(suggester with) { suggest = with; }

int used_wrongly(std::string_view why) {
    std::fprintf(stderr, "cotrain: %.*s\n", static_cast<int>(why.size()), why.data());
    return 2;
}

option text_option(std::string_view name, std::string& to) {
    return {name, [&to](std::string_view value) {
                to = value;
                return base::result<>{};
            }};
}

option switch_option(std::string_view name, bool& to, bool value) {
    return {name,
            [&to, value](std::string_view given) {
                if (given != "true" && given != "false") return refused("takes true or false", given);
                to = (given == "true") == value;
                return base::result<>{};
            },
            "true"};
}

base::result<> read_options(arguments words, std::span<const option> known) {
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::size_t equals = words[i].find('=');
        const std::string_view name = words[i].substr(0, equals);
        const auto found = std::ranges::find_if(known, [name](const option& each) { return is_called(each, name); });
        if (found == known.end())
            return base::fail(base::errc::invalid, "unknown option '" + base::one_line(words[i], 120) + "'" +
                                                       meant(name, known) + "; --help lists them");
        std::optional<std::string_view> value;
        if (equals != std::string_view::npos)
            value = words[i].substr(equals + 1);
        else if (!found->alone.empty())
            value = found->alone;
        else if (i + 1 < words.size())
            value = words[++i];
        auto taken = value ? found->take(*value) : base::fail(base::errc::invalid, "needs a value");
        if (!taken) return base::fail(std::move(taken.error()).during(std::string(found->name)));
    }
    return {};
}

std::vector<option_word> words_of(std::span<const option> table) {
    std::vector<option_word> out;
    for (const option& each : table)
        out.push_back({std::string(each.name), each.alone.empty(), std::string(each.choices)});
    return out;
}

bool asks_for_help(arguments words) {
    return std::ranges::any_of(words, [](std::string_view w) { return w == "--help" || w == "-help" || w == "-h"; });
}

namespace {

int print_version(arguments words) {
    std::string format;
    const std::array known{text_option("-o", format)};
    if (auto read = read_options(words, known); !read) return used_wrongly("version: " + read.error().message);
    if (format.empty()) {
        std::printf("cotrain %.*s\n", static_cast<int>(version().size()), version().data());
        return 0;
    }
    if (format != "json") return used_wrongly("version: -o takes json, not '" + base::one_line(format, 80) + "'");
    doc::arena memory;
    doc::editor out = doc::editor::object(memory);
    out.set("version", version());
    out.set("commit", commit());
    out.set("compiler", compiler());
    doc::editor list = out.ensure_object("libraries");
    for (const built_with& each : libraries()) list.set(doc::word::lasting(each.name), each.version);
    std::puts(doc::to_json(out).c_str());
    return 0;
}

}  // namespace

namespace {

// "help", "help render", "--help".
int help_about(std::span<const command> known, arguments words) {
    if (words.empty()) return print_help(known);
    constexpr std::array ask{std::string_view("--help")};
    const auto found = std::ranges::find(known, words[0], &command::name);
    if (found != known.end()) return found->run(ask);
    return used_wrongly("no command '" + base::one_line(words[0], 80) + "'" + meant(words[0], known) +
                        "; 'cotrain help' lists them");
}

}  // namespace

int run_command_line(std::span<const command> known, std::vector<std::string_view> words) {
    if (words.empty()) return used_wrongly("no command given; 'cotrain help' lists them");
    const std::string_view first = words[0];
    const arguments rest = arguments(words).subspan(1);
    if (first == "help") return help_about(known, rest);
    if (first == "--help" || first == "-h") return print_help(known);
    if (first == "version" || first == "--version") return print_version(rest);
    // The reference's chart gives flags only.
    if (first.starts_with('-')) return run_operator(words);
    for (const command& each : known)
        if (each.name == first) return each.run(rest);
    return used_wrongly("no command '" + base::one_line(first, 80) + "'" + meant(first, known) +
                        "; 'cotrain help' lists them");
}

}  // namespace cotrain::app
