// Runtimes without a framework of their own: only the number of nodes.
#pragma once

#include <string_view>

#include "runtime/phases.hpp"

namespace cotrain::plugins {

struct plainml {
    static constexpr std::string_view name = "PlainML";
    [[nodiscard]] base::result<> enforce_ml_policy(runtime::info& i, const api::train_job& job) const;
};

}  // namespace cotrain::plugins
