// The program with all its subcommands.
#include <array>

#include "app/command.hpp"
#include "app/nearest.hpp"
#include "bench/options.hpp"
#include "playground/apiserver.hpp"
#include "playground/playground.hpp"
#include "ui/command.hpp"

namespace cotrain::app {

static int run_completion(arguments words);

constexpr std::array commands{
    command{"apiserver", "a Kubernetes API server for tests, with any CRDs; also in envtest's place",
            playground::run_apiserver, playground::apiserver_words},
    command{"bench", "measure our operator, or any controller, in jobs a second, time and memory", bench::run_bench,
            bench::option_words},
    command{"completion", "print a script that completes commands and options in bash, zsh or fish", run_completion},
    command{"config", "print the configuration that the operator would run with", run_config, operator_words},
    command{"demo", "show what this version does, on this machine alone", playground::run_demo},
    command{"diff", "what applying TrainJobs and runtimes would change on a cluster", run_diff, diff_words},
    command{"doctor", "look at a cluster: what is wrong for the operator, and what to do", run_doctor, doctor_words},
    command{"explain", "a TrainJob of a cluster: its state, and what set each field of its JobSet", run_explain,
            explain_words},
    command{"hand-back", "before the Kubeflow Trainer's own controller takes its place again", run_hand_back,
            hand_back_words},
    command{"operator", "turn TrainJobs into JobSets, for as long as it runs", run_operator, operator_words},
    command{"playground", "a cluster in this process with our operator in it, for kubectl", playground::run_playground,
            playground::playground_words},
    command{"probe", "reach the cluster of a kubeconfig: version, who we are, which CRDs it has", run_probe,
            probe_words},
    command{"render", "print what would be applied for TrainJobs in files", run_render, render_words},
    command{"ui", "a page with the TrainJobs of a cluster, on this machine and with your rights", ui::run_ui,
            ui::option_words},
    command{"validate", "say what admission would refuse in files", run_validate, validate_words},
};

static int run_completion(arguments words) { return complete(commands, words); }

}  // namespace cotrain::app

int main(int argc, char** argv) {
    cotrain::app::use_suggester(cotrain::app::did_you_mean);
    return cotrain::app::run_command_line(cotrain::app::commands, {argv + 1, argv + argc});
}
