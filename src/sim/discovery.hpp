// Targets of requests taken apart, and answers to discovery: which groups, versions and resources there are.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/kind.hpp"

namespace cotrain::sim {

// What a request's path and query name.

struct address {
    std::vector<std::string> steps;  // of the path, decoded
    std::map<std::string, std::string, std::less<>> query;

    [[nodiscard]] std::string_view get(std::string_view name) const;
    [[nodiscard]] bool flag(std::string_view name) const { return get(name) == "true" || get(name) == "1"; }
};
// Nothing if an escape is broken.
[[nodiscard]] std::optional<address> read_address(std::string_view target);

// A resource's path: /api/v1/namespaces/ns/configmaps/name/status.
struct resource_path {
    std::string group, version, ns, plural, name, sub_resource;
};
[[nodiscard]] std::optional<resource_path> read_resource_path(const address& at);

// What the server says about itself: groups, resources, versions, and just enough OpenAPI for kubectl.

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
