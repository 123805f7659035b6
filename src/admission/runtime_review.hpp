// The verdict on a TrainingRuntime or ClusterTrainingRuntime.
#pragma once

#include <string>
#include <string_view>

#include "api/runtime.hpp"
#include "doc/arena.hpp"
#include "doc/tree.hpp"
#include "runtime/verdict.hpp"

namespace cotrain::admission {

// `before` is absent on create. An update is judged by what it changes, and not at all while the object is deleted.
[[nodiscard]] runtime::verdict judge_runtime(const api::training_runtime& runtime, doc::ref before);

[[nodiscard]] bool is_deprecated(const api::training_runtime& runtime);
// `ClusterTrainingRuntime "name" is deprecated …`
[[nodiscard]] std::string deprecation(std::string_view name);

}  // namespace cotrain::admission
