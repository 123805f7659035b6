// JAX: one process a node, found through its coordinator.
#pragma once

#include <string_view>

#include "runtime/phases.hpp"

namespace cotrain::plugins {

struct jax {
    static constexpr std::string_view name = "JAX";
    [[nodiscard]] base::result<> enforce_ml_policy(runtime::info& i, const api::train_job& job) const;
};

}  // namespace cotrain::plugins
