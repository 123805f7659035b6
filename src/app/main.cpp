// The command line: picks the subcommand and hands over.
#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include "app/command.hpp"

namespace cotrain::app {

namespace {

int run_version(arguments) {
    std::puts("cotrain " COTRAIN_VERSION);
    return 0;
}

int run_help(arguments words);

constexpr std::array commands{
    command{"config", "print the configuration that the operator would run with", run_config},
    command{"demo", "show what this version does, on this machine alone", run_demo},
    command{"operator", "turn TrainJobs into JobSets, for as long as it runs", run_operator},
    command{"playground", "a cluster in this process with our operator in it, for kubectl", run_playground},
    command{"probe", "reach the cluster of a kubeconfig: version, who we are, which definitions it has", run_probe},
    command{"render", "print what would be applied for TrainJobs in files", run_render},
    command{"validate", "say what admission would refuse in files", run_validate},
    command{"version", "print the version", run_version},
    command{"help", "this text", run_help},
};

int run_help(arguments) {
    std::puts("usage: cotrain COMMAND [options]\n");
    for (const command& each : commands)
        std::printf("  %-11.*s %.*s\n", static_cast<int>(each.name.size()), each.name.data(),
                    static_cast<int>(each.help.size()), each.help.data());
    std::puts(
        "\nFlags alone mean operator. Exit codes: 0 done, 1 failed, 2 used wrongly; operator: 3 the Lease was lost.");
    return 0;
}

}  // namespace

static int run(std::vector<std::string_view> words) {
    if (words.empty()) return used_wrongly("no command given; 'cotrain help' lists them");
    if (words[0] == "--help" || words[0] == "-h") words[0] = "help";
    if (words[0] == "--version") words[0] = "version";
    // The reference's chart gives flags only.
    if (words[0].starts_with('-')) return run_operator(words);
    for (const command& each : commands)
        if (each.name == words[0]) return each.run(arguments(words).subspan(1));
    return used_wrongly("no command '" + std::string(words[0]) + "'; 'cotrain help' lists them");
}

}  // namespace cotrain::app

int main(int argc, char** argv) { return cotrain::app::run({argv + 1, argv + argc}); }
