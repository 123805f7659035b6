// A cluster's objects as text and back: a line of JSON each, as they are stored.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "sim/cluster.hpp"

namespace cotrain::sim {

inline constexpr std::size_t snapshot_bytes_max = 4UL * 1024 * 1024 * 1024;

[[nodiscard]] std::string write_snapshot(const cluster& from);
// Into a cluster without objects. Uids and managedFields stay, versions are new. Errors name the line.
[[nodiscard]] base::result<> read_snapshot(cluster& into, std::string_view text);

}  // namespace cotrain::sim
