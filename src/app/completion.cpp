// `cotrain completion`: what shells need to complete commands, options and values, written from the tables themselves.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>

#include "app/command.hpp"

namespace cotrain::app {

namespace {

constexpr std::string_view help =
    "usage: cotrain completion bash|zsh|fish\n\n"
    "Prints a script that completes commands, options and values.\n\n"
    "  bash   source <(cotrain completion bash)\n"
    "  zsh    cotrain completion zsh > \"${fpath[1]}/_cotrain\"\n"
    "  fish   cotrain completion fish > ~/.config/fish/completions/cotrain.fish\n";

std::vector<option_word> words_of(const command& of) {
    std::vector<option_word> out = of.words == nullptr ? std::vector<option_word>{} : of.words();
    out.push_back({"--help", false});
    return out;
}

std::string command_names(std::span<const command> known) {
    std::string out;
    for (const command& each : known) out.append(each.name).append(" ");
    return out + "help version";
}

// Help texts stand between single quotes, where nothing but the quote itself means anything.
std::string quoted(std::string_view text) {
    std::string out = "'";
    for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return out + "'";
}

std::string bash(std::span<const command> known) {
    std::string out = fmt::format(
        "# cotrain completion for bash\n"
        "_cotrain() {{\n"
        "  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} options= choices=\n"
        "  COMPREPLY=()\n"
        "  if [ \"$COMP_CWORD\" = 1 ] || {{ [ \"$COMP_CWORD\" = 2 ] && [ \"${{COMP_WORDS[1]}}\" = help ]; }}; then\n"
        "    mapfile -t COMPREPLY < <(compgen -W '{}' -- \"$word\")\n"
        "    return\n"
        "  fi\n"
        "  case ${{COMP_WORDS[1]}} in\n",
        command_names(known));
    for (const command& each : known) {
        std::string options;
        std::string values;
        for (const option_word& word : words_of(each)) {
            options.append(options.empty() ? "" : " ").append(word.name);
            if (!word.choices.empty()) values += fmt::format("        {}) choices='{}' ;;\n", word.name, word.choices);
        }
        out += fmt::format("    {})\n      options='{}'\n", each.name, options);
        if (!values.empty()) out += "      case $before in\n" + values + "      esac\n";
        out += "      ;;\n";
    }
    return out +
           "  esac\n"
           "  if [ -n \"$choices\" ]; then\n"
           "    mapfile -t COMPREPLY < <(compgen -W \"$choices\" -- \"$word\")\n"
           "  elif [ \"${word:0:1}\" = - ]; then\n"
           "    mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$word\")\n"
           "  fi\n"
           "}\n"
           "complete -o default -F _cotrain cotrain\n";
}

std::string zsh(std::span<const command> known) {
    std::string out =
        "#compdef cotrain\n# cotrain completion for zsh\n_cotrain() {\n  local -a commands\n  commands=(\n";
    for (const command& each : known) out += "    " + quoted(fmt::format("{}:{}", each.name, each.help)) + "\n";
    out +=
        "    'help:how to use a command'\n    'version:print the version'\n  )\n"
        "  if (( CURRENT == 2 )); then\n    _describe command commands\n    return\n  fi\n"
        "  local name=$words[2]\n  shift words\n  (( CURRENT-- ))\n  case $name in\n"
        "    help) _describe command commands ;;\n";
    for (const command& each : known) {
        out += fmt::format("    {}) _arguments", each.name);
        for (const option_word& word : words_of(each)) {
            const std::string value = word.choices.empty() ? ":value:_files" : ":value:(" + word.choices + ")";
            out += " " + quoted("*" + word.name + (word.takes_value ? value : ""));
        }
        out += " '*:file:_files' ;;\n";
    }
    return out + "  esac\n}\nif [ \"$funcstack[1]\" = _cotrain ]; then _cotrain; else compdef _cotrain cotrain; fi\n";
}

std::string fish(std::span<const command> known) {
    std::string out = "# cotrain completion for fish\n";
    const auto first = [&out](std::string_view name, std::string_view text) {
        out += fmt::format("complete -c cotrain -f -n __fish_use_subcommand -a {} -d {}\n", name, quoted(text));
    };
    for (const command& each : known) first(each.name, each.help);
    first("help", "how to use a command");
    first("version", "print the version");
    out += fmt::format("complete -c cotrain -f -n '__fish_seen_subcommand_from help' -a {}\n",
                       quoted(command_names(known)));
    for (const command& each : known) {
        for (const option_word& word : words_of(each)) {
            const bool is_long = word.name.starts_with("--");
            out += fmt::format("complete -c cotrain -n '__fish_seen_subcommand_from {}' -{} {}", each.name,
                               is_long ? "l" : "s", word.name.substr(is_long ? 2 : 1));
            if (word.takes_value) out += word.choices.empty() ? " -r" : " -x -a " + quoted(word.choices);
            out += "\n";
        }
    }
    return out;
}

struct shell {
    std::string_view name;
    std::string (*script)(std::span<const command>);
};
constexpr std::array shells{shell{"bash", bash}, shell{"zsh", zsh}, shell{"fish", fish}};

}  // namespace

int complete(std::span<const command> known, arguments words) {
    if (asks_for_help(words)) {
        std::fputs(help.data(), stdout);
        return 0;
    }
    const auto wanted = words.size() == 1 ? std::ranges::find(shells, words[0], &shell::name) : shells.end();
    if (wanted == shells.end()) return used_wrongly("completion: takes bash, zsh or fish");
    std::fputs(wanted->script(known).c_str(), stdout);
    return 0;
}

}  // namespace cotrain::app
