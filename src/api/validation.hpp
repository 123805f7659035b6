// Rules for names, labels and annotations that all of Kubernetes shares, with messages of the API server's meaning.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cotrain::api {

inline constexpr std::size_t dns_label_bytes_max = 63;
inline constexpr std::size_t dns_subdomain_bytes_max = 253;
inline constexpr std::size_t qualified_name_bytes_max = 63;
inline constexpr std::size_t label_value_bytes_max = 63;
inline constexpr std::size_t annotations_bytes_max = 256UL * 1024;

// Each returns what is wrong, one message a fault; empty = valid.
using faults = std::vector<std::string>;

[[nodiscard]] faults check_dns1123_label(std::string_view text);      // container names, namespaces
[[nodiscard]] faults check_dns1123_subdomain(std::string_view text);  // most object names
[[nodiscard]] faults check_qualified_name(std::string_view text);     // label and annotation keys
[[nodiscard]] faults check_label_value(std::string_view text);
// "example.com/manager": a subdomain, a slash and a path.
[[nodiscard]] faults check_domain_prefixed_path(std::string_view text);

// The faults as one line, "; " between them.
[[nodiscard]] std::string join(const faults& list);

}  // namespace cotrain::api
