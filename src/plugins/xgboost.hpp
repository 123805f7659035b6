// XGBoost: workers around a tracker, one a GPU or one a node.
#pragma once

#include <string_view>

#include "runtime/phases.hpp"

namespace cotrain::plugins {

struct xgboost {
    static constexpr std::string_view name = "XGBoost";
    [[nodiscard]] base::result<> enforce_ml_policy(runtime::info& i, const api::train_job& job) const;
    void validate(const runtime::info& i, const runtime::review& r, runtime::verdict& out) const;
};

}  // namespace cotrain::plugins
