// PodGroups of both schedulers, as far as they are read back.
#pragma once

#include <cstdint>
#include <string_view>

#include "api/meta.hpp"
#include "api/tree.hpp"
#include "base/error.hpp"

namespace cotrain::api {

enum class gang_scheduler : std::uint8_t { coscheduling, volcano };

struct pod_group {
    gang_scheduler scheduler = gang_scheduler::coscheduling;
    object_meta meta;
    std::int32_t min_member = 0;
    ref min_resources;                          // resource → quantity
    std::int32_t schedule_timeout_seconds = 0;  // coscheduling
    std::string_view queue;                     // volcano
    std::string_view priority_class_name;       // volcano
    std::string_view phase;                     // status.phase
    ref document;
};

// Told apart by apiVersion.
[[nodiscard]] base::result<pod_group> decode_pod_group(ref document);

}  // namespace cotrain::api
