// The program with all its subcommands.
#include <array>

#include "app/command.hpp"

namespace cotrain::app {

constexpr std::array commands{
    command{"bench", "measure our operator, or any controller, in jobs a second, time and memory", run_bench},
    command{"config", "print the configuration that the operator would run with", run_config},
    command{"demo", "show what this version does, on this machine alone", run_demo},
    command{"doctor", "look at a cluster: what is wrong for the operator, and what to do", run_doctor},
    command{"hand-back", "before the Kubeflow Trainer's own controller takes its place again", run_hand_back},
    command{"operator", "turn TrainJobs into JobSets, for as long as it runs", run_operator},
    command{"playground", "a cluster in this process with our operator in it, for kubectl", run_playground},
    command{"probe", "reach the cluster of a kubeconfig: version, who we are, which definitions it has", run_probe},
    command{"render", "print what would be applied for TrainJobs in files", run_render},
    command{"validate", "say what admission would refuse in files", run_validate},
};

}  // namespace cotrain::app

int main(int argc, char** argv) {
    return cotrain::app::run_command_line(cotrain::app::commands, {argv + 1, argv + argc});
}
