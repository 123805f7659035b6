// A plan told to people: jobs, pods, endpoints, environment, gang, resources, objects.
#pragma once

#include <string>

#include "app/planner.hpp"

namespace cotrain::app {

// Several lines, ending with a newline. `memory` is scratch space.
[[nodiscard]] std::string summarise(api::arena& memory, const job_plan& plan);

}  // namespace cotrain::app
