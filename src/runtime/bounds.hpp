// What no plan may exceed, whatever a TrainJob and its runtime say.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "api/arena.hpp"
#include "base/error.hpp"

namespace cotrain::runtime {

// Pods of one TrainJob: what a PodGroup can count.
inline constexpr std::int64_t pods_max = std::numeric_limits<std::int32_t>::max();
// JSON of an object: the API server reads no larger request.
inline constexpr std::size_t object_bytes_max = 3UL * 1024 * 1024;

// An error if the memory of a plan did not do.
[[nodiscard]] base::result<> check_memory(const api::arena& memory);

[[nodiscard]] inline std::uint64_t saturating_sum(std::uint64_t a, std::uint64_t b) {
    std::uint64_t sum = 0;
    return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::uint64_t>::max() : sum;
}

}  // namespace cotrain::runtime
