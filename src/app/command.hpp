// What main knows of a subcommand: its name, a line of help, and the function that runs it.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace cotrain::app {

using arguments = std::span<const std::string_view>;

// Exit codes: 0 done, 1 failed, 2 used wrongly.
struct command {
    std::string_view name;
    std::string_view help;
    int (*run)(arguments);
};

// Runs the command that the first word names; flags alone mean operator. Returns the exit code.
int run_command_line(std::span<const command> known, std::vector<std::string_view> words);

int run_bench(arguments words);
int run_config(arguments words);
int run_demo(arguments words);
int run_doctor(arguments words);
int run_hand_back(arguments words);
int run_operator(arguments words);
int run_playground(arguments words);
int run_probe(arguments words);
int run_render(arguments words);
int run_validate(arguments words);

// "cotrain: <why>" on standard error; returns 2.
int used_wrongly(std::string_view why);

}  // namespace cotrain::app
