// What the stores have of a TrainJob whose Pods report progress.
#pragma once

#include <optional>

#include "reconcile/cluster.hpp"
#include "serve/reporter.hpp"

namespace cotrain::app {

// Nothing if there is no such TrainJob. Its JobSet counts only if this very TrainJob controls it.
[[nodiscard]] std::optional<serve::known_job> find_reported_job(const reconcile::cluster& all,
                                                                const serve::reported_job& job);

}  // namespace cotrain::app
