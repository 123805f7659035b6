// How much memory this process may use.
#pragma once

#include <cstdint>
#include <string>

namespace cotrain::base {

// The smallest memory limit from the process's own cgroup up to the root, of cgroup v2 or v1; `physical_bytes` where
// that is less or no limit is set. `root` is where proc and sys are found, "" but in tests.
[[nodiscard]] std::uint64_t memory_limit(const std::string& root, std::uint64_t physical_bytes);

// The same of this process on this machine.
[[nodiscard]] std::uint64_t memory_limit();

}  // namespace cotrain::base
