// The order in which the steps of a case are played, and the keys of what was recorded of them.
#pragma once

#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>

#include "support/golden/golden_case.hpp"
#include "support/golden/golden_world.hpp"

namespace cotrain::golden {

// What a step does to an object.
struct target {
    std::string kind;
    std::string name;
    std::string_view subresource;  // empty: the object itself
};

// "500ms" or "2s".
inline std::chrono::milliseconds duration_of(const std::string& text) {
    return std::chrono::milliseconds{std::stoi(text) * (text.ends_with("ms") ? 1 : 1000)};
}

// A player has apply(document, key), change(patch, target, key), remove(target), pass(time), and ended(step, prefix)
// for the end of each step. Keys are the recording's: "02 a apply TrainJob job", "03 patch TrainJob job status".
template <class Player>
void play_steps(const recorded_case& of, Player& player) {
    int number = 0;
    for (const doc::ref step : of.steps.items()) {
        char prefix[16];
        std::snprintf(prefix, sizeof prefix, "%02d", ++number);
        char letter = 'a';
        for (const doc::ref document : step.get("apply").items()) {
            const auto [kind, name] = world::key_of(document);
            player.apply(document, std::string(prefix) + " " + letter++ + " apply " + kind + " " + name);
        }
        const target what{std::string(step.get("kind").as_string()), std::string(step.get("name").as_string()),
                          step.get("subresource").as_string()};
        if (const doc::ref patch = step.get("patch")) {
            std::string key = std::string(prefix) + " patch " + what.kind + " " + what.name;
            if (!what.subresource.empty()) key.append(" ").append(what.subresource);
            player.change(patch, what, key);
        }
        if (const doc::ref gone = step.get("delete")) {
            player.remove({std::string(gone.get("kind").as_string()), std::string(gone.get("name").as_string()), {}});
        }
        if (const doc::ref time = step.get("sleep")) player.pass(duration_of(std::string(time.as_string())));
        player.ended(step, prefix);
    }
}

}  // namespace cotrain::golden
