// `cotrain ui`: the page of the cluster of a kubeconfig, on this machine, and its options.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/command.hpp"
#include "base/error.hpp"
#include "ui/page_server.hpp"

namespace cotrain::ui {

int run_ui(app::arguments words);
std::vector<app::option_word> option_words();

struct command_options {
    bool help = false;
    bool all_namespaces = false;
    std::string kubeconfig;
    std::string context;
    std::string ns;        // empty: all, or where that is not allowed the context's
    std::string selector;  // of labels of TrainJobs
    page_options page;
};

// Errors name the option and what it takes.
[[nodiscard]] base::result<command_options> read_command_options(app::arguments words);
// "127.0.0.1:8080", "[::1]:8080", "localhost:0", ":8080". Another address than one of this machine's own loopback is
// refused.
[[nodiscard]] base::result<> read_address(std::string_view text, page_options& to);

}  // namespace cotrain::ui
