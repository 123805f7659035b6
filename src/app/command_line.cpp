// The command line: picks the subcommand and hands over.
#include <cstdio>
#include <string>

#include "app/command.hpp"

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
    print_row("help", "this text");
    std::puts(
        "\nFlags alone mean operator. Exit codes: 0 done, 1 failed, 2 used wrongly; operator: 3 the Lease was lost.");
    return 0;
}

}  // namespace

int run_command_line(std::span<const command> known, std::vector<std::string_view> words) {
    if (words.empty()) return used_wrongly("no command given; 'cotrain help' lists them");
    const std::string_view first = words[0];
    if (first == "help" || first == "--help" || first == "-h") return print_help(known);
    if (first == "version" || first == "--version") {
        std::puts("cotrain " COTRAIN_VERSION);
        return 0;
    }
    // The reference's chart gives flags only.
    if (first.starts_with('-')) return run_operator(words);
    for (const command& each : known)
        if (each.name == first) return each.run(arguments(words).subspan(1));
    return used_wrongly("no command '" + std::string(first) + "'; 'cotrain help' lists them");
}

}  // namespace cotrain::app
