// Kueue's quota against what is really made: it counts pods as the reference does, which differs in a few runtimes.
#pragma once

#include <optional>
#include <string>

#include "api/trainjob.hpp"
#include "doc/arena.hpp"
#include "runtime/compiled_runtime.hpp"
#include "runtime/plugin_set.hpp"

namespace cotrain::admission {

// For a job with a queue's label whose pods or resources Kueue will get wrong (contract, difference 30).
[[nodiscard]] std::optional<std::string> kueue_warning(doc::arena& memory, const runtime::plugin_set& framework,
                                                       const api::train_job& job,
                                                       const runtime::compiled_runtime& runtime);

}  // namespace cotrain::admission
