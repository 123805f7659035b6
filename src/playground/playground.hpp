// `cotrain playground` and `cotrain demo`, and the options of the first.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "app/command.hpp"
#include "base/error.hpp"
#include "sim/faults.hpp"
#include "sim/player.hpp"

namespace cotrain::playground {

int run_demo(app::arguments words);
int run_playground(app::arguments words);
std::vector<app::option_word> playground_words();

// What `cotrain playground` was asked for.

struct playground_options {
    bool help = false;
    std::uint16_t port = 0;       // of the API server; 0: any
    std::uint16_t page_port = 0;  // of the page
    bool page = true;
    bool with_operator = true;
    bool verbose = false;    // the operator's log on standard error
    std::string kubeconfig;  // file to write; empty: a temporary one
    std::string snapshot;    // file, empty: none
    sim::player_script script{};
    std::vector<sim::fault_rule> faults{};
};

// --name VALUE or --name=VALUE. Errors name the option and what it takes.
[[nodiscard]] base::result<playground_options> read_playground_options(app::arguments words);
[[nodiscard]] std::string_view playground_help();

}  // namespace cotrain::playground
