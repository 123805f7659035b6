// What main knows of a subcommand (its name, a line of help, the function that runs it), and how commands read options.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace cotrain::app {

using arguments = std::span<const std::string_view>;

// An option as shells complete it.
struct option_word {
    std::string name;
    bool takes_value = true;
    std::string choices{};  // of its value, separated by spaces; empty: a file, or anything
};

// Exit codes: 0 done, 1 failed, 2 used wrongly (docs/cli.md).
struct command {
    std::string_view name;
    std::string_view help;
    int (*run)(arguments);
    std::vector<option_word> (*words)() = nullptr;  // for completion, in a program that has it
};

// Words that are known, and what to say of one that is not: "; did you mean \"render\"?". Set by programs that have
// room for it.
using suggester = std::string (*)(std::string_view word, std::span<const std::string_view> known);
void use_suggester(suggester with);

// Runs the command that the first word names; flags alone mean operator. Returns the exit code.
int run_command_line(std::span<const command> known, std::vector<std::string_view> words);

// `cotrain completion SHELL`: a script for bash, zsh or fish, from the commands' tables of options.
int complete(std::span<const command> known, arguments words);

int run_config(arguments words);
int run_diff(arguments words);
int run_doctor(arguments words);
int run_explain(arguments words);
int run_hand_back(arguments words);
int run_operator(arguments words);
int run_probe(arguments words);
int run_render(arguments words);
int run_validate(arguments words);

// The options of each.
std::vector<option_word> operator_words();
std::vector<option_word> diff_words();
std::vector<option_word> doctor_words();
std::vector<option_word> explain_words();
std::vector<option_word> hand_back_words();
std::vector<option_word> probe_words();
std::vector<option_word> render_words();
std::vector<option_word> validate_words();

// "cotrain: <why>" on standard error; returns 2.
int used_wrongly(std::string_view why);

// One of a command's options: "--name VALUE" or "--name=VALUE", as in Go also with one dash.
struct option {
    std::string_view name;                                       // with its dashes
    std::function<base::result<>(std::string_view value)> take;  // what it refuses is said behind the name
    std::string_view alone{};                                    // the value where none is given; empty: needs one
    std::string_view choices{};                                  // all its values, separated by spaces
};
[[nodiscard]] option text_option(std::string_view name, std::string& to);
// A switch: "--name" or "--name=true".
[[nodiscard]] option switch_option(std::string_view name, bool& to, bool value = true);
// Hands each value to its option, in order. Errors begin with the option's name: "--nodes: needs a value".
[[nodiscard]] base::result<> read_options(arguments words, std::span<const option> known);
// A table for completion.
[[nodiscard]] std::vector<option_word> words_of(std::span<const option> table);
// Whether one of the words asks for help.
[[nodiscard]] bool asks_for_help(arguments words);

}  // namespace cotrain::app
