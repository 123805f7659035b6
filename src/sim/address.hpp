// What a request's path and query name.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cotrain::sim {

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

}  // namespace cotrain::sim
