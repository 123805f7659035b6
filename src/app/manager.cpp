// The program of the container image: the operator and what helps to run it; nothing that works on files alone.
#include <array>

#include "app/command.hpp"

namespace cotrain::app {

constexpr std::array commands{
    command{"config", "print the configuration that the operator would run with", run_config},
    command{"doctor", "look at a cluster: what is wrong for the operator, and what to do", run_doctor},
    command{"hand-back", "before the Kubeflow Trainer's own controller takes its place again", run_hand_back},
    command{"operator", "turn TrainJobs into JobSets, for as long as it runs", run_operator},
    command{"probe", "reach the cluster of a kubeconfig: version, who we are, which CRDs it has", run_probe},
};

}  // namespace cotrain::app

int main(int argc, char** argv) {
    return cotrain::app::run_command_line(cotrain::app::commands, {argv + 1, argv + argc});
}
