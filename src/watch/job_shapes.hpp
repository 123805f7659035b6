// How many Pods the jobs of a JobSet have: the few members of its spec that tell.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "api/jobset.hpp"

namespace cotrain::watch {

// Views into `spec`, a JobSet's; nothing if it cannot be read. No more than jobs_max.
[[nodiscard]] std::vector<api::job_shape> read_job_shapes(std::string_view spec);

}  // namespace cotrain::watch
