// What the Kubeflow Trainer's own controller needs when it takes its place again: JobSets that it is not refused for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "doc/tree.hpp"

namespace cotrain::app {

// Owns, beside `trainer`, what JobSet lets nobody change: a controller of the manager `trainer` that leaves part of it
// out then neither takes it away nor is refused.
inline constexpr std::string_view second_owner = "cotrain";

enum class hand_back_need : std::uint8_t {
    none,  // over, going, or no TrainJob's
    done,  // it has its second owner
    some   // `apply` is to be applied as that
};

struct hand_back {
    hand_back_need need = hand_back_need::none;
    std::string apply{};
};

[[nodiscard]] hand_back plan_hand_back(doc::ref job_set);

}  // namespace cotrain::app
