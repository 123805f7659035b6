// torchtune: which recipe and configuration a fine-tuning job runs, and what it may not set itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doc/tree.hpp"
#include "runtime/verdict.hpp"

namespace cotrain::plugins {

// Processes on a node: a number, or a word that torchrun understands.
struct node_processes {
    std::optional<std::int64_t> number;
    std::string_view word;

    [[nodiscard]] std::string text() const { return number ? std::to_string(*number) : std::string(word); }
};

namespace torchtune {

// What decides on the recipe.
struct situation {
    std::string_view runtime_name;  // "torchtune-<model>-<size>"
    std::int64_t nodes = 1;
    node_processes processes;
    std::int64_t gpus = 0;
    doc::ref args;  // of the job
};

// Whether the job's command is exactly `tune run`.
[[nodiscard]] bool applies(doc::ref command);

// `tune run` with rendezvous, recipe, configuration, and what the runtime's own command says of paths.
[[nodiscard]] std::vector<std::string> command(const situation& now, std::string_view master_address,
                                               doc::ref runtime_command);

// `trainer` is spec.trainer as given.
void validate(const situation& now, doc::ref trainer, runtime::verdict& out);

}  // namespace torchtune
}  // namespace cotrain::plugins
