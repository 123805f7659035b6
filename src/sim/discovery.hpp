// What the server says about itself: groups, resources, versions, and just enough OpenAPI for kubectl.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sim/address.hpp"
#include "sim/kind.hpp"

namespace cotrain::sim {

inline constexpr std::string_view server_minor = "36";
inline constexpr std::string_view server_version = "v1.36.0-cotrain";

struct document {
    std::string body;
    std::string content_type = "application/json";
};

// The answer to /version, /healthz, /readyz, /livez, /api, /apis, /apis/<group>, /api(s)/…/<version>, /openapi/v3…;
// nothing for other paths. `accept` chooses the aggregated form (KEP-3352).
[[nodiscard]] std::optional<document> discover(const kinds& types, const address& at, std::string_view accept);

}  // namespace cotrain::sim
